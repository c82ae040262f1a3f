// What can be looked up and decided: the catalog, rules, and drafts of rules under review.

import { shown } from "./asking.js";
import { button, listed, make, row, section, table } from "./parts.js";
import { ask, whole } from "./service.js";

const text = async (found) => make("pre", { tabindex: "0" }, await whole(found));

export function catalog() {
  const place = make("div");
  const words = make("input", { id: "x-words", type: "search" }), name = make("input", { id: "x-table", type: "text" });
  const look = (title, operation, body, member) => (event) => {
    event.preventDefault();
    return shown(place, title, {}, async (signal) => {
      place.replaceChildren(section(title, await text((await ask(operation, body(), signal))[member])));
    });
  };
  const form = (id, label, field, said, submit) => make("form", { submit },
    make("label", { for: id }, label), make("div", { class: "line" }, field, make("button", {}, said)));
  return [make("div", { class: "view tool" },
    form("x-words", "Words of tables, columns and rules", words, "Search",
      look("Found", "catalog/search", () => ({ words: words.value || "*" }), "found")),
    form("x-table", "A table, or nothing for all of them", name, "Describe",
      look("Described", "catalog/table", () => ({ table: name.value.trim() }), "schema"))), place];
}

export function rules() {
  const place = make("div");
  shown(place, "Reading the rules", {}, async (signal) => {
    const found = await ask("rules", {}, signal);
    const left = found.predicates_left + found.rules_left;
    place.replaceChildren(
      section("Predicates", table(["Predicate", "Says", "From"], found.predicates.map((one) => row(
        make("code", {}, `${one.name}(${one.columns.map(([column, type]) => `${column}: ${type}`).join(", ")})`),
        one.says || one.description, one.source || (one.rules ? "rules" : ""))), "Predicates").element),
      section("Rules", table(["Rule", "Says", "Owner", "State", "Where"], found.rules.map((one) => row(
        make("code", {}, one.id), one.says, one.owner, one.status, `${one.file}:${one.line}`)), "Rules").element,
        left ? make("p", { class: "quiet" }, `${left} more are not shown.`) : ""));
  });
  return [place];
}

// What a draft would change, and a decision about it with its reason.
async function review(place, name, decides, back, signal) {
  const found = await ask("drafts/review", { name }, signal);
  const reason = make("textarea", { id: "x-reason", rows: "2" });
  const told = make("div", { role: "status" });
  const decide = (way) => async () => {
    if (!reason.value.trim()) return reason.focus();
    await shown(told, way, {}, async (other) => {
      const done = await ask(`drafts/${way}`, { name: found.identity, reason: reason.value.trim() }, other);
      told.replaceChildren(section(`${done.identity}: ${done.status}`,
        make("p", {}, `${done.have} of ${done.needed} approvals. ${done.file}`)));
    });
  };
  const effects = found.effects.map((one) => row(make("code", {}, one.predicate), String(one.rows_before), String(one.rows_after),
    make("div", {}, ...one.transitions.map((each) => make("p", {}, `${each.count}: ${each.before} → ${each.after} `,
      make("code", {}, (each.shown || []).join(", ")))))));
  place.replaceChildren(section(`${found.identity}: ${found.status}`, button("Back to all drafts", back),
    make("p", {}, found.purpose), make("pre", { tabindex: "0" }, found.text),
    found.problem ? make("p", { role: "alert" }, found.problem) : "",
    found.meanings.length ? make("h3", {}, "In words") : "", found.meanings.length ? listed(found.meanings) : "",
    found.rests_on.length ? make("p", {}, `It rests on ${found.rests_on.join(", ")}.`) : "",
    found.remarks.length ? listed(found.remarks) : "",
    make("h3", {}, "What it changes at present"),
    effects.length ? table(["Predicate", "Rows now", "Rows then", "Changes"], effects, "Effects").element : make("p", {}, "No answer changes."),
    make("p", {}, `${found.cases.filter((one) => !one.problems.length).length} of ${found.cases.length} cases pass.`),
    found.difference ? make("pre", { tabindex: "0" }, found.difference) : "",
    make("details", {}, make("summary", {}, "The whole review"), await text(found.shown)),
    decides ? make("div", { class: "tool" }, make("label", { for: "x-reason" }, "The reason, which is kept"), reason,
      make("div", { class: "line" }, button("Approve", decide("approve"), { class: "first" }), button("Reject", decide("reject"))))
      : make("p", { class: "quiet" }, "An approver decides, who is a person with a token and did not ask for it.")), told);
}

export function drafts(caller) {
  const place = make("div");
  const decides = caller.person && ["approver", "admin"].includes(caller.role);
  const all = () => shown(place, "Reading drafts", {}, async (signal) => {
    const found = await ask("drafts", { status: "" }, signal);
    const open = (name) => () => shown(place, "Reviewing", {}, (other) => review(place, name, decides, all, other));
    place.replaceChildren(section("Drafts", found.drafts.length ? table(["Draft", "State", "Purpose", "By", "Approvals"],
      found.drafts.map((one) => row(button(one.identity, open(one.identity), { "aria-label": `Review ${one.identity}` }), one.status,
        one.purpose, one.asked_by || one.model, `${one.approvals.length} of ${one.needed}`)), "Drafts").element
      : make("p", {}, "There are none.")));
  });
  all();
  return [place];
}
