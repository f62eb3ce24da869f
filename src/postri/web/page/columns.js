// What is public of a column, in words and as SQL writes its keys.

import { shown } from "./values.js";

const STEPPED = ["integer", "decimal", "float"];

/** The type of a column and what it may hold: "integer, from 0 to 120". */
export function columnWords({ type, lower, upper, step, keys, discover }) {
  if (discover) return `${type}, whose keys are found`;
  if (keys) return `${type}, one of ${keys.length} public keys`;
  if (lower === null || lower === undefined) return `${type}, without bounds`;
  const isStepped = step && step !== "1" && STEPPED.includes(type);
  const steps = isStepped ? ` in steps of ${step}` : "";
  return `${type}, from ${shown(lower)} to ${shown(upper)}${steps}`;
}

/** A key as it stands in SQL: texts in single quotes. */
export function keySql(key, type) {
  if (type === "text") return `'${key.replaceAll("'", "''")}'`;
  if (type === "date") return `DATE '${key}'`;
  return String(key);
}
