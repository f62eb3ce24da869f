// The filter of a question, with the columns at hand while it is written: their types, ranges and
// public keys, each of which is put into the text by a press.

import { columnWords, keySql } from "./columns.js";
import { button, field, fill, h } from "./dom.js";
import { quoted } from "./statistics.js";

const MOST_KEYS = 12;
const AWAITS_VALUE = /(=|<|>|,|\bin\s*\()\s*$/i;
const AWAITS_CONDITION = /(^|\(|\b(and|or|not))\s*$/i;

/** The field; `changed` is called whenever its text is another. */
export function filterField(changed) {
  const input = h("input", {
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 10000,
    on: { input: written, pointerdown: open },
  });
  const list = h("dl", { class: "columns-at-hand" });
  const help = h(
    "details",
    { class: "filter-help" },
    h("summary", {}, "Columns for a filter: types, ranges and keys"),
    h("p", { class: "hint" }, "Press a name or a key to put it into the filter."),
    list,
  );
  let rows = [];

  function open() {
    help.open = true;
  }

  function written() {
    open();
    mark();
    changed();
  }

  /** Show which columns the filter names already. */
  function mark() {
    for (const { column, element } of rows) {
      element.classList.toggle("named", names(input.value, column.name));
    }
  }

  /** Put a text where the caret stands. */
  function put(text) {
    const { selectionStart, selectionEnd, value } = input;
    const start = value.slice(0, selectionStart).trimEnd().length;
    const gap = start === 0 || value[start - 1] === "(" ? "" : " ";
    input.setRangeText(gap + text, start, selectionEnd, "end");
    input.focus();
    written();
  }

  /** A key alone where the text waits for a value, else the condition that a column has it. */
  function putKey(column, key) {
    const before = input.value.slice(0, input.selectionStart);
    if (AWAITS_VALUE.test(before) && names(before, column.name)) return put(key);
    const condition = `${quoted(column.name)} = ${key}`;
    return put(AWAITS_CONDITION.test(before) ? condition : `AND ${condition}`);
  }

  /** The columns of a dataset that may stand in a filter. */
  function show(columns) {
    rows = columns.map((column) => ({ column, element: row(column) }));
    fill(list, ...rows.map(({ element }) => element));
    mark();
  }

  function row(column) {
    const name = button(column.name, () => put(quoted(column.name)), "small", {
      "aria-label": `Put the column ${column.name} into the filter`,
    });
    const keys = h("dd", { class: "keys" });
    const chips = (column.keys ?? []).map((key) => {
      const text = keySql(key, column.type);
      return button(text, () => putKey(column, text), "small", {
        "aria-label": `Put ${column.name} = ${text} into the filter`,
      });
    });
    const rest = chips.slice(MOST_KEYS);
    const more = button(`${rest.length} more`, () => fill(keys, ...chips), "small quiet", {
      "aria-label": `Show ${rest.length} more keys of ${column.name}`,
    });
    fill(keys, ...chips.slice(0, MOST_KEYS), rest.length ? more : null);
    return h(
      "div",
      {},
      h("dt", {}, name),
      h("dd", {}, columnWords(column)),
      chips.length ? keys : null,
    );
  }

  return {
    element: h(
      "div",
      { class: "filter" },
      field("Filter", input, "Optional: a condition in SQL on the rows, such as age < 40."),
      help,
    ),
    show,
    get value() {
      return input.value.trim();
    },
  };
}

/** Whether a text of SQL names a column. */
function names(text, name) {
  const written = quoted(name);
  if (written !== name) return text.includes(written);
  return text.split(/\W+/).some((word) => word.toLowerCase() === name.toLowerCase());
}
