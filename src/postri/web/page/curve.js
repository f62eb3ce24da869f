// A distribution as a picture: the share of the rows below each value, with the band that the
// intervals of its quantiles make. It answers the mouse, the finger and the keyboard: each reading
// is one released quantile with its own interval.

import { field, h, svg, table } from "./dom.js";
import { mark } from "./bars.js";
import { between, extent, highEnd, liveChart, lowEnd, ticksFor } from "./chart.js";
import { fitting, scale } from "./scale.js";
import { percent, place, shown } from "./values.js";

const SIDE = 14;
const LEFT = 52;
const TOP = 12;
const PLOT = 250;
const FLOOR = TOP + PLOT;
const HEIGHT = FLOOR + 30;
const LETTER = 7;
const SHARES = [0, 0.25, 0.5, 0.75, 1];

/** The quantiles of a distribution, each with the share of the rows below it. */
export function curvePoints(quantiles) {
  // Answers of an older form do not tell the share: it rises evenly.
  return quantiles.map((each, number) => ({
    ...each,
    share: Number(each.p ?? (number + 1) / (quantiles.length + 1)),
  }));
}

/** The curve with a reading that moves, and the table of all readings. */
export function curve(quantiles) {
  const points = curvePoints(quantiles);
  const reading = h("p", { class: "headline reading" });
  const hand = h("input", {
    type: "range",
    min: 0,
    max: points.length - 1,
    step: 1,
    prop: { value: String(Math.floor(points.length / 2)) },
    on: { input: () => read(Number(hand.value)) },
  });
  let cursor = null;

  function draw(width) {
    const plot = plotOf(points, width);
    cursor = { plot, element: svg("g", { class: "cursor" }) };
    const follow = (event) => read(nearest(points, plot, spot(event, picture)));
    const picture = curveChart(points, width, curveWords(points), cursor.element);
    picture.addEventListener("pointermove", follow);
    picture.addEventListener("pointerdown", follow);
    read(Number(hand.value));
    return picture;
  }

  /** Tell one quantile, in words and in the picture. */
  function read(number) {
    const point = points[number];
    hand.value = String(number);
    hand.setAttribute("aria-valuetext", words(point));
    reading.replaceChildren(
      h("strong", {}, shown(point.value)),
      ` ${point.statistic}, ${between(point)}`,
    );
    cursor?.element.replaceChildren(...cursorOf(point, cursor.plot));
  }

  read(Number(hand.value));
  return [
    reading,
    liveChart(draw),
    field("Quantile to read", hand, "Move over the curve, or use this slider."),
    h(
      "details",
      {},
      h("summary", {}, `All ${points.length} quantiles of the picture`),
      table(
        "Quantiles of the picture",
        ["quantile", "value", "low", "high"],
        points.map((point) => [
          point.statistic,
          shown(point.value),
          lowEnd(point),
          highEnd(point),
        ]),
        [1, 2, 3],
      ),
    ),
  ];
}

const words = (point) => `${point.statistic} ${shown(point.value)}, ${between(point)}`;

/** What a screen reader says of the picture. */
export function curveWords(points) {
  return `Share of the rows below each value: ${points.map(words).join("; ")}`;
}

/** The picture, `width` pixels wide, with `more` on top of it. */
export function curveChart(points, width, name, more = null) {
  const plot = plotOf(points, width);
  return svg(
    "svg",
    {
      class: "dots curve",
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: "img",
      "aria-label": name,
    },
    ...SHARES.map((share) => mark(plot.y(share), percent(share), LEFT, width - SIDE)),
    ...plot.ticks.map(({ at, text }) => tick(plot.x(at), text, width)),
    svg("polygon", { class: "bar band", points: bandOf(points, plot) }),
    svg("polyline", {
      class: "line",
      points: points.map((point) => corner(plot, point.value, point.share)).join(" "),
    }),
    ...points.flatMap((point) => arrows(point, plot)),
    svg("line", { class: "axis", x1: LEFT, x2: width - SIDE, y1: FLOOR, y2: FLOOR }),
    more,
  );
}

function plotOf(points, width) {
  const [low, high] = extent(points);
  return {
    x: scale(low, high, LEFT, width - SIDE),
    y: scale(0, 1, FLOOR, TOP),
    ticks: fitting(ticksFor(points), low, high, width - SIDE - LEFT),
  };
}

const corner = ({ x, y }, value, share) => `${x(place(value))},${y(share)}`;

/**
 * The band, in steps: between two quantiles a value lies no lower than the lower end of the one,
 * and no higher than the upper end of the other.
 */
function bandOf(points, plot) {
  const steps = points.slice(1).map((point, before) => [points[before], point]);
  const [first, last] = [points[0], points.at(-1)];
  const left = steps.flatMap(([one, next]) => [
    corner(plot, one.low, one.share),
    corner(plot, one.low, next.share),
  ]);
  const right = steps.flatMap(([one, next]) => [
    corner(plot, next.high, one.share),
    corner(plot, next.high, next.share),
  ]);
  return [
    ...left,
    corner(plot, last.low, last.share),
    corner(plot, last.high, last.share),
    ...right.reverse(),
    corner(plot, first.high, first.share),
  ].join(" ");
}

/** An arrow at each end that means "or beyond". */
function arrows(point, { x, y }) {
  const at = y(point.share);
  const arrow = (end, side) =>
    svg("path", {
      class: "arrow",
      d: `M ${end + side * 7} ${at} L ${end} ${at - 4} L ${end} ${at + 4} Z`,
    });
  return [
    ...(point.low_is_edge ? [arrow(x(place(point.low)), -1)] : []),
    ...(point.high_is_edge ? [arrow(x(place(point.high)), 1)] : []),
  ];
}

function tick(x, text, width) {
  const half = (text.length * LETTER) / 2;
  const at = Math.min(Math.max(x, half), width - half);
  return svg(
    "g",
    {},
    svg("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: FLOOR }),
    svg("text", { class: "tick", x: at, y: FLOOR + 19, "text-anchor": "middle" }, text),
  );
}

/** The interval that is read, its value, and where they stand on both axes. */
function cursorOf(point, { x, y }) {
  const [low, value, high] = [point.low, point.value, point.high].map((end) => x(place(end)));
  const at = y(point.share);
  return [
    svg("line", { class: "hair", x1: LEFT, x2: value, y1: at, y2: at }),
    svg("line", { class: "hair", x1: value, x2: value, y1: at, y2: FLOOR }),
    svg("line", { class: "end", x1: low, x2: high, y1: at, y2: at }),
    svg("line", { class: "end", x1: low, x2: low, y1: at - 6, y2: at + 6 }),
    svg("line", { class: "end", x1: high, x2: high, y1: at - 6, y2: at + 6 }),
    svg("circle", { class: "dot", cx: value, cy: at, r: 6 }),
  ];
}

/** Where a pointer stands in the picture, in its own pixels. */
function spot(event, picture) {
  const box = picture.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** The number of the quantile that is drawn nearest to a spot. */
function nearest(points, { x, y }, [left, top]) {
  const far = points.map((point) =>
    Math.hypot(x(place(point.value)) - left, y(point.share) - top),
  );
  return far.indexOf(Math.min(...far));
}
