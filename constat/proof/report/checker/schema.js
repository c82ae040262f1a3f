/*
 * The forms that members of a certificate have.
 *
 * In: JSON values.  Out: the same, once they have the form.  Invariant: an object has exactly the
 * members that the format names, so nothing in a certificate goes unread.
 * Example: `textOf(1)` is rejected with the code `schema`.
 */

const HASH_FORM = /^sha256:[0-9a-f]{64}$/;
const CONFIDENCE_FORM = /^(?:0|1|0\.[0-9]{0,5}[1-9])$/;
const NAME_FORM = /^[A-Za-z0-9_?.$#@~]+$/;
const MILLION = 1000000;

/** Return the object with these members and no others; they are listed in their order. */
function objectOf(value, names) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    reject("schema", "not an object");
  }
  const found = Object.keys(value);
  const listed = new Set(names);
  if (found.length !== names.length || !found.every((name) => listed.has(name))) {
    reject("schema", "missing or unknown members");
  }
  return value;
}

function listOf(value, length = null) {
  if (!Array.isArray(value) || (length !== null && value.length !== length)) {
    reject("schema", length === null ? "not an array" : `not an array of ${length}`);
  }
  return value;
}

function textOf(value) {
  if (typeof value !== "string") {
    reject("schema", "not a string");
  }
  return value;
}

function textOrNull(value) {
  return value === null ? null : textOf(value);
}

function textsOf(value) {
  return each("", listOf(value), textOf);
}

function countOf(value) {
  if (typeof value !== "number") {
    reject("schema", "not a number");
  }
  return value;
}

/** Return an index into a list of so many. */
function indexOf(value, length) {
  if (countOf(value) >= length) {
    reject("schema", `an index beyond the ${length} that there are`);
  }
  return value;
}

function indexOrNull(value, length) {
  return value === null ? null : indexOf(value, length);
}

function choiceOf(value, choices) {
  if (!choices.includes(textOf(value))) {
    reject("schema", `not one of ${choices.join(", ")}`);
  }
  return value;
}

function hashOf(value) {
  if (!HASH_FORM.test(textOf(value))) {
    reject("schema", "not a hash");
  }
  return value;
}

function hashOrNull(value) {
  return value === null ? null : hashOf(value);
}

function timeOf(value) {
  if (!isTimestamp(textOf(value))) {
    reject("value", "not a time");
  }
  return value;
}

/** Return a confidence in millionths. */
function confidenceOf(value) {
  if (!CONFIDENCE_FORM.test(textOf(value))) {
    reject("schema", "not a confidence");
  }
  return Number(value.replace(".", "").slice(1).padEnd(6, "0")) + (value === "1" ? MILLION : 0);
}

function spellConfidence(millionths) {
  if (millionths === MILLION) {
    return "1";
  }
  return `0.${String(millionths).padStart(6, "0")}`.replace(/\.?0+$/, "");
}

function nameOf(value) {
  if (!NAME_FORM.test(textOf(value))) {
    reject("schema", "not a name");
  }
  return value;
}

function valueOf(value, kind) {
  if (!isSpelled(kind, textOf(value))) {
    reject("value", `not a spelling of a ${kind}`);
  }
  return value;
}

function ascending(rows, what) {
  for (let i = 1; i < rows.length; i += 1) {
    if (compareRows(rows[i - 1], rows[i]) >= 0) {
      reject("order", `${what} are not sorted and distinct`, `[${i}]`);
    }
  }
  return rows;
}

/** Return ascending indices into a list of so many. */
function ascendingIndices(value, length, code) {
  each("", listOf(value), (index) => indexOf(index, length));
  if (value.some((index, i) => i > 0 && value[i - 1] >= index)) {
    reject(code, "indices are not ascending and distinct");
  }
  return value;
}

/** No string holds NUL, so joined values are equal only where all values are. */
function keyOf(values) {
  return values.length === 1 ? `${values[0]}` : values.join("\0");
}

/** Add an element to the list that a map has for a key. */
function append(lists, key, element) {
  const list = lists.get(key);
  if (list === undefined) {
    lists.set(key, [element]);
  } else {
    list.push(element);
  }
}
