// Answers as a picture: a dot with its bar, one row each, all on one axis. An arrow marks an end
// that means "or beyond".

import { h, svg } from "./dom.js";
import { fitting, scale, ticks, timeTicks, wholeTicks } from "./scale.js";
import { isNumber, isWhole, keyText, place, shown } from "./values.js";

const BARE = 28;
const TEXT = 18;
const SIDE = 14;
const FOOT = 30;
const MANY = 12;
const NARROWEST = 240;
export const MOST = 200;

/** The answers of one aggregate as rows of a chart, as the result lists them. */
export function chartRows(groups, name) {
  return groups.map(({ keys, answers }) => ({
    label: withKey(Object.values(keys).map(keyText).join(", "), answers[name]),
    ...answers[name],
  }));
}

/** The label of a group with the key that was found there, if one was. */
const withKey = (label, { key }) =>
  label && key !== undefined ? `${label}: ${keyText(key)}` : label;

/** Whether a bar is the whole domain, and its dot nothing but noise. */
export function tellsNothing(row) {
  return row.low_is_edge && row.high_is_edge;
}

/**
 * Rows with the highest value first. Those that tell nothing come last, as they were listed: noise
 * does not sort them.
 */
export function byValue(rows) {
  const telling = rows.filter((row) => !tellsNothing(row));
  return [
    ...telling.sort((one, other) => place(other.value) - place(one.value)),
    ...rows.filter(tellsNothing),
  ];
}

/** The lower end of an interval in words. */
export function lowEnd({ low, low_is_edge: isEdge }) {
  return shown(low) + (isEdge ? " or below" : "");
}

/** The upper end of an interval in words. */
export function highEnd({ high, high_is_edge: isEdge }) {
  return shown(high) + (isEdge ? " or above" : "");
}

/** An interval in words: "2 to 5", "2 to 5 or above", "exactly 872". */
export function ends(row, joint = " to ") {
  if (tellsNothing(row)) return "anywhere in the domain or beyond";
  if (String(row.low) !== String(row.high)) return `${lowEnd(row)}${joint}${highEnd(row)}`;
  if (row.low_is_edge) return lowEnd(row);
  if (row.high_is_edge) return highEnd(row);
  return `exactly ${shown(row.low)}`;
}

/** Where the exact value lies: "between 2 and 5", "exactly 872", "1,000 or above". */
export function between(answer) {
  const words = ends(answer, " and ");
  return words.includes(" and ") ? `between ${words}` : words;
}

/**
 * How many rows have a bar that overlaps the next row's: noise alone may have put these in order.
 */
export function overlapping(rows) {
  return rows.slice(1).filter((row, before) => place(row.high) >= place(rows[before].low)).length;
}

/** A chart that is drawn anew whenever its place becomes wider or narrower. */
export function liveChart(draw) {
  const box = h("div", { class: "chart" });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.max(Math.floor(box.clientWidth), NARROWEST);
    if (width !== drawn) box.replaceChildren(draw(width));
    drawn = width;
  }).observe(box);
  return box;
}

/**
 * Dots with bars below one another, `width` pixels wide. `name` is what a screen reader says; a
 * bare chart has no texts in its rows.
 */
export function dotChart(rows, width, name, bare = false) {
  const textLines = rows.every((row) => besides(row, width)) ? 1 : 2;
  const lines = bare ? 0 : textLines;
  const each = BARE + lines * TEXT;
  const top = rows.length > MANY ? FOOT : 0;
  const bottom = top + rows.length * each;
  const height = bottom + FOOT;
  const axis = axisOf(rows, width);
  return svg(
    "svg",
    {
      class: "dots",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": name,
    },
    ...axis.ticks.map(({ at, text }) => tick(axis.x(at), text, top, bottom, width)),
    svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: bottom, y2: bottom }),
    ...rows.map((row, number) => rowOf(row, top + (number + 1) * each - 14, axis, lines, width)),
  );
}

function axisOf(rows, width) {
  const [low, high] = extent(rows);
  return {
    x: scale(low, high, SIDE, width - SIDE),
    ticks: fitting(ticksFor(rows), low, high, width - 2 * SIDE),
  };
}

/** What makes the ticks of an axis of values. */
export function ticksFor(rows) {
  if (!rows.every((row) => isNumber(row.value))) return timeTicks;
  const points = rows.flatMap(({ value, low, high }) => [value, low, high]);
  return points.every(isWhole) ? wholeTicks : ticks;
}

/**
 * What the axis shows: all values and ends, but for far edges of the domain, which would squeeze
 * the rest: arrows point to those.
 */
export function extent(all) {
  const telling = all.filter((row) => !tellsNothing(row));
  const rows = telling.length ? telling : all;
  const near = rows.flatMap((row) => [
    place(row.value),
    ...(row.low_is_edge ? [] : [place(row.low)]),
    ...(row.high_is_edge ? [] : [place(row.high)]),
  ]);
  const edges = rows.flatMap((row) => [
    ...(row.low_is_edge ? [place(row.low)] : []),
    ...(row.high_is_edge ? [place(row.high)] : []),
  ]);
  let [low, high] = [Math.min(...near), Math.max(...near)];
  const room = high - low || Infinity;
  for (const edge of edges) {
    if (low - edge <= room) low = Math.min(low, edge);
    if (edge - high <= room) high = Math.max(high, edge);
  }
  const margin = (high - low || Math.abs(high) || 1) * 0.04;
  return [low - margin, high + margin];
}

/** A line of the grid with its text; a long chart has texts at both ends. */
function tick(x, text, top, bottom, width) {
  const half = text.length * 3.5;
  const at = Math.min(Math.max(x, half), width - half);
  const lines = top ? [top - 10, bottom + 18] : [bottom + 18];
  return svg(
    "g",
    {},
    svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
    ...lines.map((y) => svg("text", { class: "tick", x: at, y, "text-anchor": "middle" }, text)),
  );
}

function rowOf(row, middle, { x }, lines, width) {
  const [low, value, high] = [row.low, row.value, row.high].map((point) => x(place(point)));
  return svg(
    "g",
    { class: tellsNothing(row) ? "row pale" : "row" },
    ...texts(row, middle - 14, lines, width),
    svg("rect", { class: "bar", x: low, y: middle - 4, width: Math.max(high - low, 1), height: 8 }),
    endOf(low, middle, row.low_is_edge, -1),
    endOf(high, middle, row.high_is_edge, 1),
    svg("circle", { class: "dot", cx: value, cy: middle, r: 6 }),
  );
}

const title = (row) => row.label || row.statistic;
const numbers = (row) => `${shown(row.value)}  [${ends(row)}]`;
const besides = (row, width) => letters(title(row)) + letters(numbers(row)) + 3 * SIDE <= width;

/**
 * The group to the left and its numbers to the right, or below it where there is no room for both.
 */
function texts(row, y, lines, width) {
  if (lines === 0) return [];
  const last = lines === 1 ? { x: width - SIDE, "text-anchor": "end" } : { x: SIDE };
  return [
    svg("text", { class: "label", x: SIDE, y: y - (lines - 1) * TEXT }, title(row)),
    svg("text", { class: "value", y, ...last }, numbers(row)),
  ];
}

const pen = document.createElement("canvas").getContext("2d");

/** How wide a text will be, in bold. */
function letters(text) {
  pen.font = "600 13px system-ui, sans-serif";
  return pen.measureText(text).width;
}

function endOf(x, y, isEdge, side) {
  if (!isEdge) return svg("line", { class: "end", x1: x, x2: x, y1: y - 8, y2: y + 8 });
  return svg("path", {
    class: "arrow",
    d: `M ${x + side * 9} ${y} L ${x} ${y - 8} L ${x} ${y + 8} Z`,
  });
}
