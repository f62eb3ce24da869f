// The SQL editor: the same price and the same answers, for a text.

import { columnWords, keySql } from "./columns.js";
import { field, h } from "./dom.js";
import { askingPanel } from "./asking.js";
import { epsilonControl } from "./epsilon.js";
import { expectField } from "./expect.js";
import { rational, toNumber } from "./rational.js";
import { quoted, sqlFunctions } from "./statistics.js";

const MOST_KEYS = 20;
const WISH = /\bwithin\s+[0-9.]/i;

/** The view "SQL". */
export function sqlView(desk) {
  const epsilon = epsilonControl(() => asking.refresh());
  const expect = expectField(() => asking.refresh());
  const text = h("textarea", {
    rows: 6,
    maxlength: 10000,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    prop: { value: example(desk.datasets[0]) },
    on: { input: () => asking.refresh() },
  });
  const asking = askingPanel(desk, {
    question,
    dataset: named,
    setEpsilon: (value) => (epsilon.set(value), asking.refresh()),
  });

  function question() {
    const sql = text.value.trim();
    if (!sql) return null;
    // What a text with wishes costs follows from them.
    if (WISH.test(sql)) return { sql, ...expect.given() };
    return epsilon.value ? { sql, epsilon: epsilon.value, ...expect.given() } : null;
  }

  /**
   * The dataset that stands after FROM, for its budget's bar; the service itself reads the text.
   */
  function named() {
    const found = /\bfrom\s+("(?:[^"]|"")+"|\w+)/i.exec(text.value)?.[1] ?? "";
    const name = found.startsWith('"') ? found.slice(1, -1).replaceAll('""', '"') : found;
    return desk.datasets.find((each) => each.name === name)?.name ?? null;
  }

  epsilon.set("0.1");
  epsilon.limit(
    Math.max(
      ...desk.datasets.map((each) =>
        toNumber(rational(each.max_epsilon_per_question ?? each.budget)),
      ),
    ),
  );
  const form = h(
    "form",
    { class: "card question", on: { submit: (event) => event.preventDefault() } },
    h("h2", {}, "Your question in SQL"),
    field(
      "SQL",
      text,
      `One SELECT on one dataset. Aggregates: ${sqlFunctions().join(", ")}. Each gets a bar. ` +
        "COUNT(*) WITHIN 50 or MEDIAN(x) WITHIN 1 PERCENTILE says how near it is wanted, in place " +
        "of epsilon.",
    ),
    expect.element,
    epsilon.element,
    tables(desk.datasets),
  );
  return {
    title: "SQL",
    element: h(
      "div",
      { class: "view" },
      h("div", { class: "columns" }, form, asking.panel),
      asking.result,
    ),
    show() {
      asking.refresh();
    },
  };
}

function example(dataset) {
  if (!dataset) return "";
  const of = dataset.columns.find((each) => each.lower !== null && !each.keys)?.name;
  const by = dataset.columns.find((each) => each.keys)?.name;
  const what = of ? `MEDIAN(${quoted(of)}) AS mid` : "COUNT(*) AS n";
  return [
    `SELECT ${by ? `${quoted(by)}, ` : ""}${what}`,
    `FROM ${quoted(dataset.name)}`,
    ...(by ? [`GROUP BY ${quoted(by)}`] : []),
  ].join("\n");
}

/** A column with what may be asked of it: its type, its range, its public keys. */
function catalogueWords(column) {
  const { name, type, keys } = column;
  if (!keys) return `${name}: ${columnWords(column)}`;
  const some = keys.slice(0, MOST_KEYS).map((key) => keySql(key, type));
  if (keys.length > MOST_KEYS) some.push(`and ${keys.length - MOST_KEYS} more`);
  return `${name}: ${type}, keys ${some.join(", ")}`;
}

function tables(datasets) {
  return h(
    "details",
    {},
    h("summary", {}, "Datasets and columns"),
    h(
      "dl",
      { class: "catalogue" },
      ...datasets.flatMap(({ name, columns }) => [
        h("dt", {}, name),
        ...columns.map((column) => h("dd", {}, catalogueWords(column))),
      ]),
    ),
  );
}
