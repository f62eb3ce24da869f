// Whether the ledger is what it says: its chain of hashes, its totals, and a head that was kept
// elsewhere.

import * as api from "./api.js";
import { announce, button, field, fill, h } from "./dom.js";
import { problemBox } from "./problems.js";
import { shown } from "./values.js";

const ABOUT =
  "Each entry holds the hash of the one before it, so that none can be changed or left out " +
  "unseen. Keep the head somewhere else: with it you see later whether the ledger was replaced.";

/** The steward's check; `head` is where the head of the chain is told. */
export function verification(head) {
  const kept = h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const outcome = h("div", {});
  const start = button("Verify the ledger", verify, "primary");

  async function verify(event) {
    event.preventDefault();
    if (start.getAttribute("aria-disabled") === "true") return;
    start.setAttribute("aria-disabled", "true");
    fill(outcome, h("p", {}, "Reading every entry ..."));
    try {
      fill(outcome, found(await api.post("ledger/verification", { head: kept.value.trim() || null })));
    } catch (error) {
      fill(outcome, problemBox(error, { retry: () => start.click() }));
    }
    start.removeAttribute("aria-disabled");
  }

  return h(
    "section",
    { class: "card" },
    h("h2", {}, "The ledger itself"),
    h("p", { class: "hint" }, ABOUT),
    head,
    h(
      "form",
      { class: "inline-form", on: { submit: verify } },
      field("A head that you kept", kept, "Optional: a line as above, from an earlier day"),
      start,
    ),
    outcome,
  );
}

function found({ entries, problems }) {
  if (!problems.length) {
    const words = `The ledger is whole: ${shown(entries)} entries, and all of them fit.`;
    announce(words);
    return h("p", { class: "box made" }, words);
  }
  announce(`${problems.length} problems were found`);
  return h(
    "div",
    { class: "box problem", role: "alert" },
    h("h3", {}, "The ledger is not what it says"),
    h("ul", {}, ...problems.map((problem) => h("li", {}, problem))),
  );
}
