/*
 * Structures, which are records, branches of algebraic data types and `nil`: texts with parts.
 *
 * In: texts without lone surrogates.  Out: whether one spells a structure, its constructor and fields,
 * the text of a new one, and the value of a field.  Invariant: each sign is read once, and no depth
 * of nesting costs more than its signs.
 * Example: `partsOf('$Add($One(1), "a")')` is `["$Add", ["$One(1)", '"a"']]`.
 */

const STRUCTURE = "structure";
const NO_FIELDS = "nil";
const RECORD = "[]";
const BRANCH_FORM = /^\$[A-Za-z_]\w*$/;
const APART = ["constructor_of", "field_of"];

/** What a field is where there is none of its kind. */
const VALUES_OF_NO_FIELD = {
  number: "0",
  unsigned: "0",
  float: "0x0.0p+0",
  Decimal: "0",
  symbol: "",
  Date: "0001-01-01",
  Timestamp: "0001-01-01T00:00:00.000000Z",
  Bool: "false",
  structure: NO_FIELDS,
};

function isConstructor(name) {
  return name === RECORD || BRANCH_FORM.test(name);
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
  const closers = [];
  for (let i = 0; ; ) {
    const first = text[i];
    if (first === "[") {
      closers.push("]");
      i += 1;
      // The record without fields has nothing to read before it closes.
      if (text[i] !== "]") {
        continue;
      }
    } else if (first === "$") {
      i = endOfSigns(text, i, /\w/, isConstructor);
      if (i >= 0 && text[i] === "(") {
        closers.push(")");
        i += 1;
        continue;
      }
    } else if (text.startsWith(NO_FIELDS, i)) {
      i += NO_FIELDS.length;
    } else if (closers.length > 0) {
      i = first === '"'
        ? endOfQuoted(text, i)
        : endOfSigns(text, i, /[-+.0-9a-fpx]/, isBareNumber);
    } else {
      return false;
    }
    if (i < 0) {
      return false;
    }
    while (closers.length > 0 && text[i] === closers[closers.length - 1]) {
      closers.pop();
      i += 1;
    }
    if (closers.length === 0) {
      return i === text.length;
    }
    if (!text.startsWith(", ", i)) {
      return false;
    }
    i += 2;
  }
}

/** Return [constructor, texts of the fields] of a structure. */
function partsOf(text) {
  const start = text[0] === "[" ? 1 : text.indexOf("(") + 1;
  if (start === 0 || text === RECORD) {
    return [text, []];
  }
  const fields = [];
  let begin = start;
  let depth = 0;
  for (let i = start; i < text.length - 1; i += 1) {
    const sign = text[i];
    if (sign === '"') {
      i = endOfQuoted(text, i) - 1;
    } else if (sign === "[" || sign === "(") {
      depth += 1;
    } else if (sign === "]" || sign === ")") {
      depth -= 1;
    } else if (sign === "," && depth === 0) {
      fields.push(text.slice(begin, i));
      begin = i + 2;
    }
  }
  fields.push(text.slice(begin, -1));
  return [start === 1 ? RECORD : text.slice(0, start - 1), fields];
}

function asField(kind, text) {
  return kind === STRUCTURE || NUMERIC_KINDS.includes(kind)
    ? text
    : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Return the structure with these fields, or ERROR where it is too long to be one. */
function makeStructure(constructor, kinds, values) {
  if (values.reduce((sum, value) => sum + value.length, 0) > MOST_TEXT_BYTES) {
    return ERROR;
  }
  const fields = values.map((value, i) => asField(kinds[i], value)).join(", ");
  const text = constructor === RECORD ? `[${fields}]` : `${constructor}(${fields})`;
  return byteLength(text) > MOST_TEXT_BYTES ? ERROR : text;
}

/** Return the value that a field spells, or undefined where it spells none of the kind. */
function valueOfField(kind, field) {
  if (kind === STRUCTURE) {
    return "[$n".includes(field[0]) ? field : undefined;
  }
  const inQuotes = field[0] === '"';
  const text = inQuotes ? field.slice(1, -1).replace(/\\(["\\])/g, "$1") : field;
  return inQuotes !== NUMERIC_KINDS.includes(kind) && isSpelled(kind, text) ? text : undefined;
}

/** Return a field, counted from 0; it is total, so the order of a rule's literals decides no error. */
function fieldOf(kind, text, place) {
  const field = partsOf(text)[1][Number(place)];
  const value = field === undefined ? undefined : valueOfField(kind, field);
  return value === undefined ? VALUES_OF_NO_FIELD[kind] : value;
}
