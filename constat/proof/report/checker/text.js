/*
 * Text as the format sees it: code points in order, bytes of UTF-8, and one spelling in ASCII.
 *
 * In: strings without lone surrogates.  Out: order, lengths, parts, the canonical form of JSON
 * values, and a form that can be shown.  Invariant: nothing here depends on a locale.
 * Example: `compareText("\uffff", "\u{10000}")` is negative, though UTF-16 orders them the other way.
 */

/** How long a text may be that a function makes. */
const MOST_TEXT_BYTES = 1048576;

const isHighSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

/** Compare by code point: UTF-16 order but for surrogates, which stand above all other units. */
function compareText(left, right) {
  if (left === right) {
    return 0;
  }
  const shorter = Math.min(left.length, right.length);
  for (let i = 0; i < shorter; i += 1) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a !== b) {
      const aIsSurrogate = a >= 0xd800 && a <= 0xdfff;
      const bIsSurrogate = b >= 0xd800 && b <= 0xdfff;
      return aIsSurrogate === bIsSurrogate ? a - b : aIsSurrogate ? 1 : -1;
    }
  }
  return left.length - right.length;
}

/** Compare rows of JSON cells: null first, then null cells, then indices, then texts. */
function compareRows(left, right) {
  for (let i = 0; i < left.length && i < right.length; i += 1) {
    if (left[i] !== right[i]) {
      const order = compareCells(left[i], right[i]);
      if (order !== 0) {
        return order;
      }
    }
  }
  return left.length - right.length;
}

const CELL_FORMS = ["none", "maybe", "unknown"];
const HIDDEN_RANK = 5;

function rankOfCell(cell) {
  if (Array.isArray(cell)) {
    return cell[0] === "hidden" ? HIDDEN_RANK : 1 + CELL_FORMS.indexOf(cell[0]);
  }
  return cell === null ? 0 : typeof cell === "number" ? 4 : HIDDEN_RANK + 1;
}

/** Return what a function made of a label, as text that sorts it behind the label. */
function madeText(cell) {
  return cell.length > 2 ? canonicalForm(cell.slice(2)) : "";
}

function compareCells(left, right) {
  if (typeof left === "string" && typeof right === "string") {
    return compareText(left, right);
  }
  const [a, b] = [left, right].map(rankOfCell);
  if (a !== b || a === 0) {
    return a - b;
  }
  if (a === HIDDEN_RANK) {
    return compareText(textOf(left[1]), textOf(right[1]));
  }
  return a === 4
    ? left - right
    : (left[1] || 0) - (right[1] || 0) || compareText(madeText(left), madeText(right));
}

function sameRow(left, right) {
  return left.length === right.length && left.every((cell, i) => cell === right[i]);
}

function byteLength(text) {
  let bytes = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) {
      // A pair of surrogates is four bytes: two for each of its units.
      bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
    }
  }
  return bytes;
}

/** Return the index in UTF-16 units of a byte offset, or -1 inside a character. */
function unitOfByte(text, offset) {
  let bytes = 0;
  let i = 0;
  while (bytes < offset) {
    const point = text.codePointAt(i);
    bytes += point > 0xffff ? 4 : point > 0x7ff ? 3 : point > 0x7f ? 2 : 1;
    i += point > 0xffff ? 2 : 1;
  }
  return bytes === offset ? i : -1;
}

/** Tell whether a text holds a part, in time linear in both (Knuth, Morris and Pratt 1977). */
function containsText(text, part) {
  if (part.length < 64) {
    return text.includes(part);
  }
  const borders = new Int32Array(part.length);
  let length = 0;
  for (let i = 1; i < part.length; i += 1) {
    while (length > 0 && part[i] !== part[length]) {
      length = borders[length - 1];
    }
    length += part[i] === part[length] ? 1 : 0;
    borders[i] = length;
  }
  length = 0;
  for (let i = 0; i < text.length && length < part.length; i += 1) {
    while (length > 0 && text[i] !== part[length]) {
      length = borders[length - 1];
    }
    length += text[i] === part[length] ? 1 : 0;
  }
  return length === part.length;
}

const SHORT_ESCAPES = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

function escapeUnit(unit) {
  return SHORT_ESCAPES.get(unit) || `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function canonicalString(text) {
  return `"${text.replace(/[^ !#-[\]-~]/g, escapeUnit)}"`;
}

/** Return the canonical form of a JSON value; what was read is nested no deeper than its bound. */
function canonicalForm(value) {
  if (typeof value === "string") {
    return canonicalString(value);
  }
  if (value === null || typeof value === "number") {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(canonicalForm).join(",")}]`;
  }
  const names = Object.keys(value).sort(compareText);
  const members = names.map((name) => `${canonicalString(name)}:${canonicalForm(value[name])}`);
  return `{${members.join(",")}}`;
}

/** Return a text in which nothing can steer a terminal or reorder what is read. */
function printable(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const point = character.codePointAt(0);
    return point > 0xffff ? `\\u{${point.toString(16)}}` : escapeUnit(character);
  });
}
