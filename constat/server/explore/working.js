// Work that takes longer: questions in words step by step, everybody at once, rules while they are
// written, and what was asked before.

import { report, shown } from "./asking.js";
import { goalBox } from "./goal.js";
import { button, listed, make, mistakes, row, section, table, verdict } from "./parts.js";
import { ask, follow } from "./service.js";

const PAUSE = 500;
const MANY = 200;
const labelled = (id, label, field) => make("div", {}, make("label", { for: id }, label), field);

// ---- Questions in words; what happens is told while it happens.

const RESULT = "exploration question sentence verdict confirmed columns rows rowsLeft assumptions notes certificate";
const DOCUMENTS = {
  solve: `subscription($question: String!) { events: solving(question: $question) { message result { ${RESULT} } } }`,
  on: `subscription($question: String!, $exploration: String) { events: followingUp(question: $question, exploration: $exploration) { message result { ${RESULT} } } }`,
  ask: `subscription($question: String!) { events: asking(question: $question) { message result { goal verdict confirmed sentences certificate } } }`,
};

function solved(place, found, again, signal) {
  const notes = [...found.assumptions, ...found.notes];
  const head = section(found.question, make("p", {}, found.sentence || ""), found.verdict ? verdict(found.verdict) : "",
    found.columns.length ? table(found.columns, found.rows.map((one) => row(...one)), "Answer").element : "",
    found.rowsLeft ? make("p", { class: "quiet" }, `${found.rowsLeft} more rows.`) : "",
    notes.length ? make("h3", {}, "What it rests on") : "", notes.length ? listed(notes) : "", again);
  if (found.certificate) return report(place, found, signal, head);
  place.replaceChildren(head);
}

export function words() {
  const place = make("div"), field = make("textarea", { id: "x-question", rows: "2" });
  const run = (way, exploration) => {
    const question = field.value.trim();
    if (!question) return field.focus();
    return shown(place, "Working", {}, async (signal) => {
      const told = make("ol", { class: "steps", role: "log", "aria-label": "Progress" });
      place.append(told);
      const variables = { question, ...(exploration ? { exploration } : {}) };
      const found = await follow(DOCUMENTS[way], variables, (message) => told.append(make("li", {}, message)), signal);
      if (way === "ask") {
        await report(place, found, signal, section(question, make("p", {}, "Read as ", make("code", {}, found.goal)),
          found.confirmed === "confirmed" ? "" : make("p", { class: "quiet" }, "A model read it so; nobody has confirmed that it means this.")));
      } else {
        const on = button("Go on from this", () => run("on", found.exploration));
        await solved(place, found, make("div", { class: "line tool" }, on), signal);
      }
    });
  };
  return [make("form", { class: "view tool", submit: (event) => { event.preventDefault(); run("solve"); } },
    labelled("x-question", "A question in words, which a model of the project reads", field),
    make("div", { class: "line" }, make("button", { class: "first" }, "Solve step by step"),
      button("As one goal", () => run("ask")))), place];
}

// ---- Everybody for whom a goal holds or not, with filters.

export function everybody() {
  const goal = goalBox("A goal with variables"), among = goalBox("Among whom, a goal with the same variables; or nothing");
  const place = make("div");
  const run = () => {
    const query = goal.input.value.trim();
    if (!query) return goal.input.focus();
    return shown(place, "Looking at everybody", { "<query>": query }, async (signal) => {
      const body = { query, among: among.input.value.trim(), most: MANY, reasons: true };
      const found = await ask("query/everybody", body, signal);
      let rows = found.rows;
      const kinds = Object.keys(found.counts).sort();
      const which = make("select", { id: "x-which", change: () => show() }, make("option", { value: "" }, "all verdicts"),
        ...kinds.map((one) => make("option", { value: one }, one.replace("_", " "))));
      const because = make("select", { id: "x-because", change: () => show() });
      const words = make("input", { id: "x-filter", type: "search", input: () => show() });
      const count = make("p", { role: "status" });
      const why = (one) => (one.goals.length ? button("Why?", () => shown(place, "Proving", {}, async (other) =>
        report(place, await ask(one.verdict.startsWith("PROVED") ? "prove" : "why-not", { goal: one.goals[0] }, other), other)),
        { "aria-label": `Why? ${one.goals[0]}` }) : "");
      const { element, body: lines } = table([...found.columns.map((one) => `${one.name}: ${one.type}`), "Verdict", "Because of", "Proof"], [], "Everybody");
      const more = button("More rows", async () => {
        try {
          const part = await ask("query/everybody", { ...body, start: rows.length });
          rows = [...rows, ...part.rows];
          choose();
          show();
        } catch (problem) {
          count.replaceChildren(mistakes(problem.errors));
        }
      });
      function choose() {
        const chosen = because.value, told = new Map();
        for (const one of rows) for (const each of one.reasons) told.set(each, (told.get(each) ?? 0) + 1);
        because.replaceChildren(make("option", { value: "" }, "all reasons"),
          ...[...told].sort().map(([each, number]) => make("option", { value: each }, `${each} (${number})`)));
        because.value = chosen;
      }
      function show() {
        const wanted = words.value.trim().toLowerCase();
        const fits = rows.filter((one) => (!which.value || one.verdict === which.value)
          && (!because.value || one.reasons.includes(because.value))
          && Object.values(one.values).some((cell) => String(cell ?? "null").toLowerCase().includes(wanted)));
        lines.replaceChildren(...fits.map((one) => row(
          ...found.columns.map((column) => one.values[column.name] ?? make("i", { class: "quiet" }, "null")),
          one.verdict ? verdict(one.verdict) : "", listed(one.reasons), why(one))));
        more.hidden = rows.length >= found.total;
        count.textContent = `${fits.length} shown, of ${rows.length} read and ${found.total} in all; ${found.settled}.`;
      }
      choose();
      show();
      place.replaceChildren(section("Everybody", make("p", {}, make("code", {}, query)),
        make("p", {}, ...kinds.flatMap((one) => [verdict(one), ` ${found.counts[one]}  `])),
        make("div", { class: "settings tool" }, labelled("x-which", "Verdict", which), labelled("x-because", "Because of", because),
          labelled("x-filter", "Holds the text", words)),
        count, element, more, found.notes.length ? listed(found.notes) : ""));
    });
  };
  return [make("form", { class: "view tool", submit: (event) => { event.preventDefault(); run(); } }, goal.element, among.element,
    make("div", { class: "line" }, make("button", { class: "first" }, "List everybody"))), place];
}

// ---- Rules while they are written: what is wrong is said after each pause, with its place.

export function editor(caller) {
  const text = make("textarea", { id: "x-rules", rows: "12", spellcheck: "false", "aria-describedby": "x-wrong",
    placeholder: "@[says = \"{c} is large\"]\n.decl large(c: symbol)\nlarge(?c) :- …" });
  const goal = make("input", { id: "x-rules-goal", type: "text", spellcheck: "false", placeholder: "large(?c)" });
  const purpose = make("input", { id: "x-purpose", type: "text" });
  const wrong = make("div", { id: "x-wrong", role: "status" }), place = make("div");
  let timer = 0, asking = null;
  async function check() {
    if (asking) asking.abort();
    asking = new AbortController();
    if (!text.value.trim()) return wrong.replaceChildren();
    try {
      const found = await ask("drafts/check", { rules: text.value, goal: goal.value.trim() }, asking.signal);
      const errors = found.mistakes.filter((one) => one.severity !== "warning").length;
      const names = { "<rules>": text.value, "<draft>": text.value, "<goal>": found.goal };
      for (const { span } of found.mistakes) if (span && !(span.source in names)) names[span.source] = text.value;
      const state = errors ? `${errors} mistakes` : `No mistake; held against ${found.goal}`;
      wrong.replaceChildren(make("p", { class: errors ? "wrong" : "quiet" }, state), found.mistakes.length ? mistakes(found.mistakes, names) : "");
      text.setAttribute("aria-invalid", String(errors > 0));
    } catch (problem) {
      if (problem.errors) wrong.replaceChildren(mistakes(problem.errors));
    }
  }
  const later = () => { clearTimeout(timer); timer = setTimeout(check, PAUSE); };
  text.addEventListener("input", later);
  goal.addEventListener("input", later);
  const hand = () => {
    for (const one of [text, goal, purpose]) if (!one.value.trim()) return one.focus();
    return shown(place, "Handing in", {}, async (signal) => {
      const body = { rules: text.value, goal: goal.value.trim(), purpose: purpose.value.trim() };
      const found = await ask("drafts/add", body, signal);
      await report(place, found, signal, section(`Draft ${found.draft}: ${found.status}`,
        make("p", {}, "It lies in the quarantine until somebody else has approved it; below, its goal under it.")));
    });
  };
  return [make("form", { class: "view tool", submit: (event) => { event.preventDefault(); hand(); } },
    labelled("x-rules", "Rules", text), wrong, labelled("x-rules-goal", "A goal that they are for", goal),
    labelled("x-purpose", "What they are for, in words", purpose),
    make("div", { class: "line" }, make("button", { class: "first" }, "Hand in as a draft"))), place];
}

// ---- What was asked: in this tab, and by explorations; and what has changed since.

export function history(caller) {
  const place = make("div"), list = make("div");
  const changed = (found) => {
    const rows = found.changes.map((one) => row(one.kind, one.subject, make("code", {}, one.before ?? "—"),
      make("code", {}, one.after ?? "—"), one.because.join(", ")));
    place.replaceChildren(section("What differs", make("p", {}, make("code", {}, found.goal)),
      found.same ? make("p", { role: "status" }, "Nothing but when and where they were made.") : "",
      rows.length ? table(["What", "Of", "Before", "After", "Because of"], rows, "Differences").element : "",
      found.unaligned.length ? make("p", { class: "quiet" }, `${found.unaligned.length + found.unaligned_left} rows stand in one of them alone.`) : ""));
  };
  const diff = (before, after = "") => () =>
    shown(place, "Comparing", {}, async (signal) => changed(await ask("diff", { before, after }, signal)));
  const proofs = globalThis.proofsOfThisTab.map((one, at, all) => {
    const earlier = all.slice(0, at).reverse().find((each) => each.goal === one.goal);
    return row(make("code", {}, one.goal), verdict(one.verdict), one.at, make("div", { class: "line" },
      button("Compare with now", diff(one.certificate), { "aria-label": `Compare with now: ${one.goal}` }),
      earlier ? button("With the one before", diff(earlier.certificate, one.certificate), { "aria-label": `With the one before: ${one.goal}` }) : ""));
  });
  list.append(section("Proofs of this tab", proofs.length ? table(["Goal", "Verdict", "When", "What has changed"], proofs, "Proofs").element
    : make("p", {}, "None yet.")));
  if (caller.sees_all && caller.role !== "viewer") {
    ask("history").then((found) => list.append(section("Explorations", found.explorations.length
      ? table(["Exploration", "Began", "Questions"], found.explorations.map((one) => row(make("code", {}, one.exploration), one.began,
        listed(one.questions))), "Explorations").element : make("p", {}, "None yet."))), () => {});
  }
  return [list, place];
}
