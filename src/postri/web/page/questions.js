// Questions as texts: in words, in SQL and in Python.

import { aggregateSql, aggregateWords, entryWords, quoted } from "./statistics.js";

/** A question in words: "Median of balance, by job, where age < 40". SQL stays, on one line. */
export function inWords(question) {
  if (question.sql) return question.sql.replace(/\s+/g, " ").trim();
  return sentence(
    Object.values(question.aggregates).map(aggregateWords),
    divisions(question.by).map(([name]) => name),
    question.where,
  );
}

/** The question of a ledger's entry, which is JSON of the service's own, in words. */
export function ledgerWords(text) {
  const { aggregates, by, where } = JSON.parse(text);
  return sentence(
    aggregates.map(entryWords),
    // An expression stands behind the word for it, a column before its keys.
    by.map(([column, expression]) => (typeof expression === "string" ? expression : column)),
    where,
  );
}

/** What divides rows, as pairs: its name in the result, and the column or expression. */
function divisions(by = []) {
  const listed = Array.isArray(by) ? by : [by];
  return listed.flatMap((each) => (typeof each === "string" ? [[each, each]] : Object.entries(each)));
}

function sentence(aggregates, by, where) {
  const parts = [aggregates.join(" and ")];
  if (by.length) parts.push(`by ${by.join(" and ")}`);
  if (where) parts.push(`where ${where}`);
  return parts.join(", ").replace(/^./, (first) => first.toUpperCase());
}

/** The SQL that asks the same; null where none does. SQL divides epsilon evenly. */
export function inSql(question) {
  if (question.sql) return question.sql.trim();
  if (question.weights) return null;
  const aggregates = Object.values(question.aggregates).map(aggregateSql);
  if (aggregates.includes(null)) return null;
  const by = divisions(question.by);
  // A range of keys has no place in SQL, but for the filter.
  if (by.some(([name, divides]) => name !== divides && /\b(BETWEEN|IN)\b/i.test(divides))) return null;
  const keys = by.map(([name, divides]) =>
    name === divides ? quoted(name) : `${divides} AS ${quoted(name)}`,
  );
  const names = Object.keys(question.aggregates).map(quoted);
  const values = aggregates.map((aggregate, place) => `${aggregate} AS ${names[place]}`);
  const lines = [`SELECT ${[...keys, ...values].join(", ")}`, `FROM ${quoted(question.dataset)}`];
  if (question.where) lines.push(`WHERE ${question.where}`);
  if (by.length) lines.push(`GROUP BY ${by.map(([name]) => quoted(name)).join(", ")}`);
  return lines.join("\n");
}

/** The Python that asks the same, of this service. */
export function inPython(question) {
  const place = new URL(".", document.baseURI).href.replace(/\/$/, "");
  return [
    "import postri",
    "",
    "# Your token is read from the environment: POSTRI_TOKEN.",
    `with postri.connect(${literal(place)}) as db:`,
    ...called(question),
    ...how(question).map(([name, value]) => `        ${name}=${value},`),
    "    )",
    "print(result)",
  ].join("\n");
}

function called({ sql, dataset, aggregates }) {
  if (sql) return ["    result = db.sql(", `        ${literal(sql.trim())},`];
  return [
    "    result = db.ask(",
    `        ${literal(dataset)},`,
    `        ${dictionary(aggregates)},`,
  ];
}

/** The arguments by name; those that have their usual values are left out. */
function how({ by, where, weights, epsilon, confidence, simultaneous }) {
  const named = [];
  const divided = divisions(by);
  if (divided.every(([name, divides]) => name === divides)) {
    if (divided.length) named.push(["by", list(divided.map(([name]) => name))]);
  } else {
    named.push(["by", dictionary(Object.fromEntries(divided))]);
  }
  if (where) named.push(["where", literal(where)]);
  if (weights) named.push(["weights", dictionary(weights)]);
  named.push(["epsilon", literal(String(epsilon))]);
  if (confidence !== undefined && String(confidence) !== "0.95") {
    named.push(["confidence", literal(String(confidence))]);
  }
  if (simultaneous) named.push(["simultaneous", "True"]);
  return named;
}

/** A text as Python writes it: JSON's escapes are Python's too. */
const literal = (text) => JSON.stringify(text);
const list = (texts) => `[${texts.map(literal).join(", ")}]`;
const dictionary = (fields) =>
  `{${Object.entries(fields)
    .map(([name, text]) => `${literal(name)}: ${literal(text)}`)
    .join(", ")}}`;
