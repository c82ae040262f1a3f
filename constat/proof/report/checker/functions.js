/*
 * The closed list of functions and comparisons of section 4.
 *
 * In: a name, kinds, and values as texts.  Out: a value as a text, a truth, or ERROR.  Invariant: what
 * is exact stays exact, and what is rounded is rounded once.
 * Example: `callFunction("+", "number", ["number", "number"], ["2", "3"])` is "5".
 */

const ARITHMETIC = ["+", "-", "*", "/", "^"];
const BITWISE = ["band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"];
const CONVERSIONS = new Map([
  ["to_number", "number"],
  ["to_unsigned", "unsigned"],
  ["to_float", "float"],
  ["to_decimal", "Decimal"],
]);
const SIMPLE_SIGNATURES = new Map([
  ["strlen", [["symbol"], "number"]],
  ["substr", [["symbol", "number", "number"], "symbol"]],
  ["days_between", [["Date", "Date"], "number"]],
  ["years_between", [["Date", "Date"], "number"]],
  ["date_add", [["Date", "number"], "Date"]],
  ["date_of", [["Timestamp"], "Date"]],
  ["constructor_of", [[STRUCTURE], "symbol"]],
]);
/** The functions that never err: of a label they make a label. */
const TOTAL_FUNCTIONS = [
  "band", "bor", "bxor", "bnot", "land", "lor", "lxor", "lnot", "min", "max", "strlen", "to_string",
  "days_between", "years_between", "year", "month", "day", "quarter", "date_of",
];
const ORDER_OPERATORS = ["<", "<=", ">", ">="];
const TEXT_OPERATORS = ["match", "!match", "contains", "!contains"];
const BIT_MASK = 2n ** 64n - 1n;

/** Tell whether `as` leads from a kind to another. */
function castHolds(from, to) {
  const numeric = NUMERIC_KINDS.includes(from) && NUMERIC_KINDS.includes(to);
  const spelled = ["Date", "Timestamp", "Bool"];
  return (
    from === to ||
    numeric ||
    (to === "symbol" && spelled.includes(from)) ||
    (from === "symbol" && spelled.includes(to))
  );
}

function signatureHolds(name, kinds, result) {
  const [first] = kinds;
  const alike = kinds.every((kind) => kind === result);
  if (ARITHMETIC.includes(name)) {
    return kinds.length === 2 && alike && NUMERIC_KINDS.includes(result);
  }
  if (name === "%" || BITWISE.includes(name)) {
    return kinds.length === 2 && alike && WHOLE_KINDS.includes(result);
  }
  if (name === "neg") {
    return kinds.length === 1 && alike && NUMERIC_KINDS.includes(result);
  }
  if (name === "bnot" || name === "lnot") {
    return kinds.length === 1 && alike && WHOLE_KINDS.includes(result);
  }
  if (name === "min" || name === "max") {
    return kinds.length >= 2 && alike && ORDERED_KINDS.includes(result);
  }
  if (name === "cat") {
    return kinds.length >= 2 && alike && result === "symbol";
  }
  if (isConstructor(name)) {
    return kinds.length > 0 && result === STRUCTURE;
  }
  if (name === "field_of") {
    return String(kinds) === "structure,number" && KINDS.includes(result);
  }
  if (kinds.length === 1) {
    return unarySignatureHolds(name, first, result);
  }
  const simple = SIMPLE_SIGNATURES.get(name);
  return simple !== undefined && String(simple) === String([kinds, result]);
}

function unarySignatureHolds(name, from, result) {
  if (name === "as") {
    // Where no way leads from one kind to the other the value is an error, as for a wrong text.
    return from !== STRUCTURE && result !== STRUCTURE && KINDS.includes(result);
  }
  if (name === "to_string") {
    return from !== STRUCTURE && result === "symbol";
  }
  if (CONVERSIONS.has(name)) {
    return CONVERSIONS.get(name) === result && (from === "symbol" || NUMERIC_KINDS.includes(from));
  }
  if (["year", "month", "day", "quarter"].includes(name)) {
    return result === "number" && (from === "Date" || from === "Timestamp");
  }
  const simple = SIMPLE_SIGNATURES.get(name);
  return simple !== undefined && String(simple) === String([[from], result]);
}

function operatorHolds(operator, kind) {
  if (operator === "=" || operator === "!=") {
    return true;
  }
  if (TEXT_OPERATORS.includes(operator)) {
    return kind === "symbol";
  }
  return ORDER_OPERATORS.includes(operator) && ORDERED_KINDS.includes(kind);
}

function arithmeticOfWholes(name, a, b) {
  switch (name) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "^":
      return powerOfWhole(a, b);
    default:
      if (b === 0n) {
        return ERROR;
      }
      // BigInts truncate towards zero, and their rest has the sign of the dividend.
      return name === "/" ? a / b : a % b;
  }
}

function powerOfWhole(base, exponent) {
  if (exponent < 0n) {
    return ERROR;
  }
  const power = powerOfDecimal([base, 0], exponent);
  return power === null ? ERROR : power[0];
}

function arithmeticOfFloats(name, a, b) {
  switch (name) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return b === 0 ? ERROR : a / b;
    default:
      return powerOfFloats(a, b);
  }
}

function arithmeticOfDecimals(name, a, b) {
  switch (name) {
    case "+":
      return addDecimals(a, b);
    case "-":
      return addDecimals(a, [-b[0], b[1]]);
    case "*":
      return multiplyDecimals(a, b);
    case "/":
      return b[0] === 0n ? ERROR : divideDecimals(a, b);
    default: {
      const [exponent, places] = shortest(b);
      return places > 0 || exponent < 0n ? ERROR : powerOfDecimal(a, exponent) || ERROR;
    }
  }
}

function arithmetic(name, kind, args) {
  const [a, b] = args.map((text) => parseNumeric(kind, text));
  let found;
  if (kind === "float") {
    found = arithmeticOfFloats(name, a, b);
  } else if (kind === "Decimal") {
    found = arithmeticOfDecimals(name, a, b);
  } else {
    found = arithmeticOfWholes(name, a, b);
  }
  return found === ERROR ? ERROR : spellNumeric(kind, found);
}

function negate(kind, text) {
  const value = parseNumeric(kind, text);
  return spellNumeric(kind, kind === "Decimal" ? [-value[0], value[1]] : -value);
}

/** Return 64 bits as a value of the kind: of a number the first is the sign. */
function ofBits(kind, bits) {
  const kept = bits & BIT_MASK;
  return String(kind === "number" ? BigInt.asIntN(64, kept) : kept);
}

function shift(name, kind, value, places) {
  if (places < 0n || places > 63n) {
    return ERROR;
  }
  if (name === "bshl") {
    return ofBits(kind, value << places);
  }
  const kept = name === "bshr" ? value : value & BIT_MASK;
  return ofBits(kind, kept >> places);
}

function bitwise(name, kind, args) {
  const [a, b] = args.map(BigInt);
  const truth = (value) => (value ? "1" : "0");
  switch (name) {
    case "bnot":
      return ofBits(kind, ~a);
    case "band":
      return ofBits(kind, a & b);
    case "bor":
      return ofBits(kind, a | b);
    case "bxor":
      return ofBits(kind, a ^ b);
    case "lnot":
      return truth(a === 0n);
    case "land":
      return truth(a !== 0n && b !== 0n);
    case "lor":
      return truth(a !== 0n || b !== 0n);
    case "lxor":
      return truth((a !== 0n) !== (b !== 0n));
    default:
      return shift(name, kind, a, b);
  }
}

function substring(text, startText, lengthText) {
  const start = BigInt(startText);
  const length = BigInt(lengthText);
  if (start < 0n || length < 0n) {
    return ERROR;
  }
  const size = BigInt(byteLength(text));
  const clip = (offset) => (offset < size ? offset : size);
  const [first, last] = [clip(start), clip(start + length)];
  if (first === last) {
    return "";
  }
  const [from, to] = [unitOfByte(text, Number(first)), unitOfByte(text, Number(last))];
  return from < 0 || to < 0 ? ERROR : text.slice(from, to);
}

/** Return [sign, whole digits, fraction digits] of a numeral, without zeros that mean nothing. */
function numeral(text, fractions) {
  const found = /^([+-]?)([0-9]+)(?:\.([0-9]+))?$/.exec(text);
  if (found === null || (found[3] !== undefined && !fractions)) {
    return null;
  }
  const fraction = found[3] || "";
  let end = fraction.length;
  while (end > 0 && fraction[end - 1] === "0") {
    end -= 1;
  }
  return [found[1] === "-" ? "-" : "", found[2].replace(/^0+/, ""), fraction.slice(0, end)];
}

/** Return the value of a numeral in a text, as a value of the kind. */
function convertText(text, to) {
  const found = numeral(text, to === "float" || to === "Decimal");
  if (found === null) {
    return ERROR;
  }
  const [sign, whole, fraction] = found;
  if (to === "float") {
    return spellFloat(floatOfNumeral(sign, whole, fraction));
  }
  if (whole.length > MOST_DIGITS || fraction.length > MOST_DIGITS) {
    return ERROR;
  }
  const size = BigInt(`0${whole}${fraction}`);
  const value = sign ? -size : size;
  return to === "Decimal" ? spellDecimal([value, fraction.length]) : spellWhole(to, value);
}

function floatOfNumeral(sign, whole, fraction) {
  // No float and no middle between two has more than 800 digits; one more tells what follows them.
  const digits = (whole + fraction).replace(/^0+/, "");
  const point = digits.length - fraction.length;
  const kept = digits.length > 800 ? `${digits.slice(0, 800)}1` : digits;
  const power = point - kept.length;
  if (point > 310) {
    return Infinity;
  }
  if (point < -400) {
    return 0;
  }
  const size = BigInt(`0${kept}`);
  const value = power >= 0
    ? nearestFloat(size * tenTo(power), 1n)
    : nearestFloat(size, tenTo(-power));
  return sign && value !== 0 ? -value : value;
}

/** Convert among numeric kinds; `exact` is what `as` asks for where a fraction would be lost. */
function convertNumeric(text, from, to, exact) {
  if (from === to) {
    return text;
  }
  if (to === "float") {
    const [dividend, divisor] = fractionOf(from, text);
    const value = nearestFloat(dividend, divisor);
    const kept = from === "Decimal" || !exact || BigInt(value) === dividend;
    return kept ? spellFloat(value) : ERROR;
  }
  const value = from === "float"
    ? decimalOfFloat(parseFloatSpelling(text))
    : parseDecimal(text);
  if (to === "Decimal") {
    return spellDecimal(value);
  }
  const whole = truncated(value);
  return exact && compareDecimals(value, [whole, 0]) !== 0 ? ERROR : spellWhole(to, whole);
}

function cast(text, from, to) {
  if (!castHolds(from, to)) {
    return ERROR;
  }
  if (NUMERIC_KINDS.includes(to)) {
    return convertNumeric(text, from, to, true);
  }
  return isSpelled(to, text) ? text : ERROR;
}

function datePart(name, text) {
  const [year, month, day] = partsOfDate(text);
  return String({ year, month, day, quarter: Math.ceil(month / 3) }[name]);
}

function concatenate(args) {
  const bytes = args.reduce((sum, text) => sum + byteLength(text), 0);
  return bytes > MOST_TEXT_BYTES ? ERROR : args.join("");
}

function textFunction(name, args) {
  if (name === "cat") {
    return concatenate(args);
  }
  return name === "strlen" ? String(byteLength(args[0])) : substring(...args);
}

function dateFunction(name, args) {
  switch (name) {
    case "days_between":
      return String(daysBetween(...args));
    case "years_between":
      return String(yearsBetween(...args));
    case "date_add":
      return addDays(args[0], BigInt(args[1]));
    case "date_of":
      return args[0].slice(0, 10);
    default:
      return datePart(name, args[0]);
  }
}

/** Return the value of a function whose signature holds, or ERROR. */
function callFunction(name, result, kinds, args) {
  if (ARITHMETIC.includes(name) || name === "%") {
    return arithmetic(name, result, args);
  }
  if (BITWISE.includes(name) || name === "bnot" || name === "lnot") {
    return bitwise(name, result, args);
  }
  if (CONVERSIONS.has(name)) {
    return kinds[0] === "symbol"
      ? convertText(args[0], result)
      : convertNumeric(args[0], kinds[0], result, false);
  }
  switch (name) {
    case "neg":
      return negate(result, args[0]);
    case "min":
    case "max":
      return extreme(result, args, name === "min" ? -1 : 1);
    case "as":
      return cast(args[0], kinds[0], result);
    case "to_string":
      return kinds[0] === "float" ? reprFloat(parseFloatSpelling(args[0])) : args[0];
    case "cat":
    case "strlen":
    case "substr":
      return textFunction(name, args);
    default:
      return isAboutStructures(name)
        ? callOnTexts(name, result, kinds, args)
        : dateFunction(name, args);
  }
}

/** Return the truth of a comparison of two values of one kind, or ERROR. */
function comparisonHolds(operator, kind, left, right, charge) {
  switch (operator) {
    case "=":
      return left === right;
    case "!=":
      return left !== right;
    case "contains":
      return containsText(right, left);
    case "!contains":
      return !containsText(right, left);
    case "match":
    case "!match": {
      const found = fullMatch(left, right, charge);
      return found === ERROR ? ERROR : found === (operator === "match");
    }
    case "<":
      return compareValues(kind, left, right) < 0;
    case "<=":
      return compareValues(kind, left, right) <= 0;
    case ">":
      return compareValues(kind, left, right) > 0;
    default:
      return compareValues(kind, left, right) >= 0;
  }
}
