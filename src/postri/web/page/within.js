// How near an answer is wanted: the service finds the epsilon for it, from public numbers.

import { field, h } from "./dom.js";

export const WITHIN = "Or: how near is it wanted?";

/** The field, and what stands in it; `changed` is called whenever that is another. */
export function withinField(changed) {
  const input = h("input", {
    type: "text",
    class: "short",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 60,
    on: { input: changed },
  });
  const hint =
    "Optional: 500 for a bar of at most 500 to each side, by the forecast; for a quantile " +
    "1 percentile or 75 rows. Then it costs the least epsilon that this takes.";
  return {
    element: field(WITHIN, input, hint),
    get value() {
      return input.value.trim();
    },
  };
}
