/*
 * The header, and whether its verdict follows.
 *
 * In: `header`, `missing` and `record`; nodes and possible rows.  Out: nothing, or a rejection.
 * Invariant: PROVED has a node, DISPROVED an upper bound without the goal, UNRESOLVED both a possible
 * row and no certain one; and every assumption that is accepted was needed.
 * Example: a header that accepts an assumption which nothing rests on is rejected.
 */

const EXIT_CODES = new Map([
  ["PROVED", 0],
  ["PROVED_UNDER", 3],
  ["UNRESOLVED", 4],
  ["DISPROVED", 5],
  ["DISPROVED_UNDER", 6],
]);
const HEADER_MEMBERS = [
  "goal", "verdict", "under", "confidence", "search", "program", "level", "as_of", "snapshot",
  "decision", "supersedes", "libraries", "approvals",
];
const MOST_CHANGES = 24;
const RECORD_MEMBERS = ["created", "engine", "executed", "host", "signatures"];

function readGoal(value, predicates) {
  listOf(value, 2);
  const predicate = declared(predicates, value[0]);
  return { predicate, row: predicate.cells.pattern(value[1], predicate) };
}

function readMissing(value, predicates) {
  listOf(value, 2);
  const predicate = declared(predicates, value[0]);
  const row = predicate.cells.openRow(value[1], predicate.kinds);
  return { predicate, pattern: row.map((cell) => (cell === null ? ANY : cell)) };
}

/** Return the approvals; `hashes` are those of what the rules say, in their order. */
function readApprovals(value, hashes) {
  const listed = listOf(value);
  const spelled = listed.map(canonicalForm);
  if (spelled.some((one, i) => i > 0 && spelled[i - 1] >= one)) {
    reject("order", "approvals are sorted and distinct", "approvals");
  }
  return each("approvals", listed, (one) => {
    objectOf(one, ["at", "by", "key", "rule"]);
    const rule = hashes().indexOf(hashOf(one.rule));
    if (rule < 0 || textOf(one.by) === "") {
      reject("approval", rule < 0 ? "it is of no rule of this certificate" : "nobody is named");
    }
    timeOf(one.at);
    return { rule, by: one.by, at: one.at, key: one.key === null ? null : hashOf(one.key) };
  });
}

function readHeader(value, predicates, assumptions, ruleHashes, second) {
  objectOf(value, [...HEADER_MEMBERS, ...(second ? ["asked_by"] : [])]);
  if (second) {
    textOrNull(value.asked_by);
  }
  const goal = inside("goal", () => readGoal(value.goal, predicates));
  choiceOf(value.verdict, [...EXIT_CODES.keys()]);
  inside("under", () => ascendingIndices(value.under, assumptions.length, "header"));
  choiceOf(value.search, ["exhausted", "stopped"]);
  hashOf(value.program);
  if (value.level !== null) {
    choiceOf(value.level, ["C0", "C1", "C2", "C3", "C4"]);
  }
  [value.decision, value.supersedes].forEach(textOrNull);
  if (value.as_of !== null) {
    inside("as_of", () => timeOf(value.as_of));
  }
  if (value.snapshot !== null) {
    choiceOf(value.snapshot, ["one", "not one snapshot"]);
  }
  textsOf(value.libraries);
  readApprovals(value.approvals, ruleHashes);
  if (value.verdict.endsWith("_UNDER") !== value.under.length > 0) {
    reject("verdict", "assumptions that do not fit the verdict");
  }
  return {
    goal,
    verdict: value.verdict,
    under: value.under,
    confidence: confidenceOf(value.confidence),
    search: value.search,
    program: value.program,
    level: value.level,
    snapshot: value.snapshot,
  };
}

/** Read what the writer says would have turned a "no": its form alone, for nothing proves it. */
function readChange(value) {
  objectOf(value, ["add", "remove", "text", "verdict"]);
  textOrNull(value.add);
  choiceOf(value.verdict, ["PROVED", "PROVED_UNDER"]);
  if (textOf(value.text) === "" || textOf(value.remove) === "") {
    reject("schema", "a change says what is removed");
  }
}

function readRecord(value, sources, refused) {
  const changed = value !== null && typeof value === "object" && Object.hasOwn(value, "changes");
  objectOf(value, changed ? [...RECORD_MEMBERS, "changes"] : RECORD_MEMBERS);
  if (changed) {
    if (!refused) {
      reject("record", "only a whole DISPROVED has changes", "changes");
    }
    const { length } = listOf(value.changes);
    if (length < 1 || length > MOST_CHANGES) {
      reject("schema", `from 1 to ${MOST_CHANGES} changes are expected`, "changes");
    }
    each("changes", value.changes, readChange);
  }
  timeOf(value.created);
  textOf(value.engine);
  textOrNull(value.host);
  each("executed", listOf(value.executed, sources.length), (at) => (at === null ? at : timeOf(at)));
  listOf(value.signatures, 0);
}

class VerdictChecker {
  constructor(header, nodes, world) {
    this.header = header;
    this.nodes = nodes;
    this.world = world;
    this.pattern = header.goal.row;
    this.grounds = null;
  }

  check() {
    const { verdict, confidence } = this.header;
    let found;
    if (verdict.startsWith("PROVED")) {
      found = this.proved();
    } else if (verdict.startsWith("DISPROVED")) {
      found = this.disproved();
    } else {
      found = this.unresolved();
    }
    if (found !== confidence) {
      reject("confidence", `it should be ${spellConfidence(found)}`, "header");
    }
  }

  /** Return the nodes whose fact matches the goal. */
  ownNodes() {
    const { predicate } = this.header.goal;
    return this.nodes.filter(
      (node) => node.predicate === predicate && surelyMatches(node.row, this.pattern),
    );
  }

  proved() {
    const own = this.ownNodes();
    if (own.length === 0) {
      reject("verdict", "no node is the goal", "header");
    }
    own.forEach((node) => {
      node.used = true;
    });
    return own.reduce((most, node) => Math.max(most, node.confidence), 0);
  }

  possible() {
    const { world } = this;
    world.grounds = new Grounds();
    const rows = inside("header.goal", () =>
      world.possible(this.header.goal.predicate, this.pattern, false),
    );
    return rows;
  }

  disproved() {
    if (this.possible().length > 0) {
      reject("verdict", "the goal is possible", "header");
    }
    this.grounds = this.world.grounds;
    return this.world.absence;
  }

  unresolved() {
    // A node need be no row that is shown: a row with an unknown value may stand for it there.
    const { goal } = this.header;
    if (this.ownNodes().length > 0 || this.world.hasCertain(goal.predicate, this.pattern)) {
      reject("verdict", "the goal is certain", "header");
    }
    if (this.possible().length === 0) {
      reject("verdict", "the goal is not possible", "header");
    }
    return 0;
  }

  checkMissing(missing) {
    if (missing.length > 0 && this.header.verdict !== "UNRESOLVED") {
      reject("verdict", "nothing is missing where the goal is decided");
    }
    each("missing", missing, ({ predicate, pattern }) => {
      const { open, facts } = predicate;
      const isOpen = open.find(pattern).length > 0;
      const undecided = ({ row, resting }) => resting.length > 0 || row.some(isVague);
      if (!isOpen && !facts.find(pattern).some(undecided)) {
        reject("missing", "nothing of this shape is open");
      }
    });
  }

  checkUnder() {
    const unused = this.header.under.find((index) => !this.world.usedAssumptions.has(index));
    if (unused !== undefined) {
      reject("under", `nothing rests on assumption ${unused}`, "header.under");
    }
  }
}
