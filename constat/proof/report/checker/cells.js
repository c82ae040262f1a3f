/*
 * What a row can hold: values, structures of a table, labels of unknown values, cells without a value.
 *
 * In: JSON cells.  Out: texts, structures, `Label` and `Null` objects, each content one object, so
 * that `===` compares cells.  Invariant: a label is that of one cell of one row, named by its content.
 * Example: `["unknown", 0]` in a row is the first label where that is of this row and this column.
 */

const NULL_POLICIES = ["none", "maybe", "unknown", "unread"];

/** Stands in a pattern where a column is not read. */
const ANY = { any: true };

/** How a hidden value begins: no text holds a lone surrogate, so it is like no other value. */
const HIDDEN = "\ud800#";

function isHidden(value) {
  return typeof value === "string" && value.startsWith(HIDDEN);
}

/** Tell whether a value is a text that is there for everybody to read. */
function isShown(value) {
  return typeof value === "string" && !isHidden(value);
}

/** A value that is there and that nobody knows. */
class Label {
  constructor(number, content) {
    this.number = number;
    Object.assign(this, content);
    this.used = false;
    this.function = null;
    this.results = new Map();
  }

  /** Return what a total function makes of this label: for each list of arguments one label. */
  made(name, args) {
    const spelled = canonicalForm([name, args]);
    if (!this.results.has(spelled)) {
      const found = new Label(this.number, {});
      found.function = spelled;
      this.results.set(spelled, found);
    }
    return this.results.get(spelled);
  }

  toString() {
    return `\ud800?${this.number}${this.function === null ? "" : this.function}`;
  }
}

/** A cell without a value: there is none, or (with an ordinal) perhaps none. */
class Null {
  constructor(ordinal) {
    this.ordinal = ordinal;
  }

  toString() {
    return `\ud800-${this.ordinal}`;
  }
}

const NONE = new Null(null);
/** Of this cell nothing is known, and nothing is asked. */
const UNREAD = new Null("unread");

function isEmpty(cell) {
  return cell === NONE || cell === UNREAD;
}

function isKnown(value) {
  return typeof value === "string" || value instanceof Structure;
}

/** Return what a function makes of values and one label or more: a label, or null. */
function madeOf(name, values) {
  const [label, ...others] = values.filter((value) => value instanceof Label);
  if (!TOTAL_FUNCTIONS.includes(name) || others.length > 0 || label.function !== null) {
    return null;
  }
  return label.made(name, values.map((value) => (value === label ? null : value)));
}

/** Tell whether a cell may be another value: unknown, a label, or perhaps none. */
function isVague(value) {
  return value === null || value instanceof Label || (value instanceof Null && !isEmpty(value));
}

function textOfValue(value) {
  return typeof value === "string" ? value : value.text();
}

/** Return a row as its source gave it: null where there is no value. */
function bareRow(row) {
  return row.map((cell) => (isKnown(cell) ? textOfValue(cell) : null));
}

/** Tell whether a row without unknowns of its own is an instance of a pattern for sure. */
function surelyMatches(row, pattern) {
  return row.every(
    (cell, i) =>
      pattern[i] === ANY ||
      (!(cell instanceof Null) && (pattern[i] === undefined || pattern[i] === cell)),
  );
}

/** Tell whether a row may be an instance of a pattern. */
function perhapsMatches(row, pattern) {
  return row.every(
    (cell, i) =>
      pattern[i] === ANY ||
      (!isEmpty(cell) && (!isKnown(pattern[i]) || !isKnown(cell) || pattern[i] === cell)),
  );
}

/** Return what tells forms of cells apart: known, none, a label, perhaps none. */
function formOfCell(cell) {
  return cell === null ? "*" : isKnown(cell) ? "+" : isEmpty(cell) ? "0" : cell instanceof Label ? "?" : "-";
}

function formOfRow(row) {
  return row.map(formOfCell).join("");
}

/** Tell whether two of these distinct bindings differ in nothing that is known. */
function someMayBeOne(rows, budget) {
  const byForm = new Map();
  rows.forEach((row) => append(byForm, formOfRow(row), row));
  const forms = [...byForm.keys()];
  return forms.some((form, i) =>
    forms.slice(0, i + 1).some((other) => {
      if (form === other && !/[-?]/.test(form)) {
        return false;
      }
      return formsOverlap(form, other, byForm, budget);
    }),
  );
}

function formsOverlap(form, other, byForm, budget) {
  const pairs = [...form].map((one, i) => one + other[i]);
  // Nothing is what a value or a label stands for; what is perhaps none may be either.
  if (pairs.some((pair) => ["0+", "+0", "0?", "?0"].includes(pair))) {
    return false;
  }
  const both = pairs.flatMap((pair, i) => (pair === "++" ? [i] : []));
  const keysOf = (rows) => rows.map((row) => keyOf(both.map((column) => row[column])));
  const keys = keysOf(byForm.get(form));
  budget.charge(keys.length);
  const seen = new Set(keys);
  return form === other
    ? seen.size < keys.length
    : keysOf(byForm.get(other)).some((key) => seen.has(key));
}

/** Reads the cells of one certificate; `second` tells its format. */
class Cells {
  constructor(second) {
    this.second = second;
    this.structures = new Structures();
    this.texts = new Map();
    this.shared = [];
    this.met = new Set();
    this.labels = [];
    this.ordinals = new Map();
    this.redaction = null;
    this.seen = new Set();
  }

  /** Take notice of what is hidden; rules ask for it where their structures are. */
  hide(redaction) {
    this.redaction = redaction;
    this.structures.redaction = redaction;
  }

  /** Read the table of structures: each stands in it once, and as its index everywhere else. */
  readValues(value) {
    each("values", listOf(value), (entry) => {
      const [name, ...fields] = listOf(entry);
      if (fields.length === 0 || !isConstructor(textOf(name))) {
        reject("schema", "not a constructor and fields");
      }
      const found = this.structures.made(name, fields.map((field) => this.field(field)));
      if (found === ERROR || found.place !== null) {
        reject("value", "a structure that is too long, or there already");
      }
      found.place = this.shared.length;
      this.shared.push(found);
    });
  }

  field(value) {
    if (typeof value === "number") {
      return this.shared[this.meet(value)];
    }
    const text = textOf(value);
    if ((text[0] === '"' && endOfQuoted(text, 0) === text.length) || isBareNumber(text)) {
      return text;
    }
    return this.written(text);
  }

  /** Return an index into the table, which is then used. */
  meet(index) {
    this.met.add(indexOf(index, this.shared.length));
    return index;
  }

  /** Return a structure that is written out: it is not in the table. */
  written(text) {
    const found = byteLength(text) <= MOST_TEXT_BYTES ? this.structures.read(text) : null;
    if (found === null) {
      reject("value", "not a spelling of a structure");
    }
    if (found.place !== null) {
      reject("value", "what is in the table of values is written out");
    }
    return found;
  }

  structure(value) {
    if (typeof value === "number" && this.second) {
      return this.shared[this.meet(value)];
    }
    let found = this.texts.get(textOf(value));
    if (found === undefined) {
      found = this.written(value);
      this.texts.set(value, found);
    }
    return found;
  }

  value(value, kind) {
    if (this.redaction !== null) {
      if (Array.isArray(value)) {
        return this.redaction.hidden(value, kind);
      }
      this.seen.add(keyOf([kind, value]));
    }
    return kind === STRUCTURE ? this.structure(value) : valueOf(value, kind);
  }

  /** Return a value or a null cell. */
  cell(value, kind) {
    if (!Array.isArray(value) || !this.second) {
      return this.value(value, kind);
    }
    const [form, number] = value;
    if (form === "hidden") {
      return this.value(value, kind);
    }
    if (value.length === 1 && form === "none") {
      return NONE;
    }
    if (value.length === 1 && form === "unread") {
      return UNREAD;
    }
    if (value.length === 4 && form === "unknown" && typeof number === "number") {
      return this.madeCell(value, kind);
    }
    if (value.length !== 2 || typeof number !== "number") {
      reject("schema", "not a cell of a row");
    }
    if (form === "maybe") {
      if (!this.ordinals.has(number)) {
        this.ordinals.set(number, new Null(number));
      }
      return this.ordinals.get(number);
    }
    if (form !== "unknown") {
      reject("schema", "not a cell of a row");
    }
    const label = this.labels[indexOf(number, this.labels.length)];
    if (label.kind !== kind) {
      reject("kind", "a label of another kind");
    }
    return label;
  }

  /** Return what a total function makes of a label and values of the label's kind. */
  madeCell([, number, name, given], kind) {
    const label = this.labels[indexOf(number, this.labels.length)];
    const args = listOf(given);
    const wrong = args.filter((one) => one === null).length !== 1 || args.some(Array.isArray);
    if (!TOTAL_FUNCTIONS.includes(textOf(name)) || wrong) {
      reject("cell", "no total function of one label");
    }
    if (!signatureHolds(name, args.map(() => label.kind), kind)) {
      reject("kind", "a function of another kind");
    }
    const spelled = args.map((one) => (one === null ? null : this.value(one, label.kind)));
    return label.made(name, spelled);
  }

  /** Return what a variable can have: a value or a label. */
  carried(value, kind) {
    const found = this.cell(value, kind);
    if (found instanceof Null) {
      reject("schema", "no variable has such a cell");
    }
    return found;
  }

  row(value, kinds) {
    return listOf(value, kinds.length).map((cell, i) => this.value(cell, kinds[i]));
  }

  cells(value, kinds) {
    return listOf(value, kinds.length).map((cell, i) => this.cell(cell, kinds[i]));
  }

  /** Return a row of values in which null may stand for one. */
  openRow(value, kinds) {
    return listOf(value, kinds.length).map((cell, i) =>
      cell === null ? null : this.value(cell, kinds[i]),
    );
  }

  /** Return a row of what rules carry, in which null may stand for a value. */
  boundRow(value, kinds) {
    return listOf(value, kinds.length).map((cell, i) =>
      cell === null ? null : this.carried(cell, kinds[i]),
    );
  }

  /** Return the pattern of a goal: undefined for a variable, ANY for what is not read. */
  pattern(value, { kinds, nulls }) {
    return listOf(value, kinds.length).map((cell, i) => {
      const unread = this.second && Array.isArray(cell) && cell.length === 1 && cell[0] === "_";
      if (nulls[i] === "unread" && !unread) {
        reject("declaration", "the goal reads a column that nobody reads");
      }
      if (cell === null) {
        return undefined;
      }
      return unread ? ANY : this.value(cell, kinds[i]);
    });
  }

  readLabels(value, predicates) {
    const keys = [];
    each("labels", listOf(value), (entry) => {
      const [name, cells, column, ordinal] = listOf(entry, 4);
      const predicate = declaredExternal(predicates, name);
      const row = this.openRow(cells, predicate.kinds);
      indexOf(column, row.length);
      countOf(ordinal);
      if (row[column] !== null || predicate.nulls[column] !== "unknown") {
        reject("cell", "no unknown value can stand in this column");
      }
      keys.push([name, cells, column, ordinal]);
      const content = { predicate, row, column, ordinal, kind: predicate.kinds[column] };
      this.labels.push(new Label(this.labels.length, content));
    });
    keys.forEach((key, i) => {
      if (i > 0 && compareLabels(keys[i - 1], key) >= 0) {
        reject("order", "labels are not sorted and distinct", "labels");
      }
    });
  }

  /** Return a row of a source, whose null cells are those that its declaration allows. */
  factRow(value, predicate) {
    const row = this.cells(value, predicate.kinds);
    const ordinals = new Set();
    row.forEach((cell, column) => {
      if (cell instanceof Label) {
        this.checkLabel(cell, predicate, row, column);
        ordinals.add(cell.ordinal);
      } else if (cell instanceof Null) {
        const meant = cell === NONE ? "none" : cell === UNREAD ? "unread" : "maybe";
        if (predicate.nulls[column] !== meant) {
          reject("cell", "a cell that its declaration does not allow");
        }
        if (!isEmpty(cell)) {
          ordinals.add(cell.ordinal);
        }
      } else if (predicate.nulls[column] === "unread") {
        reject("cell", "nobody reads this column, and a value stands in it");
      }
    });
    if (ordinals.size > 1) {
      reject("cell", "a row has one ordinal");
    }
    return row;
  }

  checkLabel(label, predicate, row, column) {
    const same = label.function === null && row.every((cell, i) => label.row[i] === (isKnown(cell) ? cell : null));
    if (label.predicate !== predicate || label.column !== column || !same) {
      reject("cell", "the label of another cell");
    }
    label.used = true;
  }

  checkUsed() {
    const inner = new Set(this.shared.flatMap(({ fields }) => fields));
    each("values", this.shared, (one, i) => {
      if (!this.met.has(i) && !inner.has(one)) {
        reject("unused", "nothing is this value");
      }
    });
    each("labels", this.labels, ({ used }) => {
      if (!used) {
        reject("unused", "no row has this label");
      }
    });
  }
}

function compareLabels([name, row, column, ordinal], [name2, row2, column2, ordinal2]) {
  return compareText(name, name2) || compareRows(row, row2) || column - column2 || ordinal - ordinal2;
}
