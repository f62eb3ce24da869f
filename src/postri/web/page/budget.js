// Budgets as bars: what is spent, what a question would take, what is left.

import { h } from "./dom.js";
import { minus, plain, rational, toNumber } from "./rational.js";

/**
 * One bar: the parts in order, each `{ amount, kind }`, as shares of the total. The words beside it
 * tell the same.
 */
export function bar(total, parts) {
  const whole = toNumber(rational(total)) || 1;
  const strip = h("div", { class: "budget-bar", "aria-hidden": "true" });
  for (const { amount, kind } of parts) {
    const part = h("span", { class: `part ${kind}` });
    part.style.width = `${Math.min((toNumber(rational(amount)) / whole) * 100, 100)}%`;
    strip.append(part);
  }
  return strip;
}

/** The budget of a dataset, and of it the analyst's allowance, with what a question would take. */
export function budgetBars(dataset, facts, cost) {
  const bars = [
    one(`Budget of ${dataset}, shared by all`, facts.budget, facts.spent, cost, facts.accountant),
  ];
  if (facts.allowance)
    bars.push(one("Your allowance on it", facts.allowance, facts.own, cost, facts.accountant));
  return h("div", { class: "budgets" }, ...bars);
}

function one(title, total, spent, cost, accountant) {
  const left = minus(rational(total), rational(spent));
  const after = minus(left, rational(cost));
  const short = after.top < 0n;
  return h(
    "div",
    { class: "budget" },
    h("p", { class: "budget-title" }, title),
    bar(total, [
      { amount: spent, kind: "spent" },
      { amount: cost, kind: short ? "cost short" : "cost" },
    ]),
    h("p", { class: "budget-words" }, words(total, spent, cost, left, after, accountant)),
  );
}

function words(total, spent, cost, left, after, accountant) {
  const rest = left.top < 0n ? "0" : plain(left);
  const start = `${plain(spent)} of ${plain(total)} is spent, ${rest} is left`;
  if (rational(cost).top === 0n) return `${start}.`;
  if (after.top < 0n) return `${start}: not enough for ${plain(cost)}.`;
  // Only pure epsilons add up; other accountants charge no more than that.
  const least = accountant === "pure" ? "" : "at least ";
  return `${start}; after this question ${least}${plain(after)}.`;
}
