// Python in a worker: it is loaded once, then answers one question after the other.

const near = (name) => new URL(name, import.meta.url).href;
const tell = (message) => self.postMessage(message);

async function fetched(name) {
  const found = await fetch(near(name));
  if (!found.ok) throw new Error(`${name} is not there`);
  return found;
}

async function load() {
  tell({ kind: "loading", what: "Python" });
  await fetched("python/pyodide-lock.json");
  const { loadPyodide } = await import(near("python/pyodide.mjs"));
  const python = await loadPyodide({ indexURL: near("python/") });
  tell({ kind: "loading", what: "Constat" });
  const archive = await (await fetched("constat.zip")).arrayBuffer();
  python.unpackArchive(archive, "zip", { extractDir: "/constat" });
  python.runPython("import sys; sys.path.insert(0, '/constat')");
  python.runPython(await (await fetched("answering.py")).text());
  return python.globals.get("answer");
}

const loading = load();
loading.then(
  () => tell({ kind: "ready" }),
  (problem) => tell({ kind: "failed", why: String(problem.message).slice(0, 300) }),
);

self.onmessage = async ({ data }) => {
  const answer = await loading;
  const before = performance.now();
  let found;
  try {
    found = JSON.parse(answer(data.kind, data.rules, data.goal));
  } catch (problem) {
    const text = String(problem.message).split("\n").slice(-2).join("\n");
    found = { title: "This failed, which is our mistake", text };
  }
  const seconds = (performance.now() - before) / 1000;
  tell({ kind: "answer", number: data.number, answer: found, seconds });
};
