/*
 * Structures, which are records, branches of algebraic data types and `nil`: each value one object.
 *
 * In: texts without lone surrogates, or constructors and fields.  Out: structures, which are equal
 * exactly where they are the same object.  Invariant: a field is found, and a list is made longer, in
 * constant time; each sign of a text is read once, and no depth of nesting costs more than its signs.
 * Example: the fields of `$Add($One(1), "a")` are a structure and the text `"a"`, in its quotes.
 */

const STRUCTURE = "structure";
const NO_FIELDS = "nil";
const RECORD = "[]";
const BRANCH_FORM = /^\$[A-Za-z_]\w*$/;
const APART = ["constructor_of", "field_of"];

/** What a field is where there is none of its kind; of structures it is `nil`. */
const VALUES_OF_NO_FIELD = {
  number: "0",
  unsigned: "0",
  float: "0x0.0p+0",
  Decimal: "0",
  symbol: "",
  Date: "0001-01-01",
  Timestamp: "0001-01-01T00:00:00.000000Z",
  Bool: "false",
};

class Structure {
  constructor(name, fields, size, number) {
    this.name = name;
    this.fields = fields;
    /** Bytes of its text. */
    this.size = size;
    this.number = number;
    /** Its index in the table of shared values. */
    this.place = null;
  }

  /** No text holds a lone surrogate, so this names the structure among all values of a certificate. */
  toString() {
    return `\ud800$${this.number}`;
  }

  text() {
    const found = [];
    const waiting = [this];
    while (waiting.length > 0) {
      const part = waiting.pop();
      if (typeof part === "string") {
        found.push(part);
      } else if (part.fields.length === 0) {
        found.push(part.name);
      } else {
        found.push(part.name === RECORD ? "[" : `${part.name}(`);
        waiting.push(part.name === RECORD ? "]" : ")");
        for (let i = part.fields.length - 1; i >= 0; i -= 1) {
          waiting.push(part.fields[i]);
          if (i > 0) {
            waiting.push(", ");
          }
        }
      }
    }
    return found.join("");
  }
}

/** Makes structures, each once. */
class Structures {
  constructor() {
    this.known = new Map();
    this.nil = this.made(NO_FIELDS, []);
  }

  /** Return the structure with these fields, or ERROR where its text would be too long. */
  made(name, fields) {
    const key = `${name}\0${fields.join("\0")}`;
    const known = this.known.get(key);
    if (known !== undefined) {
      return known;
    }
    const size = sizeOfStructure(name, fields);
    if (size > MOST_TEXT_BYTES) {
      return ERROR;
    }
    const found = new Structure(name, fields, size, this.known.size);
    this.known.set(key, found);
    return found;
  }

  /** Return the structure that a text spells, or null. */
  read(text) {
    return new StructureReader(this, text).read();
  }
}

/** A text that is read from left to right; what is open waits for its bracket. */
class StructureReader {
  constructor(owner, text) {
    this.owner = owner;
    this.text = text;
    this.at = 0;
    this.open = [];
    this.whole = null;
  }

  read() {
    const { text, open } = this;
    for (;;) {
      const opens = this.value();
      if (this.at < 0) {
        return null;
      }
      if (opens) {
        continue;
      }
      while (open.length > 0 && text[this.at] === open[open.length - 1].closer) {
        const { name, fields } = open.pop();
        this.add(this.owner.made(name, fields));
        this.at += 1;
      }
      if (open.length === 0) {
        return this.at === text.length && this.whole !== ERROR ? this.whole : null;
      }
      if (!text.startsWith(", ", this.at)) {
        return null;
      }
      this.at += 2;
    }
  }

  add(field) {
    if (this.open.length > 0) {
      this.open[this.open.length - 1].fields.push(field);
    } else {
      this.whole = field;
    }
  }

  /** Read what begins here; tell whether it was opened only. The place is -1 where nothing can be. */
  value() {
    const { text, at: start } = this;
    if (text[start] === "[") {
      // The record without fields has nothing to read before it closes.
      return this.opens(RECORD, start + 1, "]", text[start + 1] === "]");
    }
    if (text[start] === "$") {
      this.at = endOfSigns(text, start, /\w/, isConstructor);
      const name = text.slice(start, this.at);
      return this.at >= 0 && this.opens(name, this.at, ")", text[this.at] !== "(");
    }
    if (text.startsWith(NO_FIELDS, start)) {
      this.at += NO_FIELDS.length;
      this.add(this.owner.nil);
    } else if (this.open.length > 0) {
      this.at = text[start] === '"'
        ? endOfQuoted(text, start)
        : endOfSigns(text, start, /[-+.0-9a-fpx]/, isBareNumber);
      this.add(text.slice(start, this.at));
    } else {
      this.at = -1;
    }
    return false;
  }

  /** Open what has fields, or add what has none; tell which. */
  opens(name, at, closer, isEmpty) {
    const skipped = name === RECORD ? isEmpty : !isEmpty;
    this.at = at + (skipped ? 1 : 0);
    if (isEmpty) {
      this.add(this.owner.made(name, []));
    } else {
      this.open.push({ name, fields: [], closer });
    }
    return !isEmpty;
  }
}

function sizeOfStructure(name, fields) {
  if (fields.length === 0) {
    return name.length;
  }
  const inner = fields.reduce(
    (sum, field) => sum + (typeof field === "string" ? byteLength(field) : field.size),
    2 * (fields.length - 1),
  );
  return inner + (name === RECORD ? 2 : name.length + 2);
}

function isConstructor(name) {
  return name === RECORD || BRANCH_FORM.test(name);
}

function isAboutStructures(name) {
  return APART.includes(name) || isConstructor(name);
}

/** Return the place behind a text in quotes that begins at a place, or -1. */
function endOfQuoted(text, start) {
  for (let i = start + 1; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === '"') {
      return i + 1;
    }
    if (sign === "\\") {
      i += 1;
      if (text[i] !== '"' && text[i] !== "\\") {
        return -1;
      }
    }
  }
  return -1;
}

/** Return the place behind the signs of a form that begin at a place, or -1 where they are not fit. */
function endOfSigns(text, start, form, isFit) {
  let i = start + 1;
  while (i < text.length && form.test(text[i])) {
    i += 1;
  }
  return isFit(text.slice(start, i)) ? i : -1;
}

function isBareNumber(text) {
  return isDecimalSpelling(text) || parseFloatSpelling(text) !== null;
}

function isStructure(text) {
  return new Structures().read(text) !== null;
}

function asField(kind, value) {
  return kind === STRUCTURE || NUMERIC_KINDS.includes(kind)
    ? value
    : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** Return the value that a field spells, or undefined where it spells none of the kind. */
function valueOfField(kind, field) {
  if (kind === STRUCTURE || typeof field !== "string") {
    return kind === STRUCTURE && typeof field !== "string" ? field : undefined;
  }
  const inQuotes = field[0] === '"';
  const text = inQuotes ? field.slice(1, -1).replace(/\\(["\\])/g, "$1") : field;
  return inQuotes !== NUMERIC_KINDS.includes(kind) && isSpelled(kind, text) ? text : undefined;
}

/** Evaluate a function about structures; what takes apart is total, so no order of literals errs. */
function callOnStructures(structures, name, result, kinds, args) {
  const [whole, place] = args;
  if (name === "constructor_of") {
    return `${whole.name}/${whole.fields.length}`;
  }
  if (name !== "field_of") {
    return structures.made(name, args.map((value, i) => asField(kinds[i], value)));
  }
  const field = whole.fields[Number(place)];
  const value = field === undefined ? undefined : valueOfField(result, field);
  if (value !== undefined) {
    return value;
  }
  return result === STRUCTURE ? structures.nil : VALUES_OF_NO_FIELD[result];
}

/** Evaluate such a function on spelled values. */
function callOnTexts(name, result, kinds, texts) {
  const structures = new Structures();
  const args = texts.map((text, i) => (kinds[i] === STRUCTURE ? structures.read(text) : text));
  const found = callOnStructures(structures, name, result, kinds, args);
  return found instanceof Structure ? found.text() : found;
}
