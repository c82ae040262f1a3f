/*
 * The values of section 2: texts whose kind is known from elsewhere, each in one spelling only.
 *
 * In: a kind and a text.  Out: whether the text is spelled so, and order.  Invariant: within a kind
 * two values are equal exactly where their texts are.
 * Example: "1.50" is no Decimal, since "1.5" is.
 */

const KINDS = [
  "number", "unsigned", "float", "symbol", "Date", "Timestamp", "Decimal", "Bool", STRUCTURE,
];
const WHOLE_KINDS = ["number", "unsigned"];
const NUMERIC_KINDS = ["number", "unsigned", "float", "Decimal"];
const ORDERED_KINDS = [...NUMERIC_KINDS, "symbol", "Date", "Timestamp"];
const WHOLE_SPELLING = /^(?:0|-?[1-9][0-9]{0,19})$/;
const DECIMAL_SPELLING = /^-?(?:0|[1-9][0-9]{0,37})(?:\.[0-9]{0,37}[1-9])?$/;

function isDecimalSpelling(text) {
  return text !== "-0" && DECIMAL_SPELLING.test(text) && spellDecimal(parseDecimal(text)) === text;
}

function isSpelled(kind, text) {
  switch (kind) {
    case "number":
    case "unsigned":
      return WHOLE_SPELLING.test(text) && (text.length < 16 && text[0] !== "-"
        ? true : spellWhole(kind, BigInt(text)) === text);
    case "float":
      return parseFloatSpelling(text) !== null;
    case "Decimal":
      return isDecimalSpelling(text);
    case "Date":
      return isDate(text);
    case "Timestamp":
      return isTimestamp(text);
    case "Bool":
      return text === "true" || text === "false";
    case STRUCTURE:
      return byteLength(text) <= MOST_TEXT_BYTES && isStructure(text);
    default:
      return kind === "symbol";
  }
}

/** Return the number that a text spells: a BigInt, a float or a decimal, by kind. */
function parseNumeric(kind, text) {
  if (kind === "float") {
    return parseFloatSpelling(text);
  }
  return kind === "Decimal" ? parseDecimal(text) : BigInt(text);
}

function spellNumeric(kind, value) {
  if (kind === "float") {
    return spellFloat(value);
  }
  return kind === "Decimal" ? spellDecimal(value) : spellWhole(kind, value);
}

/** Compare two values of one ordered kind: negative, zero or positive. */
function compareValues(kind, left, right) {
  if (left === right) {
    return 0;
  }
  if (!NUMERIC_KINDS.includes(kind)) {
    // Dates and timestamps have fixed places, so their text has their order.
    return compareText(left, right);
  }
  const a = parseNumeric(kind, left);
  const b = parseNumeric(kind, right);
  if (kind === "Decimal") {
    return compareDecimals(a, b);
  }
  return a < b ? -1 : 1;
}

/** Return the least or the greatest of values of one kind; there is at least one. */
function extreme(kind, values, direction) {
  return values.reduce((best, value) =>
    direction * compareValues(kind, value, best) > 0 ? value : best,
  );
}

/** Return [dividend, divisor] of a value of a numeric kind. */
function fractionOf(kind, text) {
  if (kind === "float") {
    return floatFraction(parseFloatSpelling(text));
  }
  const [coefficient, places] = kind === "Decimal" ? parseDecimal(text) : [BigInt(text), 0];
  return [coefficient, tenTo(places)];
}
