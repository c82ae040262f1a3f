/*
 * Who said what a source says, and what an assumption therefore takes on trust.
 *
 * In: `attestation` of a source, `attestations` of an assumption.  Out: hashes of attestations.
 * Invariant: an assumption names exactly what is accepted with it, no more and no less.
 * Example: a model's word without the hash of its response is rejected.
 */

const ORIGINS_OF_THE_WORLD = ["CONFIG", "DATABASE"];
const AGENTS = new Map([
  ["LLM_KNOWLEDGE", ["model"]],
  ["LLM_HEURISTIC", ["model"]],
  ["USER_PROVIDED", ["person"]],
  ["API", ["service"]],
  ["SUB_PLAN", ["model", "person", "service"]],
  ["DOCUMENT", ["model", "person", "service"]],
]);

function nonEmpty(value, what) {
  if (textOf(value) === "") {
    reject("attestation", `an empty ${what}`);
  }
  return value;
}

function readAgent(value, source) {
  const { kind, name, version, digest } = objectOf(value, ["kind", "name", "version", "digest"]);
  nonEmpty(name, "name");
  textOrNull(version);
  hashOrNull(digest);
  if (!AGENTS.get(source.origin).includes(textOf(kind))) {
    reject("attestation", `${source.origin} does not come from such an agent`);
  }
  if (kind === "model" && version === null && digest === null) {
    reject("attestation", "a model without version and digest");
  }
  if (kind === "person" && name !== source.author) {
    reject("attestation", "the person is not the author of the source");
  }
  return kind;
}

function checkQuote(value) {
  const members = ["document", "hash", "start", "end", "text"];
  const { document, hash, start, end, text } = objectOf(value, members);
  nonEmpty(document, "document");
  nonEmpty(text, "quote");
  hashOrNull(hash);
  if (countOf(end) - countOf(start) !== byteLength(text)) {
    reject("attestation", "a quote of another length than its text");
  }
}

function checkReviewer(value, agent) {
  const { name, at } = objectOf(value, ["name", "at"]);
  timeOf(at);
  if (nonEmpty(name, "name") === agent.name) {
    reject("attestation", "a reviewer of their own word");
  }
}

/** Return the hash of the attestation of a source, or null where it has none. */
function readAttestation(value, source) {
  if (value === null) {
    return null;
  }
  const members = ["agent", "prompt", "response", "quote", "reviewer", "note"];
  const { agent, prompt, response, quote, reviewer, note } = objectOf(value, members);
  if (!AGENTS.has(source.origin)) {
    reject("attestation", `${source.origin} has no attestation`);
  }
  const kind = inside("agent", () => readAgent(agent, source));
  hashOrNull(prompt);
  hashOrNull(response);
  textOrNull(note);
  if (response === null && kind !== "person") {
    reject("attestation", "no response");
  }
  if (kind === "service" && source.origin === "SUB_PLAN" && response !== source.hash) {
    reject("attestation", "a response other than the rows");
  }
  if (prompt === null && kind === "model") {
    reject("attestation", "no prompt");
  }
  if (quote !== null) {
    inside("quote", () => checkQuote(quote));
  }
  if (reviewer !== null) {
    inside("reviewer", () => checkReviewer(reviewer, agent));
  }
  return sha256Of([canonicalForm(value)]);
}

/** Check that each assumption names the attestations of what rests on it. */
function checkTrusted(assumptions, groups, sources) {
  const trusted = assumptions.map(() => new Set());
  for (const { assumption, source, fillings } of groups) {
    for (const one of [{ assumption, source }, ...fillings]) {
      if (one.assumption !== null && one.source.attestation !== null) {
        trusted[one.assumption].add(one.source.attestation);
      }
    }
  }
  for (const { imported } of sources) {
    for (const [index, nested] of imported) {
      nested.attestations.forEach((hash) => trusted[index].add(hash));
    }
  }
  each("assumptions", assumptions, ({ attestations }, i) => {
    if (attestations.length !== trusted[i].size || attestations.some((a) => !trusted[i].has(a))) {
      reject("assumption", "its attestations are not those of what rests on it");
    }
  });
}
