// The audit trail: every spend, newest first, never an answer's value.

import * as api from "./api.js";
import { announce, button, field, fill, h, table } from "./dom.js";
import { csvLines, download, safeCell } from "./files.js";
import { problemBox } from "./problems.js";
import { ledgerWords } from "./questions.js";
import { plain } from "./rational.js";
import { moment } from "./values.js";
import { verification } from "./verification.js";

const PAGE = 50;
const FILE_PAGE = 1_000;
const COLUMNS = ["number", "time", "kind", "dataset", "analyst", "epsilon", "question", "fate"];
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
// The kinds of entries, as people call them.
const KINDS = {
  reserve: "question",
  "reserve-delta": "question with a delta",
  answer: "answer",
  failure: "failure",
  budget: "budget",
  terms: "terms",
  restated: "spends restated",
  protection: "protection accepted",
  reopened: "opened again",
  restored: "older ledger accepted",
  "restored-delta": "older ledger with a delta accepted",
};

/** The view "Audit trail". */
export function trailView(desk) {
  const head = h("p", { class: "hint head-line" });
  const place = h("div", {});
  const more = h("p", { class: "buttons" });
  const outcome = h("div", {});
  const dataset = choice(
    "all datasets",
    desk.datasets.map(({ name }) => [name, name]),
  );
  const kind = choice("all kinds", Object.entries(KINDS));
  const analyst = h("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
    list: "analysts",
    on: { change: fresh },
  });
  const names = new Set(
    Object.values(desk.budget).flatMap(({ analysts }) => Object.keys(analysts ?? {})),
  );
  let seen = [];
  let turns = 0;

  function choice(all, options) {
    return h(
      "select",
      { on: { change: fresh } },
      h("option", { value: "" }, all),
      ...options.map(([value, text]) => h("option", { value }, text)),
    );
  }

  /** The address of a page of what is wanted; those below a number, or from the newest on. */
  function address(limit, before) {
    const query = new URLSearchParams({ order: "newest", limit });
    const wanted = { dataset: dataset.value, kind: kind.value, analyst: analyst.value.trim() };
    for (const [name, value] of Object.entries(wanted)) if (value) query.set(name, value);
    if (before !== null) query.set("before", before);
    return `ledger?${query}`;
  }

  function fresh() {
    load(null);
  }

  async function load(before) {
    const turn = ++turns;
    try {
      const page = await api.get(address(PAGE, before));
      // Another filter was chosen meanwhile.
      if (turn !== turns) return;
      seen = before === null ? page.entries : [...seen, ...page.entries];
      head.textContent = `Head of the ledger's chain: ${page.head}`;
      fill(
        place,
        seen.length
          ? table("Audit trail", HEAD, seen.map(cells), [0, 5], true)
          : h("p", {}, page.next === null ? nothing() : "Nothing among the newest entries."),
      );
      fill(more, page.next === null ? null : button("Show older entries", () => load(page.next)));
    } catch (error) {
      fill(more, problemBox(error, { retry: () => load(before) }));
    }
  }

  const isFiltered = () => Boolean(dataset.value || kind.value || analyst.value.trim());
  const nothing = () => (isFiltered() ? "No entry fits the filters." : "Nothing was asked yet.");

  /** All entries that fit the filters, as a file. */
  async function save() {
    announce("Fetching the entries");
    fill(outcome);
    try {
      const lines = [];
      let before = null;
      do {
        const page = await api.get(address(FILE_PAGE, before));
        lines.push(...page.entries.map((entry) => COLUMNS.map((name) => fileCell(entry[name]))));
        before = page.next;
      } while (before !== null);
      download("postri-audit-trail.csv", "text/csv", csvLines([COLUMNS, ...lines]));
      announce(`${lines.length} entries are in the file`);
    } catch (error) {
      fill(outcome, problemBox(error, { retry: save }));
    }
  }

  return {
    title: "Audit trail",
    element: h(
      "div",
      { class: "view" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Audit trail"),
        h(
          "p",
          { class: "hint" },
          "Every entry of the ledger, the newest first; never an answer's value.",
        ),
        h("datalist", { id: "analysts" }, ...[...names].map((value) => h("option", { value }))),
        h(
          "form",
          { class: "inline-form", on: { submit: (event) => (event.preventDefault(), fresh()) } },
          field("Dataset", dataset),
          field("Kind", kind),
          field("Analyst", analyst),
          button("Download CSV", save),
        ),
        outcome,
        place,
        more,
      ),
      verification(head),
    ),
    show() {
      load(null);
    },
  };
}

const fileCell = (value) => safeCell(String(value ?? ""));

function cells({ number, time, kind, dataset, analyst, epsilon, question, fate }) {
  return [
    String(number),
    moment(time),
    KINDS[kind] ?? kind,
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
