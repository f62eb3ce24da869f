// What a first visit needs to know: open until something was asked, and at hand afterwards.

import { h, svg } from "./dom.js";

const WIDTH = 300;

/** How asking works, for whoever has asked nothing yet. */
export function askingHelp(isFirst) {
  return help("How this works", isFirst, [
    [
      "Choose",
      "A dataset, a statistic and a column. Your steward has said which columns there are, and " +
        "what they may hold.",
    ],
    [
      "See the price",
      "Epsilon is how much privacy a question spends. The forecast shows how far the bar will " +
        "reach for it. Looking is free, and touches no data.",
    ],
    [
      "Ask",
      "The answer is a dot with its bar. The dot is the released value, with noise that protects " +
        "the people in the data. The bar holds the exact value in at least 95 of 100 draws.",
    ],
    [
      "Again for free",
      "What is spent comes back to nobody, but the same question again costs nothing: its answer " +
        "is on record, under History.",
    ],
  ]);
}

/** What a steward does here. */
export function stewardHelp(isFirst) {
  return help("What a steward does here", isFirst, [
    ["Give tokens", "Under Tokens: one for each person, with an allowance if you want one."],
    [
      "Watch budgets",
      "Each dataset has one, which all analysts share. It is spent once, and when it is gone no " +
        "new question is answered. The policy's file sets it.",
    ],
    [
      "Read the trail",
      "Under Audit trail: who asked what, when, and at what cost; never an answer's value. " +
        "Verify the ledger there, and keep its head somewhere else.",
    ],
  ]);
}

function help(title, isFirst, steps) {
  return h(
    "details",
    { class: "card help", open: isFirst },
    h("summary", {}, title),
    h(
      "ol",
      { class: "steps" },
      ...steps.map(([name, words]) => h("li", {}, h("strong", {}, name), h("p", {}, words))),
    ),
  );
}

/** An answer as a picture with its parts named, for those who have seen none. */
export function examplePicture() {
  const named = (x, y, anchor, text) =>
    svg("text", { class: "tick", x, y, "text-anchor": anchor }, text);
  return svg(
    "svg",
    {
      class: "dots example",
      viewBox: `0 0 ${WIDTH} 108`,
      role: "img",
      "aria-label": "An example: median 943, and a bar from 897 to 981",
    },
    svg("text", { class: "label", x: 150, y: 16, "text-anchor": "middle" }, "median 943"),
    svg("rect", { class: "bar", x: 70, y: 34, width: 150, height: 10 }),
    svg("line", { class: "end", x1: 70, x2: 70, y1: 29, y2: 49 }),
    svg("line", { class: "end", x1: 220, x2: 220, y1: 29, y2: 49 }),
    svg("circle", { class: "dot", cx: 150, cy: 39, r: 7 }),
    named(70, 66, "middle", "897"),
    named(220, 66, "middle", "981"),
    named(150, 84, "middle", "holds the exact median"),
    named(150, 100, "middle", "in at least 95 of 100 draws"),
  );
}
