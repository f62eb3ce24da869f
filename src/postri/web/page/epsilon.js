// The control for epsilon: a slider whose steps grow with the value, and a field for any exact
// number.

import { field, h } from "./dom.js";
import { rational, toNumber } from "./rational.js";

const DECADE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
const STEPS = [0.001, 0.01, 0.1, 1]
  .flatMap((power) => DECADE.map((each) => Number((each * power).toPrecision(3))))
  .concat(10);
export const WHAT =
  "Epsilon is how much privacy the question spends. " +
  "A larger one gives a shorter bar, and leaves less budget for later questions.";

/** Slider and field; `changed` is called whenever the value is another. */
export function epsilonControl(changed) {
  const slider = h("input", { type: "range", min: 0, step: 1, on: { input: slid } });
  const text = h("input", {
    type: "text",
    class: "short",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: typed },
  });
  let steps = STEPS;

  function slid() {
    text.value = String(steps[slider.value]);
    told();
  }

  function typed() {
    const number = rational(text.value);
    if (number && number.top > 0n) slider.value = nearest(steps, toNumber(number));
    told();
  }

  function told() {
    slider.setAttribute("aria-valuetext", `epsilon ${text.value}`);
    changed();
  }

  return {
    element: h(
      "fieldset",
      { class: "epsilon" },
      h("legend", {}, "Epsilon"),
      h(
        "div",
        { class: "epsilon-row" },
        h(
          "div",
          { class: "slider" },
          field("How much to spend", slider),
          h(
            "p",
            { class: "slider-ends", "aria-hidden": "true" },
            h("span", {}, "cheap, long bar"),
            h("span", {}, "costly, short bar"),
          ),
        ),
        field("Exact value", text),
      ),
      h("p", { class: "hint" }, WHAT),
    ),
    get value() {
      return text.value.trim();
    },
    /** Set the value without asking for a price. */
    set(value) {
      text.value = value;
      const number = rational(value);
      if (number) slider.value = nearest(steps, toNumber(number));
      slider.setAttribute("aria-valuetext", `epsilon ${value}`);
    },
    /** Offer nothing above this. */
    limit(most) {
      steps = STEPS.filter((each, place) => place === 0 || each <= most);
      slider.max = steps.length - 1;
      this.set(text.value);
    },
    /** Whether the value follows from something else, and is shown alone. */
    follow(other) {
      slider.disabled = other;
      text.disabled = other;
    },
    focus: () => text.focus(),
  };
}

function nearest(steps, value) {
  const far = (each) => Math.abs(Math.log(each / value));
  return steps.reduce((best, each, place) => (far(each) < far(steps[best]) ? place : best), 0);
}
