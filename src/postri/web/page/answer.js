// A released answer: the number, its bar, what it means in words, the table, and ways to take it
// along.

import { button, field, fill, h, table } from "./dom.js";
import { MOST_PANELS, barChart, binWords, panelWords, panels, pictures } from "./bars.js";
import {
  MOST,
  between,
  byValue,
  chartRows,
  dotChart,
  ends,
  highEnd,
  liveChart,
  lowEnd,
  overlapping,
  tellsNothing,
} from "./chart.js";
import { curve, curveChart, curvePoints } from "./curve.js";
import { lineChart, lineWords, timePanels } from "./lines.js";
import { copy, csvText, download, svgText } from "./files.js";
import { inPython, inSql, inWords } from "./questions.js";
import { plain } from "./rational.js";
import { isNumber, keyText, percent, sentence, shown } from "./values.js";

/** A result as a section with a heading, which can take the focus. */
export function answerSection(question, result, level = "h2") {
  const charts = result.groups.length ? pictures(result.groups[0].answers) : [];
  return h(
    "section",
    { class: "answer card" },
    h(level, { tabindex: "-1", class: "answer-title" }, inWords(question)),
    cost(result),
    ...(charts.length
      ? charts.map((names) => aggregate(question, result, names, charts.length > 1))
      : [h("p", {}, "The answer has no rows.")]),
    details("The numbers", numbers(question, result), result.rows.length > 1),
    details("The same in SQL or Python", codes(question)),
    files(question, result, charts),
  );
}

/** One short sentence for those who do not see the picture. */
export function spoken(result) {
  const paid = result.recorded
    ? "It was recorded before and cost nothing."
    : `It cost epsilon ${plain(result.charged)}.`;
  const answers = Object.values(result.groups[0]?.answers ?? {});
  const bars = answers.filter(({ bin }) => bin).length;
  if (bars) return `Answered: a histogram of ${bars} bars. ${paid}`;
  if (result.groups.length !== 1) return `Answered: ${result.groups.length} rows. ${paid}`;
  const told = answers.map(
    (answer) => `${answer.statistic} ${shown(answer.value)}, ${between(answer)}`,
  );
  return `Answered: ${told.join("; ")}. ${paid}`;
}

function cost(result) {
  const number = result.answer_id ? `Answer ${result.answer_id}. ` : "";
  const once = `it cost epsilon ${plain(result.epsilon)} once, and nothing now`;
  if (!result.recorded && result.charged !== "0")
    return h("p", { class: "cost-line" }, `${number}It cost epsilon ${plain(result.charged)}.`);
  return h("p", { class: "cost-line free" }, `${number}This answer is on record: ${once}.`);
}

function aggregate(question, result, names, several) {
  const [name] = names;
  if (result.groups[0].answers[name].bin) return histogram(result, names, several);
  const along = timePanels(result.groups, name);
  if (along) return lines(result, name, along, several);
  const rows = chartRows(result.groups, name);
  const single = rows.length === 1 && !rows[0].label;
  return h(
    "div",
    { class: "aggregate" },
    several ? h("h3", {}, name) : null,
    ...(single ? one(rows[0]) : many(rows, question)),
    // The sentence of a single answer says it already.
    single
      ? null
      : h("p", { class: "population" }, sentence(`about ${result.populations[name]}`)),
    h("p", { class: "meaning" }, meaning(rows[0], rows.length > 1, single)),
    ...(single ? [] : notes(rows)),
  );
}

/** Values with their bars along time, a panel for each key that is no time. */
function lines(result, name, all, several) {
  const drawn = all.slice(0, MOST_PANELS);
  const rows = chartRows(result.groups, name);
  return h(
    "div",
    { class: "aggregate" },
    several ? h("h3", {}, name) : null,
    fewer(all.length),
    liveChart((width) => lineChart(drawn, width, drawn.map(lineWords).join(". "))),
    h("p", { class: "population" }, sentence(`about ${result.populations[name]}`)),
    h(
      "p",
      { class: "meaning" },
      "Dot: the released value, with noise that protects people. " +
        `Bar: where each group's exact ${rows[0].statistic} of these rows lies; ` +
        `at least ${percent(rows[0].confidence)} of all draws give a bar that holds it. ` +
        'The thin line only leads the eye. An arrow means "or beyond".',
    ),
    ...notes(rows),
  );
}

/** What to say where there are more panels than a picture has room for. */
function fewer(number) {
  if (number <= MOST_PANELS) return null;
  return h(
    "p",
    { class: "hint" },
    `The picture shows the first ${MOST_PANELS} of ${number} groups; the table has all.`,
  );
}

/** Bars with whiskers, a panel for each group. */
function histogram(result, names, several) {
  const all = panels(result.groups, names);
  const drawn = all.slice(0, MOST_PANELS);
  const { confidence } = all[0].bars[0];
  const last = all[0].bars.at(-1).bin.closed ? ", but for the last one, which holds both" : "";
  return h(
    "div",
    { class: "aggregate" },
    several ? h("h3", {}, family(names)) : null,
    fewer(all.length),
    liveChart((width) => barChart(drawn, width, drawn.map(panelWords).join(". "))),
    h("p", { class: "population" }, sentence(`about ${result.populations[names[0]]}`)),
    h(
      "p",
      { class: "meaning" },
      "Bar: the released number of rows in a bin, with noise that protects people. " +
        `A bin begins with its lower edge and ends before its upper one${last}. ` +
        "Whisker: where the exact number lies; " +
        `at least ${percent(confidence)} of all draws give a whisker that holds it.`,
    ),
    ...notes(all.flatMap(barsWithLabels)),
  );
}

/** The bars of a panel, each with a label that tells it from all others. */
function barsWithLabels({ label, bars }) {
  return bars.map((bar) => ({
    ...bar,
    label: [label, binWords(bar.bin)].filter(Boolean).join(": "),
  }));
}

/** What the columns of one picture are called together. */
const family = (names) => (names.length > 1 ? `${names[0]} to ${names.at(-1)}` : names[0]);

function one(row) {
  if (row.quantiles.length) return distribution(row);
  return [
    h(
      "p",
      { class: "headline" },
      h("strong", {}, shown(row.value)),
      ` ${row.statistic}, ${between(row)}`,
    ),
    liveChart((width) =>
      dotChart([row], width, `${row.statistic} ${shown(row.value)}, bar: ${ends(row)}`, true),
    ),
    h("p", { class: "sentence" }, sentence(row.sentence)),
  ];
}

/** A distribution as its curve; every quantile follows from the one release. */
function distribution(row) {
  return [
    h(
      "p",
      { class: "sentence" },
      "Every quantile follows from this release, and costs nothing more.",
    ),
    ...curve(row.quantiles),
    h("p", { class: "sentence" }, sentence(row.sentence)),
  ];
}

/** A chart of several groups, in an order that can be chosen. */
function many(rows, question) {
  if (rows.length === 1) {
    return [h("p", { class: "sentence" }, sentence(rows[0].sentence)), chart(rows, "")];
  }
  const listed = question.sql ? "as in SQL" : "by key";
  const box = h("div", {});
  const order = h(
    "select",
    { on: { change: draw } },
    h("option", { value: "value" }, "by value"),
    h("option", { value: "listed" }, listed),
  );
  function draw() {
    const isSorted = order.value === "value";
    const drawn = isSorted ? byValue(rows) : rows;
    const words = isSorted ? `Sorted by value. ${trust(drawn)}` : `Sorted ${listed}.`;
    fill(
      box,
      h("p", { class: "sentence" }, words),
      rows.length > MOST
        ? h(
            "p",
            { class: "hint" },
            `The picture shows the first ${MOST} of ${rows.length} groups; the table has all.`,
          )
        : null,
      chart(drawn.slice(0, MOST), isSorted ? "sorted by value" : `sorted ${listed}`),
    );
  }
  draw();
  const choice = field("Order", order);
  choice.classList.add("order");
  return [choice, box];
}

/** How far the order by value can be trusted. */
function trust(rows) {
  const telling = rows.filter((row) => !tellsNothing(row));
  const silent = rows.length - telling.length;
  const words = [];
  if (telling.length > 1) {
    const overlaps = overlapping(telling);
    const pairs = `${overlaps} of ${telling.length - 1} neighbouring pairs have bars that overlap`;
    words.push(
      overlaps
        ? `${pairs}: noise alone may have put these in order.`
        : "No two neighbouring bars overlap.",
    );
  }
  if (silent) {
    const grey = silent === 1 ? "The last one, in grey," : `The last ${silent}, in grey,`;
    words.push(`${grey} may lie anywhere: noise has no part in the order.`);
  }
  return words.join(" ");
}

function chart(rows, order) {
  const bars = rows.map((row) => `${row.label} ${shown(row.value)}, bar: ${ends(row)}`);
  const name = [`${rows.length} groups`, order].filter(Boolean).join(", ");
  return liveChart((width) => dotChart(rows, width, `${name}: ${bars.join("; ")}`));
}

function meaning(row, several, isAlone) {
  if (isAlone && row.quantiles.length)
    return (
      "Line: the released quantiles, with noise that protects people. " +
      `Band: their bars; at least ${percent(row.confidence)} of all draws give a bar that holds ` +
      "the exact quantile. " +
      "Between two of them it reaches from the lower end of the one to the upper end of the other."
    );
  const told = several && row.key !== undefined ? "lead" : row.statistic;
  const what = several ? `each group's exact ${told}` : `the exact ${told}`;
  return (
    "Dot: the released value, with noise that protects people. " +
    `Bar: where ${what} of these rows lies; ` +
    `at least ${percent(row.confidence)} of all draws give a bar that holds it. ` +
    'An arrow means "or beyond".'
  );
}

/**
 * What a reader must know, with the groups that it is about. That an answer was recorded stands
 * above.
 */
function notes(rows) {
  const about = new Map();
  for (const row of rows) {
    for (const note of [
      ...(row.private ? [] : ["NOT PRIVATE: drawn with seeded coins"]),
      ...(row.notes ?? []),
    ]) {
      if (!note.startsWith("from the ledger:"))
        about.set(note, [...(about.get(note) ?? []), row.label]);
    }
  }
  return [...about].map(([note, labels]) => {
    const which = labels.length === rows.length ? "Note" : labels.join("; ");
    return h("p", { class: "note" }, `${which}: ${note}.`);
  });
}

/** The table of all numbers, in the order of the result; an edge is told beside its end. */
function numbers(question, result) {
  const cells = result.record.layout
    .map(([title, what, name]) => ({ title, what, name }))
    .filter(({ what }) => !what.endsWith("_is_edge"));
  const numeric = cells
    .map((_, place) => place)
    .filter((place) => result.rows.some((row) => isNumber(row[cells[place].title])));
  const rows = result.rows.map((row, place) =>
    cells.map((cell) => cellText(cell, row, result.groups[place].answers)),
  );
  const titles = cells.map(({ title }) => title);
  return table(`The numbers of ${inWords(question)}`, titles, rows, numeric);
}

function cellText({ title, what, name }, row, answers) {
  if (what === "low") return lowEnd(answers[name]);
  if (what === "high") return highEnd(answers[name]);
  if (what === "key" || what === "winner") return keyText(row[title]);
  return shown(row[title]);
}

function codes(question) {
  const how = [`epsilon ${plain(String(question.epsilon))}`];
  if (String(question.confidence ?? "0.95") !== "0.95")
    how.push(`confidence ${question.confidence}`);
  if (question.simultaneous) how.push("simultaneous intervals");
  const sql = inSql(question);
  return h(
    "div",
    { class: "codes" },
    h(
      "p",
      { class: "hint" },
      `Asked with ${how.join(" and ")}, ` +
        "each gives the answer that is on record, and costs nothing.",
    ),
    sql === null ? null : code("SQL", h("pre", { tabindex: "0", "aria-label": "SQL" }, sql)),
    code("Python", h("pre", { tabindex: "0", "aria-label": "Python" }, inPython(question))),
  );
}

function code(language, text) {
  return h(
    "div",
    { class: "code" },
    text,
    button(`Copy ${language}`, (event) => copy(text.textContent, event.target, text)),
  );
}

function details(title, content, open = false) {
  return h("details", { open }, h("summary", {}, title), content);
}

function files(question, result, charts) {
  const stem = `postri-answer-${result.answer_id ?? "new"}`;
  const several = charts.length > 1;
  function picture(names) {
    const about = several ? family(names) : inWords(question);
    const { draw, words } = drawing(result, names);
    const title = `${about}: ${words}; epsilon ${plain(result.epsilon)}`;
    const file = several ? `${stem}-${names[0].replace(/\W+/g, "_")}.svg` : `${stem}.svg`;
    download(file, "image/svg+xml", svgText(draw, title, result.populations[names[0]]));
  }
  return h(
    "p",
    { class: "buttons" },
    button("Download CSV", () => download(`${stem}.csv`, "text/csv", csvText(result))),
    ...charts.map((names) =>
      button(several ? `Download SVG of ${family(names)}` : "Download SVG", () => picture(names)),
    ),
  );
}

/** How a picture is drawn, and what its parts mean. */
function drawing(result, names) {
  const { bin, confidence } = result.groups[0].answers[names[0]];
  const interval = `${percent(confidence)} interval`;
  if (bin) {
    const all = panels(result.groups, names).slice(0, MOST_PANELS);
    const draw = (width, name) => barChart(all, width, name);
    return { draw, words: `bar: released count, whisker: ${interval}` };
  }
  const along = timePanels(result.groups, names[0]);
  if (along) {
    const draw = (width, name) => lineChart(along.slice(0, MOST_PANELS), width, name);
    return { draw, words: `dot: released value, bar: ${interval}` };
  }
  const [{ answers }] = result.groups;
  if (result.groups.length === 1 && answers[names[0]].quantiles.length) {
    const points = curvePoints(answers[names[0]].quantiles);
    const draw = (width, name) => curveChart(points, width, name);
    return { draw, words: `line: released quantiles, band: ${interval} of each` };
  }
  const rows = byValue(chartRows(result.groups, names[0])).slice(0, MOST);
  const draw = (width, name) => dotChart(rows, width, name);
  return { draw, words: `dot: released value, bar: ${interval}` };
}
