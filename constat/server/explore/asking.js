// Questions: a goal, its verdict, and the report of its proof, which verifies itself in this page.

import { goalBox } from "./goal.js";
import { button, listed, make, mistakes, row, section, table, verdict } from "./parts.js";
import { ask, whole } from "./service.js";

// The one door for markup: the report that the server writes, in which data is escaped.
const plain = { createHTML: (text) => text, createScriptURL: (text) => text };
const policy = globalThis.trustedTypes ? trustedTypes.createPolicy("report", plain) : plain;
const MANY = 100;

// Show what comes of some work: that it goes on, how to stop it, and what is wrong.
export async function shown(place, title, texts, work) {
  const stop = new AbortController();
  place.replaceChildren(make("p", { class: "view tool", role: "status" }, `${title} … `,
    button("Stop", () => stop.abort())));
  place.setAttribute("aria-busy", "true");
  try {
    await work(stop.signal);
  } catch (problem) {
    const stopped = problem.name === "AbortError";
    const errors = stopped ? [{ code: "Stopped", message: "what was asked is given up" }] : problem.errors;
    if (!errors) throw problem;
    const told = section("This could not be answered", mistakes(errors, texts));
    told.setAttribute("role", "alert");
    place.replaceChildren(told);
  } finally {
    place.removeAttribute("aria-busy");
  }
  const head = place.querySelector("#question, h2");
  if (head) {
    head.tabIndex = -1;
    head.focus({ preventScroll: true });
    head.scrollIntoView({ block: "nearest" });
  }
}

// What was proved in this tab, for the view that compares it with what is true later.
globalThis.proofsOfThisTab = [];

export async function report(place, result, signal, ...before) {
  if (result.goal && result.verdict) {
    const at = new Date().toISOString().slice(0, 19).replace("T", " ");
    globalThis.proofsOfThisTab.push({ goal: result.goal, verdict: result.verdict, certificate: result.certificate, at });
  }
  const { text } = await ask("export", { certificate: result.certificate, to: "html" }, signal);
  const main = text.slice(text.indexOf("<main"), text.lastIndexOf("</main>"));
  const page = new DOMParser().parseFromString(policy.createHTML(main), "text/html");
  place.replaceChildren(...before, ...document.importNode(page.querySelector("main"), true).children);
  delete document.documentElement.dataset.verified;
  const script = make("script");
  script.src = policy.createScriptURL("explore/page.min.js");
  place.append(script);
}

async function proved(place, goal, signal) {
  await report(place, await ask("prove", { goal }, signal), signal);
}

async function answers(place, query, signal) {
  const found = await ask("query", { query, most: MANY }, signal);
  const again = (goal) => button("Why?", () =>
    shown(place, "Proving", { "<goal>": goal }, (other) => proved(place, goal, other)),
    { "aria-label": `Why? ${goal}` });
  const rows = (part) => part.rows.map((one) => row(
    ...found.columns.map((column) => one.values[column.name] ?? make("i", { class: "quiet" }, "null")),
    verdict(one.verdict), one.goals.length ? again(one.goals[0]) : ""));
  const titles = [...found.columns.map((one) => `${one.name}: ${one.type}`), "Verdict", "Proof"];
  const { element, body } = table(titles, rows(found), "Answers");
  const count = make("p", { role: "status" });
  const more = button("More rows", async () => {
    try {
      found.cursor = next(await ask("query/more", { cursor: found.cursor, most: MANY }));
    } catch (problem) {
      count.replaceChildren(mistakes(problem.errors));
    }
  });
  function tell() {
    count.textContent = `${body.children.length} of ${found.total} answers; ${found.settled}.`;
    more.hidden = !found.cursor;
  }
  function next(part) {
    body.append(...rows(part));
    found.cursor = part.cursor;
    tell();
    return part.cursor;
  }
  tell();
  const open = found.open_because.map((one) => Object.values(one).filter((each) => typeof each === "string").join(": "));
  place.replaceChildren(section("Answers", make("p", {}, make("code", {}, found.query)), count,
    found.total ? element : "", more,
    found.assumptions.length ? make("h3", {}, "Assumptions") : "", found.assumptions.length ? listed(found.assumptions) : "",
    open.length ? make("h3", {}, "Why there may be others") : "", open.length ? listed(open) : ""));
}

async function whyNot(place, goal, signal) {
  const found = await ask("why-not", { goal }, signal);
  const why = section("Why it does not hold, and how near it is", verdict(found.verdict),
    make("pre", { tabindex: "0" }, await whole(found.why)));
  await report(place, found, signal, why);
}

async function missing(place, goal, signal) {
  const found = await ask("missing", { goal }, signal);
  const sets = found.sets.map((one) => make("li", {},
    ...one.add.map((fact) => make("p", {}, make("code", {}, String(fact.fact ?? Object.values(fact)[0])))),
    ...one.remove.map((fact) => make("p", {}, "without ", make("code", {}, fact))),
    make("p", { class: "quiet" }, `Cost ${one.cost}. With it: `, verdict(one.verdict))));
  const others = found.others_are_possible ? "There may be other sets." : "There are no other sets.";
  await report(place, found, signal, section("What would prove it",
    sets.length ? make("ol", {}, ...sets) : make("p", {}, "No set of facts that people may state was found."),
    make("p", { class: "quiet" }, others),
    found.candidates.length ? make("p", {}, `Rows or values of these could: ${found.candidates.join(", ")}.`) : ""));
}

const lines = (text) => text.split("\n").map((one) => one.trim()).filter(Boolean);

// A configured value with a box, and for a number a slider beside it, from nothing to twice as much.
function setting(one, ask) {
  const id = `x-set-${one.name}`;
  const box = make("input", { id, type: "text", value: one.value, "aria-describedby": `${id}-says` });
  const number = Number(one.value), exact = /^-?[0-9]+$/.test(one.value) && Math.abs(number) < 2 ** 50;
  const span = Math.max(10, 2 * Math.abs(number));
  const slider = exact && make("input", {
    type: "range", min: String(Math.min(0, -span * (number < 0))), max: String(span), value: one.value,
    step: String(Math.max(1, Math.round(span / 200))), "aria-label": `${one.name}, by a slider`,
    input: () => { box.value = slider.value; }, change: ask,
  });
  if (slider) box.addEventListener("input", () => { slider.value = box.value; });
  return {
    one, box,
    element: make("div", { class: "setting" }, make("label", { for: id }, one.name), box, slider || "",
      make("small", { id: `${id}-says`, class: "quiet" }, `${one.type}, is ${one.value}. ${one.description}`)),
  };
}

function supposing(goal, place) {
  const fields = make("div", { class: "settings" });
  const facts = (id, label) => make("div", {}, make("label", { for: id }, label), make("textarea", { id, rows: "2", spellcheck: "false" }));
  const add = facts("x-add", "Facts that would be there, one a line"), remove = facts("x-remove", "Facts that would not");
  let known = [];
  const run = () => shown(place, "Supposing", { "<goal>": goal.value.trim() }, async (signal) => {
    const changed = known.filter(({ one, box }) => box.value.trim() !== one.value);
    const settings = Object.fromEntries(changed.map(({ one, box }) => [one.name, box.value.trim()]));
    const [more, less] = [add, remove].map((one) => lines(one.querySelector("textarea").value));
    const found = await ask("what-if", { goal: goal.value.trim(), add: more, remove: less, settings }, signal);
    const changes = found.changes.map((one) => row(one.kind, make("code", {}, one.before), make("code", {}, one.after)));
    await report(place, found, signal, section("What would change",
      make("p", { class: "line" }, "Now ", verdict(found.before), " and then ", verdict(found.verdict)),
      found.supposed.length ? listed(found.supposed) : make("p", {}, "Nothing is supposed."),
      found.without_effect.length ? make("p", {}, `Without effect: ${found.without_effect.join("; ")}.`) : "",
      changes.length ? table(["Change", "Before", "After"], changes, "Changes").element : "",
      found.changes_left ? make("p", { class: "quiet" }, `${found.changes_left} more changes.`) : ""));
  });
  ask("settings").then((found) => {
    known = found.settings.map((one) => setting(one, () => goal.value.trim() && run()));
    fields.replaceChildren(...known.map((one) => one.element));
  }, (problem) => fields.replaceChildren(mistakes(problem.errors)));
  return make("details", {}, make("summary", {}, "What if …"), fields, add, remove,
    make("div", { class: "line" }, button("Suppose", () => (goal.value.trim() ? run() : goal.focus()))));
}

const HOW = [["Prove", "Proving", proved], ["All answers", "Looking for answers", answers],
  ["Why not?", "Looking for what fails", whyNot], ["What is missing?", "Looking for what is missing", missing]];

export function asking() {
  const goal = goalBox("A goal", new URLSearchParams(location.search).get("goal") || "");
  const place = make("div", { "aria-live": "off" });
  const run = ([, title, work]) => {
    const text = goal.input.value.trim();
    if (!text) return goal.input.focus();
    const names = { "<goal>": text, "<query>": text };
    return shown(place, title, names, (signal) => work(place, text, signal));
  };
  const [first, ...rest] = HOW;
  const form = make("form", { class: "view tool", submit: (event) => { event.preventDefault(); run(first); } },
    goal.element, make("div", { class: "line" }, make("button", { class: "first" }, first[0]),
      ...rest.map((one) => button(one[0], () => run(one)))), supposing(goal.input, place));
  return [form, place];
}
