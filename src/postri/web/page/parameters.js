// The fields for a statistic's parameters, as the service describes them: a list for a column,
// a text field for anything else.

import { columnWords } from "./columns.js";
import { field, fill, h } from "./dom.js";
import { fits, isList } from "./statistics.js";

/** The fields of one statistic at a time. What was typed or chosen is there again when it is. */
export function parameterFields(changed) {
  const element = h("div", { class: "parameters" });
  const typed = new Map();
  let lastColumn = "";
  let controls = [];

  /** Show the fields of a statistic that is asked of a dataset with these columns. */
  function show(statistic, columns) {
    const isColumn = ({ kind }) => kind === "column";
    const texts = statistic.parameters.filter((parameter) => !isColumn(parameter));
    const choices = statistic.parameters.filter(isColumn);
    const made = [
      ...texts.map((parameter) => textField(`${statistic.name} ${parameter.name}`, parameter)),
      ...choices.map((parameter) => columnField(parameter, columns)),
    ];
    controls = made.map(({ control, parameter }) => ({ control, parameter }));
    fill(element, ...made.flatMap(({ elements }) => elements));
  }

  function textField(key, parameter) {
    const control = h("input", {
      type: "text",
      class: isList(parameter) || parameter.kind === "condition" ? null : "short",
      autocomplete: "off",
      inputmode: parameter.kind === "share" ? "decimal" : null,
      prop: { value: typed.get(key) ?? parameter.default ?? "" },
      on: { input: remember },
    });
    function remember() {
      typed.set(key, control.value);
      changed();
    }
    const label = parameter.meaning || title(parameter.name);
    return { parameter, control, elements: [field(label, control)] };
  }

  function columnField(parameter, columns) {
    const names = columns.filter((each) => fits(parameter, each)).map((each) => each.name);
    const options = names.map((name) => h("option", { value: name }, name));
    if (parameter.optional) options.unshift(h("option", { value: "" }, "all rows"));
    const control = h("select", { on: { change: choose } }, ...options);
    const hint = h("p", { class: "hint" });
    function choose() {
      describe();
      changed();
    }
    function describe() {
      if (control.value) lastColumn = control.value;
      const column = columns.find((each) => each.name === control.value);
      hint.textContent = column ? columnWords(column) : "";
    }
    if (!parameter.optional && names.includes(lastColumn)) control.value = lastColumn;
    describe();
    return { parameter, control, elements: [field(title(parameter.name), control), hint] };
  }

  /** The values by name; null if one is missing that the question needs. */
  function given() {
    const values = controls.map(({ parameter, control }) => [parameter, control.value.trim()]);
    if (values.some(([parameter, value]) => !value && !parameter.optional)) return null;
    return Object.fromEntries(values.map(([parameter, value]) => [parameter.name, value]));
  }

  return { element, show, given };
}

const title = (name) => name.replace(/^./, (first) => first.toUpperCase()).replaceAll("_", " ");
