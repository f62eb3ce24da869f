// What leaves the page: texts for the clipboard, and files that are built here and go to no server.

import { announce, svg } from "./dom.js";

const WIDTH = 760;
const TITLE = 34;
const LINE = 18;
const LETTERS = 100;
// A file has no style sheet beside it: the light colours of the page.
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2937; }
  .label, .title { font-weight: 600; }
  .label, .value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
  .tick { fill: #4b5563; font-size: 12px; }
  .grid { stroke: #e5e7eb; }
  .axis { stroke: #6b7280; }
  .bar { fill: #2563eb; fill-opacity: 0.35; }
  .end { stroke: #2563eb; stroke-width: 2; }
  .whisker { stroke: #1f2937; stroke-width: 1.5; }
  .line { fill: none; stroke: #2563eb; stroke-width: 1.5; }
  .guide { stroke-opacity: 0.5; stroke-dasharray: 2 4; }
  .dot, .arrow { fill: #2563eb; }
  .dot { stroke: #ffffff; stroke-width: 1.5; }
  .pale .bar, .pale .dot, .pale .arrow { fill: #9ca3af; }
`;

/**
 * The rows of a result as CSV text, as the Python client writes it: the last column says which rows
 * the answers are about.
 */
export function csvText({ columns, rows, population }) {
  let title = "population";
  while (columns.includes(title)) title += "_";
  const cells = rows.map((row) => [...columns.map((column) => row[column]), population]);
  return csvLines([[...columns, title], ...cells]);
}

/** Lines of cells as CSV text. */
export function csvLines(lines) {
  return lines.map((cells) => cells.map(csvCell).join(",") + "\n").join("");
}

/** A cell that analysts wrote, as no spreadsheet takes it for a formula. */
export function safeCell(text) {
  return /^[=+\-@\t\r']/.test(text) ? `'${text}` : text;
}

function csvCell(cell) {
  const text = cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A chart as the text of an SVG file, with its title and which rows it is about. `draw` makes it of
 * a width and of what a screen reader says.
 */
export function svgText(draw, title, population) {
  const about = wrapped(`About ${population}`);
  const picture = draw(WIDTH, `${title}. ${about.join(" ")}`);
  const top = TITLE + about.length * LINE;
  const height = Number(picture.getAttribute("height")) + top;
  const moved = svg("g", { transform: `translate(0 ${top})` }, ...picture.childNodes);
  picture.setAttribute("height", height);
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  picture.append(
    svg("rect", { width: "100%", height: "100%", fill: "#ffffff" }),
    svg("text", { class: "title", x: 14, y: 22 }, title),
    ...about.map((line, place) => svg("text", { x: 14, y: 22 + (place + 1) * LINE }, line)),
    moved,
  );
  return new XMLSerializer().serializeToString(picture).replace(">", `><style>${STYLE}</style>`);
}

/** A text in lines that fit the picture. */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length > LETTERS && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Hand a text over as a file. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * Copy a text; says so on the button. Where the browser does not allow it, the shown text is
 * selected, for the keyboard to copy.
 */
export async function copy(text, pressed, shown) {
  const said = pressed.textContent;
  try {
    await navigator.clipboard.writeText(text);
    pressed.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(shown);
    pressed.textContent = "Selected: press Ctrl+C";
  }
  announce(pressed.textContent);
  setTimeout(() => (pressed.textContent = said), 2_500);
}
