/*
 * Whether what a certificate shows decides a goal that it calls unresolved.
 *
 * In: a certificate that has passed every other check.  Out: nothing, or a rejection.  Invariant: rows
 * are taken for true only as nodes are, and for false only as the closure says; what is not shown, or
 * takes too many steps, stays the writer's word.
 * Example: a sum whose rows are all in the facts is known, whether or not a node says so.
 */

/** Rows of one predicate that are true, found by any columns. */
class TrueRows {
  constructor() {
    this.rows = new Map();
    this.indexes = new Map();
  }

  /** Add a row; tell whether it is new. */
  add(row) {
    const key = keyOf(row);
    if (this.rows.has(key)) {
      return false;
    }
    this.rows.set(key, row);
    for (const { columns, lists } of this.indexes.values()) {
      append(lists, keyOfColumns(row, columns), row);
    }
    return true;
  }

  find(pattern) {
    const columns = pattern.flatMap((value, column) => (isCell(value) ? [column] : []));
    const name = columns.join();
    let index = this.indexes.get(name);
    if (index === undefined) {
      index = { columns, lists: new Map() };
      for (const row of this.rows.values()) {
        append(index.lists, keyOfColumns(row, columns), row);
      }
      this.indexes.set(name, index);
    }
    const found = index.lists.get(keyOfColumns(pattern, columns)) || [];
    return found.filter((row) => surelyMatches(row, pattern));
  }
}

/** Tell whether something stands in a column of a pattern, so that rows are found by it. */
function isCell(value) {
  return value !== undefined && value !== ANY;
}

/** The assignments of a threshold's body that are made of true rows. */
class TrueGroup extends Group {
  isServed() {
    return true;
  }

  rowsOf({ predicate, terms }) {
    const row = this.assignment.instance(terms);
    return [isOpen(row) ? [] : this.world.deciding.find(predicate, row), row];
  }
}

function isOpen(row) {
  return row.includes(null) || row.includes(ERROR);
}

/** Return what a step gives, or `otherwise` where the certificate does not show enough for it. */
function unlessUnknown(step, otherwise) {
  try {
    return step();
  } catch (problem) {
    if (problem instanceof Rejection && ["unserved", "unbound", "threshold"].includes(problem.code)) {
      return otherwise;
    }
    throw problem;
  }
}

/** Finds all that is true for the keys of the closure, rule by rule until nothing is new. */
class Deciding {
  constructor(closure, world, header, predicates) {
    this.closure = closure;
    this.world = world;
    this.goal = header.goal.predicate;
    this.pattern = header.goal.row;
    this.known = new Map();
    world.deciding = this;
    for (const predicate of predicates.values()) {
      const rows = new TrueRows();
      const every = new Array(predicate.kinds.length).fill(ANY);
      predicate.facts.find(every).forEach(({ row, holds }) => holds && rows.add(row));
      predicate.nodes.forEach(({ row }) => rows.add(row));
      this.known.set(predicate, rows);
    }
  }

  /** Reject where the goal becomes true. */
  run() {
    for (let isNew = true; isNew; ) {
      isNew = false;
      this.totals = new Totals(this.world);
      for (const entry of this.closure.entries) {
        for (const { rule, order } of entry.orders) {
          if (rule.assumption === null || this.world.under.has(rule.assumption)) {
            entry.keys.forEach((key) => {
              isNew = this.runRule(entry, key, rule, order) || isNew;
            });
          }
        }
      }
    }
  }

  find(predicate, pattern) {
    const found = this.known.get(predicate).find(pattern);
    this.world.budget.charge(1 + found.length);
    return found;
  }

  runRule(entry, key, rule, order) {
    const values = new Array(rule.variables.length).fill(undefined);
    const assignment = new Assignment(values, this.world.budget);
    const heads = [];
    this.world.budget.charge(1 + rule.body.length);
    if (unifyKey(rule.head, entry.columns, key, assignment)) {
      this.instances(rule, order, 0, assignment, () => {
        const row = rule.head.terms.map((term) => assignment.value(term));
        const fits = entry.columns.every((column, i) => row[column] === key[i]);
        if (fits && !isOpen(row)) {
          heads.push(row);
        }
      });
    }
    return heads.filter((row) => this.add(entry.predicate, row)).length > 0;
  }

  add(predicate, row) {
    const cell = keyOf(row);
    if (!predicate.certainFacts.has(cell)) {
      predicate.certainFacts.set(cell, { confidence: MILLION, resting: [] });
    }
    if (predicate === this.goal && surelyMatches(row, this.pattern)) {
      reject("verdict", "what is shown makes the goal true", "header");
    }
    return this.known.get(predicate).add(row);
  }

  /** Call `found` with each assignment under which the body from a place on is true. */
  instances(rule, order, at, assignment, found) {
    if (at === order.length) {
      // Taken last: by now all is bound but what means "any".
      const negated = rule.body.filter(({ form }) => form === "-");
      if (negated.every((literal) => this.isAbsent(literal, assignment))) {
        found();
      }
      return;
    }
    const literal = rule.body[order[at]];
    const mark = assignment.trail.length;
    const next = () => {
      this.instances(rule, order, at + 1, assignment, found);
      assignment.undo(mark);
    };
    this.world.budget.charge(1);
    if (literal.form === "-" || rule.thresholds.has(order[at])) {
      next();
    } else if (literal.form === "+") {
      const wanted = assignment.instance(literal.terms);
      const unbound = (term, i) => term.form === "f" && wanted[i] === undefined;
      const dark = isOpen(wanted) || literal.terms.some(unbound);
      for (const row of dark ? [] : this.find(literal.predicate, wanted)) {
        if (assignment.unify(literal.terms, wanted, row)) {
          next();
        }
        assignment.undo(mark);
      }
    } else if (this.isTrue(rule, literal, assignment)) {
      next();
    }
    assignment.undo(mark);
  }

  isTrue(rule, literal, assignment) {
    if (literal.form === "?") {
      const side = bindableSide(literal, assignment);
      if (side === null) {
        return assignment.compare(literal) === true;
      }
      const value = assignment.value(side.other);
      return value !== null && value !== ERROR && this.bound(side.slot, value, assignment);
    }
    if (literal.threshold !== null) {
      return unlessUnknown(() => this.isBeyond(rule, literal, assignment), false);
    }
    const exact = () => this.totals.exact(rule, literal.index, assignment).value;
    const value = unlessUnknown(exact, null);
    return value !== null && value !== NOTHING && this.bound(literal.result, value, assignment);
  }

  /** Bind a variable to a value, or compare it with the one that it has. */
  bound(slot, value, assignment) {
    if (isCell(assignment.values[slot]) && assignment.values[slot] !== null) {
      return assignment.values[slot] === value;
    }
    assignment.bind(slot, value);
    return true;
  }

  isBeyond(rule, aggregate, assignment) {
    const { threshold, index } = aggregate;
    const outer = this.totals.outerValues(aggregate, assignment);
    const bound = assignment.value(threshold.bound);
    if (outer === null || !isShown(bound)) {
      return false;
    }
    const group = new TrueGroup(rule, index, this.world, outer);
    const targets = [];
    const counted = [];
    group.forEachAssignment((inner) => {
      const target = group.target(inner);
      const adds = isShown(target) && !target.startsWith("-");
      if (adds && aggregate.body.every((literal) => this.holds(literal, inner))) {
        targets.push(target);
        counted.push(aggregate.locals.map((slot) => inner.values[slot]));
      }
    });
    if (someMayBeOne(counted, this.world.budget)) {
      return false;
    }
    if (!isBeyond(exactSum(targetKind(aggregate), targets), threshold, aggregate.kind, bound)) {
      return false;
    }
    if (!threshold.guarded) {
      this.totals.refuseNegative(rule, index, assignment);
    }
    return true;
  }

  /** Tell whether a test of a summand holds; its positive literals were found among what is true. */
  holds(literal, assignment) {
    if (literal.form === "?") {
      return assignment.compare(literal) === true;
    }
    return literal.form === "+" || this.isAbsent(literal, assignment);
  }

  isAbsent({ predicate, terms }, assignment) {
    const [pattern, starred] = assignment.pattern(terms);
    if (pattern === null || isOpen(assignment.instance(terms))) {
      return false;
    }
    const count = () => this.world.possible(predicate, pattern, starred).length;
    return unlessUnknown(count, 1) === 0;
  }
}

/** Finds which rows of the closure anything gives: the others are there to hide something. */
class Bounding extends ClosureChecker {
  constructor(closure, world, header, predicates) {
    super({ entries: [], rows: [] }, world, null);
    this.closure = closure;
    this.predicates = predicates;
    this.goal = header.goal.predicate;
    this.pattern = header.goal.row;
    this.listed = new Map();
    this.given = new Map();
    for (const { predicate } of closure.entries) {
      this.listed.set(predicate, predicate.bounds);
      this.given.set(predicate, new Set());
    }
  }

  /** Reject where no row that matches the goal is given. */
  run() {
    this.renew();
    // Components are closed in turn, the lowest first.
    const component = components(dependencies(this.predicates));
    for (const number of new Set(component.values())) {
      const entries = this.closure.entries.filter((one) => component.get(one.predicate) === number);
      for (let isNew = entries.length > 0; isNew; ) {
        this.totals = new Totals(this.world);
        const before = this.count();
        for (const entry of entries) {
          entry.keys.forEach((key) => this.checkKey(entry, key));
        }
        isNew = this.count() > before;
        this.renew();
      }
    }
    if (this.world.possible(this.goal, this.pattern, false).length === 0) {
      reject("verdict", "what is shown makes the goal false", "header");
    }
  }

  count() {
    return [...this.given.values()].reduce((sum, { size }) => sum + size, 0);
  }

  renew() {
    for (const [predicate, given] of this.given) {
      predicate.bounds = new Relation(this.world.budget);
      given.forEach((entry) => predicate.bounds.add(entry));
    }
  }

  take(predicate, row, covering) {
    const same = covering.filter((entry) => sameRow(entry.row, row));
    (same.length > 0 ? same : covering).forEach((entry) => this.given.get(predicate).add(entry));
  }

  boundsOf(predicate) {
    return this.listed.get(predicate);
  }
}

/** Reject a certificate whose goal follows, or cannot hold, by what it shows. */
function checkUndecided(closure, world, header, predicates) {
  world.budget.renew();
  world.grounds = new Grounds();
  try {
    new Deciding(closure, world, header, predicates).run();
    new Bounding(closure, world, header, predicates).run();
  } catch (problem) {
    // Knowing more may ask for more than is shown; whatever else stops this decides nothing.
    if (!(problem instanceof Rejection) || problem.code === "verdict") {
      throw problem;
    }
  }
}
