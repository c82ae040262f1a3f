/*
 * The whole check of a certificate, and what is said about it.
 *
 * In: the bytes or the text of a certificate, and what it must be pinned to.  Out: a report, always.
 * Invariant: `accepted` is true only where every step of the check was passed.
 * Example: `constatCheck(text, {pin: null, trusted: []}).verdict`.
 */

const FIRST_FORMAT = "constat-cert/1";
const SECOND_FORMAT = "constat-cert/2";
const MEMBERS_OF_SECOND = ["values", "labels", "filled", "redaction"];
const CERTIFICATE_MEMBERS = [
  "format", "header", "declarations", "rules", "sources", "facts", "coverage", "open",
  "assumptions", "proofs", "nodes", "closure", "summaries", "missing", "record", "identity",
  "digest",
];
const DEEPEST_PROOFS = 8;
const MOST_PROOFS = 256;
const REJECTED = 1;

/** Return the number of closure rows in a certificate and all in it; what is odd counts nothing. */
function countClosureRows(tree) {
  let rows = 0;
  const open = [tree];
  while (open.length > 0) {
    const { closure, proofs } = open.pop() || {};
    const listed = closure && Array.isArray(closure.rows) ? closure.rows : [];
    for (const one of listed) {
      rows += Array.isArray(one) && Array.isArray(one[1]) ? one[1].length : 0;
    }
    (Array.isArray(proofs) ? proofs : []).forEach((proof) => open.push(proof));
  }
  return rows;
}

/** Return the hash of what each rule says; whether it is assumed, and by whom, is no part of it. */
function ruleHashes(rules) {
  const names = ["id", "head", "body", "variables", "confidence", "says"];
  return rules.map((rule) => {
    const said = Object.create(null);
    // Texts count where there are any, so a rule without has one hash in both formats.
    const told = Array.isArray(rule.texts) && rule.texts.length > 0 ? [...names, "texts"] : names;
    told.forEach((name) => {
      said[name] = rule[name];
    });
    return sha256Of([canonicalForm(said)]);
  });
}

/** What a file and all certificates in it share. */
class Shared {
  constructor(reader, tree, options) {
    this.reader = reader;
    this.budget = new Budget(countClosureRows(tree));
    this.pin = typeof options.pin === "string" ? options.pin : null;
    this.trusted = options.trusted || [];
    this.certificates = 0;
  }

  checkHashes(tree) {
    const { reader } = this;
    const hashes = ["identity", "digest"].map((name) => inside(name, () => hashOf(tree[name])));
    const unnamed = ["proofs", "record", "identity", "digest"];
    if (reader.hashWithout(tree, unnamed) !== hashes[0]) {
      reject("identity", "the identity is that of another proof", "identity");
    }
    if (reader.hashWithout(tree, ["digest"]) !== hashes[1]) {
      reject("digest", "the digest is that of another file", "digest");
    }
  }

  checkProgram(tree, program, depth) {
    if (this.reader.hashOf(tree, ["declarations", "rules"]) !== program) {
      reject("program", "the rules are not those that are named", "header.program");
    }
    const trusted = program === this.pin || (depth > 1 && this.trusted.includes(program));
    if (this.pin !== null && !trusted) {
      reject("pin", "these are not the rules that are pinned", "header.program");
    }
  }
}

/** The check of one certificate; `nodes` tells how far it came. */
class Check {
  constructor(tree, shared, depth) {
    this.tree = tree;
    this.shared = shared;
    this.depth = depth;
    this.nodes = [];
  }

  run() {
    const { tree, shared, depth } = this;
    // The outermost is nested in nothing.
    shared.certificates += depth > 1 ? 1 : 0;
    if (depth > DEEPEST_PROOFS || shared.certificates > MOST_PROOFS) {
      reject("proof", "too many certificates, or too deep");
    }
    this.second = tree !== null && typeof tree === "object" && tree.format === SECOND_FORMAT;
    objectOf(tree, [...CERTIFICATE_MEMBERS, ...(this.second ? MEMBERS_OF_SECOND : [])]);
    if (!this.second && tree.format !== FIRST_FORMAT) {
      reject("schema", "another format", "format");
    }
    shared.checkHashes(tree);
    this.nested = each("proofs", listOf(tree.proofs), (one) => {
      const check = new Check(one, shared, depth + 1);
      check.run();
      return check.asProof();
    });
    this.readProgram();
    this.readEvidence();
    this.conclude();
  }

  readProgram() {
    const { tree } = this;
    this.assumptions = each("assumptions", listOf(tree.assumptions), readAssumption);
    this.cells = new Cells(this.second);
    this.predicates = readDeclarations(tree.declarations, this.cells);
    this.rules = readRules(tree.rules, this.predicates, this.assumptions, this.cells);
    checkStrata(this.predicates, this.rules);
    if (this.second) {
      this.cells.readValues(tree.values);
      this.readRedaction();
      this.cells.readLabels(tree.labels, this.predicates);
    }
    const hashes = () => ruleHashes(tree.rules);
    this.header = inside("header", () =>
      readHeader(tree.header, this.predicates, this.assumptions, hashes, this.second),
    );
    this.shared.checkProgram(tree, this.header.program, this.depth);
  }

  readRedaction() {
    const { tree, assumptions, cells } = this;
    if (tree.redaction !== null) {
      const found = inside("redaction", () =>
        new Redaction(tree.redaction, assumptions, listOf(tree.sources).length),
      );
      cells.hide(found);
      inside("redaction", () => found.readTold(cells));
    }
  }

  readEvidence() {
    const { tree, predicates, rules, shared } = this;
    const { redaction } = this.cells;
    const hidden = redaction === null ? new Set() : redaction.sources;
    this.evidence = readEvidence(tree, this, shared.budget, hidden);
    const { sources, groups } = this.evidence;
    const refused =
      this.second && redaction === null && this.header.verdict.startsWith("DISPROVED");
    inside("record", () => readRecord(tree.record, sources, refused));
    this.closure = inside("closure", () => readClosure(tree.closure, predicates, rules));
    this.summaries = readSummaries(tree.summaries, rules, sources);
    this.nodes = each("nodes", listOf(tree.nodes), (node, i) =>
      readNode(node, i, predicates, rules, groups),
    );
    this.missing = each("missing", listOf(tree.missing), (one) => readMissing(one, predicates));
    this.cells.checkUsed();
    if (redaction !== null) {
      inside("redaction", () => redaction.check(this.cells.seen));
    }
  }

  checkLevel() {
    const { header, assumptions, evidence, summaries, closure, nested } = this;
    this.level = weakestLevel(header, assumptions, evidence, summaries, closure, nested);
    if (levelName(this.level) !== header.level) {
      reject("level", `it is ${levelName(this.level)}`, "header.level");
    }
  }

  conclude() {
    const { header, assumptions, predicates, evidence, shared, nodes } = this;
    const world = new World(predicates, evidence, assumptions, header.under, shared.budget);
    world.redaction = this.cells.redaction;
    each("nodes", nodes, (node) => world.addNode(node));
    const totals = new Totals(world);
    const closure = new ClosureChecker(this.closure, world, totals);
    closure.check();
    const checker = new NodeChecker(nodes, world, totals);
    each("nodes", nodes, (node) => {
      checker.check(node);
      node.ok = true;
    });
    const verdict = new VerdictChecker(header, nodes, world);
    verdict.check();
    verdict.checkMissing(this.missing);
    checker.spreadUse();
    each("summaries", this.summaries, ({ used }) => {
      if (!used) {
        reject("unused", "nothing rests on this summary");
      }
    });
    this.checkHidden(world);
    verdict.checkUnder();
    this.checkLevel();
    this.goalGrounds = verdict.grounds;
    if (header.verdict === "UNRESOLVED") {
      checkUndecided(this.closure, world, header, predicates);
    }
  }

  /** Reject a verdict over hidden values that does not say that it rests on them. */
  checkHidden(world) {
    const { header } = this;
    const { redaction } = this.cells;
    if (redaction !== null && redaction.closed() > 0) {
      if (header.verdict !== "UNRESOLVED" && !header.under.includes(redaction.assumption)) {
        reject("redaction", "the verdict rests on hidden values", "header.under");
      }
      world.usedAssumptions.add(redaction.assumption);
    }
  }

  /** Return how many values are hidden here and in the certificates within. */
  hidden() {
    const { redaction } = this.cells;
    const own = redaction === null ? 0 : redaction.closed();
    return this.nested.reduce((sum, one) => sum + one.hidden, own);
  }

  /** Return what a certificate around this one may rest on. */
  asProof() {
    const { header, assumptions, level, tree } = this;
    const { predicate, row } = header.goal;
    if (!header.verdict.startsWith("PROVED") || !row.every(isKnown)) {
      reject("proof", "a nested certificate proves one ground fact");
    }
    return {
      identity: tree.identity,
      confidence: header.confidence,
      under: header.under.map((index) => assumptions[index]),
      goal: predicate.name,
      kinds: predicate.kinds,
      row: bareRow(row),
      level,
      program: header.program,
      hidden: this.hidden(),
      used: false,
    };
  }
}

function describeAssumption({ kind, text, confidence }) {
  return { kind, text: printable(text), confidence: spellConfidence(confidence) };
}

function notesOf({ header, rules, summaries, nested, cells }) {
  const notes = cells.redaction === null ? [] : cells.redaction.notes();
  notes.push("leaves were not re-read: the rows of the sources are taken as they stand");
  summaries.forEach(({ rule, count }) => {
    const name = printable(rule.name);
    notes.push(`${count} rows of an aggregate in rule ${name} are not inline`);
  });
  const readers = rules.flatMap((rule) => rule.body.map((literal) => ({ rule, literal })));
  readers.filter(({ literal }) => literal.alone).forEach(({ rule, literal }) => {
    const [of, by] = [literal.predicate.name, rule.name].map(printable);
    notes.push(`of ${of} only the rows are shown that pass the comparisons of rule ${by}`);
  });
  nested.forEach(({ identity }) => notes.push(`a fact rests on the certificate ${identity}`));
  if (header.snapshot === "not one snapshot") {
    notes.push("the sources were not read in one snapshot");
  }
  return notes;
}

function acceptedReport(check) {
  const { header, assumptions, summaries, nodes, tree } = check;
  const shown = spellConfidence(header.confidence);
  const sure = header.search === "exhausted" || shown === "1" || header.verdict === "UNRESOLVED";
  return {
    accepted: true,
    verdict: header.verdict,
    exitCode: EXIT_CODES.get(header.verdict),
    reasonCode: null,
    place: null,
    reason: null,
    confidence: sure ? shown : `at least ${shown}`,
    assumptions: header.under.map((index) => describeAssumption(assumptions[index])),
    summaries: summaries.map(({ rule, index, count }) => ({ rule: rule.index, literal: index, count })),
    level: header.level,
    levels: listLevels(nodes, check.goalGrounds),
    hidden: check.hidden(),
    nodes: nodes.map(() => ({ ok: true })),
    notes: notesOf(check),
    identity: tree.identity,
    program: header.program,
    proofs: check.nested.map(({ identity, program }) => ({ identity, program })),
  };
}

/** Return the report of a rejection; of each node it says whether it was passed: true, false, null. */
function rejectedReport(problem, nodes) {
  const failed = /^nodes\[(\d+)\]/.exec(problem.place);
  return {
    accepted: false,
    verdict: null,
    exitCode: REJECTED,
    reasonCode: problem.code,
    place: printable(problem.place).slice(0, 400),
    reason: printable(problem.reason).slice(0, 400),
    confidence: null,
    assumptions: [],
    summaries: [],
    level: null,
    levels: [],
    hidden: 0,
    nodes: nodes.map(({ ok }, i) => ({
      ok: failed !== null && Number(failed[1]) === i ? false : ok === true ? true : null,
    })),
    notes: [],
    identity: null,
    program: null,
    proofs: [],
  };
}

/**
 * Check a certificate, given as text or as bytes (Uint8Array).
 *
 * `options.pin` is the hash of the rules that it must have, `options.trusted` lists those that
 * certificates nested in it may have besides.  The report has `accepted`, `verdict`, `exitCode`,
 * `confidence`; of a rejection `reasonCode`, `place`, `reason`; the `assumptions` that were accepted,
 * `summaries` and `notes` of what was not re-checked, `level` and `levels` of completeness,
 * `identity`, `program`, nested `proofs`, and for each of the `nodes` whether it is `ok`: true, false,
 * or null where the check did not come so far.
 */
function constatCheck(content, options) {
  let nodes = [];
  try {
    const [reader, tree] = readFile(content);
    const check = new Check(tree, new Shared(reader, tree, options || {}), 1);
    try {
      check.run();
      return acceptedReport(check);
    } finally {
      nodes = check.nodes;
    }
  } catch (problem) {
    if (problem instanceof Rejection) {
      return rejectedReport(problem, nodes);
    }
    if (problem instanceof RangeError) {
      // The engine of the page has bounds of its own.
      return rejectedReport(new Rejection("limit", "too large to check here", ""), nodes);
    }
    throw problem;
  }
}
