// The steward's tokens and allowances.

import * as api from "./api.js";
import { announce, button, confirming, field, fill, h, table } from "./dom.js";
import { copy } from "./files.js";
import { problemBox } from "./problems.js";
import { plain } from "./rational.js";
import { moment } from "./values.js";

/** The view "Tokens". */
export function tokensView() {
  const list = h("div", {});
  const allowances = h("div", {});
  const form = allowing(load);

  async function load() {
    await Promise.all([
      shown(list, async () => tokenTable((await api.get("tokens")).tokens, load)),
      shown(allowances, async () =>
        allowanceTable((await api.get("allowances")).allowances, form.change),
      ),
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
        form.element,
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
  const head = ["name", "role", "id", "created", "expires", "datasets", "state"];
  return table("Tokens", head, rows, [], true);
}

function confirmRevoking({ id, name }, load) {
  confirming({
    title: `Revoke the token ${id} of ${name}?`,
    words:
      "Whoever uses it is signed out at the next request. " +
      "This cannot be undone; answers and spends stay.",
    yes: "Revoke it",
    no: "Keep it",
    kind: "danger",
    async act() {
      await api.remove(`tokens/${encodeURIComponent(id)}`);
      announce(`The token ${id} of ${name} is revoked`);
      await load();
    },
  });
}

function allowanceTable(found, change) {
  const rows = Object.entries(found).map(([name, amount]) => [
    name,
    plain(amount),
    button("Change", () => change(name, plain(amount)), "plain", {
      "aria-label": `Change the allowance of ${name}`,
    }),
  ]);
  return rows.length
    ? table("Allowances", ["analyst", "allowance", "change"], rows, [1])
    : h("p", {}, "Nobody has one.");
}

/** The form that sets an allowance, and `change`, which puts one into it. */
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

  function change(analyst, now) {
    name.value = analyst;
    amount.value = now;
    amount.focus();
    amount.select();
  }

  return { element: h("div", {}, form, outcome), change };
}
