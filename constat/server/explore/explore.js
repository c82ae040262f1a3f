// The explorer: who asks, and which view is shown.

import { asking } from "./asking.js";
import { catalog, drafts, rules } from "./looking.js";
import { editor, everybody, history, words } from "./working.js";
import { button, make, mistakes } from "./parts.js";
import { ask, enter, inside, whenOutside } from "./service.js";

const at = (id) => document.getElementById(id);
const may = (role) => (caller) => caller.sees_all && ROLES.indexOf(caller.role) >= ROLES.indexOf(role);
const ROLES = ["viewer", "analyst", "approver", "admin"];
const VIEWS = [["Ask", asking, () => true], ["In words", words, may("analyst")], ["Everybody", everybody, () => true],
  ["Rules", rules, () => true], ["Catalog", catalog, may("viewer")], ["Write rules", editor, may("analyst")],
  ["Drafts", drafts, may("analyst")], ["History", history, () => true]];
// What was asked before is read anew each time.
const PASSING = new Set(["History"]);

// Colours: as the system says, or turned by hand; nothing is stored.
const THEMES = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
let theme = 0;
at("x-theme").addEventListener("click", () => {
  theme = (theme + 1) % THEMES.length;
  const [name, said] = THEMES[theme];
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  at("x-theme").textContent = `Colours: ${said}`;
});

function outside(errors) {
  const wrong = inside();
  enter("");
  at("x-inside").hidden = true;
  at("x-view").replaceChildren();
  at("x-leave").hidden = true;
  at("x-caller").textContent = "";
  at("x-enter").hidden = false;
  at("x-refused").replaceChildren(...(wrong && errors ? [mistakes(errors)] : []));
  at("x-token").focus();
}

function open(name, views, parts, caller) {
  for (const one of at("x-views").querySelectorAll("button")) {
    if (one.textContent === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  // A view keeps what was found in it.
  if (PASSING.has(name) || !parts.has(name)) parts.set(name, views.find(([one]) => one === name)[1](caller));
  at("x-view").replaceChildren(...parts.get(name));
}

async function begin() {
  let caller;
  try {
    caller = await ask("caller");
  } catch (problem) {
    if (problem.status !== 401) at("x-view").replaceChildren(mistakes(problem.errors));
    at("x-inside").hidden = problem.status === 401;
    return;
  }
  const kind = caller.model ? ", a program" : "";
  at("x-caller").textContent = `${caller.name}, ${caller.role}${kind}${caller.sees_all ? "" : ", sees a part"}`;
  at("x-enter").hidden = true;
  at("x-leave").hidden = !inside();
  at("x-inside").hidden = false;
  const views = VIEWS.filter(([, , fits]) => fits(caller)), parts = new Map();
  const links = views.map(([name]) => make("li", {}, button(name, () => open(name, views, parts, caller))));
  at("x-views").querySelector("ul").replaceChildren(...links);
  at("x-views").hidden = views.length < 2;
  open(views[0][0], views, parts, caller);
}

at("x-enter").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(at("x-token").value.trim());
  at("x-token").value = "";
  begin();
});
at("x-leave").addEventListener("click", () => {
  enter("");
  location.reload();
});
whenOutside(outside);
begin();
