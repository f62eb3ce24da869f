// Before anything is spent: how far an interval will reach, drawn from public numbers.

import { h, svg } from "./dom.js";
import { liveChart } from "./chart.js";
import { fitting, scale, ticks } from "./scale.js";
import { ordinal } from "./statistics.js";
import { rational, toNumber } from "./rational.js";
import { EXPECT } from "./expect.js";
import { brief, sentence } from "./values.js";

const SIDE = 14;
const LINE = 22;
const TOP = 44;
const MIDDLE = 58;
const FLOOR = 74;
const HEIGHT = 98;
const ZOOMS = [100, 20, 4, 0.8, 0.16, 0.032];
const NICE = [1, 1.5, 2, 3, 5, 7, 10];

/** The forecast of one aggregate: its picture and its sentence. */
export function forecastFigure(name, forecast, alone) {
  return h(
    "figure",
    { class: "forecast" },
    alone ? null : h("figcaption", {}, name),
    picture(forecast),
    h("p", { class: "sentence" }, sentence(words(forecast))),
  );
}

/** What is missing is told in a field of the form, here. */
function words({ kind, missing, sentence: told }) {
  return kind === "unknown" ? `Unknown: tell ${missing}, in the field "${EXPECT}"` : told;
}

function picture(forecast) {
  if (forecast.kind === "plan") return liveChart((width) => planPicture(forecast, width));
  return forecast.kind === "reach" ? liveChart((width) => reachPicture(forecast, width)) : null;
}

/**
 * A bar on the percentiles of the data. A short bar is seen through a loupe: the line above shows
 * where it looks.
 */
function planPicture(forecast, width) {
  const reach = Number(forecast.reach_percentiles);
  const [begin, end] = [Number(forecast.low) * 100, Number(forecast.high) * 100];
  const centre = toNumber(rational(forecast.p)) * 100;
  const enough = forecast.enough !== false;
  const span = enough ? (ZOOMS.findLast((zoom) => zoom >= 2.4 * reach) ?? 100) : 100;
  const low = Math.min(Math.max(centre - span / 2, 0), 100 - span);
  const x = scale(low, low + span, SIDE, width - SIDE);
  const all = scale(0, 100, SIDE, width - SIDE);
  const loupe = span < 100 ? [all(low), all(low + span)] : null;
  const [left, right] = enough ? [x(begin), x(end)] : [SIDE + 9, width - SIDE - 9];
  const [first, last] = [ordinal(brief(begin)), ordinal(brief(end))];
  const name = enough
    ? `Forecast: the bar will reach from about the ${first} to the ${last} percentile`
    : "Forecast: the bar will reach the edge of the domain";
  return frame(width, loupe ? 0 : TOP - 6, name, [
    ...(loupe ? lens(loupe, width) : []),
    ...fitting(ticks, low, low + span, width - 2 * SIDE, 5).map(({ at }) =>
      tick(x(at), ordinal(at), width),
    ),
    svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: FLOOR, y2: FLOOR }),
    ...bar(left, right, x(centre), !enough),
  ]);
}

/** A bar around the value that is not known yet. */
function reachPicture(forecast, width) {
  const reach = Number(forecast.reach);
  const power = 10 ** Math.floor(Math.log10(reach * 1.25));
  const most = NICE.map((each) => each * power).find((each) => each >= reach * 1.25);
  const x = scale(-most, most, SIDE, width - SIDE);
  const distance = ({ at, text }) => (at > 0 ? `+${text}` : text);
  const marks = fitting(ticks, -most, most, width - 6 * SIDE, 5).map((each) =>
    tick(x(each.at), each.at === 0 ? "released value" : distance(each), width),
  );
  const sides = `${brief(reach)} to each side of the released ${forecast.statistic}`;
  return frame(width, TOP - 6, `Forecast: the bar will reach ${sides}`, [
    ...marks,
    svg("line", { class: "axis", x1: SIDE, x2: width - SIDE, y1: FLOOR, y2: FLOOR }),
    ...bar(x(-reach), x(reach), x(0), false),
  ]);
}

function frame(width, top, name, children) {
  const height = HEIGHT - top;
  return svg(
    "svg",
    {
      class: "dots",
      width,
      height,
      viewBox: `0 ${top} ${width} ${height}`,
      role: "img",
      "aria-label": name,
    },
    ...children,
  );
}

function lens([left, right], width) {
  const end = width - SIDE;
  return [
    svg("text", { class: "tick", x: SIDE, y: 12 }, "lowest of the rows"),
    svg("text", { class: "tick", x: end, y: 12, "text-anchor": "end" }, "highest"),
    svg("path", {
      class: "lens",
      d: `M ${left} ${LINE} L ${SIDE} ${TOP} V ${FLOOR} H ${end} V ${TOP} L ${right} ${LINE} Z`,
    }),
    svg("line", { class: "axis", x1: SIDE, x2: end, y1: LINE, y2: LINE }),
    svg("rect", {
      class: "bar",
      x: left,
      y: LINE - 3,
      width: Math.max(right - left, 2),
      height: 6,
    }),
  ];
}

function tick(x, text, width) {
  const half = text.length * 3.5;
  const at = Math.min(Math.max(x, half), width - half);
  return svg(
    "g",
    {},
    svg("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: FLOOR }),
    svg("text", { class: "tick", x: at, y: FLOOR + 18, "text-anchor": "middle" }, text),
  );
}

function bar(left, right, middle, beyond) {
  const end = (x, side) =>
    beyond
      ? svg("path", {
          class: "arrow",
          d: `M ${x + side * 9} ${MIDDLE} L ${x} ${MIDDLE - 8} V ${MIDDLE + 8} Z`,
        })
      : svg("line", { class: "end", x1: x, x2: x, y1: MIDDLE - 8, y2: MIDDLE + 8 });
  return [
    svg("rect", {
      class: "bar",
      x: left,
      y: MIDDLE - 4,
      width: Math.max(right - left, 1),
      height: 8,
    }),
    end(left, -1),
    end(right, 1),
    svg("circle", { class: "dot", cx: middle, cy: MIDDLE, r: 6 }),
  ];
}
