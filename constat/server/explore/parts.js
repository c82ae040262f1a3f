// Pieces of the page. What comes from outside is a text here, and never markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((one) => one !== null && one !== undefined && one !== ""));
  return element;
}

export const button = (said, click, attributes = {}) =>
  make("button", { type: "button", click, ...attributes }, said);

export function section(title, ...children) {
  return make("section", { class: "view" }, make("h2", { tabindex: "-1" }, title), ...children);
}

export function table(titles, rows, label) {
  const head = make("tr", {}, ...titles.map((one) => make("th", { scope: "col" }, one)));
  const body = make("tbody", {}, ...rows);
  return {
    body,
    element: make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      make("table", {}, make("thead", {}, head), body)),
  };
}

export const row = (...cells) => make("tr", {}, ...cells.map((one) => make("td", {}, one)));

export const listed = (texts) => make("ul", {}, ...texts.map((one) => make("li", {}, one)));

const TONES = {
  PROVED: ["settled", "●"], PROVED_UNDER: ["warn", "▲"],
  DISPROVED: ["settled", "○"], DISPROVED_UNDER: ["warn", "▲"],
};

export function verdict(name) {
  const [tone, sign] = TONES[name] || ["open", "?"];
  const mark = make("span", { "aria-hidden": "true" }, sign);
  return make("span", { class: tone }, make("span", { class: "badge" }, mark, ` ${name.replace("_", " ")}`));
}

// What stands between backticks is code.
const ticked = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));

// A mistake as the command line shows it: code, place, the line with a mark under it, why, an edit.
function mistake(one, texts) {
  const { span } = one;
  const line = span && (texts[span.source] || "").split("\n")[span.line - 1];
  const parts = [make("p", {}, make("b", {}, one.code), " ", ...ticked(one.message))];
  if (span) parts.push(make("p", { class: "quiet" }, `at ${span.source}, line ${span.line}, column ${span.column}`));
  if (line !== undefined && line !== null) {
    const end = span.end_line === span.line ? span.end_column : line.length + 1;
    const marks = "^".repeat(Math.max(1, end - span.column));
    parts.push(make("pre", { class: "marked", tabindex: "0" }, `${line}\n${" ".repeat(span.column - 1)}${marks} ${one.label || ""}`));
  }
  if (one.note) parts.push(make("p", {}, "Why: ", ...ticked(one.note)));
  if (one.help) parts.push(make("p", {}, "Edit: ", ...ticked(one.help)));
  return make("li", {}, ...parts);
}

export function mistakes(errors, texts = {}) {
  return make("ul", { class: "mistakes" }, ...errors.map((one) => mistake(one, texts)));
}
