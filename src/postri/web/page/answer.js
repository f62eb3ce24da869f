// A released answer: the number, its bar, what it means in words, the table, and ways to take it
// along.

import { button, h, table } from "./dom.js";
import { MOST, chartRows, dotChart, ends, liveChart, overlapping } from "./chart.js";
import { copy, csvText, download, svgText } from "./files.js";
import { inPython, inSql, inWords } from "./questions.js";
import { plain } from "./rational.js";
import { isNumber, percent, sentence, shown } from "./values.js";

/** A result as a section with a heading, which can take the focus. */
export function answerSection(question, result, level = "h2") {
  const names = result.groups.length ? Object.keys(result.groups[0].answers) : [];
  return h(
    "section",
    { class: "answer card" },
    h(level, { tabindex: "-1", class: "answer-title" }, inWords(question)),
    cost(result),
    ...(names.length
      ? names.map((name) => aggregate(question, result, name, names.length > 1))
      : [h("p", {}, "The answer has no rows.")]),
    details("The numbers", numbers(question, result), result.rows.length > 1),
    details("The same in SQL or Python", codes(question)),
    files(question, result, names),
  );
}

/** One short sentence for those who do not see the picture. */
export function spoken(result) {
  const paid = result.recorded
    ? "It was recorded before and cost nothing."
    : `It cost epsilon ${plain(result.charged)}.`;
  if (result.groups.length !== 1) return `Answered: ${result.groups.length} rows. ${paid}`;
  const told = Object.values(result.groups[0].answers).map(
    (answer) => `${answer.statistic} ${shown(answer.value)}, ${between(answer)}`,
  );
  return `Answered: ${told.join("; ")}. ${paid}`;
}

const between = (answer) => `between ${ends(answer).replace(" to ", " and ")}`;

function cost(result) {
  const number = result.answer_id ? `Answer ${result.answer_id}. ` : "";
  const once = `it cost epsilon ${plain(result.epsilon)} once, and nothing now`;
  if (!result.recorded && result.charged !== "0")
    return h("p", { class: "cost-line" }, `${number}It cost epsilon ${plain(result.charged)}.`);
  return h("p", { class: "cost-line free" }, `${number}This answer is on record: ${once}.`);
}

function aggregate(question, result, name, several) {
  const rows = chartRows(result.groups, name);
  const single = rows.length === 1 && !rows[0].label;
  return h(
    "div",
    { class: "aggregate" },
    several ? h("h3", {}, name) : null,
    ...(single ? one(rows[0]) : many(rows)),
    h("p", { class: "meaning" }, meaning(rows[0], rows.length > 1)),
    ...(single ? [] : notes(rows)),
  );
}

function one(row) {
  return [
    h(
      "p",
      { class: "headline" },
      h("strong", {}, shown(row.value)),
      ` ${row.statistic}, ${between(row)}`,
    ),
    liveChart((width) =>
      dotChart([row], width, `${row.statistic} ${shown(row.value)}, bar from ${ends(row)}`, true),
    ),
    h("p", { class: "sentence" }, sentence(row.sentence)),
  ];
}

function many(rows) {
  const drawn = rows.slice(0, MOST);
  const overlaps = overlapping(rows);
  const pairs = `${overlaps} of ${rows.length - 1} neighbouring pairs have bars that overlap`;
  const order = overlaps
    ? `Sorted by value. ${pairs}: noise alone may have put these in order.`
    : "Sorted by value. No two neighbouring bars overlap.";
  const bars = drawn.map((row) => `${row.label} ${shown(row.value)}, bar from ${ends(row)}`);
  const name = `${drawn.length} groups, sorted by value: ${bars.join("; ")}`;
  return [
    h("p", { class: "sentence" }, rows.length > 1 ? order : sentence(rows[0].sentence)),
    rows.length > MOST
      ? h(
          "p",
          { class: "hint" },
          `The picture shows the first ${MOST} of ${rows.length} groups; the table has all.`,
        )
      : null,
    liveChart((width) => dotChart(drawn, width, name)),
  ];
}

function meaning(row, several) {
  const what = several ? `each group's exact ${row.statistic}` : `the exact ${row.statistic}`;
  return (
    "Dot: the released value, with noise that protects people. " +
    `Bar: where ${what} of the table lies; ` +
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

function numbers(question, result) {
  const numeric = result.columns
    .map((_, place) => place)
    .filter((place) => result.rows.some((row) => isNumber(row[result.columns[place]])));
  const rows = sorted(question, result).map((row) =>
    result.columns.map((column) => shown(row[column])),
  );
  return table(`The numbers of ${inWords(question)}`, result.columns, rows, numeric);
}

/** The rows as the picture has them; those of SQL stay in the order that it asks for. */
function sorted(question, result) {
  if (question.sql || result.groups.length < 2) return result.rows;
  const [name] = Object.keys(result.groups[0].answers);
  return [...result.rows].sort((one, other) => {
    if (one[name] < other[name]) return 1;
    return one[name] > other[name] ? -1 : 0;
  });
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

function files(question, result, names) {
  const stem = `postri-answer-${result.answer_id ?? "new"}`;
  const several = names.length > 1;
  function picture(name) {
    const rows = chartRows(result.groups, name);
    const bar = `bar: ${percent(rows[0].confidence)} interval`;
    const about = several ? name : inWords(question);
    const title = `${about}: dot: released value, ${bar}; epsilon ${plain(result.epsilon)}`;
    const file = several ? `${stem}-${name.replace(/\W+/g, "_")}.svg` : `${stem}.svg`;
    download(file, "image/svg+xml", svgText(rows.slice(0, MOST), title));
  }
  return h(
    "p",
    { class: "buttons" },
    button("Download CSV", () => download(`${stem}.csv`, "text/csv", csvText(result))),
    ...names.map((name) =>
      button(several ? `Download SVG of ${name}` : "Download SVG", () => picture(name)),
    ),
  );
}
