// The steward's budgets: what each dataset has spent, by analyst.

import * as api from "./api.js";
import { fill, h, table } from "./dom.js";
import { bar } from "./budget.js";
import { problemBox } from "./problems.js";
import { plain, rational, toNumber } from "./rational.js";

const SHADES = 5;

/** The view "Budgets". */
export function budgetsView() {
  const list = h("div", { class: "view" });

  async function load() {
    try {
      const budgets = Object.entries(await api.get("budget"));
      fill(list, ...budgets.map(([name, facts]) => card(name, facts)));
    } catch (error) {
      fill(list, problemBox(error, { retry: load }));
    }
  }

  return { title: "Budgets", element: list, show: load };
}

function card(name, facts) {
  const analysts = Object.entries(facts.analysts ?? {}).sort(
    ([, one], [, other]) => spent(other) - spent(one),
  );
  const spends = `${plain(facts.spent)} of ${plain(facts.budget)} is spent`;
  const rest = `${plain(facts.remaining)} is left`;
  return h(
    "section",
    { class: "card" },
    h("h2", {}, name),
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
