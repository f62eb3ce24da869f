// About how many rows match: the analyst's own word, which forecasts need where the policy's
// numbers do not tell it. No answer depends on it.

import { field, h } from "./dom.js";

export const EXPECT = "About how many rows match?";

/** The field, and what stands in it. */
export function expectField(changed) {
  const input = h("input", {
    type: "text",
    class: "short",
    inputmode: "numeric",
    autocomplete: "off",
    maxlength: 30,
    on: { input: changed },
  });
  const hint =
    "Optional, for the forecast alone: your guess, in each group. " +
    "It is needed where a filter or a unit bound leaves some rows out.";
  return {
    element: field(EXPECT, input, hint),
    /** What to add to a question. The service says what is wrong with it. */
    given() {
      const typed = input.value.replaceAll(/[\s,_']/g, "");
      if (!typed) return {};
      const number = Number(typed);
      return { expect: Number.isSafeInteger(number) ? number : typed };
    },
  };
}
