/*
 * What an aggregate is worth: its exact value, and for thresholds the most that it can be.
 *
 * In: a rule, the index of an aggregate, and an assignment of its outer variables.  Out: a value as
 * text, NOTHING, or null where there is no exact one, with its confidence and grounds.  Invariant: a
 * value is given only where every assignment it is made of is certain and no other is possible.
 * Example: a sum over a row that is only possible is null.
 */

class Totals {
  constructor(world) {
    this.world = world;
    this.known = new Map();
    this.members = new Map();
  }

  /** Return the outer variables' values, or null where one is unknown. */
  outerValues(aggregate, assignment) {
    const values = aggregate.outers.map((slot) => assignment.values[slot]);
    if (values.includes(undefined)) {
      reject("unbound", "an aggregate comes before what binds its group");
    }
    // Nobody knows which group it is where a label names it.
    return values.every(isKnown) ? values : null;
  }

  /** Return `{value, confidence, grounds}`; the value is null where there is no exact one. */
  exact(rule, index, assignment) {
    const outer = this.outerValues(rule.body[index], assignment);
    if (outer === null) {
      return { value: null, confidence: 0, grounds: new Grounds() };
    }
    const { world } = this;
    const key = `${rule.index} ${index} ${keyOf(outer)}`;
    let found = this.known.get(key);
    if (found === undefined) {
      const others = world.grounds;
      world.grounds = new Grounds();
      found = this.evaluate(rule, index, outer);
      found.grounds = world.grounds;
      world.grounds = others;
      this.known.set(key, found);
    }
    world.budget.charge(found.grounds.keys.size >> 3);
    world.grounds.addAll(found.grounds);
    return found;
  }

  evaluate(rule, index, outer) {
    const [summary] = rule.body[index].summaries.get(keyOf(outer)) || [];
    if (summary === undefined) {
      return this.enumerated(rule, index, outer, null);
    }
    summary.used = true;
    checkInlineRows(rule, index, outer, this.world, summary);
    try {
      return this.enumerated(rule, index, outer, summary.totals);
    } catch (problem) {
      if (!(problem instanceof Rejection && problem.code === "unserved")) {
        throw problem;
      }
    }
    this.world.grounds.add(RERUNNABLE);
    const value = fold(rule.body[index], summary.totals);
    return { value: value === ERROR ? null : value, confidence: summary.confidence };
  }

  /** Return the value that the rows inline give; a summary must not say otherwise. */
  enumerated(rule, index, outer, summarised) {
    const group = new Group(rule, index, this.world, outer);
    const totals = group.totals();
    if (summarised !== null && (totals === null || !sameTotals(totals, summarised))) {
      refuseSummary("the rows that are inline say otherwise");
    }
    const value = totals === null ? ERROR : this.folded(group.aggregate, totals);
    return { value: value === ERROR ? null : value, confidence: group.confidence };
  }

  /** Return the value of an aggregate; over hidden values what is told of it. */
  folded(aggregate, totals) {
    const { targets } = totals;
    if (targets === undefined) {
      return fold(aggregate, totals);
    }
    const { name, kind, target } = aggregate;
    const cells = targets.map(spelledInQuestion).sort(compareCells);
    const listed = sha256Of([canonicalForm(cells)]);
    const compute = (real) => fold(aggregate, totalsOf(aggregate, real));
    const found = this.world.redaction.value(["a", name, kind, target.kind, listed], targets, compute);
    return found === null ? ERROR : found;
  }

  /**
   * Tell whether a whole instance holds an open least or greatest for what it cannot be.
   *
   * The greatest of a group is at least the target of each member that is certain, and the least at
   * most that.
   */
  rulesOut(rule, assignment) {
    let found = false;
    for (const aggregate of rule.body.filter(isBounded)) {
      const outer = this.outerValues(aggregate, assignment);
      if (outer !== null && this.exact(rule, aggregate.index, assignment).value === null) {
        const member = this.member(rule, aggregate, outer);
        found = (member !== null && isHeldBeyond(rule, aggregate, assignment, member)) || found;
      }
    }
    return found;
  }

  /** Return the target furthest out of a group's members that are certain, or null. */
  member(rule, aggregate, outer) {
    const key = `${rule.index} ${aggregate.index} ${keyOf(outer)}`;
    if (!this.members.has(key)) {
      const targets = new Group(rule, aggregate.index, this.world, outer).certainTargets();
      const direction = aggregate.name === "max" ? 1 : -1;
      const found = targets.length > 0 ? extreme(aggregate.kind, targets, direction) : null;
      this.members.set(key, found);
    }
    return this.members.get(key);
  }

  /** Return the most that the total of a recursive threshold can be, a fraction, or null. */
  most(rule, index, assignment) {
    const outer = this.outerValues(rule.body[index], assignment);
    if (outer === null) {
      return null;
    }
    const group = new Group(rule, index, this.world, outer);
    const targets = group.targets();
    // A row with an unknown value stands for any number of rows, whatever its target is.
    if (group.openTargets.length > 0 || !targets.every(isNumber)) {
      return null;
    }
    return exactSum(targetKind(rule.body[index]), targets.filter((text) => !text.startsWith("-")));
  }

  /** Reject unless no possible summand of a group is negative or unknown. */
  refuseNegative(rule, index, assignment) {
    const outer = this.outerValues(rule.body[index], assignment);
    const group = new Group(rule, index, this.world, outer);
    const targets = [...group.targets(), ...group.openTargets];
    if (!targets.every((target) => isNumber(target) && !target.startsWith("-"))) {
      reject("threshold", "a summand may be negative");
    }
  }
}

/** Tell whether members bound the result: the target is a variable, and nothing is denied. */
function isBounded({ form, name, target, threshold, body }) {
  const extremes = form === "a" && threshold === null && (name === "min" || name === "max");
  return extremes && target.form === "v" && body.every((literal) => literal.form !== "-");
}

const TURNED = { "=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<=" };

/** Tell whether the rule holds the result of an aggregate for what a member of its group rules out. */
function isHeldBeyond(rule, { name, kind, result }, assignment, member) {
  const direction = name === "max" ? 1 : -1;
  const [reflexive, strict] = name === "max" ? ["<=", "<"] : [">=", ">"];
  const isBeyond = (operator, value) => {
    if (!isShown(value) || !["=", reflexive, strict].includes(operator)) {
      return false;
    }
    const order = direction * compareValues(kind, member, value);
    return order > 0 || (order === 0 && operator === strict);
  };
  const isResult = (term) => term.form === "v" && term.slot === result;
  return (
    isBeyond("=", assignment.values[result]) ||
    rule.body.some(
      ({ form, operator, left, right }) =>
        form === "?" &&
        ((isResult(left) && isBeyond(operator, assignment.value(right))) ||
          (isResult(right) && isBeyond(TURNED[operator], assignment.value(left)))),
    )
  );
}

function isNumber(target) {
  return isShown(target);
}

function targetKind(aggregate) {
  return aggregate.target === null ? "number" : aggregate.target.kind;
}

/** Tell whether a sum is beyond the bound of a threshold. */
function isBeyond(sum, threshold, kind, bound) {
  const order = compareFractions(sum, fractionOf(kind, bound));
  return order > 0 || (order === 0 && !threshold.strict);
}
