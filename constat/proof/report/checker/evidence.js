/*
 * What came from outside: sources, facts, open rows, coverage, assumptions.
 *
 * In: these members, and what the nested certificates were found to say.  Out: the same with names
 * and indices resolved.  Invariant: what a source is said to have answered fits what is shown of it,
 * and nothing is called complete that no authority answers for.
 * Example: a row of a model is rejected unless it names an assumption.
 */

const DOCUMENT = "DOCUMENT";
const ORIGINS = [...ORIGINS_OF_THE_WORLD, ...AGENTS.keys(), "DERIVED"].filter(
  (origin) => origin !== DOCUMENT,
);
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

function readSource(value, assumptions, nested, second) {
  objectOf(value, [...SOURCE_MEMBERS, ...(second ? ["authority", "span"] : [])]);
  choiceOf(value.origin, second ? [...ORIGINS, DOCUMENT] : ORIGINS);
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
    authority: second && inside("authority", () => readAuthority(value)),
  };
  source.vouched = ORIGINS_OF_THE_WORLD.includes(source.origin) || source.authority;
  if (second) {
    inside("span", () => checkSpan(value));
  }
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

/** Tell whether an API's answer is declared to be all there is. */
function readAuthority({ authority, origin }) {
  if (authority === null) {
    return false;
  }
  objectOf(authority, ["operation", "pages"]);
  if (textOf(authority.operation) === "" || countOf(authority.pages) === 0) {
    reject("source", "an operation has a name, and gave at least a page");
  }
  return origin === "API" || reject("source", "only an API is declared an authority");
}

/** Check the place in a document where a row stands. */
function checkSpan({ span, origin }) {
  if ((span === null) !== (origin !== DOCUMENT)) {
    reject("source", "exactly what a document says has a place in it");
  }
  if (span !== null) {
    checkQuote(span);
  }
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
  const read = each("rows", listOf(rows), (row) => predicate.cells.factRow(row, predicate));
  inside("rows", () => ascending(rows, "rows"));
  indexOrNull(assumption, assumptions.length);
  checkGroundOfTrust(source, assumption, assumptions);
  const group = { predicate, source, assumption, rows: read, fillings: [] };
  source.groups.push(group);
  return group;
}

function checkGroundOfTrust({ origin, vouched }, assumption, assumptions) {
  if (assumption === null) {
    if (AGENTS.has(origin) && !vouched) {
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
  const { predicate: name, row: cells, reason, assumption } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  const row = predicate.cells.openRow(cells, predicate.kinds);
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
  if (value.some((column) => predicate.nulls[column] === "unread")) {
    reject("declaration", "nobody reads a column of the key");
  }
  return value;
}

/** Read which literal of which rule a coverage is for. */
function readReader(value, predicate, rules) {
  const [number, at] = listOf(value, 2);
  const { body } = rules[indexOf(number, rules.length)];
  const literal = body[indexOf(at, Math.max(1, body.length))];
  if (literal === undefined || literal.form !== "+" || literal.predicate !== predicate) {
    reject("coverage", `no literal that reads ${predicate.name}`);
  }
  return literal;
}

function readCoverage(value, predicates, sources, backed, budget, rules) {
  const members = ["predicate", "columns", "keys", "sources"];
  const isForOne = rules !== null && value !== null && typeof value === "object" && "for" in value;
  members.push(...(isForOne ? ["for"] : []));
  const { predicate: name, columns, keys: keyCells, sources: indices } = objectOf(value, members);
  const predicate = declaredExternal(predicates, name);
  inside("columns", () => readKeyColumns(columns, predicate));
  const kinds = columns.map((column) => predicate.kinds[column]);
  const keys = each("keys", listOf(keyCells), (key) => predicate.cells.row(key, kinds));
  each("sources", listOf(indices), (index) => indexOf(index, sources.length));
  const named = indices.map((index) => sources[index]);
  if (named.some(({ origin }) => origin === "DERIVED")) {
    reject("coverage", "a proof of a fact says nothing about other rows");
  }
  const reader = isForOne ? inside("for", () => readReader(value.for, predicate, rules)) : null;
  const world = named.filter(({ vouched }) => vouched);
  if (world.length === 0) {
    each("keys", keys, (key) => {
      budget.charge(1 + (predicate.kinds.length >> 3));
      const row = predicate.kinds.map(() => null);
      columns.forEach((column, i) => {
        row[column] = key[i];
      });
      if (!backed.has(openKey({ predicate, row }))) {
        reject("coverage", "nobody answers for it");
      }
    });
  }
  return { predicate, columns, keys, named, reader, authority: world.length > 0 };
}

/** Check that what a source is said to have answered fits the rows that are shown of it. */
function checkShown(source, hidden) {
  const rows = new Map();
  const names = new Set();
  for (const group of source.groups) {
    names.add(group.predicate.name);
    // The same values of two predicates are two rows.
    const { name } = group.predicate;
    group.rows.forEach((row) => rows.set(`${name} ${keyOf(row)}`, row));
  }
  if (rows.size > source.rows) {
    reject("source", "more rows are shown than it answered");
  }
  if (!hidden && [...rows.values()].some((row) => row.some(isHidden))) {
    reject("redaction", "a value of this source is hidden, and not its hash");
  }
  if (hidden) {
    source.inline = rows.size === source.rows && names.size <= 1;
  } else if (rows.size === source.rows && names.size <= 1) {
    const sorted = [...rows.values()].map(bareRow).sort(compareRows);
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
  if (!sameKinds || !sameRow(bareRow(group.rows[0]), proof.row)) {
    reject("proof", "another fact than the nested goal");
  }
}

/** Name an open row: no value is what stands for ⋆ here. */
function openKey({ predicate, row }) {
  return `${predicate.name}\0${row.map((cell) => (cell === null ? "\ud800*" : cell)).join("\0")}`;
}

/** Read who says what stands in a null cell: sorted by the cell, each once. */
function readFilled(value, groups, sources, assumptions) {
  const members = ["facts", "row", "column", "value", "source", "assumption"];
  const keys = each("filled", listOf(value), (one) => {
    const { facts, row: at, column, value: said, source, assumption } = objectOf(one, members);
    const group = groups[indexOf(facts, groups.length)];
    const row = group.rows[indexOf(at, group.rows.length)];
    indexOf(column, row.length);
    if (isEmpty(row[column]) || isKnown(row[column])) {
      reject("cell", "there is nothing to fill in this cell", "column");
    }
    const { cells, kinds } = group.predicate;
    const found = cells.value(said, kinds[column]);
    const teller = sources[indexOf(source, sources.length)];
    if (teller.vouched || teller.proof !== null) {
      reject("assumption", "somebody's word fills a cell", "source");
    }
    if (assumptions[indexOf(assumption, assumptions.length)].kind !== "fact") {
      reject("assumption", "an assumption of kind fact is expected");
    }
    assumptions[assumption].fills = true;
    group.fillings.push({ at, column, value: found, source: teller, assumption });
    return [facts, at, column];
  });
  ascending(keys, "filled");
}

function readEvidence(tree, { predicates, rules, assumptions, nested, second }, budget, hidden) {
  const sources = each("sources", listOf(tree.sources), (source) =>
    readSource(source, assumptions, nested, second),
  );
  const groups = each("facts", listOf(tree.facts), (group) =>
    readFactGroup(group, predicates, sources, assumptions),
  );
  const open = each("open", listOf(tree.open), (row) => readOpenRow(row, predicates, assumptions));
  const backed = new Set(open.map(openKey));
  const coverage = each("coverage", listOf(tree.coverage), (one) =>
    readCoverage(one, predicates, sources, backed, budget, second ? rules : null),
  );
  each("sources", sources, (source, i) => checkShown(source, hidden.has(i)));
  readFilled(second ? tree.filled : [], groups, sources, assumptions);
  checkCommitments(tree.sources, sources, groups, coverage, predicates);
  checkTrusted(assumptions, groups, sources);
  each("proofs", nested, ({ used }) => {
    if (!used) {
      reject("proof", "no source rests on this certificate");
    }
  });
  return { sources, groups, open, coverage };
}
