// The planner: a question by choices, with its price before it is asked.

import { checkbox, field, fill, h } from "./dom.js";
import { askingPanel } from "./asking.js";
import { epsilonControl } from "./epsilon.js";
import { aggregateName, aggregateText } from "./questions.js";
import { rational, toNumber } from "./rational.js";
import { shown } from "./values.js";

const STATISTICS = ["median", "quantile", "count", "sum", "mean"];
const NUMERIC = ["integer", "decimal", "float"];
const ORDERED = [...NUMERIC, "date", "timestamp"];
const MEANINGS = {
  median: "The value in the middle: half of the rows lie below it.",
  quantile: "The value below which a share p of the rows lies: p = 0.9 is the 90th percentile.",
  count: "How many rows there are, or in how many of them a column has a value.",
  sum: "All values added up; each is clamped to the column's bounds.",
  mean: "The average; each value is clamped to the column's bounds.",
};
const FIRST_EPSILON = "0.1";

/** The view "Ask". */
export function plannerView(desk) {
  const epsilon = epsilonControl(() => asking.refresh());
  const dataset = h("select", { on: { change: datasetChosen } });
  const facts = h("p", { class: "hint" });
  const statistics = STATISTICS.map((name) =>
    h("input", { type: "radio", name: "statistic", value: name, on: { change: statisticChosen } }),
  );
  const meaning = h("p", { class: "hint" });
  const p = h("input", {
    type: "text",
    class: "short",
    inputmode: "decimal",
    autocomplete: "off",
    prop: { value: "0.9" },
    on: { input: changed },
  });
  const share = field("Quantile p, between 0 and 1", p);
  const column = h("select", { on: { change: columnChosen } });
  const bounds = h("p", { class: "hint" });
  const groups = h("fieldset", { class: "checks" });
  const where = h("input", {
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 10000,
    on: { input: changed },
  });
  const confidence = h(
    "select",
    { on: { change: changed } },
    ...["0.9", "0.95", "0.99", "0.999"].map((value) => h("option", { value, selected: value === "0.95" }, `${Number(value) * 100}%`)),
  );
  const together = checkbox("All bars hold at once (longer bars)", { on: { change: changed } });
  const fresh = checkbox("Pay for a new draw, even if an answer is on record", { on: { change: changed } });

  const asking = askingPanel(desk, { question, dataset: () => dataset.value, setEpsilon: (value) => (epsilon.set(value), changed()) });

  let kept = "";

  const chosen = () => desk.datasets.find((each) => each.name === dataset.value);
  const statistic = () => statistics.find((each) => each.checked).value;
  const ticked = (label) => label.querySelector("input").checked;

  function changed() {
    asking.refresh();
  }

  function datasetChosen() {
    const now = chosen();
    const rows = now.rows === null ? "the number of rows is not public" : `about ${shown(now.rows)} rows`;
    facts.textContent = `${rows}; protects ${now.protects}`;
    epsilon.limit(toNumber(rational(now.max_epsilon_per_question ?? now.budget)));
    fillGroups(now.columns.filter((each) => each.keys));
    statisticChosen();
  }

  function fillGroups(columns) {
    const boxes = columns.map((each) => checkbox(`${each.name} (${each.keys.length} keys)`, { value: each.name, on: { change: changed } }));
    fill(groups, h("legend", {}, "Groups"), boxes.length ? boxes : h("p", { class: "hint" }, "No column of this dataset has public keys."));
  }

  function statisticChosen() {
    meaning.textContent = MEANINGS[statistic()];
    share.hidden = statistic() !== "quantile";
    fillColumns();
    columnChosen();
  }

  function fillColumns() {
    const fits = { count: () => true, sum: bounded, mean: bounded }[statistic()] ?? ((each) => ORDERED.includes(each.type));
    const names = chosen()
      .columns.filter(fits)
      .map((each) => each.name);
    fill(
      column,
      statistic() === "count" ? h("option", { value: "" }, "all rows") : null,
      ...names.map((name) => h("option", { value: name }, name)),
    );
    if (statistic() !== "count" && names.includes(kept)) column.value = kept;
  }

  function columnChosen() {
    if (column.value) kept = column.value;
    const now = chosen().columns.find((each) => each.name === column.value);
    bounds.textContent = now ? columnWords(now) : "";
    changed();
  }

  function question() {
    const [what, of] = [statistic(), column.value || null];
    if ((of === null && what !== "count") || !epsilon.value || (what === "quantile" && !p.value.trim())) return null;
    const by = [...groups.querySelectorAll("input:checked")].map((box) => box.value);
    return {
      dataset: dataset.value,
      aggregates: { [aggregateName(what, of, p.value.trim())]: aggregateText(what, of, p.value.trim()) },
      epsilon: epsilon.value,
      ...(by.length ? { by } : {}),
      ...(where.value.trim() ? { where: where.value.trim() } : {}),
      confidence: confidence.value,
      ...(ticked(together) ? { simultaneous: true } : {}),
      ...(ticked(fresh) ? { fresh: true } : {}),
    };
  }

  fill(dataset, ...desk.datasets.map(({ name }) => h("option", { value: name }, name)));
  statistics[0].checked = true;
  epsilon.set(FIRST_EPSILON);
  datasetChosen();

  const form = h(
    "form",
    { class: "card question", on: { submit: (event) => event.preventDefault() } },
    h("h2", {}, "Your question"),
    field("Dataset", dataset),
    facts,
    h(
      "fieldset",
      { class: "choices" },
      h("legend", {}, "Statistic"),
      ...statistics.map((input) => h("label", { class: "choice" }, input, h("span", {}, input.value))),
    ),
    meaning,
    share,
    field("Column", column),
    bounds,
    groups,
    field("Filter", where, "Optional: a condition in SQL on the rows, such as age < 40 AND job = 'cook'."),
    epsilon.element,
    h(
      "details",
      {},
      h("summary", {}, "More options"),
      field("Confidence", confidence, "How often, over all draws of the noise, the bar holds the exact value."),
      together,
      fresh,
    ),
  );
  return {
    title: "Ask",
    element: h("div", { class: "view" }, h("div", { class: "columns" }, form, asking.panel), asking.result),
    show() {
      asking.refresh();
    },
  };
}

const bounded = (each) => NUMERIC.includes(each.type) && each.lower !== null;

function columnWords({ type, lower, upper, step, keys }) {
  if (keys) return `${type}, one of ${keys.length} public keys`;
  if (lower === null || lower === undefined) return `${type}, without bounds`;
  const steps = step && step !== "1" && NUMERIC.includes(type) ? ` in steps of ${step}` : "";
  return `${type}, from ${shown(lower)} to ${shown(upper)}${steps}`;
}
