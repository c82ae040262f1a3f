/*
 * Whole numbers and decimals, exactly.
 *
 * In: spellings of section 2 of the format.  Out: BigInts, and decimals as [coefficient, places],
 * worth coefficient / 10^places; back again as the one spelling, or ERROR where there is none.
 * Invariant: nothing is ever rounded but by `divideDecimals`, which is told to.
 * Example: `spellDecimal(parseDecimal("10.5"))` is "10.5".
 */

/** What a term that cannot be evaluated is worth; the format writes a flash. */
const ERROR = Symbol("error");

const LEAST_NUMBER = -(2n ** 63n);
const GREATEST_NUMBER = 2n ** 63n - 1n;
const GREATEST_UNSIGNED = 2n ** 64n - 1n;
const MOST_DIGITS = 38;
const DECIMAL_BOUND = 10n ** 38n;
const QUOTIENT_PLACES = 12;

function tenTo(power) {
  return 10n ** BigInt(power);
}

function absolute(value) {
  return value < 0n ? -value : value;
}

/** Return the spelling of a whole number of a kind, or ERROR outside the kind. */
function spellWhole(kind, value) {
  const least = kind === "number" ? LEAST_NUMBER : 0n;
  const greatest = kind === "number" ? GREATEST_NUMBER : GREATEST_UNSIGNED;
  return value < least || value > greatest ? ERROR : value.toString();
}

function parseDecimal(text) {
  const point = text.indexOf(".");
  if (point < 0) {
    return [BigInt(text), 0];
  }
  return [BigInt(text.slice(0, point) + text.slice(point + 1)), text.length - point - 1];
}

/** Return the same decimal without zeros at the end of its places. */
function shortest([coefficient, places]) {
  let [left, fewer] = [coefficient, places];
  while (fewer > 0 && left % 10n === 0n) {
    left /= 10n;
    fewer -= 1;
  }
  return [left, fewer];
}

/** Return the one spelling, or ERROR where the format has none; it is never rounded. */
function spellDecimal(decimal) {
  const [coefficient, places] = shortest(decimal);
  const size = absolute(coefficient);
  if (size >= DECIMAL_BOUND || places > MOST_DIGITS) {
    return ERROR;
  }
  const digits = size.toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const sign = coefficient < 0n ? "-" : "";
  return places === 0 ? sign + whole : `${sign}${whole}.${digits.slice(digits.length - places)}`;
}

/** Return both coefficients over the greater number of places, and these. */
function aligned([a, aPlaces], [b, bPlaces]) {
  const places = Math.max(aPlaces, bPlaces);
  return [a * tenTo(places - aPlaces), b * tenTo(places - bPlaces), places];
}

function addDecimals(left, right) {
  const [a, b, places] = aligned(left, right);
  return [a + b, places];
}

function multiplyDecimals([a, aPlaces], [b, bPlaces]) {
  return [a * b, aPlaces + bPlaces];
}

function compareDecimals(left, right) {
  const [a, b] = aligned(left, right);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Return the nearest whole number to a fraction, the even one of two; the divisor is positive. */
function roundHalfEven(dividend, divisor) {
  const twice = 2n * absolute(dividend);
  let rounded = twice / (2n * divisor);
  const rest = twice - 2n * divisor * rounded;
  if (rest > divisor || (rest === divisor && rounded % 2n === 1n)) {
    rounded += 1n;
  }
  return dividend < 0n ? -rounded : rounded;
}

/** Return a fraction as a decimal of 12 places; the divisor is positive. */
function roundedFraction(dividend, divisor) {
  return [roundHalfEven(dividend * tenTo(QUOTIENT_PLACES), divisor), QUOTIENT_PLACES];
}

function divideDecimals(left, right) {
  const [a, b] = aligned(left, right);
  return b < 0n ? roundedFraction(-a, -b) : roundedFraction(a, b);
}

function truncated([coefficient, places]) {
  return coefficient / tenTo(places);
}

/** Return the exact power, or null where no spelling can hold it; the exponent is not negative. */
function powerOfDecimal(base, exponent) {
  const [coefficient, places] = shortest(base);
  const size = absolute(coefficient);
  if (exponent === 0n || (places === 0 && size <= 1n)) {
    const negative = coefficient < 0n && exponent % 2n === 1n;
    return [exponent === 0n ? 1n : negative ? -1n : size, 0];
  }
  // From 2^128 on, also from 10^128 and 0.1^128, there are more than 38 digits or places.
  if (exponent >= 128n) {
    return null;
  }
  return [coefficient ** exponent, places * Number(exponent)];
}
