// Axes: from values to pixels, with ticks at round numbers or round moments.

import { brief } from "./values.js";

const TICK_LETTER = 7;
const GAP = 12;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MONTH = 30 * DAY;
const LONG = 14 * DAY;
const SHORT = [
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200];

/** A straight scale from [low, high] to [left, right]; what lies outside is put on its end. */
export function scale(low, high, left, right) {
  const span = high - low || 1;
  return (value) => left + (Math.min(Math.max(value, low), high) - low) * ((right - left) / span);
}

/** Whole numbers within [low, high], where a tick between two would mean nothing. */
export function wholeTicks(low, high, count) {
  return ticks(low, high, Math.min(count, Math.max(high - low, 1)), 1);
}

/** Round numbers within [low, high], about as many as asked for; no closer than `least`. */
export function ticks(low, high, count, least = 0) {
  const rough = Math.max((high - low) / Math.max(count, 1) || 1, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  return multiples(low, high, step).map((at) => ({ at, text: brief(at, 12) }));
}

/**
 * Round moments within [low, high]: first days of months, or days, or hours where days are too
 * long.
 */
export function timeTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  if (rough > LONG)
    return months(low, high, MONTHS.find((each) => each * MONTH >= rough) ?? MONTHS.at(-1));
  const step = SHORT.find((each) => each >= rough) ?? MONTH;
  return multiples(low, high, step).map((at) => moment(at, step < DAY ? 16 : 10));
}

function months(low, high, step) {
  const month = (time) => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth();
  const numbers = multiples(month(low), month(high), step).map((number) =>
    Date.UTC(Math.floor(number / 12), number % 12),
  );
  return numbers.filter((at) => at >= low && at <= high).map((at) => moment(at, step % 12 ? 7 : 4));
}

const moment = (at, digits) => ({
  at,
  text: new Date(at).toISOString().slice(0, digits).replace("T", " "),
});

function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, place) =>
    Number(((first + place) * step).toPrecision(12)),
  );
}

/** As many ticks as their texts have room for on `width` pixels, at most about `most`. */
export function fitting(make, low, high, width, most = 10) {
  for (let count = most; count > 1; count -= 1) {
    const made = make(low, high, count);
    const widest = Math.max(0, ...made.map(({ text }) => text.length * TICK_LETTER));
    if (made.length < 2 || ((made[1].at - made[0].at) / (high - low)) * width >= widest + GAP)
      return made;
  }
  return make(low, high, 1);
}
