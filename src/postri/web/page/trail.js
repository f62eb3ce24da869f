// The audit trail: every spend, never an answer's value.

import * as api from "./api.js";
import { button, fill, h, table } from "./dom.js";
import { problemBox } from "./problems.js";
import { ledgerWords } from "./questions.js";
import { plain } from "./rational.js";
import { moment } from "./values.js";

const PAGE = 50;
const HEAD = [
  "number",
  "time",
  "what",
  "dataset",
  "analyst",
  "epsilon",
  "question",
  "what became of it",
];

/** The view "Audit trail". */
export function trailView() {
  const head = h("p", { class: "hint head-line" });
  const place = h("div", {});
  const more = h("p", { class: "buttons" });
  let seen = [];

  async function load(after) {
    try {
      const page = await api.get(`ledger?limit=${PAGE}${after === null ? "" : `&after=${after}`}`);
      seen = after === null ? page.entries : [...seen, ...page.entries];
      head.textContent = `Head of the ledger's chain: ${page.head}`;
      fill(
        place,
        seen.length
          ? table("Audit trail", HEAD, seen.map(cells), [0, 5])
          : h("p", {}, "Nothing has been asked yet."),
      );
      fill(more, page.next === null ? null : button("Show more entries", () => load(page.next)));
    } catch (error) {
      fill(more, problemBox(error, { retry: () => load(after) }));
    }
  }

  return {
    title: "Audit trail",
    element: h(
      "div",
      { class: "view" },
      h("section", { class: "card" }, h("h2", {}, "Audit trail"), head, place, more),
    ),
    show() {
      load(null);
    },
  };
}

function cells({ number, time, kind, dataset, analyst, epsilon, question, fate }) {
  return [
    String(number),
    moment(time),
    kind,
    dataset ?? "",
    analyst ?? "",
    epsilon && epsilon !== "0" ? plain(epsilon) : "",
    question ? asked(question) : "",
    fate ?? "",
  ];
}

/** The question in words, and the whole of it for those who open it. */
function asked(text) {
  try {
    return h("details", {}, h("summary", {}, ledgerWords(text)), h("code", {}, text));
  } catch {
    return h("code", {}, text);
  }
}
