/*
 * The closure: a set of rows outside of which nothing can be derived.
 *
 * In: `closure`.  Out: nothing, or a rejection.  Invariant: every instance of a rule that may be true
 * has a head that some row covers, so the least model lies inside (Tarski 1955).
 * Example: a rule whose head for a key is covered by no row is rejected with `not-covered`.
 */

const ENTRY_MEMBERS = ["predicate", "columns", "orders", "keys"];

function readOrder(value, predicate, rules) {
  const [index, order] = listOf(value, 2);
  const rule = rules[indexOf(index, rules.length)];
  if (rule.head.predicate !== predicate) {
    reject("closure", "an order for another predicate's rule");
  }
  each("", listOf(order), countOf);
  const isThere = order.every((literal) => literal < rule.body.length);
  if (!isThere || order.length !== rule.body.length || new Set(order).size !== order.length) {
    reject("closure", "no permutation of the body");
  }
  return { rule, order };
}

function readEntry(value, predicates, rules) {
  objectOf(value, ENTRY_MEMBERS);
  const predicate = declared(predicates, value.predicate);
  const columns = inside("columns", () => readKeyColumns(value.columns, predicate));
  const kinds = columns.map((column) => predicate.kinds[column]);
  if (!predicate.given.every((column) => columns.includes(column))) {
    reject("closure", "a given column is none of the key's", "columns");
  }
  const keys = each("keys", listOf(value.keys), (key) => predicate.cells.row(key, kinds));
  inside("keys", () => ascending(value.keys, "keys"));
  const orders = each("orders", listOf(value.orders), (one) => readOrder(one, predicate, rules));
  const listed = orders.map(({ rule }) => rule);
  const { rules: all } = predicate;
  if (listed.length !== all.length || listed.some((rule, i) => rule !== all[i])) {
    reject("closure", "not each rule of it has one order");
  }
  return { predicate, columns, keys, orders, grounds: keys.map(() => new Grounds()) };
}

function readClosure(value, predicates, rules) {
  const { entries: entryValues, rows: rowValues } = objectOf(value, ["entries", "rows"]);
  const names = new Set();
  const entries = each("entries", listOf(entryValues), (one) => {
    const entry = readEntry(one, predicates, rules);
    const name = `${entry.predicate.name} ${entry.columns}`;
    if (names.has(name)) {
      reject("closure", "two entries for the same columns");
    }
    names.add(name);
    return entry;
  });
  const rows = each("rows", listOf(rowValues), (one) => readBounds(one, predicates));
  ascending(rows.map(({ predicate }) => [predicate.name]), "predicates");
  return { entries, rows };
}

function readBounds(value, predicates) {
  const [name, rows] = listOf(value, 2);
  const predicate = declared(predicates, name);
  const found = each("", listOf(rows), (row) => predicate.cells.boundRow(row, predicate.kinds));
  ascending(rows, "rows");
  if (predicate.rules.length === 0) {
    reject("closure", `no rule derives ${predicate.name}`);
  }
  return { predicate, rows: found };
}

class ClosureChecker {
  constructor(closure, world, totals) {
    this.closure = closure;
    this.world = world;
    this.totals = totals;
    for (const entry of closure.entries) {
      const { predicate, columns, keys, grounds } = entry;
      keys.forEach((key, i) => predicate.entries.add(columns, key, grounds[i]));
    }
    for (const { predicate, rows } of closure.rows) {
      rows.forEach((row) => predicate.bounds.add({ row }));
    }
  }

  check() {
    inside("closure", () => {
      each("entries", this.closure.entries, (entry) => {
        each("keys", entry.keys, (key, i) => {
          this.world.grounds = entry.grounds[i];
          this.checkKey(entry, key);
        });
      });
    });
    spreadLevels(this.closure.entries.flatMap(({ grounds }) => grounds));
  }

  checkKey(entry, key) {
    for (const { rule, order } of entry.orders) {
      const values = new Array(rule.variables.length).fill(undefined);
      const assignment = new Assignment(values, this.world.budget);
      this.world.budget.charge(1 + (values.length >> 3));
      if (unifyKey(rule.head, entry.columns, key, assignment)) {
        this.checkInstances(entry, key, rule, order, assignment);
      }
    }
  }

  checkInstances(entry, key, rule, order, assignment) {
    const literals = order.map((index) => rule.body[index]);
    forEachInstance(literals, assignment, {
      choose: (_, count) => count,
      rowsOf: (literal) => this.rowsOf(literal, assignment),
      passes: (literal) => this.passes(rule, literal, assignment),
      found: () => this.checkCovered(entry, key, rule, assignment),
    });
  }

  rowsOf(literal, assignment) {
    const { predicate, terms } = literal;
    const [pattern, starred] = assignment.pattern(terms);
    if (pattern === null) {
      reject("unbound", "a function of an unbound variable");
    }
    return [this.world.possible(predicate, pattern, starred, literal), pattern];
  }

  /** Tell whether a literal that is not positive keeps the instance. */
  passes(rule, literal, assignment) {
    if (literal.form === "?") {
      return this.passesComparison(literal, assignment);
    }
    if (literal.form === "-") {
      return this.passesAbsence(rule, literal, assignment);
    }
    if (literal.threshold !== null) {
      return this.passesThreshold(rule, literal, assignment);
    }
    const { value } = this.totals.exact(rule, literal.index, assignment);
    return value !== NOTHING && this.bindResult(literal, value, assignment);
  }

  passesComparison(literal, assignment) {
    const truth = bindOrCompare(literal, assignment);
    if (truth === undefined) {
      reject("unbound", "a comparison of an unbound variable");
    }
    return truth !== false;
  }

  passesAbsence(rule, { predicate, terms }, assignment) {
    // Any other unbound variable waits for a later literal: "any" would remove too much.
    const waits = (term) =>
      assignment.value(term) === undefined && !(term.form === "v" && rule.wild.has(term.slot));
    if (terms.some(waits)) {
      return true;
    }
    const row = assignment.instance(terms);
    const open = row.includes(null) || row.includes(ERROR);
    return open || !this.world.hasCertain(predicate, row);
  }

  passesThreshold(rule, aggregate, assignment) {
    const { threshold } = aggregate;
    const bound = assignment.value(threshold.bound);
    if (bound === undefined) {
      reject("unbound", "a threshold whose bound is not bound yet");
    }
    const most = this.totals.most(rule, aggregate.index, assignment);
    const known = isShown(bound) && most !== null;
    if (known && !isBeyond(most, threshold, aggregate.kind, bound)) {
      return false;
    }
    assignment.bind(aggregate.result, null);
    return true;
  }

  /** Bind the result of an aggregate, or compare it with the value that it has already. */
  bindResult({ result }, value, assignment) {
    const known = assignment.values[result];
    if (known === undefined || (known === null && value !== null)) {
      assignment.bind(result, value);
      return true;
    }
    // A label may be any value, this one too.
    return value === null || !isKnown(known) || known === value;
  }

  /** Return the rows that heads must be among. */
  boundsOf(predicate) {
    return predicate.bounds;
  }

  /** Note a head and what covers it; the check itself needs none. */
  take() {}

  checkCovered({ predicate, columns }, key, rule, assignment) {
    const row = rule.head.terms.map((term) => {
      const value = assignment.value(term);
      if (value === undefined) {
        reject("unbound", "a variable of the head is not bound");
      }
      return value === ERROR ? null : value;
    });
    for (let i = 0; i < columns.length; i += 1) {
      const value = row[columns[i]];
      if (isKnown(value) && value !== key[i]) {
        return;
      }
      row[columns[i]] = value === null ? key[i] : value;
    }
    const pattern = row.map((value) => (isKnown(value) ? value : undefined));
    const covers = ({ row: bound }) =>
      row.every((value, i) => bound[i] === null || bound[i] === value);
    const candidates = this.boundsOf(predicate).find(pattern);
    if (!row.every(isKnown)) {
      this.world.budget.charge(candidates.length);
    }
    const covering = candidates.filter(covers);
    const isRuledOut = this.totals.rulesOut(rule, assignment);
    this.take(predicate, row, covering);
    if (covering.length === 0 && !isRuledOut) {
      reject("not-covered", `no row of the closure covers what a rule of ${predicate.name} gives`);
    }
  }
}

/** Bind the head's variables to the key; tell whether its constants and repetitions agree. */
function unifyKey(head, columns, key, assignment) {
  for (let i = 0; i < columns.length; i += 1) {
    const term = head.terms[columns[i]];
    if (term.form === "v") {
      const known = assignment.values[term.slot];
      if (known !== undefined && known !== key[i]) {
        return false;
      }
      assignment.bind(term.slot, key[i]);
    } else if (term.form === "c" && term.value !== key[i]) {
      return false;
    }
  }
  return true;
}
