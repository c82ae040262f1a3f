/*
 * What came from outside: sources, facts, open rows, coverage, assumptions.
 *
 * In: these members, and what the nested certificates were found to say.  Out: the same with names
 * and indices resolved.  Invariant: what a source is said to have answered fits what is shown of it,
 * and nothing is called complete that no authority answers for.
 * Example: a row of a model is rejected unless it names an assumption.
 */

const ORIGINS = [...ORIGINS_OF_THE_WORLD, ...AGENTS.keys(), "DERIVED"];
const ASSUMPTION_KINDS = ["fact", "rule", "closure", "fall-through"];
const SOURCE_MEMBERS = [
  "tier", "origin", "name", "query", "parameters", "rows", "hash", "snapshot", "confidence",
  "author", "attestation", "commitment", "proof",
];

function readAssumption(value) {
  const members = ["kind", "text", "confidence", "attestations"];
  const { kind, text, confidence, attestations } = objectOf(value, members);
  choiceOf(kind, ASSUMPTION_KINDS);
  textOf(text);
  each("attestations", listOf(attestations), hashOf);
  ascending(attestations.map((hash) => [hash]), "attestations");
  return { kind, text, confidence: confidenceOf(confidence), attestations };
}

function readSource(value, assumptions, nested) {
  objectOf(value, SOURCE_MEMBERS);
  choiceOf(value.origin, ORIGINS);
  [value.tier, value.name].forEach(textOf);
  [value.query, value.snapshot, value.author].forEach(textOrNull);
  textsOf(value.parameters);
  const source = {
    origin: value.origin,
    name: value.name,
    author: value.author,
    query: value.query,
    rows: countOf(value.rows),
    hash: hashOf(value.hash),
    confidence: confidenceOf(value.confidence),
    groups: [],
    inline: false,
    commitment: null,
    opened: null,
  };
  source.attestation = inside("attestation", () => readAttestation(value.attestation, source));
  if ((value.proof !== null) !== (source.origin === "DERIVED")) {
    reject("proof", "a proof is there exactly for what is derived");
  }
  [source.proof, source.imported] = [null, []];
  if (value.proof !== null) {
    inside("proof", () => readProof(value.proof, source, assumptions, nested));
  }
  return source;
}

/** Resolve the certificate that a source rests on, and the assumptions that come with it. */
function readProof(value, source, assumptions, nested) {
  objectOf(value, ["certificate", "assumptions"]);
  source.proof = nested[indexOf(value.certificate, nested.length)];
  source.proof.used = true;
  const own = source.proof.under;
  if (listOf(value.assumptions).length !== own.length) {
    reject("proof", "an assumption of the proof is not imported");
  }
  source.imported = each("assumptions", value.assumptions, (index, i) => {
    const outer = assumptions[indexOf(index, assumptions.length)];
    const inner = own[i];
    const alike = ["kind", "text", "confidence"].every((name) => outer[name] === inner[name]);
    const known = new Set(outer.attestations);
    if (!alike || !inner.attestations.every((hash) => known.has(hash))) {
      reject("proof", "an assumption imported as another");
    }
    return [index, inner];
  });
  const { identity, confidence } = source.proof;
  if (source.name !== identity || source.confidence !== confidence || source.rows !== 1) {
    reject("proof", "the source says otherwise than the proof");
  }
}

function readFactGroup(value, predicates, sources, assumptions) {
  const members = ["predicate", "source", "assumption", "rows"];
  const { predicate: name, source: index, assumption, rows } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  const source = sources[indexOf(index, sources.length)];
  each("rows", listOf(rows), (row) => rowOf(row, predicate.kinds));
  inside("rows", () => ascending(rows, "rows"));
  indexOrNull(assumption, assumptions.length);
  checkGroundOfTrust(source.origin, assumption, assumptions);
  const group = { predicate, source, assumption, rows, holds: false };
  source.groups.push(group);
  return group;
}

function checkGroundOfTrust(origin, assumption, assumptions) {
  if (assumption === null) {
    if (AGENTS.has(origin)) {
      reject("assumption", `rows of ${origin} rest on no assumption`);
    }
    return;
  }
  // A derived row rests on what its own certificate assumes, so it is nobody's word.
  const kinds = origin === "DERIVED" ? ["fall-through"] : ["fact", "fall-through"];
  if (!kinds.includes(assumptions[assumption].kind)) {
    reject("assumption", `an assumption of another kind than ${kinds.join(" and ")}`);
  }
}

function readOpenRow(value, predicates, assumptions) {
  const members = ["predicate", "row", "reason", "assumption"];
  const { predicate: name, row, reason, assumption } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  openRowOf(row, predicate.kinds);
  textOf(reason);
  indexOrNull(assumption, assumptions.length);
  if (assumption !== null && !["closure", "fall-through"].includes(assumptions[assumption].kind)) {
    reject("assumption", "an assumption that closes nothing");
  }
  return { predicate, row, assumption };
}

/** Return the columns that stand for keys. */
function readKeyColumns(value, predicate) {
  ascendingIndices(value, predicate.kinds.length, "schema");
  return value;
}

function readCoverage(value, predicates, sources, backed, budget) {
  const members = ["predicate", "columns", "keys", "sources"];
  const { predicate: name, columns, keys, sources: indices } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  inside("columns", () => readKeyColumns(columns, predicate));
  const kinds = columns.map((column) => predicate.kinds[column]);
  each("keys", listOf(keys), (key) => rowOf(key, kinds));
  each("sources", listOf(indices), (index) => indexOf(index, sources.length));
  const named = indices.map((index) => sources[index]);
  if (named.some(({ origin }) => origin === "DERIVED")) {
    reject("coverage", "a proof of a fact says nothing about other rows");
  }
  const world = named.filter(({ origin }) => ORIGINS_OF_THE_WORLD.includes(origin));
  if (world.length === 0) {
    each("keys", keys, (key) => {
      budget.charge(1 + (predicate.kinds.length >> 3));
      const row = predicate.kinds.map(() => null);
      columns.forEach((column, i) => {
        row[column] = key[i];
      });
      if (!backed.has(`${predicate.name}\0${canonicalForm(row)}`)) {
        reject("coverage", "nobody answers for it");
      }
    });
  }
  return { predicate, columns, keys, named, authority: world.length > 0 };
}

/** Check that what a source is said to have answered fits the rows that are shown of it. */
function checkShown(source) {
  const rows = new Map();
  const names = new Set();
  for (const group of source.groups) {
    names.add(group.predicate.name);
    // The same values of two predicates are two rows.
    const { name } = group.predicate;
    group.rows.forEach((row) => rows.set(`${name} ${canonicalForm(row)}`, row));
  }
  if (rows.size > source.rows) {
    reject("source", "more rows are shown than it answered");
  }
  if (rows.size === source.rows && names.size <= 1) {
    const sorted = [...rows.values()].sort(compareRows);
    if (sha256Of(sorted.map((row) => `${canonicalForm(row)}\n`)) !== source.hash) {
      reject("source", "the hash of its rows is another one");
    }
    source.inline = true;
  }
  if (source.proof !== null) {
    checkDerived(source);
  }
}

function checkDerived({ groups, proof }) {
  const [group] = groups;
  if (groups.length !== 1 || group.predicate.name !== proof.goal || group.rows.length !== 1) {
    reject("proof", "another fact than the nested goal");
  }
  const sameKinds = canonicalForm(group.predicate.kinds) === canonicalForm(proof.kinds);
  if (!sameKinds || compareRows(group.rows[0], proof.row) !== 0) {
    reject("proof", "another fact than the nested goal");
  }
}

function readEvidence(tree, predicates, assumptions, nested, budget) {
  const sources = each("sources", listOf(tree.sources), (source) =>
    readSource(source, assumptions, nested),
  );
  const groups = each("facts", listOf(tree.facts), (group) =>
    readFactGroup(group, predicates, sources, assumptions),
  );
  const open = each("open", listOf(tree.open), (row) => readOpenRow(row, predicates, assumptions));
  const backed = new Set(open.map(({ predicate, row }) => `${predicate.name}\0${canonicalForm(row)}`));
  const coverage = each("coverage", listOf(tree.coverage), (one) =>
    readCoverage(one, predicates, sources, backed, budget),
  );
  each("sources", sources, checkShown);
  checkCommitments(tree.sources, sources, groups, coverage, predicates);
  checkTrusted(assumptions, groups, sources);
  each("proofs", nested, ({ used }) => {
    if (!used) {
      reject("proof", "no source rests on this certificate");
    }
  });
  return { sources, groups, open, coverage };
}
