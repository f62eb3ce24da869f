// Questions as texts: in words, in SQL and in Python.

import { plain, rational, toNumber } from "./rational.js";

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const RESERVED = new Set(
  (
    "all and any as asc avg between by case cast count cross current_date current_timestamp date desc distinct else end escape except exists " +
    "false fetch for from full group having high in inner intersect interval into is join left like limit low median natural not null offset on or " +
    "order outer over partition percentile_cont quantile_cont right row rows select set some sum table then time timestamp to true union unique using " +
    "values when where window with within"
  ).split(" "),
);
const IN_SQL = { count: "COUNT", sum: "SUM", mean: "AVG", median: "MEDIAN", quantile: "QUANTILE_CONT" };
const AGGREGATE = /^(\w+)\((?:("(?:[^"]|"")+"|[^,]*?)(?:, *([^,]+))?)?\)$/;

/** A column's name as it stands in an aggregate or in SQL. */
export function quoted(name) {
  return PLAIN_NAME.test(name) && !RESERVED.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The text of an aggregate, such as "median(balance)". */
export function aggregateText(statistic, column, p) {
  const inside = column === null ? "" : quoted(column);
  return statistic === "quantile" ? `quantile(${inside}, ${p})` : `${statistic}(${inside})`;
}

/** A name for an aggregate, which is also its column in the result. */
export function aggregateName(statistic, column, p) {
  const words = [statistic, column ?? "", statistic === "quantile" ? p : ""].filter(Boolean).join("_");
  return words.replace(/\W+/g, "_");
}

/** A number in its place: 1st, 22nd, 90th, 99.5th. */
export function ordinal(number) {
  const text = String(Number(Number(number).toPrecision(12)));
  const suffix = /(^|[^1])[123]$/.test(text) || /\..*[123]$/.test(text) ? { 1: "st", 2: "nd", 3: "rd" }[text.at(-1)] : "th";
  return text + suffix;
}

/** A question in words: "Median of balance, by job, where age < 40"; SQL stays as it is, on one line. */
export function inWords(question) {
  if (question.sql) return question.sql.replace(/\s+/g, " ").trim();
  const parts = [
    Object.values(question.aggregates).map(aggregateWords).join(" and "),
    ...(question.by?.length ? [`by ${question.by.join(" and ")}`] : []),
    ...(question.where ? [`where ${question.where}`] : []),
  ];
  return sentenceCase(parts.join(", "));
}

const sentenceCase = (text) => text.replace(/^./, (first) => first.toUpperCase());

function aggregateWords(text) {
  const { name, column, p } = aggregateParts(text);
  return statisticWords(name, column, p);
}

function statisticWords(name, column, p) {
  if (name === "count") return column ? `count of rows with ${column}` : "count of rows";
  const called = name === "quantile" ? quantileWords(p) : name;
  return column ? `${called} of ${column}` : called;
}

function quantileWords(p) {
  const share = plain(p);
  if (share === "0.5") return "median";
  return share.includes("/") || rational(p) === null ? `quantile ${share}` : `${ordinal(toNumber(rational(p)) * 100)} percentile`;
}

/** The question of a ledger's entry, which is JSON of the service's own, in words. */
export function ledgerWords(text) {
  const { aggregates, by, where } = JSON.parse(text);
  const words = aggregates.map((each) => {
    const name = ["count", "sum", "mean", "quantile"].find((known) => known in each);
    return statisticWords(name, each[name], each.p);
  });
  const parts = [
    words.join(" and "),
    ...(by.length ? [`by ${by.map(([column]) => column).join(" and ")}`] : []),
    ...(where ? [`where ${where}`] : []),
  ];
  return sentenceCase(parts.join(", "));
}

function aggregateParts(text) {
  const [, name, column = "", p] = AGGREGATE.exec(text.trim()) ?? [null, text];
  return { name: name.toLowerCase(), column: unquoted(column), p };
}

const unquoted = (name) => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);

/** The SQL that asks the same; null where none does, because SQL divides epsilon evenly. */
export function inSql(question) {
  if (question.sql) return question.sql.trim();
  if (question.weights) return null;
  const keys = (question.by ?? []).map(quoted);
  const values = Object.entries(question.aggregates).map(([name, text]) => `${sqlAggregate(text)} AS ${quoted(name)}`);
  return [
    `SELECT ${[...keys, ...values].join(", ")}`,
    `FROM ${quoted(question.dataset)}`,
    ...(question.where ? [`WHERE ${question.where}`] : []),
    ...(keys.length ? [`GROUP BY ${keys.join(", ")}`] : []),
  ].join("\n");
}

function sqlAggregate(text) {
  const { name, column, p } = aggregateParts(text);
  if (name === "count" && !column) return "COUNT(*)";
  if (name === "quantile" && plain(p) === "0.5") return `MEDIAN(${quoted(column)})`;
  return `${IN_SQL[name] ?? name}(${quoted(column)}${p === undefined ? "" : `, ${plain(p)}`})`;
}

/** The Python that asks the same, of this service. */
export function inPython(question) {
  const how = [
    ...(question.by?.length ? [["by", list(question.by)]] : []),
    ...(question.where ? [["where", literal(question.where)]] : []),
    ...(question.weights ? [["weights", dictionary(question.weights)]] : []),
    ["epsilon", literal(String(question.epsilon))],
    ...(question.confidence !== undefined && String(question.confidence) !== "0.95"
      ? [["confidence", literal(String(question.confidence))]]
      : []),
    ...(question.simultaneous ? [["simultaneous", "True"]] : []),
  ].map(([name, value]) => `        ${name}=${value},`);
  const place = new URL(".", document.baseURI).href.replace(/\/$/, "");
  return [
    "import postri",
    "",
    "# Your token is read from the environment: POSTRI_TOKEN.",
    `with postri.connect(${literal(place)}) as db:`,
    ...(question.sql
      ? ["    result = db.sql(", `        ${literal(question.sql.trim())},`]
      : ["    result = db.ask(", `        ${literal(question.dataset)},`, `        ${dictionary(question.aggregates)},`]),
    ...how,
    "    )",
    "print(result)",
  ].join("\n");
}

/** A text as Python writes it: JSON's escapes are Python's too. */
const literal = (text) => JSON.stringify(text);
const list = (texts) => `[${texts.map(literal).join(", ")}]`;
const dictionary = (fields) =>
  `{${Object.entries(fields)
    .map(([name, text]) => `${literal(name)}: ${literal(text)}`)
    .join(", ")}}`;
