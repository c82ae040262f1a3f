/*
 * Terms and comparisons under an assignment of variables.
 *
 * In: terms, and a list of values: undefined for no value yet, null for "some value nobody knows".
 * Out: a value, null, undefined, or ERROR; of a comparison a truth, null where it depends on what
 * nobody knows, or ERROR.  Invariant: an assignment is changed only through `bind`, which can be
 * undone.
 * Example: `X + 1` is "3" where X is "2", and null where X is null.
 */

/** A power of floats is as much work as so many rows; no other function is like that. */
const STEPS_PER_POWER = 16;

/** A label stands for one value, which equals itself; all else about it is open. */
const TRUTH_OF_ONE_LABEL = new Map([
  ["=", true], ["<=", true], [">=", true], ["!=", false], ["<", false], [">", false],
]);

class Assignment {
  constructor(values, budget) {
    this.values = values;
    this.budget = budget;
    this.trail = [];
  }

  bind(slot, value) {
    this.trail.push(slot, this.values[slot]);
    this.values[slot] = value;
  }

  undo(length) {
    while (this.trail.length > length) {
      const value = this.trail.pop();
      this.values[this.trail.pop()] = value;
    }
  }

  value(term) {
    if (term.form === "v") {
      return this.values[term.slot];
    }
    if (term.form === "_") {
      // Only a group binds it, to the cell that it met.
      const cell = this.values[term.slot];
      return cell === undefined ? ANY : cell;
    }
    return term.form === "c" ? term.value : this.call(term);
  }

  call({ name, kind, kinds, args, structures }) {
    const values = args.map((arg) => this.value(arg));
    if (values.includes(undefined)) {
      return undefined;
    }
    if (values.includes(ERROR)) {
      return ERROR;
    }
    if (!values.every(isKnown)) {
      return values.includes(null) || values.some(isHidden) ? null : madeOf(name, values);
    }
    if (values.some(isHidden)) {
      return this.told({ name, kind, kinds, structures }, values);
    }
    return this.computed({ name, kind, kinds, structures }, values);
  }

  /** Return what is told of a function of hidden values. */
  told(called, values) {
    const { name, kind, kinds, structures } = called;
    this.budget.charge(1);
    const pairs = values.map((value, i) => [kinds[i], spelledInQuestion(value)]);
    // A structure that was opened is read again: it may stand nowhere else.
    const compute = (real) =>
      this.computed(
        called,
        real.map((text, i) => (kinds[i] === STRUCTURE && typeof text === "string" ? structures.read(text) : text)),
      );
    return structures.redaction.value(["f", name, kind, pairs], values, compute);
  }

  computed({ name, kind, kinds, structures }, values) {
    if (isAboutStructures(name)) {
      this.budget.charge(1);
      return callOnStructures(structures, name, kind, kinds, values);
    }
    this.budget.chargeCharacters(values.reduce((sum, value) => sum + value.length, 0));
    if (name === "^" && kind === "float") {
      this.budget.charge(STEPS_PER_POWER);
    }
    return callFunction(name, kind, kinds, values);
  }

  /** Return the truth of a comparison, null, undefined or ERROR. */
  compare({ operator, left, right, structures }) {
    const a = this.value(left);
    const b = this.value(right);
    if (a === undefined || b === undefined) {
      return undefined;
    }
    if (a === ERROR || b === ERROR) {
      return ERROR;
    }
    if (a === null || b === null) {
      return null;
    }
    if (!isKnown(a) || !isKnown(b)) {
      const truth = a === b ? TRUTH_OF_ONE_LABEL.get(operator) : undefined;
      return truth === undefined ? null : truth;
    }
    const charge = (tests) => this.budget.charge(Math.floor(tests / 4));
    if (isHidden(a) || isHidden(b)) {
      this.budget.charge(1);
      const compute = (one, other) => comparisonHolds(operator, left.kind, one, other, charge);
      return structures.redaction.truth(operator, left.kind, [a, b], compute);
    }
    if (a instanceof Structure) {
      return (a === b) === (operator === "=");
    }
    this.budget.chargeCharacters(a.length + b.length);
    return comparisonHolds(operator, left.kind, a, b, charge);
  }

  /**
   * Return [pattern, starred] of an atom: an argument that is unknown, a label or an error is
   * unbound, but an unbound variable inside a function makes the pattern null.
   */
  pattern(terms) {
    const pattern = new Array(terms.length);
    let starred = false;
    for (let i = 0; i < terms.length; i += 1) {
      const value = this.value(terms[i]);
      if (value === undefined && terms[i].form === "f") {
        return [null, false];
      }
      const unknown = value === null || value === ERROR || value instanceof Label;
      starred = starred || unknown;
      pattern[i] = unknown ? undefined : value;
    }
    return [pattern, starred];
  }

  /** Return the instance of an atom: all values, ANY for what is not read. */
  instance(terms) {
    return terms.map((term) => this.value(term));
  }

  /**
   * Match a row, which binds variables; tell whether it can be an instance.
   *
   * What is known takes the place of what is not: a value that of a label, either that of null.
   */
  unify(terms, pattern, row) {
    for (let i = 0; i < terms.length; i += 1) {
      const { form, slot } = terms[i];
      if (form === "_") {
        this.bind(slot, row[i]);
        continue;
      }
      if (row[i] === NONE) {
        return false;
      }
      const found = row[i] instanceof Null ? null : row[i];
      const known = form === "v" ? this.values[slot] : pattern[i];
      if (form === "v" && this.givesWay(known, found)) {
        this.bind(slot, found);
      } else if (isKnown(found) && isKnown(known) && known !== found) {
        return false;
      }
    }
    return true;
  }

  givesWay(known, found) {
    if (known === undefined) {
      return true;
    }
    return known === null ? found !== null : known instanceof Label && isKnown(found);
  }
}
