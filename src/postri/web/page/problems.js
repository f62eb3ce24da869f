// What went wrong, shown where it happened.

import { button, h } from "./dom.js";
import { LostConnection, Problem } from "./api.js";
import { plain } from "./rational.js";
import { sentence } from "./values.js";

const TITLES = {
  forbidden: "Only a steward may do this",
  rate_limited: "Too many requests",
  busy: "The service is busy",
  shutting_down: "The service is shutting down",
  timed_out: "The question took too long",
  question_failed: "The question failed",
  questions_exceeded: "You have asked all your questions",
  closed: "This dataset is closed for now",
  retry_key_used: "This retry does not match the first try",
};

/**
 * Whether another try may help: no answer came, or nothing was begun. The same key is sent, so that
 * it is charged once.
 */
export function mayRetry(error) {
  return (
    error instanceof LostConnection || error.code === null || [429, 503].includes(error.status)
  );
}

/**
 * An error as a box. `retry` is offered where another try may help, `useRest` where less budget
 * would do; `asked` says that it is about a question.
 */
export function problemBox(error, { retry = null, useRest = null, asked = false } = {}) {
  if (error instanceof LostConnection) return lost(error, retry, asked);
  if (!(error instanceof Problem)) throw error;
  if (error.code === "budget_exceeded") return exhausted(error.fields, useRest);
  return box(TITLES[error.code] ?? "That does not work", error.message, [
    error.code === "closed"
      ? h("p", {}, "Answers that are in your history can still be seen, at no cost.")
      : null,
    retry && mayRetry(error) ? again(retry) : null,
  ]);
}

function box(title, detail, more, kind = "problem") {
  const [first, ...marked] = detail.split("\n");
  return h(
    "div",
    { class: `box ${kind}`, role: "alert" },
    h("h3", {}, title),
    h("p", { class: "detail" }, sentence(first)),
    marked.length
      ? h("pre", { tabindex: "0", "aria-label": "The place in the text" }, marked.join("\n"))
      : null,
    ...more,
  );
}

function lost(error, retry, asked) {
  const words =
    "It is not known whether the question arrived. " +
    "Trying again is safe: it is charged once, and the answer is the same.";
  return box("No connection", error.message, [
    asked ? h("p", {}, words) : null,
    retry ? again(retry) : null,
  ]);
}

function again(retry) {
  return h("p", { class: "buttons" }, button("Try again", retry, "primary"));
}

function exhausted({ detail, requested, remaining, short_by: shortBy }, useRest) {
  const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, plain(value)));
  return box(
    "Not enough budget",
    detail,
    [
      h(
        "dl",
        { class: "facts" },
        fact("asked for", requested),
        fact("left", remaining),
        fact("short by", shortBy),
      ),
      h("p", {}, "Nothing was spent. Answers that are in your history stay free."),
      useRest && remaining !== "0"
        ? h(
            "p",
            { class: "buttons" },
            button(`Use the ${plain(remaining)} that is left`, () => useRest(plain(remaining))),
          )
        : null,
    ],
    "exhausted",
  );
}
