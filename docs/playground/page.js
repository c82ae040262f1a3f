// The page of the playground: texts in, texts out. All work is done by `worker.js`, so that it can
// be stopped. Nothing that comes from a link or an answer is ever taken for HTML.

const EXAMPLES = [
  ["A threshold and a list", "vip"],
  ["Paths", "paths"],
  ["What is not known", "unknown"],
  ["A count and an exception", "count"],
];
const MOST_LETTERS = 200_000;
const byId = (name) => document.getElementById(name);
const near = (name) => new URL(name, import.meta.url);

let worker = null;
let ready = false;
let asked = 0;
let waiting = null;
let certificate = "";

function say(text) {
  byId("state").textContent = text;
}

function busy(is) {
  byId("prove").disabled = is;
  byId("query").disabled = is;
  byId("stop").disabled = !is;
}

function start() {
  worker = new Worker(near("worker.js"), { type: "module" });
  ready = false;
  worker.onmessage = ({ data }) => take(data);
  worker.onerror = () => {
    stop();
    say("Python could not be loaded: this copy of the site was built without it, or the network failed.");
  };
}

function take(data) {
  if (data.kind === "loading") {
    say(`Loading ${data.what} ...`);
  } else if (data.kind === "failed") {
    stop();
    say(`Python could not be loaded: ${data.why}`);
  } else if (data.kind === "ready") {
    ready = true;
    if (waiting) send();
  } else if (data.kind === "answer" && data.number === asked) {
    busy(false);
    show(data.answer, data.seconds);
  }
}

function send() {
  say("Working ...");
  worker.postMessage({ number: ++asked, ...waiting });
  waiting = null;
}

function ask(kind, goal = byId("goal").value) {
  waiting = { kind, rules: byId("rules").value, goal };
  busy(true);
  if (kind !== "page") {
    byId("answer").hidden = true;
    byId("files").hidden = true;
  }
  if (!worker) start();
  if (ready) send();
}

function stop() {
  if (worker) worker.terminate();
  worker = null;
  waiting = null;
  busy(false);
  say("Stopped.");
}

function show(answer, seconds) {
  say(`${answer.title} (${seconds.toFixed(1)} s)`);
  if (answer.page) {
    save("proof.html", answer.page, "text/html");
    return;
  }
  byId("answer").textContent = answer.text;
  byId("answer").hidden = false;
  certificate = answer.certificate || "";
  byId("files").hidden = !certificate;
}

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function squeezed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (one) => String.fromCharCode(one)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unsqueezed(word) {
  const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = stream.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    if (text.length > MOST_LETTERS) throw new Error("it is too long");
  }
  return text;
}

async function share() {
  const text = JSON.stringify([byId("rules").value, byId("goal").value]);
  const link = new URL(`#${await squeezed(text)}`, location.href);
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link.href);
    say("The link is in the clipboard and in the address of this page.");
  } catch {
    say("The link is in the address of this page.");
  }
}

async function fill(name) {
  const found = await fetch(near(`examples/${name}.dl`));
  const [first, ...rest] = (await found.text()).split("\n");
  byId("goal").value = first.replace("// goal: ", "");
  byId("rules").value = rest.join("\n").trim() + "\n";
}

async function begin() {
  for (const [title, name] of EXAMPLES) byId("example").add(new Option(title, name));
  byId("example").onchange = ({ target }) => fill(target.value);
  byId("prove").onclick = () => ask("prove");
  byId("query").onclick = () => ask("query");
  byId("stop").onclick = stop;
  byId("certificate").onclick = () => save("certificate.json", certificate, "application/json");
  byId("page").onclick = () => ask("page", certificate);
  byId("share").onclick = share;
  byId("goal").onkeydown = ({ key }) => {
    if (key === "Enter" && !byId("prove").disabled) ask("prove");
  };
  const word = location.hash.slice(1);
  if (!word) {
    await fill(EXAMPLES[0][1]);
    return;
  }
  try {
    const [rules, goal] = JSON.parse(await unsqueezed(word));
    byId("rules").value = String(rules);
    byId("goal").value = String(goal);
    say("This program came with the link. Nothing has been asked.");
  } catch {
    await fill(EXAMPLES[0][1]);
    say("The link holds no program that can be read.");
  }
}

begin();
