// The statistics that the service offers, learned from it at sign-in.
//
// Each has a name, a meaning, parameters, and the forms of its aggregate as a text and in SQL:
// templates such as "quantile({column}, {p})". A statistic of which the page knows nothing else
// is listed, asked and shown by these alone.

import { plain, rational, toNumber } from "./rational.js";

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const RESERVED = new Set(
  `all and any as asc avg between by case cast count cross current_date current_timestamp date
  desc distinct else end escape except exists false fetch for from full group having high in inner
  intersect interval into is join left like limit low median natural not null offset on or order
  outer over partition percentile_cont quantile_cont right row rows select set some sum table then
  time timestamp to true union unique using values when where window with within`.split(/\s+/),
);
const FILTERED = /^(\w+\s*\((?:[^()"]|"(?:[^"]|"")*")*\))\s*where\b\s*(.+)$/is;
const CALL = /^(\w+)\((.*)\)$/s;
const ARGUMENT = /"(?:[^"]|"")*"|[^,]+/g;
const PLACE = /\{(\w+)\}/g;
const WRITTEN_KEY = /'$|^(true|false)$/i;
const NUMERIC = ["integer", "decimal", "float"];
const ORDERED = [...NUMERIC, "date", "timestamp"];
const LISTS = ["edges", "shares", "keys"];
const FITS = {
  any: () => true,
  ordered: (column) => ORDERED.includes(column.type),
  bounded: (column) => NUMERIC.includes(column.type) && column.lower !== null,
};

// Names that read better than "count of age" or "quantile of age".
const CALLED = {
  count: ({ column }) => (column ? `count of rows with ${column}` : "count of rows"),
  quantile: ({ column, p }) => named(quantileWords(p), column),
  population_median: ({ column }) => `${named("median", column)} in the population`,
  population_quantile: ({ column, p }) => `${named(quantileWords(p), column)} in the population`,
  share: ({ condition, column }) => `share of rows where ${condition ?? column}`,
  top_k: ({ column, k }) => named(`top ${k}`, column),
  trimmed_mean: ({ column, p }) => `${named("trimmed mean", column)}, ${plain(p)} at each end`,
  winsorized_mean: ({ column, p }) => `${named("winsorized mean", column)}, ${plain(p)} at each end`,
};

let learned = [];

/** Keep what the service offers. */
export function learnStatistics(statistics) {
  learned = statistics;
}

/** What people call a statistic; the service says it. */
export const statisticTitle = ({ words, name }) => words ?? name;

/** Whether a parameter takes several values, with commas between them. */
export const isList = ({ kind }) => LISTS.includes(kind);

/** Whether a parameter is a condition in SQL, which may hold commas and quotes of its own. */
const isCondition = ({ kind }) => kind === "condition";

/** The values of a list, each written by `number`. */
const listed = (value, number) =>
  String(value)
    .split(",")
    .map((each) => number(each.trim()))
    .join(", ");

/** Whether a statistic of a column can be asked. */
export function fits(parameter, column) {
  return (FITS[parameter.fits] ?? FITS.any)(column);
}

/** A column's name as it stands in an aggregate or in SQL. */
export function quoted(name) {
  if (PLAIN_NAME.test(name) && !RESERVED.has(name.toLowerCase())) return name;
  return `"${name.replaceAll('"', '""')}"`;
}

function unquoted(name) {
  if (!name.startsWith('"')) return name;
  return name.slice(1, -1).replaceAll('""', '"');
}

/** The text of an aggregate, such as "median(balance)"; `given` has the parameters' values. */
export function aggregateText(statistic, given) {
  return filledIn(statistic.text, statistic, given, (value) => value);
}

/**
 * A name for an aggregate, which is also its column in the result; what a list holds is told by the
 * names of its columns.
 */
export function aggregateName(statistic, given) {
  const values = statistic.parameters.filter((each) => !isList(each)).map(({ name }) => given[name]);
  return [statistic.name, ...values].filter(Boolean).join("_").replace(/\W+/g, "_");
}

/** The aggregate of such a text, in words. */
export function aggregateWords(text) {
  const { name, given, filter } = read(text);
  return statisticWords(name, given) + (filter ? ` where ${filter}` : "");
}

/** The aggregate of such a text, in SQL; null where SQL has no word for it. */
export function aggregateSql(text) {
  const { filter, ...call } = read(text);
  const sql = callSql(call);
  return sql && filter ? `${sql} FILTER (WHERE ${filter})` : sql;
}

function callSql({ name, statistic, given }) {
  if (!statistic?.sql) return null;
  // Half of the rows: SQL has a shorter word for it.
  const shorter = name === "quantile" && plain(given.p) === "0.5" ? find("median") : null;
  if (shorter) return filledIn(shorter.sql, shorter, given, literal);
  if (statistic.sql_without_column && !given.column) return statistic.sql_without_column;
  return filledIn(statistic.sql, statistic, given, literal);
}

/** A number as it stands in SQL; a date in quotes, and a key as it was written. */
function literal(text) {
  if (rational(text) !== null) return plain(text);
  return WRITTEN_KEY.test(text) ? text : `'${text}'`;
}

/** An aggregate as the ledger's entries have it: its statistic's name with its column, and more. */
export function entryWords(fields) {
  const known = learned.find(({ name }) => name in fields);
  const name = known?.name ?? Object.keys(fields)[0];
  const words = statisticWords(name, { ...fields, column: fields[name] });
  return fields.where ? `${words} where ${fields.where}` : words;
}

/** The functions of SQL, as a reader would write them: "COUNT", "QUANTILE_CONT(column, p)". */
export function sqlFunctions() {
  return learned
    .filter(({ sql }) => sql)
    .map(({ sql, parameters }) => {
      const call = sql.replace(PLACE, "$1");
      return parameters.length > 1 ? call : call.replace(/\(.*/, "");
    });
}

function find(name) {
  return learned.find((statistic) => statistic.name === name);
}

/** A template with the values in their places. Columns are quoted, numbers written by `number`. */
function filledIn(template, statistic, given, number) {
  const without = given.column ? template : template.replace("{column}, ", "");
  // What may be left out and is, leaves no comma.
  const missing = statistic.parameters.filter(({ name, optional }) => optional && !given[name]);
  const needed = missing.reduce((text, { name }) => text.replace(`, {${name}}`, ""), without);
  return needed.replace(PLACE, (_, name) => {
    const parameter = statistic.parameters.find((each) => each.name === name) ?? {};
    const value = given[name] ?? "";
    if (parameter.kind === "column") return value && quoted(value);
    if (isCondition(parameter)) return value;
    return isList(parameter) ? listed(value, number) : number(value);
  });
}

/** The statistic of an aggregate's text, and the values of its parameters. */
function read(text) {
  const [, call, filter] = FILTERED.exec(text.trim()) ?? [null, text, ""];
  const [, written, inside] = CALL.exec(call.trim()) ?? [null, text, ""];
  const name = written.toLowerCase();
  const statistic = find(name);
  const names = statistic
    ? [...statistic.text.matchAll(PLACE)].map(([, each]) => each)
    : ["column"];
  const isWhole = statistic?.parameters.some(isCondition);
  const parts = isWhole ? [inside] : (inside.match(ARGUMENT) ?? []);
  const values = parts.map((value) => (isWhole ? value : unquoted(value.trim())));
  // A list is the last parameter, and has all values that are left.
  if (statistic?.parameters.some(isList))
    values.splice(names.length - 1, Infinity, values.slice(names.length - 1).join(", "));
  const given = Object.fromEntries(names.map((each, i) => [each, values[i]]));
  return { name, statistic, given, filter };
}

function statisticWords(name, given) {
  if (name in CALLED) return CALLED[name](given);
  const statistic = find(name);
  const words = named(statistic?.words ?? name, given.column);
  const more = (statistic?.parameters ?? [])
    .filter((parameter) => parameter.kind !== "column" && given[parameter.name])
    .map((parameter) => `${parameter.name} = ${listed(given[parameter.name], plain)}`);
  return more.length ? `${words} with ${more.join(" and ")}` : words;
}

const named = (words, column) => (column ? `${words} of ${column}` : words);

function quantileWords(p) {
  const share = plain(p);
  if (share === "0.5") return "median";
  if (share.includes("/") || rational(p) === null) return `quantile ${share}`;
  return `${ordinal(toNumber(rational(p)) * 100)} percentile`;
}

/** A number in its place: 1st, 22nd, 90th, 99.5th. */
export function ordinal(number) {
  const text = String(Number(Number(number).toPrecision(12)));
  const isSpoken = /(^|[^1])[123]$/.test(text) || /\..*[123]$/.test(text);
  return text + (isSpoken ? { 1: "st", 2: "nd", 3: "rd" }[text.at(-1)] : "th");
}
