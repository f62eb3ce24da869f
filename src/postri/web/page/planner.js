// The planner: a question by choices, with its price before it is asked.

import { checkbox, field, fill, h } from "./dom.js";
import { askingPanel } from "./asking.js";
import { statisticChoice } from "./choices.js";
import { epsilonControl } from "./epsilon.js";
import { expectField } from "./expect.js";
import { filterField } from "./filter.js";
import { parameterFields } from "./parameters.js";
import { plain, rational, toNumber } from "./rational.js";
import { aggregateName, aggregateText } from "./statistics.js";
import { shown } from "./values.js";
import { askingHelp } from "./welcome.js";
import { withinField } from "./within.js";

const FIRST_EPSILON = "0.1";
const CONFIDENCES = ["0.9", "0.95", "0.99", "0.999"];

/** The view "Ask". */
export function plannerView(desk) {
  const epsilon = epsilonControl(() => asking.refresh());
  const dataset = h("select", { on: { change: datasetChosen } });
  const facts = h("p", { class: "hint" });
  const statistics = statisticChoice(desk.statistics, statisticChosen);
  const parameters = parameterFields(changed);
  const groups = h("fieldset", { class: "checks" });
  const where = filterField(changed);
  const expect = expectField(changed);
  const within = withinField(wished);
  const confidence = h(
    "select",
    { on: { change: changed } },
    ...CONFIDENCES.map((value) =>
      h("option", { value, selected: value === "0.95" }, `${Number(value) * 100}%`),
    ),
  );
  const together = checkbox("All bars hold at once (longer bars)", { on: { change: changed } });
  const fresh = checkbox("Pay for a new draw, even if an answer is on record", {
    on: { change: changed },
  });

  const asking = askingPanel(desk, {
    question,
    dataset: () => dataset.value,
    setEpsilon: (value) => (epsilon.set(value), changed()),
    priced: (found) => within.value && epsilon.set(plain(found.epsilon)),
  });

  const chosen = () => desk.datasets.find((each) => each.name === dataset.value);
  const ticked = (label) => label.querySelector("input").checked;

  function changed() {
    asking.refresh();
  }

  /** With a wish, the control shows the epsilon that it takes. */
  function wished() {
    epsilon.follow(Boolean(within.value));
    changed();
  }

  function datasetChosen() {
    const now = chosen();
    const rows =
      now.rows === null ? "the number of rows is not public" : `about ${shown(now.rows)} rows`;
    const units = now.units === null ? "" : `, of about ${shown(now.units)} units`;
    facts.textContent = `${rows}${units}; protects ${now.protects}`;
    epsilon.limit(toNumber(rational(now.max_epsilon_per_question ?? now.budget)));
    fillGroups(now.columns.filter((each) => each.keys || each.discover));
    where.show(now.columns);
    statisticChosen();
  }

  function fillGroups(columns) {
    const boxes = columns.map((each) =>
      checkbox(`${each.name} (${each.keys ? `${each.keys.length} keys` : "keys are found"})`, {
        value: each.name,
        on: { change: changed },
      }),
    );
    if (!boxes.length) {
      boxes.push(h("p", { class: "hint" }, "No column of this dataset has public keys."));
    }
    fill(groups, h("legend", {}, "Groups"), ...boxes);
  }

  function statisticChosen() {
    parameters.show(statistics.chosen, chosen().columns);
    changed();
  }

  function question() {
    const given = parameters.given();
    if (given === null || !(within.value || epsilon.value)) return null;
    const name = aggregateName(statistics.chosen, given);
    const asked = {
      dataset: dataset.value,
      aggregates: { [name]: aggregateText(statistics.chosen, given) },
      ...(within.value ? { within: within.value } : { epsilon: epsilon.value }),
      confidence: confidence.value,
      ...expect.given(),
    };
    const by = [...groups.querySelectorAll("input:checked")].map((box) => box.value);
    if (by.length) asked.by = by;
    if (where.value) asked.where = where.value;
    if (ticked(together)) asked.simultaneous = true;
    if (ticked(fresh)) asked.fresh = true;
    return asked;
  }

  fill(dataset, ...desk.datasets.map(({ name }) => h("option", { value: name }, name)));
  epsilon.set(FIRST_EPSILON);
  datasetChosen();

  const form = h(
    "form",
    { class: "card question", on: { submit: (event) => event.preventDefault() } },
    h("h2", {}, "Your question"),
    field("Dataset", dataset),
    facts,
    statistics.element,
    parameters.element,
    groups,
    where.element,
    expect.element,
    epsilon.element,
    within.element,
    h(
      "details",
      {},
      h("summary", {}, "More options"),
      field(
        "Confidence",
        confidence,
        "How often, over all draws of the noise, the bar holds the exact value.",
      ),
      together,
      fresh,
    ),
  );
  return {
    title: "Ask",
    element: h(
      "div",
      { class: "view" },
      askingHelp(desk.isFirstVisit),
      h("div", { class: "columns" }, form, asking.panel),
      asking.result,
    ),
    show() {
      asking.refresh();
    },
  };
}
