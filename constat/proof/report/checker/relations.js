/*
 * Rows that may hold "some value nobody knows", found by what is known of them.
 *
 * In: rows, null standing for the unknown value, and patterns, undefined standing for any value and ANY
 * for what is not read.  Out: the entries whose rows may match.  Invariant: a look-up costs what it finds and one step for each form of
 * row (which columns are unknown), and all costs are charged to the budget.
 * Example: the row `[null, "1"]` is found by the pattern `["C1", undefined]`.
 */

const LEAST_STEPS = 5000000;
const STEPS_PER_CLOSURE_ROW = 2000;
const UNDECIDED_SHARE = 10;
const INDEXED_COLUMNS = 30;
const BUILT_ROWS_PER_STEP = 8;

class Budget {
  constructor(closureRows) {
    this.allowed = Math.max(LEAST_STEPS, STEPS_PER_CLOSURE_ROW * closureRows);
    this.left = this.allowed;
  }

  /** Allow a share of the steps again, for a check that is not one of form. */
  renew() {
    this.left = Math.floor(this.allowed / UNDECIDED_SHARE);
  }

  charge(steps) {
    this.left -= steps;
    if (this.left < 0) {
      reject("limit", "too large to check");
    }
  }

  /** Charge a number of characters that a function or a comparison looks at. */
  chargeCharacters(characters) {
    if (characters >= 256) {
      this.charge(Math.floor(characters / 256));
    }
  }
}

function keyOfColumns(row, columns) {
  if (columns.length === 1) {
    return row[columns[0]];
  }
  let key = "";
  for (const column of columns) {
    key += `${row[column]}\0`;
  }
  return key;
}

/** The entries whose rows have unknown cells of the same forms in the same columns. */
class FormOfRows {
  constructor(row) {
    const columns = row.map((_, column) => column);
    this.known = columns.filter((column) => isKnown(row[column]));
    this.none = columns.filter((column) => row[column] === NONE);
    this.entries = [];
    this.indexes = new Map();
  }

  find(pattern, budget) {
    let mask = 0;
    if (this.none.some((column) => pattern[column] !== ANY)) {
      return [];
    }
    for (const column of this.known) {
      if (column < INDEXED_COLUMNS && isKnown(pattern[column])) {
        mask |= 1 << column;
      }
    }
    if (mask === 0) {
      return this.entries;
    }
    let index = this.indexes.get(mask);
    if (index === undefined) {
      const columns = this.known.filter((column) => mask & (1 << column));
      index = { columns, lists: new Map() };
      budget.charge(Math.floor(this.entries.length / BUILT_ROWS_PER_STEP));
      for (const entry of this.entries) {
        append(index.lists, keyOfColumns(entry.row, columns), entry);
      }
      this.indexes.set(mask, index);
    }
    return index.lists.get(keyOfColumns(pattern, index.columns)) || [];
  }
}

/** Entries `{row, ...}` of one predicate; all are added before the first look-up. */
class Relation {
  constructor(budget) {
    this.budget = budget;
    this.forms = new Map();
    this.wide = false;
  }

  add(entry) {
    const form = formOfRow(entry.row);
    if (!this.forms.has(form)) {
      this.forms.set(form, new FormOfRows(entry.row));
    }
    this.forms.get(form).entries.push(entry);
    this.wide = form.length > INDEXED_COLUMNS;
  }

  find(pattern) {
    if (this.forms.size === 0) {
      return [];
    }
    this.budget.charge(this.forms.size);
    let found = null;
    for (const form of this.forms.values()) {
      const some = form.find(pattern, this.budget);
      found = found === null ? some : found.length === 0 ? some : found.concat(some);
    }
    this.budget.charge(found.length >> 3);
    if (!this.wide) {
      return found;
    }
    this.budget.charge(found.length);
    return found.filter(({ row }) => perhapsMatches(row, pattern));
  }
}

/** What is said of keys: for sets of columns, the keys and what belongs to each. */
class Serving {
  constructor(budget) {
    this.budget = budget;
    this.sets = new Map();
  }

  add(columns, key, what) {
    const name = columns.join();
    if (!this.sets.has(name)) {
      this.sets.set(name, { columns, keys: new Map() });
    }
    append(this.sets.get(name).keys, keyOf(key), what);
  }

  /** Return all that serves the pattern. */
  find(pattern) {
    let found = [];
    for (const { columns, keys } of this.sets.values()) {
      if (columns.every((column) => isKnown(pattern[column]))) {
        const some = keys.get(keyOf(columns.map((column) => pattern[column])));
        found = some === undefined ? found : found.length === 0 ? some : found.concat(some);
      }
    }
    this.budget.charge(Math.floor((this.sets.size + found.length) / 4));
    return found;
  }
}
