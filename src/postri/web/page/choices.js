// The statistics to choose from. Those of the first family stand ready; the others are listed by
// family, each with its meaning, for those who look further.

import { h } from "./dom.js";
import { statisticTitle } from "./statistics.js";

const MORE = "More statistics";
const OTHERS = "others";

/** The choice; `changed` is called when it is another. */
export function statisticChoice(statistics, changed) {
  const options = statistics.map((statistic, place) => ({
    statistic,
    input: h("input", {
      type: "radio",
      name: "statistic",
      value: statistic.name,
      checked: place === 0,
      on: { change: chosen },
    }),
  }));
  const [usual, ...families] = byFamily(options);
  const meaning = h("p", { class: "hint" });
  const summary = h("summary", {});
  const more = h(
    "details",
    { on: { toggle: tell } },
    summary,
    ...families.map(([name, found]) => family(name, found)),
  );
  const further = families.flatMap(([, found]) => found);

  const now = () => options.find(({ input }) => input.checked).statistic;

  function chosen() {
    tell();
    changed();
  }

  function tell() {
    const one = further.find(({ input }) => input.checked);
    summary.textContent = one ? `${MORE}: ${statisticTitle(one.statistic)}` : MORE;
    meaning.textContent = now().meaning;
    // The list of the others tells their meanings itself, while it is open.
    meaning.hidden = Boolean(one) && more.open;
  }

  tell();
  return {
    element: h(
      "fieldset",
      { class: "statistic" },
      h("legend", {}, "Statistic"),
      h("div", { class: "choices" }, ...usual[1].map(pill)),
      families.length ? more : null,
      meaning,
    ),
    get chosen() {
      return now();
    },
  };
}

/** Options by the family that the service puts them in, as it lists them; the unknown ones last. */
function byFamily(options) {
  const found = new Map();
  for (const option of options) {
    const name = option.statistic.family ?? OTHERS;
    found.set(name, [...(found.get(name) ?? []), option]);
  }
  return [...found].sort(([one], [other]) => (one === OTHERS) - (other === OTHERS));
}

function pill({ statistic, input }) {
  return h("label", { class: "choice" }, input, h("span", {}, statisticTitle(statistic)));
}

function family(name, found) {
  const heading = name.replace(/^./, (first) => first.toUpperCase());
  return h(
    "div",
    { class: "family", role: "group", "aria-label": heading },
    h("p", { class: "family-name", "aria-hidden": "true" }, heading),
    ...found.map(({ statistic, input }) => {
      const id = `meaning-${statistic.name}`;
      input.setAttribute("aria-describedby", id);
      return h(
        "div",
        { class: "option" },
        h("label", { class: "check" }, input, h("span", {}, statisticTitle(statistic))),
        h("p", { class: "hint", id }, statistic.meaning),
      );
    }),
  );
}
