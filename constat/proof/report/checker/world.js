/*
 * What may be true and what is certain, under the reading of a certificate.
 *
 * In: evidence, nodes, the closure, and the assumptions that the verdict accepts.  Out: possible rows
 * of patterns and the confidence of certain rows.  Invariant: a pattern that nothing serves is
 * rejected, never empty; and what a look-up rests on is remembered as used.
 * Example: without coverage of `blocked` for C1 there is no saying that C1 is not blocked.
 */

/** The levels of completeness of section 6a; the weakest is the least. */
const DECLARED = 0;
const RERUNNABLE = 1;
const COMMITTED = 2;
const INLINE = 3;
const DERIVED = 4;

/** What look-ups rest on: their weakest level, and the keys of the closure that they met. */
class Grounds {
  constructor() {
    this.level = null;
    this.keys = new Set();
    /** Of a key of the closure: the weakest level below it; found when the closure is checked. */
    this.weakest = null;
  }

  add(level) {
    this.level = this.level === null ? level : Math.min(this.level, level);
  }

  addAll(grounds) {
    if (grounds.level !== null) {
      this.add(grounds.level);
    }
    grounds.keys.forEach((key) => this.keys.add(key));
  }
}

function levelOfCoverage(coverage) {
  if (!coverage.authority) {
    return null;
  }
  if (coverage.named.some(({ authority }) => authority)) {
    // That an API gave all there is, its declaration says.
    return RERUNNABLE;
  }
  const others = coverage.named.filter(({ inline }) => !inline);
  if (others.length === 0) {
    return INLINE;
  }
  if (coverage.opened === undefined) {
    // Asked at each look-up: the keys are many, the answer is one.
    const keys = coverage.keys.map((key) => placeOf(coverage.columns, bareRow(key)));
    coverage.opened = others.every(
      ({ opened }) => opened !== null && keys.every((key) => opened.has(key)),
    );
  }
  return coverage.opened ? COMMITTED : RERUNNABLE;
}

class World {
  constructor(predicates, evidence, assumptions, under, budget) {
    this.budget = budget;
    this.under = new Set(under);
    this.usedAssumptions = new Set();
    this.grounds = new Grounds();
    this.absence = MILLION;
    for (const index of under) {
      if (["closure", "fall-through"].includes(assumptions[index].kind) || assumptions[index].fills) {
        this.absence = Math.min(this.absence, assumptions[index].confidence);
      }
    }
    for (const predicate of predicates.values()) {
      predicate.facts = new Relation(budget);
      predicate.open = new Relation(budget);
      predicate.bounds = new Relation(budget);
      predicate.coverage = new Serving(budget);
      predicate.entries = new Serving(budget);
      predicate.certainFacts = new Map();
      predicate.nodes = new Map();
    }
    evidence.groups.forEach((group) => this.addGroup(group));
    for (const { predicate, row, assumption } of evidence.open) {
      const closed = assumption !== null && this.under.has(assumption);
      predicate.open.add({ row, until: closed ? [assumption] : [] });
    }
    evidence.coverage.forEach((coverage) => {
      const { predicate, reader, columns, keys } = coverage;
      if (reader !== null && reader.alone === undefined) {
        /** What is shown for this literal alone. */
        reader.alone = new Serving(budget);
      }
      const serving = reader === null ? predicate.coverage : reader.alone;
      keys.forEach((key) => serving.add(columns, key, coverage));
    });
  }

  addGroup(group) {
    const { predicate, source, rows } = group;
    group.resting = source.imported.map(([index]) => index);
    if (group.assumption !== null) {
      group.resting.push(group.assumption);
    }
    /** The rows as they are under the reading: with the values that are accepted for null cells. */
    group.shown = rows.map((row, at) => this.shownRow(group, row, at));
    group.shown.forEach((shown, at) => {
      predicate.facts.add(shown);
      if (shown.row !== rows[at]) {
        // What the row matched before is decided by whoever filled it.
        predicate.open.add({ row: rows[at], until: shown.resting.slice(group.resting.length) });
      }
      if (shown.holds) {
        const key = keyOf(shown.row);
        const known = predicate.certainFacts.get(key);
        if (known === undefined || known.confidence < shown.confidence) {
          predicate.certainFacts.set(key, shown);
        }
      }
    });
  }

  shownRow({ resting, source, fillings }, row, at) {
    const accepted = fillings.filter((one) => one.at === at && this.under.has(one.assumption));
    const cells = row.slice();
    const basis = new Set();
    let { confidence } = source;
    for (const one of accepted) {
      cells[one.column] = one.value;
      basis.add(one.assumption);
      confidence = Math.min(confidence, one.source.confidence);
    }
    const all = [...resting, ...basis];
    const holds = all.every((index) => this.under.has(index));
    return { row: accepted.length > 0 ? cells : row, resting: all, confidence, holds };
  }

  addNode(node) {
    const { predicate, row } = node;
    const key = keyOf(row);
    if (predicate.nodes.has(key)) {
      reject("node", "another node has this fact");
    }
    predicate.nodes.set(key, node);
  }

  use(assumptions) {
    assumptions.forEach((index) => this.usedAssumptions.add(index));
  }

  /** Return the confidence of a certain row, or null; what makes it certain is used. */
  certain(predicate, row) {
    const key = keyOf(row);
    const node = predicate.nodes.get(key);
    const group = predicate.certainFacts.get(key);
    if (node !== undefined) {
      node.used = true;
      const other = group === undefined ? 0 : group.confidence;
      return Math.max(node.confidence, other);
    }
    if (group === undefined) {
      return null;
    }
    this.use(group.resting);
    return group.confidence;
  }

  /** Tell whether a certain row that is shown matches; the first that does is used. */
  hasCertain(predicate, pattern) {
    if (!pattern.includes(undefined) && !pattern.includes(ANY)) {
      return this.certain(predicate, pattern) !== null;
    }
    const shown = [...predicate.facts.find(pattern), ...predicate.bounds.find(pattern)];
    this.budget.charge(shown.length);
    return shown.some(
      ({ row }) =>
        !row.includes(null) &&
        surelyMatches(row, pattern) &&
        this.certain(predicate, row) !== null,
    );
  }

  /**
   * Return the possible rows of a pattern.
   *
   * `starred` tells that a bound value is unknown, so that undefined stands for it, too. Where a
   * `reader` looks up, a literal of the closure, what is shown for it alone serves it as well.
   */
  possible(predicate, pattern, starred, reader = null) {
    const found = [];
    const isKnown =
      (!predicate.external || this.addOutside(predicate, pattern, starred, found, reader)) &&
      (predicate.rules.length === 0 || this.addBounds(predicate, pattern, starred, found));
    if (isKnown) {
      return found;
    }
    const node = starred ? undefined : this.nodeOf(predicate, pattern);
    if (node === undefined) {
      reject("unserved", `nothing says what rows of ${predicate.name} there are`);
    }
    // A ground pattern has one row only, and this one is known to be true.
    node.used = true;
    return [pattern];
  }

  nodeOf(predicate, pattern) {
    return pattern.every(isKnown) ? predicate.nodes.get(keyOf(pattern)) : undefined;
  }

  /** Tell whether a pattern whose values are all known or free can be looked up. */
  isServed(predicate, pattern) {
    const outside = !predicate.external || predicate.coverage.find(pattern).length > 0;
    const derived = predicate.rules.length === 0 || predicate.entries.find(pattern).length > 0;
    return (outside && derived) || this.nodeOf(predicate, pattern) !== undefined;
  }

  /** Add what stands for a part that nothing serves, where a bound value is unknown: one row. */
  addUnserved(pattern, starred, found) {
    if (starred) {
      found.push(pattern.map((value) => (value === undefined || value === ANY ? null : value)));
    }
    return starred;
  }

  addOutside(predicate, pattern, starred, found, reader) {
    const alone = reader === null || reader.alone === undefined ? [] : reader.alone.find(pattern);
    const serving = predicate.coverage.find(pattern).concat(alone);
    if (serving.length === 0) {
      return this.addUnserved(pattern, starred, found);
    }
    const levels = serving.map(levelOfCoverage).filter((level) => level !== null);
    if (levels.length > 0) {
      this.grounds.add(levels.reduce((a, b) => Math.max(a, b)));
    }
    this.addShown(predicate, pattern, found);
    return true;
  }

  /** Add the rows from outside that the certificate shows, and those that may exist. */
  addShown(predicate, pattern, found) {
    predicate.facts.find(pattern).forEach(({ row }) => found.push(row));
    for (const { row, until } of predicate.open.find(pattern)) {
      if (until.length > 0) {
        this.use(until);
        this.grounds.add(DECLARED);
      } else {
        found.push(row);
      }
    }
  }

  addBounds(predicate, pattern, starred, found) {
    const serving = predicate.entries.find(pattern);
    if (serving.length === 0) {
      return this.addUnserved(pattern, starred, found);
    }
    this.grounds.add(DERIVED);
    this.grounds.keys.add(serving[0]);
    predicate.bounds.find(pattern).forEach(({ row }) => found.push(row));
    return true;
  }
}
