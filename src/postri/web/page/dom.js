// Elements without HTML texts: whatever comes from the service becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element: attributes by name, listeners in `on`, properties in `prop`; texts among the children
 * become text nodes.
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, { on = {}, prop = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  Object.assign(element, prop);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Put these children in place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat().filter((child) => child !== null && child !== undefined),
  );
}

/** A button; `kind` is "primary", "quiet" or "danger". */
export function button(text, onClick, kind = "plain", attributes = {}) {
  return h(
    "button",
    { type: "button", class: `button ${kind}`, on: { click: onClick }, ...attributes },
    text,
  );
}

let ids = 0;

/** A labelled control with a hint below it, which screen readers tell with it. */
export function field(label, control, hint = null) {
  const id = `field-${++ids}`;
  control.id = id;
  const note = hint === null ? null : h("p", { class: "hint", id: `${id}-hint` }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, note);
}

/** A check box with its text. */
export function checkbox(text, attributes = {}) {
  return h(
    "label",
    { class: "check" },
    h("input", { type: "checkbox", ...attributes }),
    h("span", {}, text),
  );
}

/**
 * A table with a name; a narrow screen scrolls it, not the page. `numeric` tells which columns
 * stand to the right. A `stacked` one has no room for its columns on a narrow screen: there each
 * row is a block, and each cell has its title before it.
 */
export function table(name, head, rows, numeric = [], stacked = false) {
  const side = (place) => (numeric.includes(place) ? { class: "number" } : {});
  // A table that is laid out as blocks stays a table for screen readers.
  const as = (role) => (stacked ? { role } : {});
  const titled = (place) => (stacked ? { "data-title": head[place] } : {});
  const cellOf = (cell, place) =>
    h("td", { ...as("cell"), ...titled(place), ...side(place) }, cell);
  return h(
    "div",
    {
      class: stacked ? "table stacked" : "table",
      role: "region",
      "aria-label": name,
      tabindex: "0",
    },
    h(
      "table",
      as("table"),
      h("caption", { class: "unseen" }, name),
      h(
        "thead",
        as("rowgroup"),
        h(
          "tr",
          as("row"),
          ...head.map((cell, place) =>
            h("th", { scope: "col", ...as("columnheader"), ...side(place) }, broken(cell)),
          ),
        ),
      ),
      h(
        "tbody",
        as("rowgroup"),
        ...rows.map((row) => h("tr", as("row"), ...row.map(cellOf))),
      ),
    ),
  );
}

/**
 * Ask before something that matters: `act` is done on yes, and the dialog tells what goes wrong.
 */
export function confirming({ title, words, yes, no, act, kind = "primary" }) {
  const id = `dialog-${++ids}`;
  const outcome = h("div", {});
  const dialog = h(
    "dialog",
    { "aria-labelledby": id, on: { close: () => dialog.remove() } },
    h("h2", { id }, title),
    h("p", {}, words),
    outcome,
    h(
      "p",
      { class: "buttons" },
      button(yes, confirmed, kind),
      button(no, () => dialog.close(), "plain", { autofocus: true }),
    ),
  );

  async function confirmed() {
    try {
      await act();
      dialog.close();
    } catch (error) {
      fill(outcome, h("p", { class: "box problem", role: "alert" }, error.message));
    }
  }

  document.body.append(dialog);
  dialog.showModal();
}

/** A long name that may go on in the next line after each underscore. */
function broken(name) {
  return name.split(/(?<=_)/).flatMap((part, place) => (place ? [h("wbr"), part] : [part]));
}

/** Tell screen readers, without moving the focus. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
