// Histograms as a picture: a bar for each bin, with a whisker for its interval; a panel for each
// group, all on one scale. Bars have one width, whatever their edges: the height is a count.

import { svg } from "./dom.js";
import { ends } from "./chart.js";
import { fitting, scale, wholeTicks } from "./scale.js";
import { keyText, place, shown } from "./values.js";

const LETTER = 7;
const SIDE = 14;
const TOP = 12;
const LABEL = 24;
const PLOT = 170;
const FOOT = 30;
const GAP = 14;
const WIDEST_CAP = 6;

/** The most panels of one picture. */
export const MOST_PANELS = 24;

/** The names of answers by what one picture shows: the bins of a histogram together. */
export function pictures(answers) {
  const found = [];
  for (const [name, { bin }] of Object.entries(answers)) {
    if (bin?.number > 0 && found.length) found.at(-1).push(name);
    else found.push([name]);
  }
  return found;
}

/** A bin in words: "0 to below 10"; the last one may hold its upper edge. */
export function binWords({ low, high, closed }) {
  return `${shown(low)} to ${closed ? "" : "below "}${shown(high)}`;
}

/** The bars of a histogram in each group, as panels of a chart. */
export function panels(groups, names) {
  return groups.map(({ keys, answers }) => ({
    label: Object.values(keys).map(keyText).join(", "),
    bars: names.map((name) => answers[name]),
  }));
}

/** What a screen reader says of a panel. */
export function panelWords({ label, bars }) {
  const told = bars.map((bar) => `${binWords(bar.bin)}: ${shown(bar.value)} [${ends(bar)}]`);
  return [label, told.join("; ")].filter(Boolean).join(": ");
}

/** The panels below one another, `width` pixels wide. `name` is what a screen reader says. */
export function barChart(all, width, name) {
  const most = Math.max(...all.flatMap(({ bars }) => bars.map(({ high }) => place(high))), 1);
  const marks = fitting(wholeTicks, 0, most, PLOT * 2, 5);
  const left = SIDE + Math.max(...marks.map(({ text }) => text.length)) * LETTER + 6;
  const label = all.some((each) => each.label) ? LABEL : 0;
  const each = TOP + label + PLOT + FOOT + GAP;
  const height = all.length * each - GAP;
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
      panelOf(panel, { marks, most, left, width, top: number * each + TOP + label }),
    ),
  );
}

function panelOf({ label, bars }, { marks, most, left, width, top }) {
  const floor = top + PLOT;
  const y = scale(0, most, floor, top);
  const right = width - SIDE;
  const wide = (right - left) / bars.length;
  return svg(
    "g",
    { class: "panel" },
    label ? svg("text", { class: "label", x: SIDE, y: top - 14 }, label) : null,
    ...marks.map(({ at, text }) => mark(y(at), text, left, right)),
    ...bars.map((bar, number) => barOf(bar, left + number * wide, wide, y, floor)),
    svg("line", { class: "axis", x1: left, x2: right, y1: floor, y2: floor }),
    ...edges(bars, left, wide, floor, width),
  );
}

/** A line of the grid with its text to the left. */
export function mark(y, text, left, right) {
  return svg(
    "g",
    {},
    svg("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
    svg("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, text),
  );
}

function barOf(bar, x, wide, y, floor) {
  const [low, value, high] = [bar.low, bar.value, bar.high].map((point) => y(place(point)));
  const middle = x + wide / 2;
  const cap = Math.min(WIDEST_CAP, wide / 3);
  const gap = wide > 4 ? 1 : 0;
  const line = (x1, x2, y1, y2) => svg("line", { class: "whisker", x1, x2, y1, y2 });
  return svg(
    "g",
    { class: "bin" },
    svg("title", {}, `${binWords(bar.bin)}: ${shown(bar.value)} [${ends(bar)}]`),
    svg("rect", { class: "bar", x, y: value, width: wide - gap, height: floor - value }),
    line(middle, middle, low, high),
    line(middle - cap, middle + cap, low, low),
    line(middle - cap, middle + cap, high, high),
  );
}

/** The edges, each where one bin ends and the next begins; as many as there is room for. */
function edges(bars, left, wide, floor, width) {
  const texts = [bars[0].bin.low, ...bars.map(({ bin }) => bin.high)].map(shown);
  const longest = Math.max(...texts.map((text) => text.length)) * LETTER + 10;
  const every = Math.max(1, Math.ceil(longest / wide));
  return texts.flatMap((text, number) => {
    if (number % every) return [];
    const x = left + number * wide;
    const half = (text.length * LETTER) / 2;
    const at = Math.min(Math.max(x, half), width - half);
    return [
      svg("line", { class: "axis", x1: x, x2: x, y1: floor, y2: floor + 5 }),
      svg("text", { class: "tick", x: at, y: floor + 19, "text-anchor": "middle" }, text),
    ];
  });
}
