// The steward's tokens and allowances.

import * as api from "./api.js";
import { announce, button, field, fill, h, table } from "./dom.js";
import { copy } from "./files.js";
import { problemBox } from "./problems.js";
import { plain } from "./rational.js";
import { moment } from "./values.js";

/** The view "Tokens". */
export function tokensView() {
  const list = h("div", {});
  const allowances = h("div", {});

  async function load() {
    await Promise.all([
      shown(list, async () => tokenTable((await api.get("tokens")).tokens, load)),
      shown(allowances, async () => allowanceTable((await api.get("allowances")).allowances)),
    ]);
  }

  return {
    title: "Tokens",
    element: h(
      "div",
      { class: "view" },
      h("section", { class: "card" }, h("h2", {}, "New token"), creation(load)),
      h("section", { class: "card" }, h("h2", {}, "Tokens"), list),
      h(
        "section",
        { class: "card" },
        h("h2", {}, "Allowances"),
        h("p", { class: "hint" }, ALLOWANCE),
        allowances,
        allowing(load),
      ),
    ),
    show: load,
  };
}

const ALLOWANCE =
  "The most that an analyst may spend on each dataset. " +
  "It belongs to the name, whatever token is used. " +
  "The dataset's budget binds all analysts together.";

async function shown(place, made) {
  try {
    fill(place, await made());
  } catch (error) {
    fill(place, problemBox(error));
  }
}

function creation(load) {
  const name = h("input", {
    type: "text",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const role = h(
    "select",
    {},
    h("option", { value: "analyst" }, "analyst"),
    h("option", { value: "steward" }, "steward"),
  );
  const allowance = h("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  const expires = h("input", { type: "text", autocomplete: "off" });
  const datasets = h("input", { type: "text", autocomplete: "off" });
  const outcome = h("div", {});
  const form = h(
    "form",
    { class: "inline-form", on: { submit: create } },
    field("Name", name),
    field("Role", role),
    field("Allowance", allowance, "Optional, such as 2"),
    field("Expires", expires, "Optional: 90d, 2027-01-31 or never"),
    field("Datasets", datasets, "Optional: all, unless named, with commas between"),
    h("button", { type: "submit", class: "button primary" }, "Create token"),
  );

  async function create(event) {
    event.preventDefault();
    const named = datasets.value.split(",").map((each) => each.trim()).filter(Boolean);
    const body = {
      name: name.value.trim(),
      role: role.value,
      allowance: allowance.value.trim() || null,
      expires: expires.value.trim() || null,
      datasets: named.length ? named : null,
    };
    try {
      fill(
        outcome,
        created(await api.post("tokens", body), () => fill(outcome)),
      );
      form.reset();
      outcome.querySelector("h3").focus();
      await load();
    } catch (error) {
      fill(outcome, problemBox(error));
    }
  }

  return h("div", {}, form, outcome);
}

function created({ name, token }, done) {
  const text = h("code", { class: "secret" }, token);
  return h(
    "div",
    { class: "box made" },
    h("h3", { tabindex: "-1" }, `The token of ${name}`),
    h(
      "p",
      {},
      "Copy it now and hand it over safely: it is shown this once, and only its hash is stored.",
    ),
    text,
    h(
      "p",
      { class: "buttons" },
      button("Copy token", (event) => copy(token, event.target, text), "primary"),
      button("Done", done),
    ),
  );
}

function tokenTable(tokens, load) {
  const rows = tokens.map((each) => [
    each.name,
    each.role,
    h("code", {}, each.id),
    moment(each.created),
    each.expires ? moment(each.expires) : "never",
    each.datasets ? each.datasets.join(", ") : "all",
    each.revoked
      ? `revoked ${moment(each.revoked)}`
      : button("Revoke", () => confirmRevoking(each, load), "danger", {
          "aria-label": `Revoke the token ${each.id} of ${each.name}`,
        }),
  ]);
  return table("Tokens", ["name", "role", "id", "created", "expires", "datasets", "state"], rows);
}

function confirmRevoking({ id, name }, load) {
  const outcome = h("div", {});
  const dialog = h(
    "dialog",
    { "aria-labelledby": "revoking", on: { close: () => dialog.remove() } },
    h("h2", { id: "revoking" }, `Revoke the token ${id} of ${name}?`),
    h(
      "p",
      {},
      "Whoever uses it is signed out at the next request. " +
        "This cannot be undone; answers and spends stay.",
    ),
    outcome,
    h(
      "p",
      { class: "buttons" },
      button("Revoke it", revoke, "danger"),
      button("Keep it", () => dialog.close(), "plain", { autofocus: true }),
    ),
  );

  async function revoke() {
    try {
      await api.remove(`tokens/${encodeURIComponent(id)}`);
      dialog.close();
      announce(`The token ${id} of ${name} is revoked`);
      await load();
    } catch (error) {
      fill(outcome, problemBox(error));
    }
  }

  document.body.append(dialog);
  dialog.showModal();
}

function allowanceTable(found) {
  const rows = Object.entries(found).map(([name, amount]) => [name, plain(amount)]);
  return rows.length
    ? table("Allowances", ["analyst", "allowance"], rows, [1])
    : h("p", {}, "Nobody has one.");
}

function allowing(load) {
  const name = h("input", {
    type: "text",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const amount = h("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  const outcome = h("div", {});

  async function set(event) {
    event.preventDefault();
    try {
      await api.put(`allowances/${encodeURIComponent(name.value.trim())}`, {
        allowance: amount.value.trim() || null,
      });
      fill(outcome);
      announce(`The allowance of ${name.value.trim()} is set`);
      await load();
    } catch (error) {
      fill(outcome, problemBox(error));
    }
  }

  const form = h(
    "form",
    { class: "inline-form", on: { submit: set } },
    field("Analyst", name),
    field("Amount", amount, "Empty: none"),
    h("button", { type: "submit", class: "button" }, "Set allowance"),
  );
  return h("div", {}, form, outcome);
}
