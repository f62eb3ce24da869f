// The page: sign in, then views by the part of the address after "#", which names a view and
// nothing else.

import * as api from "./api.js";
import { announce, fill, h } from "./dom.js";
import { historyView } from "./history.js";
import { plannerView } from "./planner.js";
import { sqlView } from "./sql.js";
import { learnStatistics } from "./statistics.js";
import { budgetsView } from "./steward.js";
import { tokensView } from "./tokens.js";
import { trailView } from "./trail.js";
import { sentence } from "./values.js";
import { examplePicture } from "./welcome.js";

const ASKING = { ask: plannerView, sql: sqlView, history: historyView };
const REFUSED =
  "This token is not accepted. " +
  "It may be mistyped, expired or revoked; ask your steward for another one.";
const EXPELLED =
  "Your token is no longer accepted: it was revoked, or it expired. Sign in with another one.";
const STEWARD = { budgets: budgetsView, trail: trailView, tokens: tokensView };

const part = (id) => document.getElementById(id);
let views = {};

/** What the views share: who is signed in, what there is to ask about, what is left. */
async function openDesk() {
  const [me, { datasets }, { statistics }, budget, { answers }] = await Promise.all(
    ["me", "datasets", "statistics", "budget", "answers?limit=1"].map((path) => api.get(path)),
  );
  learnStatistics(statistics);
  const desk = { me, datasets, statistics, budget, isFirstVisit: answers.length === 0 };
  desk.refreshBudget = async () => {
    try {
      desk.budget = await api.get("budget");
    } catch {
      // The bars stay as they were; the next question brings its own price.
    }
  };
  return desk;
}

function signedOut(message) {
  api.forgetToken();
  views = {};
  fill(part("views"));
  fill(part("nav"));
  part("desk").hidden = true;
  part("account").hidden = true;
  part("sign-in").hidden = false;
  part("sign-in-problem").textContent = message;
  part("token").value = "";
  part("token").focus();
}

async function signedIn() {
  const desk = await openDesk();
  const makers = desk.me.role === "steward" ? { ...STEWARD, ...ASKING } : ASKING;
  views = Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, make(desk)]));
  fill(
    part("nav"),
    ...Object.entries(views).map(([name, { title }]) => h("a", { href: `#${name}` }, title)),
  );
  part("who").textContent = `${desk.me.name}, ${desk.me.role}`;
  part("sign-in").hidden = true;
  part("desk").hidden = false;
  part("account").hidden = false;
  show();
}

/** Show the view that the address names, or the first one. */
function show() {
  const names = Object.keys(views);
  if (!names.length) return;
  const asked = location.hash.slice(1);
  const name = names.includes(asked) ? asked : names[0];
  for (const link of part("nav").children) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${views[name].title} · postri`;
  part("view-title").textContent = views[name].title;
  fill(part("views"), views[name].element);
  views[name].show();
}

async function signIn(event) {
  event.preventDefault();
  const written = part("token").value.trim();
  if (!written) return signedOut("Write your token first.");
  if (!/^[\x21-\x7e]+$/.test(written)) return signedOut(REFUSED);
  api.keepToken(written);
  await enter(REFUSED);
}

/** Go in with the kept token; back to the sign-in with this message if it is refused. */
async function enter(refused) {
  api.onUnauthorized(() => signedOut(refused));
  try {
    await signedIn();
    part("sign-in-problem").textContent = "";
    api.onUnauthorized(() => signedOut(EXPELLED));
    announce("Signed in");
  } catch (error) {
    if (!(error instanceof api.Problem || error instanceof api.LostConnection)) throw error;
    if (error.status !== 401) signedOut(`${sentence(error.message)} Try again in a moment.`);
  }
}

fill(part("example"), examplePicture());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  part("main").focus();
});
part("sign-in").addEventListener("submit", signIn);
part("sign-out").addEventListener("click", () => signedOut(""));
addEventListener("hashchange", () => {
  show();
  part("view-title").focus();
});
if (api.token()) enter(EXPELLED);
else signedOut("");
