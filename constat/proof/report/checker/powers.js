/*
 * Powers of floats, rounded once: the nearest float to the exact power.
 *
 * In: two finite floats.  Out: a float, infinite where the power is too great, or ERROR.  Invariant:
 * a power that is a float, or half way between two, is found exactly; all others are caught in an
 * interval that is narrowed until both its ends round to the same float.
 * Example: `powerOfFloats(2, 0.5)` is the float nearest to the square root of two.
 */

const FIRST_BITS = 96;

function powerOfFloats(base, exponent) {
  if (exponent === 0 || base === 1) {
    return 1;
  }
  if (base === 0) {
    return exponent < 0 ? ERROR : 0;
  }
  const whole = Number.isInteger(exponent);
  if (base < 0 && !whole) {
    return ERROR;
  }
  const size = powerOfPositive(Math.abs(base), exponent);
  // Above 2^53 every float is even, and `%` is exact.
  return base < 0 && exponent % 2 !== 0 && size !== 0 ? -size : size;
}

function powerOfPositive(base, exponent) {
  const exact = exactPower(base, exponent);
  if (exact !== null) {
    return exact;
  }
  if (Math.abs(exponent) >= 2 ** 64) {
    // The logarithm of a base other than 1 is at least 2^-53.
    return base > 1 === exponent > 0 ? Infinity : 0;
  }
  for (let bits = FIRST_BITS; ; bits *= 2) {
    const found = powerWithin(base, exponent, bits);
    if (found !== null) {
      return found;
    }
  }
}

/** Return a positive float as [odd, power]: odd * 2^power. */
function oddPart(value) {
  let [odd, power] = exactFloat(value);
  while (odd % 2n === 0n) {
    odd /= 2n;
    power += 1;
  }
  return [odd, power];
}

function wholeRoot(value) {
  let root = BigInt(Math.floor(Math.sqrt(Number(value))));
  while (root * root > value) {
    root -= 1n;
  }
  while ((root + 1n) * (root + 1n) <= value) {
    root += 1n;
  }
  return root;
}

/**
 * Return the power where it is a float or half way between two, or null.
 *
 * Such a power is odd * 2^power with an odd of at most 54 bits.  A base that is no perfect 2^k-th
 * power has an irrational n / 2^k-th power (n odd), and the n-th power of an odd number above 1 has
 * more than 54 bits soon, and no finite binary expansion where n is negative.
 */
function exactPower(base, exponent) {
  let [odd, power] = oddPart(base);
  let left = exponent;
  while (!Number.isInteger(left)) {
    const root = wholeRoot(odd);
    if (power % 2 !== 0 || root * root !== odd) {
      return null;
    }
    [odd, power, left] = [root, power / 2, left * 2];
  }
  if (odd !== 1n && (left < 0 || (bitLength(odd) - 1) * left > 54)) {
    return null;
  }
  const scale = power * left;
  if (scale > 1100 || scale < -1200) {
    // The odd part has at most 108 bits, which cannot make up for that.
    return scale > 0 ? Infinity : 0;
  }
  const top = odd === 1n ? 1n : odd ** BigInt(left);
  return scale >= 0
    ? nearestFloat(top << BigInt(scale), 1n)
    : nearestFloat(top, 1n << BigInt(-scale));
}

/** Return 2 * atanh(top / bottom) in units of 2^-bits; the error is below 2 units per term. */
function twiceAtanh(top, bottom, bits) {
  const z = (top << BigInt(bits)) / bottom;
  const square = (z * z) >> BigInt(bits);
  let sum = 0n;
  let term = z;
  for (let k = 1n; term !== 0n && term !== -1n; k += 2n) {
    sum += term / k;
    term = (term * square) >> BigInt(bits);
  }
  return 2n * sum;
}

/** Return the logarithm of a positive float in units of 2^-bits. */
function logarithm(value, bits) {
  const [size, exponent] = exactFloat(value);
  let length = bitLength(size);
  // The mantissa is taken between 2/3 and 4/3, so that nothing cancels next to 1.
  if (3n * size < 1n << BigInt(length + 1)) {
    length -= 1;
  }
  const one = 1n << BigInt(length);
  const doublings = BigInt(exponent + length);
  return twiceAtanh(size - one, size + one, bits) + doublings * twiceAtanh(1n, 3n, bits);
}

/** Return e^value, both in units of 2^-bits; the value is between -1 and 1. */
function exponential(value, bits) {
  let sum = 0n;
  let term = 1n << BigInt(bits);
  for (let k = 1n; term !== 0n && term !== -1n; k += 1n) {
    sum += term;
    term = ((term * value) >> BigInt(bits)) / k;
  }
  return sum;
}

/** Return the nearest float to the power, or null where so many bits do not decide it. */
function powerWithin(base, exponent, bits) {
  const [size, shift] = exactFloat(exponent);
  const large = Math.max(bitLength(size) + shift, 0);
  // Fewer than 2^30 units of error in the logarithm are multiplied by less than 2^large.
  const guard = large + 34;
  const working = bits + guard;
  const product = logarithm(base, working) * size;
  const value = shift >= 0 ? product << BigInt(shift) : product >> BigInt(-shift);
  const bound = 1n << BigInt(working + 11);
  if (absolute(value) > bound) {
    return value > 0n ? Infinity : 0;
  }
  const two = twiceAtanh(1n, 3n, working);
  const doublings = roundHalfEven(value, two);
  const power = exponential(value - doublings * two, working);
  const error = 1n << BigInt(guard);
  const scale = Number(doublings) - working;
  const ends = [power - error, power + error].map((end) =>
    scale >= 0 ? nearestFloat(end << BigInt(scale), 1n) : nearestFloat(end, 1n << BigInt(-scale)),
  );
  return ends[0] === ends[1] ? ends[0] : null;
}
