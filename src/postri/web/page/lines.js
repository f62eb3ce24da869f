// Groups along time as a picture: each released value with its bar, and a thin line that leads the
// eye from one to the next, where nothing is claimed; a panel for each other key, all on one scale.

import { svg } from "./dom.js";
import { mark } from "./bars.js";
import { ends, extent, tellsNothing, ticksFor } from "./chart.js";
import { fitting, scale, timeTicks } from "./scale.js";
import { isMoment, isNumber, keyText, place, shown } from "./values.js";

const LETTER = 7;
const SIDE = 14;
const TOP = 12;
const LABEL = 24;
const PLOT = 190;
const FOOT = 30;
const GAP = 14;
const WIDEST = 8;

/**
 * The answers of one aggregate along time, a panel for each combination of the other keys; null
 * where no key is a time, or more than one.
 */
export function timePanels(groups, name) {
  const titles = Object.keys(groups[0].keys);
  const times = titles.filter((title) => groups.every(({ keys }) => isMoment(keys[title])));
  if (times.length !== 1 || !groups.every(({ answers }) => isNumber(answers[name].value)))
    return null;
  const found = new Map();
  for (const { keys, answers } of groups) {
    const others = titles.filter((title) => title !== times[0]);
    const label = others.map((title) => keyText(keys[title])).join(", ");
    if (!found.has(label)) found.set(label, []);
    found.get(label).push({ ...answers[name], time: keys[times[0]], at: place(keys[times[0]]) });
  }
  const panels = [...found].map(([label, points]) => ({
    label,
    points: points.sort((one, other) => one.at - other.at),
  }));
  return panels.some(({ points }) => points.length > 1) ? panels : null;
}

/** What a screen reader says of a panel. */
export function lineWords({ label, points }) {
  const told = points.map((point) => `${keyText(point.time)}: ${shown(point.value)} [${ends(point)}]`);
  return [label, told.join("; ")].filter(Boolean).join(": ");
}

/** The panels below one another, `width` pixels wide. `name` is what a screen reader says. */
export function lineChart(all, width, name) {
  const points = all.flatMap((panel) => panel.points);
  const [low, high] = extent(points);
  const marks = fitting(ticksFor(points), low, high, PLOT * 2, 5);
  const left = SIDE + Math.max(...marks.map(({ text }) => text.length)) * LETTER + 6;
  const label = all.some((each) => each.label) ? LABEL : 0;
  const each = TOP + label + PLOT + FOOT + GAP;
  const height = all.length * each - GAP;
  const moments = points.map(({ at }) => at);
  const span = [Math.min(...moments), Math.max(...moments)];
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
    ...all.map((panel, number) =>
      panelOf(panel, { low, high, marks, left, width, span, top: number * each + TOP + label }),
    ),
  );
}

function panelOf({ label, points }, { low, high, marks, left, width, span, top }) {
  const floor = top + PLOT;
  const right = width - SIDE;
  const x = scale(...span, left + WIDEST, right - WIDEST);
  const y = scale(low, high, floor, top);
  const line = points.map((point) => `${x(point.at)},${y(place(point.value))}`);
  const wide = Math.min(WIDEST, Math.max((right - left) / points.length / 2, 1));
  return svg(
    "g",
    { class: "panel" },
    label ? svg("text", { class: "label", x: SIDE, y: top - 14 }, label) : null,
    ...marks.map(({ at, text }) => mark(y(at), text, left, right)),
    svg("polyline", { class: "line guide", points: line.join(" ") }),
    ...points.map((point) => pointOf(point, x(point.at), y, wide)),
    svg("line", { class: "axis", x1: left, x2: right, y1: floor, y2: floor }),
    ...fitting(timeTicks, ...span, right - left).map(({ at, text }) =>
      moment(x(at), text, floor, width),
    ),
  );
}

/** A value with its bar, which stands upright. */
function pointOf(point, x, y, wide) {
  const [low, value, high] = [point.low, point.value, point.high].map((end) => y(place(end)));
  return svg(
    "g",
    { class: tellsNothing(point) ? "pale" : null },
    svg("title", {}, `${keyText(point.time)}: ${shown(point.value)} [${ends(point)}]`),
    svg("rect", {
      class: "bar",
      x: x - wide / 2,
      y: high,
      width: wide,
      height: Math.max(low - high, 1),
    }),
    endOf(x, low, point.low_is_edge, 1, wide),
    endOf(x, high, point.high_is_edge, -1, wide),
    svg("circle", { class: "dot point", cx: x, cy: value, r: Math.min(4, wide / 2 + 1) }),
  );
}

function endOf(x, y, isEdge, side, wide) {
  if (!isEdge) return svg("line", { class: "end", x1: x - wide / 2, x2: x + wide / 2, y1: y, y2: y });
  return svg("path", {
    class: "arrow",
    d: `M ${x} ${y + side * 8} L ${x - wide / 2 - 2} ${y} L ${x + wide / 2 + 2} ${y} Z`,
  });
}

function moment(x, text, floor, width) {
  const half = (text.length * LETTER) / 2;
  const at = Math.min(Math.max(x, half), width - half);
  return svg(
    "g",
    {},
    svg("line", { class: "axis", x1: x, x2: x, y1: floor, y2: floor + 5 }),
    svg("text", { class: "tick", x: at, y: floor + 19, "text-anchor": "middle" }, text),
  );
}
