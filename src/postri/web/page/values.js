// Released values: numbers with all their digits, dates and timestamps as ISO texts.

const ZONE = /(Z|[+-]\d{2}:?\d{2})$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$/;

/**
 * A number with the digits that the service wrote, where a float would lose some: 12.50, or whole
 * numbers beyond 2^53.
 */
class Exact extends Number {
  constructor(source) {
    super(source);
    this.source = source;
  }

  toString() {
    return this.source;
  }
}

/** JSON without a lost digit, in browsers that tell a number's source. */
export function readJson(text) {
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && context?.source !== undefined && context.source !== String(value)
      ? new Exact(context.source)
      : value,
  );
}

/** Whether a value is a number (and not a date or a text). */
export function isNumber(value) {
  return typeof value === "number" || value instanceof Number;
}

/** Whether a value is a number without a fraction. */
export function isWhole(value) {
  return isNumber(value) && /^-?\d+$/.test(String(value));
}

/** Where a value stands on an axis. A timestamp without a zone is drawn as if it were in UTC. */
export function place(value) {
  if (isNumber(value)) return Number(value);
  if (value.length <= 10) return Date.parse(value);
  const moment = value.replace(" ", "T");
  return Date.parse(ZONE.test(moment) ? moment : `${moment}Z`);
}

/** A value as people write it: 12,345.60 or 2024-01-31 18:30:00. */
export function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string")
    return MOMENT.test(value) ? momentText(value) : value;
  if (!isNumber(value)) return String(value);
  const text = String(value);
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(text) ?? [null, "", text, ""];
  return sign.replace("-", "−") + whole.replace(/\B(?=(\d{3})+$)/g, ",") + rest;
}

/** Whether a value is a date or a timestamp. */
export function isMoment(value) {
  return typeof value === "string" && MOMENT.test(value);
}

/** A key as people write it: a number without commas, for it may be a year. */
export function keyText(value) {
  return isNumber(value) ? String(value).replace("-", "−") : shown(value);
}

/** A date or timestamp as people write it; answers with a zone are in UTC. */
function momentText(text) {
  const spaced = text.replace("T", " ").replace(/\+00:00$/, " UTC");
  return spaced.replace(/(\.\d*?)0+(?=$| UTC)/, "$1");
}

/** A number of a few digits, for axes and forecasts. */
export function brief(number, digits = 4) {
  return shown(Number(Number(number).toPrecision(digits)));
}

/** A moment as people read it, in their own time zone. */
export function moment(text) {
  const time = new Date(text);
  return Number.isNaN(time.valueOf())
    ? String(text)
    : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** 0.95 as "95%". */
export function percent(share) {
  return `${Number((Number(share) * 100).toPrecision(10))}%`;
}

/** A text as a sentence of its own. */
export function sentence(text) {
  return (/[.!?\]]$/.test(text) ? text : `${text}.`).replace(/^./, (first) => first.toUpperCase());
}
