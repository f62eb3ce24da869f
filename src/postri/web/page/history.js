// Past answers, again at no cost.

import * as api from "./api.js";
import { button, fill, h } from "./dom.js";
import { answerSection } from "./answer.js";
import { problemBox } from "./problems.js";
import { inWords } from "./questions.js";
import { plain } from "./rational.js";
import { moment } from "./values.js";

const PAGE = 20;

/** The view "History". */
export function historyView() {
  const list = h("ul", { class: "history" });
  const more = h("p", { class: "buttons" });
  const trouble = h("div", {});

  async function load(before) {
    fill(trouble);
    try {
      const page = await api.get(
        `answers?limit=${PAGE}${before ? `&before=${encodeURIComponent(before)}` : ""}`,
      );
      if (!before) list.replaceChildren();
      list.append(...page.answers.map(entry));
      if (!list.children.length) fill(trouble, h("p", {}, "You have asked nothing yet."));
      fill(more, page.next ? button("Show older answers", () => load(page.next)) : null);
    } catch (error) {
      fill(trouble, problemBox(error, { retry: () => load(before) }));
    }
  }

  return {
    title: "History",
    element: h(
      "div",
      { class: "view" },
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Your answers"),
        h("p", { class: "hint" }, "What was answered once can be seen again at no cost."),
        list,
        trouble,
        more,
      ),
    ),
    show() {
      load(null);
    },
  };
}

function entry(past) {
  const place = h("div", { class: "past-answer" });
  const words = past.question ? inWords(past.question) : "A question in an older form";
  const about = `${moment(past.time)} · ${past.dataset} · epsilon ${plain(past.epsilon)}`;
  return h(
    "li",
    {},
    h(
      "div",
      { class: "past" },
      h("div", {}, h("p", { class: "past-words" }, words), h("p", { class: "hint" }, about)),
      action(past, words, place),
    ),
    place,
  );
}

function action(past, words, place) {
  if (past.status !== "answered" || !past.result) return h("p", { class: "hint" }, fate(past));
  const toggle = button("Show answer", show, "plain", {
    "aria-expanded": "false",
    "aria-label": `Show answer: ${words}`,
  });
  function show() {
    const open = place.hasChildNodes();
    const question = { ...past.question, epsilon: past.question.epsilon ?? past.epsilon };
    const free = { ...past.result, charged: "0" };
    fill(place, open ? null : answerSection(question, free, "h3"));
    toggle.textContent = open ? "Show answer" : "Hide answer";
    toggle.setAttribute("aria-label", `${toggle.textContent}: ${words}`);
    toggle.setAttribute("aria-expanded", String(!open));
  }
  return toggle;
}

function fate(past) {
  if (past.status === "open") return "not finished";
  if (past.status === "answered") return "answered; the answer is retired";
  return "failed; its budget is spent";
}
