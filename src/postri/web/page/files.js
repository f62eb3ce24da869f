// What leaves the page: texts for the clipboard, and files that are built here and go to no server.

import { announce, svg } from "./dom.js";
import { dotChart } from "./chart.js";

const WIDTH = 760;
const TITLE = 34;
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
  .dot, .arrow { fill: #2563eb; }
  .dot { stroke: #ffffff; stroke-width: 1.5; }
`;

/** The rows of a result as CSV text, as the Python client writes it. */
export function csvText({ columns, rows }) {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return lines.map((cells) => cells.map(csvCell).join(",") + "\n").join("");
}

function csvCell(cell) {
  const text = cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A chart as the text of an SVG file, with its title. */
export function svgText(rows, title) {
  const picture = dotChart(rows, WIDTH, title);
  const height = Number(picture.getAttribute("height")) + TITLE;
  const moved = svg("g", { transform: `translate(0 ${TITLE})` }, ...picture.childNodes);
  picture.setAttribute("height", height);
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  picture.append(
    svg("rect", { width: "100%", height: "100%", fill: "#ffffff" }),
    svg("text", { class: "title", x: 14, y: 22 }, title),
    moved,
  );
  return new XMLSerializer().serializeToString(picture).replace(">", `><style>${STYLE}</style>`);
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
