/*
 * The group of an aggregate: the distinct assignments of its body, and how sure they are.
 *
 * In: an aggregate and the values of its outer variables.  Out: assignments, and what they add up
 * to.  Invariant: every assignment that may be true is among those enumerated, and there are totals
 * only where all of them are certain.
 * Example: the group of a body that reads a row which is only possible has no totals.
 */

/** What it takes to keep an assignment and to look at it again. */
const STEPS_PER_ASSIGNMENT = 3;

class Group {
  constructor(rule, index, world, outer) {
    this.aggregate = rule.body[index];
    this.world = world;
    this.start = new Array(rule.variables.length).fill(undefined);
    // Only these go in: the value must not depend on what else is bound.
    this.aggregate.outers.forEach((slot, i) => {
      this.start[slot] = outer[i];
    });
    this.confidence = world.absence;
    /** Of assignments of which a local variable is unknown: the targets, which may be known. */
    this.openTargets = [];
    /** The distinct assignments, by their keys. */
    this.distinct = new Map();
    this.enumerate();
  }

  /** Enumerate the body with possible rows. */
  enumerate() {
    const { body, locals } = this.aggregate;
    this.assignment = new Assignment(this.start.slice(), this.world.budget);
    forEachInstance(body, this.assignment, {
      choose: (taken) => this.choose(taken),
      rowsOf: (literal) => this.rowsOf(literal),
      passes: (literal) => this.passes(literal),
      found: () => {
        this.world.budget.charge(STEPS_PER_ASSIGNMENT + locals.length);
        const own = locals.map((slot) => this.assignment.values[slot]);
        if (own.includes(null)) {
          this.openTargets.push(this.target(this.assignment));
        } else {
          this.distinct.set(keyOf(own), own);
        }
      },
    });
  }

  /** Choose a test that is ready, else the served atom with the fewest unbound columns. */
  choose(taken) {
    const { body } = this.aggregate;
    let [best, fewest] = [-1, Infinity];
    this.world.budget.charge(taken.length >> 2);
    for (let index = 0; index < body.length; index += 1) {
      const literal = body[index];
      if (!taken[index] && literal.form !== "+" && this.isReady(literal)) {
        return index;
      }
      if (!taken[index] && literal.form === "+") {
        const [pattern, starred] = this.assignment.pattern(literal.terms);
        const unbound = pattern === null ? Infinity : this.countUnbound(literal);
        if (unbound < fewest && (starred || this.isServed(literal.predicate, pattern))) {
          [best, fewest] = [index, unbound];
        }
      }
    }
    return best < 0 ? reject("unserved", "nothing tells all rows of its body") : best;
  }

  isReady(literal) {
    const { assignment } = this;
    const terms = literal.form === "-" ? literal.terms : [literal.left, literal.right];
    const bound = terms.every((term) => assignment.value(term) !== undefined);
    return bound || (literal.form === "?" && bindableSide(literal, assignment) !== null);
  }

  /** Count the columns without a value; one that nobody knows is a value. */
  countUnbound({ terms }) {
    const free = (value) => value === undefined || value === ANY;
    return terms.filter((term) => free(this.assignment.value(term))).length;
  }

  isServed(predicate, pattern) {
    return this.world.isServed(predicate, pattern);
  }

  rowsOf({ predicate, terms }) {
    const [pattern, starred] = this.assignment.pattern(terms);
    return [this.world.possible(predicate, pattern, starred), pattern];
  }

  /** Tell whether a comparison or an absence keeps the assignment. */
  passes(literal) {
    const { assignment } = this;
    if (literal.form === "?") {
      return bindOrCompare(literal, assignment) !== false;
    }
    const row = assignment.instance(literal.terms);
    const open = row.includes(null) || row.includes(ERROR);
    return open || this.world.certain(literal.predicate, row) === null;
  }

  /** Call `step` with each assignment in place. */
  forEachAssignment(step) {
    const { locals } = this.aggregate;
    for (const own of this.distinct.values()) {
      this.world.budget.charge(1 + (this.start.length >> 3));
      const values = this.start.slice();
      locals.forEach((slot, i) => {
        values[slot] = own[i];
      });
      step(new Assignment(values, this.world.budget));
    }
  }

  /** Return the target under an assignment: a value, null or ERROR; "1" where rows are counted. */
  target(assignment) {
    const { target } = this.aggregate;
    return target === null ? "1" : assignment.value(target);
  }

  /** Return the targets of all assignments of which every local variable is known. */
  targets() {
    const found = [];
    this.forEachAssignment((assignment) => found.push(this.target(assignment)));
    return found;
  }

  /** Return the targets of the assignments that are certain, where somebody knows them. */
  certainTargets() {
    const found = [];
    this.forEachAssignment((assignment) => {
      this.world.budget.charge(1 + this.aggregate.body.length);
      // Every row is consulted, as for totals: its node counts as used.
      const holds = this.aggregate.body.map((literal) => this.isCertain(literal, assignment));
      const target = this.target(assignment);
      if (holds.every((one) => one) && isShown(target)) {
        found.push(target);
      }
    });
    return found;
  }

  /** Return what the assignments add up to, or null unless every one of them is certain. */
  totals() {
    if (this.openTargets.length > 0 || this.mayBeFewer()) {
      return null;
    }
    let certain = true;
    this.forEachAssignment((assignment) => {
      this.world.budget.charge(1 + this.aggregate.body.length);
      for (const literal of this.aggregate.body) {
        certain = this.isCertain(literal, assignment) && certain;
      }
    });
    const targets = this.targets();
    certain = certain && targets.every((target) => typeof target === "string");
    return certain ? totalsOf(this.aggregate, targets) : null;
  }

  /** Tell whether two assignments may be one, where that makes a difference. */
  mayBeFewer() {
    const { name } = this.aggregate;
    if (name === "min" || name === "max") {
      return false;
    }
    return someMayBeOne([...this.distinct.values()], this.world.budget);
  }

  isCertain(literal, assignment) {
    if (literal.form === "?") {
      return assignment.compare(literal) === true;
    }
    const row = assignment.instance(literal.terms);
    if (row.includes(null) || row.includes(ERROR)) {
      return false;
    }
    if (literal.form === "-") {
      const [pattern, starred] = assignment.pattern(literal.terms);
      return this.world.possible(literal.predicate, pattern, starred).length === 0;
    }
    const confidence = this.world.certain(literal.predicate, row);
    this.confidence = Math.min(this.confidence, confidence === null ? MILLION : confidence);
    return confidence !== null;
  }
}

/** The rows of a body that are inline, whether or not anything says that they are all. */
class InlineGroup extends Group {
  isServed() {
    return true;
  }

  rowsOf({ predicate, terms }) {
    const [pattern] = this.assignment.pattern(terms);
    const found = [];
    this.world.addShown(predicate, pattern, found);
    return [found, pattern];
  }
}
