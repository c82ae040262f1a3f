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

/** A structure is read sign by sign where other texts are copied. */
const DEARER_APART = 4;

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
    return term.form === "c" ? term.value : this.call(term);
  }

  call({ name, kind, kinds, args }) {
    const values = args.map((arg) => this.value(arg));
    if (values.includes(undefined)) {
      return undefined;
    }
    if (values.includes(ERROR)) {
      return ERROR;
    }
    if (values.includes(null)) {
      return null;
    }
    const characters = values.reduce((sum, value) => sum + value.length, 0);
    this.budget.chargeCharacters(characters * (APART.includes(name) ? DEARER_APART : 1));
    if (name === "^" && kind === "float") {
      this.budget.charge(STEPS_PER_POWER);
    }
    return callFunction(name, kind, kinds, values);
  }

  /** Return the truth of a comparison, null, undefined or ERROR. */
  compare({ operator, left, right }) {
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
    this.budget.chargeCharacters(a.length + b.length);
    const charge = (tests) => this.budget.charge(Math.floor(tests / 4));
    return comparisonHolds(operator, left.kind, a, b, charge);
  }

  /**
   * Return [pattern, starred] of an atom: an argument that is unknown or an error is unbound, but
   * an unbound variable inside a function makes the pattern null.
   */
  pattern(terms) {
    const pattern = new Array(terms.length);
    let starred = false;
    for (let i = 0; i < terms.length; i += 1) {
      const value = this.value(terms[i]);
      if (value === undefined && terms[i].form === "f") {
        return [null, false];
      }
      const unknown = value === null || value === ERROR;
      starred = starred || unknown;
      pattern[i] = unknown ? undefined : value;
    }
    return [pattern, starred];
  }

  /** Match a row, which binds variables; tell whether it can be an instance. */
  unify(terms, pattern, row) {
    for (let i = 0; i < terms.length; i += 1) {
      const found = row[i];
      if (terms[i].form === "v") {
        const known = this.values[terms[i].slot];
        if (known === undefined || (known === null && found !== null)) {
          this.bind(terms[i].slot, found);
        } else if (found !== null && known !== found) {
          return false;
        }
      } else if (found !== null && pattern[i] !== undefined && pattern[i] !== found) {
        return false;
      }
    }
    return true;
  }
}
