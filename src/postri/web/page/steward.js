// The steward's budgets: what each dataset has spent, by analyst; how a budget is changed, and how a
// closed dataset is opened.

import * as api from "./api.js";
import { announce, button, confirming, field, fill, h, table } from "./dom.js";
import { bar } from "./budget.js";
import { copy } from "./files.js";
import { problemBox } from "./problems.js";
import { plain, rational, toNumber } from "./rational.js";
import { stewardHelp } from "./welcome.js";

const SHADES = 5;
const BARE_KEY = /^[A-Za-z0-9_-]+$/;

/** The view "Budgets". */
export function budgetsView(desk) {
  const isUnused = Object.values(desk.budget).every(({ entries }) => Number(entries) === 0);
  const list = h("div", { class: "view" });

  async function load() {
    try {
      const budgets = Object.entries(await api.get("budget"));
      fill(list, ...budgets.map(([name, facts]) => card(name, facts, load)));
    } catch (error) {
      fill(list, problemBox(error, { retry: load }));
    }
  }

  return {
    title: "Budgets",
    element: h("div", { class: "view" }, stewardHelp(isUnused), list),
    show: load,
  };
}

function card(name, facts, load) {
  const analysts = Object.entries(facts.analysts ?? {}).sort(
    ([, one], [, other]) => spent(other) - spent(one),
  );
  const spends = `${plain(facts.spent)} of ${plain(facts.budget)} is spent`;
  const rest = `${plain(facts.remaining)} is left`;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, name),
    facts.closed ? closed(name, load) : null,
    h("p", {}, `${spends}, ${rest}; ${entries(facts.entries)} in the ledger.`),
    bar(
      facts.budget,
      analysts.map(([, each], place) => ({ amount: each.spent, kind: shade(place) })),
    ),
    analysts.length
      ? byAnalyst(name, analysts)
      : h("p", { class: "hint" }, "Nobody has asked anything of it yet."),
    facts.accountant === "pure"
      ? null
      : h(
          "p",
          { class: "hint" },
          `Under ${facts.accountant} the parts add up to more than the whole costs.`,
        ),
    changing(name, facts),
  );
}

/** That a dataset is closed, and how it is opened. */
function closed(name, load) {
  function ask() {
    confirming({
      title: `Open ${name} again?`,
      words:
        "Too many of its questions failed, and whether a question fails may tell something of " +
        "the data. Look under Audit trail why they did, and open it when that is mended. What " +
        "they cost stays spent.",
      yes: "Open it again",
      no: "Leave it closed",
      async act() {
        await api.post(`datasets/${encodeURIComponent(name)}/opening`, {});
        announce(`${name} is open again`);
        await load();
      },
    });
  }
  return h(
    "div",
    { class: "box" },
    h("h3", {}, "Closed for now"),
    h("p", {}, "Too many of its questions failed. Recorded answers can still be seen."),
    h("p", { class: "buttons" }, button(`Open ${name} again ...`, ask)),
  );
}

/**
 * The lines of the policy's file that change a budget. The page does not write them: what the
 * steward promises stands in one place, which the steward owns.
 */
function changing(name, facts) {
  const amount = h("input", {
    type: "text",
    class: "short",
    inputmode: "decimal",
    autocomplete: "off",
    prop: { value: plain(facts.budget) },
    on: { input: write },
  });
  const lines = h("pre", { tabindex: "0", "aria-label": `The lines for ${name}` });
  const words = h("p", { class: "hint", "aria-live": "polite" });
  const used = rational(facts.spent);

  function write() {
    const written = rational(amount.value);
    if (written === null || written.top <= 0n) {
      words.textContent = "A budget is a positive number, such as 5 or 1/2.";
      fill(lines);
      return;
    }
    const key = BARE_KEY.test(name) ? name : JSON.stringify(name);
    lines.textContent = `[datasets.${key}]\nbudget = "${plain(amount.value)}"`;
    const left = toNumber(written) - toNumber(used);
    words.textContent =
      left > 0
        ? `Of it ${plain(facts.spent)} is spent already.`
        : "All of it is spent already: no new question is answered, recorded answers stay free.";
  }

  function close() {
    amount.value = plain(facts.spent);
    write();
  }

  write();
  return h(
    "details",
    {},
    h("summary", {}, `Change the budget of ${name}, or close it`),
    h(
      "p",
      { class: "hint" },
      "The policy's file sets budgets, and the page does not write it: so whoever has a token " +
        "cannot raise one. Change this line there. Every service on it takes the edit within " +
        "seconds, without a restart, and the next question writes it down in the ledger.",
    ),
    h(
      "div",
      { class: "changing" },
      field("New budget", amount),
      used.top > 0n ? button("Close for new questions", close) : null,
    ),
    lines,
    words,
    button("Copy the lines", (event) => copy(lines.textContent, event.target, lines)),
  );
}

const spent = (each) => toNumber(rational(each.spent));
const shade = (place) => `shade-${place % SHADES}`;
const entries = (number) => (Number(number) === 1 ? "1 entry" : `${number} entries`);

function byAnalyst(name, analysts) {
  const rows = analysts.map(([analyst, each], place) => [
    h(
      "span",
      { class: "analyst" },
      h("span", { class: `swatch ${shade(place)}`, "aria-hidden": "true" }),
      analyst,
    ),
    plain(each.spent),
    each.allowance === null ? "none" : plain(each.allowance),
    String(each.entries),
  ]);
  return table(
    `Spent on ${name} by analyst`,
    ["analyst", "spent", "allowance", "entries"],
    rows,
    [1, 2, 3],
  );
}
