// From a question to its answer: the price first, then the ask, then the result. Used by the
// planner and by the SQL editor.

import * as api from "./api.js";
import { announce, button, fill, h } from "./dom.js";
import { answerSection, spoken } from "./answer.js";
import { budgetBars } from "./budget.js";
import { forecastFigure } from "./forecast.js";
import { mayRetry, problemBox } from "./problems.js";
import { plain } from "./rational.js";
import { sentence } from "./values.js";

const PAUSE = 250;

/**
 * The panel beside a form. `question()` gives what the form says now, or null if it is not
 * complete; `dataset()` the name of its dataset, or null if that is not known. `priced` is told
 * every price.
 */
export function askingPanel(desk, { question, dataset, setEpsilon, priced = () => {} }) {
  const forecast = h("div", { class: "forecasts", "aria-live": "polite" });
  const costs = h("div", { class: "costs" });
  const ask = button("Ask", () => start(question()), "primary ask");
  const trouble = h("div", { class: "trouble" });
  const result = h("div", { class: "result" });
  let waiting = null;
  let asked = null;
  let busy = false;
  let pricing = false;

  /**
   * Ask for the price once the form has been left alone for a moment. Nothing is asked while its
   * price is on the way.
   */
  function refresh() {
    clearTimeout(waiting);
    asked?.abort();
    waiting = setTimeout(price, PAUSE);
    hold({ pricing: true });
  }

  function hold(now) {
    ({ busy = busy, pricing = pricing } = now);
    ask.setAttribute("aria-disabled", String(busy || pricing));
  }

  async function price() {
    const now = question();
    if (now === null) return showNothing();
    asked = new AbortController();
    const { signal } = asked;
    try {
      showPrice(await api.post("price", now, { signal }));
    } catch (error) {
      if (!signal.aborted) showRefusal(error);
    }
  }

  function showNothing() {
    fill(
      forecast,
      h("p", { class: "hint" }, "Complete the question to see how far its bar will reach."),
    );
    fill(costs);
    offer("Ask");
  }

  function offer(text) {
    ask.textContent = text;
    hold({ pricing: false });
  }

  function showPrice(found) {
    priced(found);
    const figures = Object.entries(found.forecasts);
    fill(
      forecast,
      ...figures.map(([name, each]) => forecastFigure(name, each, figures.length === 1)),
    );
    fill(costs, h("p", { class: "price" }, priceWords(found)), bars(found));
    offer(
      found.recorded
        ? "Show the recorded answer, free"
        : `Ask, and spend epsilon ${plain(found.charged)}`,
    );
  }

  function priceWords({ recorded, refused, charged }) {
    if (recorded) return "This was asked before. The recorded answer costs nothing.";
    if (refused) return h("span", { class: "refused" }, `Would be refused: ${sentence(refused)}`);
    return `Costs epsilon ${plain(charged)}. Nothing is spent until you ask.`;
  }

  function bars({ charged }) {
    const name = dataset();
    const facts = name === null ? null : desk.budget[name];
    return facts ? budgetBars(name, facts, charged) : null;
  }

  function showRefusal(error) {
    fill(forecast, problemBox(error, { retry: refresh }));
    fill(costs);
    offer("Ask");
  }

  /** Every ask has a key of its own; a retry repeats it. */
  function start(now) {
    if (busy || pricing) return;
    if (now === null)
      return fill(
        trouble,
        h("p", { class: "box problem", role: "alert" }, "The question is not complete."),
      );
    send(now, newKey());
  }

  async function send(now, key) {
    hold({ busy: true });
    announce("Asking");
    fill(trouble);
    try {
      const answered = await api.query(now, key);
      await showAnswer(now, answered);
    } catch (error) {
      const retry = mayRetry(error) ? () => send(now, key) : null;
      fill(result);
      fill(trouble, problemBox(error, { retry, useRest: setEpsilon, asked: true }));
      if (error.fields?.spent || error.code === "budget_exceeded") await desk.refreshBudget();
    } finally {
      hold({ busy: false });
    }
    refresh();
  }

  async function showAnswer(now, answered) {
    const section = answerSection(now, answered);
    fill(result, section);
    announce(spoken(answered));
    const title = section.querySelector(".answer-title");
    title.focus({ preventScroll: true });
    section.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
    await desk.refreshBudget();
  }

  const panel = h(
    "section",
    { class: "card preview" },
    h("h2", {}, "Before you ask"),
    h(
      "p",
      { class: "hint" },
      "A forecast from public numbers alone: the data are not looked at, and nothing is spent.",
    ),
    forecast,
    costs,
    ask,
    trouble,
  );
  return { panel, result, refresh };
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** 128 random bits, also on pages that are not served over TLS. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
