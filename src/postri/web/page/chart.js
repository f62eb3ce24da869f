// Answers as a picture: a dot with its bar, one row each, all on one axis. An arrow marks an end
// that means "or beyond".

import { h, svg } from "./dom.js";
import { fitting, scale, ticks, timeTicks } from "./scale.js";
import { isNumber, place, shown } from "./values.js";

const BARE = 28;
const TEXT = 18;
const SIDE = 14;
const FOOT = 30;
const MANY = 12;
const NARROWEST = 240;
export const MOST = 200;

/** The answers of one aggregate as rows of a chart, highest value first. */
export function chartRows(groups, name) {
  const rows = groups.map(({ keys, answers }) => ({
    label: Object.values(keys).map(shown).join(", "),
    ...answers[name],
  }));
  return rows.sort((one, other) => place(other.value) - place(one.value));
}

/** The ends of a row's interval in words; an end on the edge of the domain is "or beyond". */
export function ends({ low, high, low_is_edge: below, high_is_edge: above }) {
  return `${shown(low)}${below ? " or below" : ""} to ${shown(high)}${above ? " or above" : ""}`;
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
  const numeric = rows.every((row) => isNumber(row.value));
  return {
    x: scale(low, high, SIDE, width - SIDE),
    ticks: fitting(numeric ? ticks : timeTicks, low, high, width - 2 * SIDE),
  };
}

/**
 * What the axis shows: all values and ends, but for far edges of the domain, which would squeeze
 * the rest: arrows point to those.
 */
function extent(rows) {
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
    { class: "row" },
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
