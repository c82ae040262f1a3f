// The box of a goal: what is being written is completed with predicates, their columns and words.
// Built as the pattern "editable combobox with list autocomplete" of ARIA's practices.

import { make } from "./parts.js";
import { ask } from "./service.js";

const PAUSE = 120;
let made = 0;

export function goalBox(label, value = "") {
  const id = `x-goal${(made += 1)}`;
  const input = make("input", {
    id, type: "text", role: "combobox", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
    "aria-describedby": `${id}-call`, placeholder: "name(value, ?variable)",
  });
  const list = make("ul", { id: `${id}-list`, role: "listbox", "aria-label": "Predicates", hidden: true });
  const call = make("p", { id: `${id}-call`, class: "quiet call" });
  const told = make("p", { class: "unseen", role: "status" });
  let found = { word: "", proposals: [] }, at = -1, timer = 0, asking = null;
  input.value = value;

  const written = () => input.value.slice(0, input.selectionStart);

  function close() {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(place) {
    at = place;
    [...list.children].forEach((one, each) => one.setAttribute("aria-selected", String(each === at)));
    if (at < 0) return input.removeAttribute("aria-activedescendant");
    list.children[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", list.children[at].id);
  }

  function take(place) {
    const end = input.selectionStart, begin = end - found.word.length;
    const { goal } = found.proposals[place];
    input.setRangeText(goal, begin, end, "end");
    const first = /\?\w+/.exec(goal);
    if (first) input.setSelectionRange(begin + first.index, begin + first.index + first[0].length);
    close();
    input.focus();
    complete(false);
  }

  function option(one, place) {
    const columns = one.columns.map((each) => `${each.name}: ${each.type}`).join(", ");
    const said = one.says || one.description;
    return make("li", {
      id: `${id}-${place}`, role: "option", "aria-selected": "false",
      mousedown: (event) => event.preventDefault(), click: () => take(place),
    }, make("code", {}, make("b", {}, one.name), `(${columns})`), make("small", {}, said));
  }

  function describe() {
    call.replaceChildren();
    if (!found.call) return;
    const columns = found.call.columns.flatMap((one, place) => {
      const said = `${one.name}: ${one.type}`;
      return [place ? ", " : "", place === found.place ? make("b", {}, said) : said];
    });
    call.append(make("code", {}, `${found.call.name}(`, ...columns, ")"), ` ${found.call.says}`);
  }

  async function complete(open) {
    if (asking) asking.abort();
    asking = new AbortController();
    try {
      found = await ask("complete", { text: written(), most: 12 }, asking.signal);
    } catch {
      return; // The goal can be written without help.
    }
    describe();
    list.replaceChildren(...found.proposals.map(option));
    mark(-1);
    const show = open && found.proposals.length > 0 && document.activeElement === input;
    list.hidden = !show;
    input.setAttribute("aria-expanded", String(show));
    told.textContent = show ? `${found.proposals.length} predicates fit` : "";
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => complete(/\w$/.test(written())), PAUSE);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const many = list.children.length;
    if (event.key === "ArrowDown" && list.hidden) complete(true);
    else if (list.hidden) return;
    else if (event.key === "ArrowDown") mark((at + 1) % many);
    else if (event.key === "ArrowUp") mark((at - 1 + many) % many);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && at >= 0) take(at);
    else return;
    event.preventDefault();
  });
  return { input, element: make("div", { class: "goal" }, make("label", { for: id }, label), input, list, call, told) };
}
