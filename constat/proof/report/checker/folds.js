/*
 * From the targets of a group to the value of an aggregate.
 *
 * In: values as texts.  Out: totals, exact fractions, and values as texts, NOTHING or ERROR.
 * Invariant: sums are exact, and what is rounded is rounded once, at the end.
 * Example: the sum of three floats does not depend on their order.
 */

/** The value of min, max and mean of no rows. */
const NOTHING = Symbol("nothing");

/** Return the count, and where there is a target its sum (of numbers), least and greatest value. */
function totalsOf({ target }, targets) {
  const totals = { count: targets.length, sum: null, least: null, greatest: null };
  if (target === null) {
    return totals;
  }
  if (targets.some(isHidden)) {
    return { ...totals, targets };
  }
  if (NUMERIC_KINDS.includes(target.kind)) {
    totals.sum = exactSum(target.kind, targets);
  }
  if (targets.length > 0) {
    totals.least = extreme(target.kind, targets, -1);
    totals.greatest = extreme(target.kind, targets, 1);
  }
  return totals;
}

function sameTotals(one, other) {
  const sums = [one.sum, other.sum].map((sum) => sum || [0n, 1n]);
  return (
    one.count === other.count &&
    one.least === other.least &&
    one.greatest === other.greatest &&
    compareFractions(...sums) === 0
  );
}

/** Return the value of an aggregate, NOTHING, or ERROR. */
function fold({ name, kind }, { count, sum, least, greatest }) {
  if (name === "count") {
    return String(count);
  }
  if (name === "sum") {
    return spellFraction(kind, sum);
  }
  if (count === 0) {
    return NOTHING;
  }
  if (name === "mean") {
    return meanOf(kind, sum[0], sum[1] * BigInt(count));
  }
  return name === "min" ? least : greatest;
}

/** Return the exact sum [dividend, divisor] of values of a kind. */
function exactSum(kind, texts) {
  return sumOfFractions(texts.map((text) => fractionOf(kind, text)));
}

/** Add fractions up; the divisors of values are powers of one base, so they stay small. */
function sumOfFractions(fractions) {
  let [dividend, divisor] = [0n, 1n];
  for (const [top, bottom] of fractions) {
    if (divisor % bottom === 0n) {
      dividend += top * (divisor / bottom);
    } else {
      const shared = bottom % divisor === 0n ? bottom : divisor * bottom;
      dividend = dividend * (shared / divisor) + top * (shared / bottom);
      divisor = shared;
    }
  }
  return [dividend, divisor];
}

function compareFractions([a, aDivisor], [b, bDivisor]) {
  const difference = a * bDivisor - b * aDivisor;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Return an exact fraction as a value of the kind, rounded only where it is a float. */
function spellFraction(kind, [dividend, divisor]) {
  if (kind === "float") {
    return spellFloat(nearestFloat(dividend, divisor));
  }
  if (kind === "Decimal") {
    const scaled = dividend * DECIMAL_BOUND;
    return scaled % divisor === 0n ? spellDecimal([scaled / divisor, MOST_DIGITS]) : ERROR;
  }
  return dividend % divisor === 0n ? spellWhole(kind, dividend / divisor) : ERROR;
}

function meanOf(kind, dividend, divisor) {
  return kind === "float"
    ? spellFloat(nearestFloat(dividend, divisor))
    : spellDecimal(roundedFraction(dividend, divisor));
}
