"use strict";
(() => {
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const at = (id) => document.getElementById(id);
  // What stands there without scripts: it says how to check the certificate by hand.
  const unverified = [...at("state").childNodes];
  const words = JSON.parse(at("state").dataset.words || "{}");
  const say = (english) => words[english] || english;
  const certificate = at("certificate").textContent;
  const marks = all(".tree li[id], #audit tr[id^=a]").map((step) => {
    const mark = document.createElement("i");
    mark.className = "m";
    mark.textContent = say("○ unverified");
    if (step.cells) step.cells[0].append(" ", mark);
    else step.querySelector("span").after(" ", mark);
    // A row of the audit without a step in the outline is a row of a sum.
    const told = step.cells ? at(`s${step.id.slice(1)}`) : step;
    return told ? { mark, node: told.dataset.n, kind: kind(told.classList) } : { mark, kind: "recorded" };
  });
  const folds = all(".tree details");
  const SAYS = {
    checked: ["ok", say("✓ checked")],
    recorded: ["ok", say("✓ as recorded")],
    assumed: ["as", say("▲ assumed")],
  };

  // A page may show one report after the other: what listens for the one before ends.
  if (globalThis.constatShown) globalThis.constatShown.abort();
  const { signal } = (globalThis.constatShown = new AbortController());

  for (const one of all(".js")) one.hidden = false;

  // Colours: as the system says, or turned by hand; nothing is stored.
  const THEMES = [
    ["", say("as the system")], ["light", say("light")], ["dark", say("dark")],
  ];
  let theme = 0;
  if (at("theme")) at("theme").addEventListener("click", () => {
    theme = (theme + 1) % THEMES.length;
    const [name, said] = THEMES[theme];
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    at("theme").textContent = `${say("Colours")}: ${said}`;
  });

  // What is folded is counted, whoever folds it.
  const counts = at("counts");
  function recount() {
    const closed = folds.filter((one) => !one.open);
    const hidden = new Set();
    for (const one of closed) for (const item of one.querySelectorAll("li[id]")) hidden.add(item);
    const told = Number(counts.dataset.told);
    const steps = told === 1 ? say("step") : say("steps");
    counts.textContent = `${told} ${steps}, ${say("… of them folded.").replace("…", hidden.size)}`;
  }
  let counting = false;
  function recountSoon() {
    if (counting) return;
    counting = true;
    requestAnimationFrame(() => {
      counting = false;
      recount();
    });
  }
  if (counts) {
    for (const one of folds) one.addEventListener("toggle", recountSoon);
    const foldAll = (open) => () => folds.forEach((one) => { one.open = open; });
    at("unfold").addEventListener("click", foldAll(true));
    at("fold").addEventListener("click", foldAll(false));
  }

  // A link into what is folded unfolds it.
  function reveal() {
    const target = location.hash && at(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let one = target.parentElement; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
    }
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal, { signal });
  reveal();

  // The picture fits the width of its page, and is made larger, dragged and scrolled from there.
  const SMALLEST = 0.1, LARGEST = 4, READABLE = 0.5;
  const drawing = document.querySelector(".drawing");
  const svg = drawing && drawing.querySelector("svg");
  if (svg) {
    const buttons = all(".zoom button");
    const natural = svg.viewBox.baseVal.width;
    const whole = () => Math.min(1, (drawing.clientWidth - 2) / natural);
    let share = 1;
    const resize = (to) => {
      const before = share;
      share = Math.min(LARGEST, Math.max(SMALLEST, to));
      svg.style.width = `${natural * share}px`;
      svg.style.height = "auto";
      document.querySelector(".zoom output").textContent = `${Math.round(share * 100)} %`;
      // What is in the middle stays there.
      const [wide, high] = [drawing.clientWidth / 2, drawing.clientHeight / 2];
      drawing.scrollLeft = ((drawing.scrollLeft + wide) * share) / before - wide;
      drawing.scrollTop = ((drawing.scrollTop + high) * share) / before - high;
    };
    const by = (factor) => resize(factor ? share * factor : whole());
    for (const one of buttons) one.addEventListener("click", () => by(Number(one.dataset.by)));
    const KEYS = { "+": 1.25, "=": 1.25, "-": 0.8, 0: 0 };
    drawing.addEventListener("keydown", (event) => {
      if (!(event.key in KEYS) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      by(KEYS[event.key]);
    });
    let held = null;
    drawing.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch" || event.target.closest("a")) return;
      held = [event.clientX + drawing.scrollLeft, event.clientY + drawing.scrollTop];
      drawing.setPointerCapture(event.pointerId);
    });
    drawing.addEventListener("pointermove", (event) => {
      if (!held) return;
      drawing.scrollLeft = held[0] - event.clientX;
      drawing.scrollTop = held[1] - event.clientY;
    });
    for (const name of ["pointerup", "pointercancel"]) {
      drawing.addEventListener(name, () => { held = null; });
    }
    // A picture too wide to be read whole begins where it can be read.
    resize(Math.max(READABLE, whole()));
    drawing.scrollTo(0, 0);
  }

  let closedForPrint = [];
  addEventListener("beforeprint", () => {
    closedForPrint = folds.filter((one) => !one.open);
    for (const one of closedForPrint) one.open = true;
  }, { signal });
  addEventListener("afterprint", () => {
    for (const one of closedForPrint) one.open = false;
  }, { signal });

  at("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([certificate], { type: "application/json" }));
    link.download = "certificate.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  // ------------------------------------------------------------------ verification
  function show(mark, tone, said) {
    mark.className = `m ${tone}`;
    mark.textContent = said;
  }

  function tell(tone, title, said) {
    const state = at("state");
    const mark = document.createElement("span");
    show(mark, tone, title);
    // What stands between backticks is a command.
    const parts = said.split("`").map((part, at) => {
      if (at % 2 === 0) return part;
      const code = document.createElement("code");
      code.textContent = part;
      return code;
    });
    state.replaceChildren(mark, " ", ...parts);
  }

  function kind(classes) {
    if (classes.contains("assumed")) return "assumed";
    return classes.contains("fact") || classes.contains("row") ? "recorded" : "checked";
  }

  function accepted(report) {
    for (const one of marks) show(one.mark, ...SAYS[one.kind]);
    const verdict = report.verdict.replace("_", " ");
    tell("ok", `${say("✓ verified in this page")}: ${say(verdict)}`, at("state").dataset.ok);
  }

  // A reason may quote the certificate, and its backticks are no marks of ours.
  const shown = (text) => String(text).replaceAll("`", "'");

  function rejected(report) {
    const nodes = report.nodes || [];
    for (const { mark, node } of marks) {
      if (node && nodes[node] && nodes[node].ok === false) show(mark, "no", say("✗ rejected"));
      else show(mark, "", say("○ not confirmed"));
    }
    const why = `${shown(report.reason)}${report.place ? ` (${say("at")} ${shown(report.place)})` : ""}.`;
    tell("no", say("✗ REJECTED"), at("state").dataset.no.replace("…", () => why));
  }

  const BEING_VERIFIED = say("○ being verified");
  function verify() {
    if (typeof globalThis.constatCheck !== "function") {
      at("state").replaceChildren(...unverified);
      document.documentElement.dataset.verified = "done";
      return;
    }
    try {
      const report = globalThis.constatCheck(certificate, {});
      if (report.accepted) accepted(report);
      else rejected(report);
    } catch (error) {
      at("state").replaceChildren(...unverified);
    }
    document.documentElement.dataset.verified = "done";
  }

  const LARGE = 2000000;
  if (certificate.length <= LARGE) {
    tell("", BEING_VERIFIED, say("One moment."));
    setTimeout(verify, 30);
  } else {
    // A check of many seconds is begun by whoever wants it.
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = say("Verify now");
    button.addEventListener("click", () => {
      tell("", BEING_VERIFIED, say("This takes a while."));
      setTimeout(verify, 50);
    });
    at("state").append(" ", button);
  }
})();
