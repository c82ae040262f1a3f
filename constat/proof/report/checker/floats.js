/*
 * Floats: their spelling, their exact values, and rounding to the nearest once.
 *
 * In: doubles of IEEE 754, and fractions of BigInts.  Out: texts, fractions, and doubles.  Invariant:
 * every rounding goes through `nearestFloat`, half to even, and -0.0 never leaves this file.
 * Example: `spellFloat(0.1)` is "0x1.999999999999ap-4" and `reprFloat(1e16)` is "1e+16".
 */

const FRACTION_BITS = 52n;
const FRACTION_MASK = 2n ** FRACTION_BITS - 1n;
const LEAST_EXPONENT = -1074;
const floatBytes = () => new DataView(new ArrayBuffer(8));

function floatOfBits(bits) {
  const view = floatBytes();
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

/** Return [n, e] with the float being worth n * 2^e, n a BigInt. */
function exactFloat(value) {
  const view = floatBytes();
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> FRACTION_BITS) & 0x7ffn);
  const fraction = bits & FRACTION_MASK;
  const size = exponent === 0 ? fraction : fraction | (FRACTION_MASK + 1n);
  return [bits >> 63n ? -size : size, Math.max(exponent, 1) - 1075];
}

/** Return the fraction [dividend, divisor] that a float is worth, the divisor a power of two. */
function floatFraction(value) {
  const [size, exponent] = exactFloat(value);
  return exponent >= 0 ? [size << BigInt(exponent), 1n] : [size, 1n << BigInt(-exponent)];
}

function bitLength(value) {
  const digits = absolute(value).toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

/** Return 2^exponent as a float; the exponent is from -1074 to 1023. */
function powerOfTwo(exponent) {
  return exponent < -1022
    ? floatOfBits(1n << BigInt(exponent + 1074))
    : floatOfBits(BigInt(exponent + 1023) << FRACTION_BITS);
}

/** Return the float nearest to a fraction, half to even; the divisor is positive. */
function nearestFloat(dividend, divisor) {
  if (dividend === 0n) {
    return 0;
  }
  const size = absolute(dividend);
  let unit = Math.max(bitLength(size) - bitLength(divisor) - 53, LEAST_EXPONENT);
  const inUnits = () =>
    unit >= 0 ? [size, divisor << BigInt(unit)] : [size << BigInt(-unit), divisor];
  let [top, bottom] = inUnits();
  if (top / bottom >= 2n ** 53n) {
    unit += 1;
    [top, bottom] = inUnits();
  }
  const rounded = Number(roundHalfEven(top, bottom));
  // Exact: `rounded` is at most 2^53, and `unit` at least that of the smallest float.
  const found = unit > 1023 ? Infinity : rounded * powerOfTwo(unit);
  return dividend < 0n && found !== 0 ? -found : found;
}

const HEXADECIMAL_FLOAT = /^(-?)0x([01])\.([0-9a-f]{13})p([+-])(0|[1-9][0-9]{0,3})$/;

/** Return the float of a spelling, or null where this is none of section 2. */
function parseFloatSpelling(text) {
  if (text === "0x0.0p+0") {
    return 0;
  }
  const found = HEXADECIMAL_FLOAT.exec(text);
  if (found === null) {
    return null;
  }
  const [, sign, lead, digits, direction, power] = found;
  const exponent = direction === "-" ? -Number(power) : Number(power);
  const fraction = BigInt(`0x${digits}`);
  const subnormal = lead === "0" && fraction !== 0n && exponent === -1022;
  const normal = lead === "1" && exponent >= -1022 && exponent <= 1023;
  if (!(subnormal || normal) || (direction === "-") !== exponent < 0) {
    return null;
  }
  const biased = subnormal ? 0n : BigInt(exponent + 1023);
  const value = floatOfBits((biased << FRACTION_BITS) | fraction);
  return sign ? -value : value;
}

/** Return the spelling of a float, or ERROR where it is not finite. */
function spellFloat(value) {
  if (!Number.isFinite(value)) {
    return ERROR;
  }
  if (value === 0) {
    return "0x0.0p+0";
  }
  const view = floatBytes();
  view.setFloat64(0, Math.abs(value));
  const bits = view.getBigUint64(0);
  const biased = Number(bits >> FRACTION_BITS);
  const digits = (bits & FRACTION_MASK).toString(16).padStart(13, "0");
  const exponent = biased === 0 ? -1022 : biased - 1023;
  const power = exponent < 0 ? `-${-exponent}` : `+${exponent}`;
  return `${value < 0 ? "-" : ""}0x${biased === 0 ? 0 : 1}.${digits}p${power}`;
}

/** Return the shortest decimal that reads back as this float, as Python's `repr` writes it. */
function reprFloat(value) {
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  const sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) {
    return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  }
  const padded = digits.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

/** Return the exact decimal that a float is worth: n / 2^k is n * 5^k / 10^k. */
function decimalOfFloat(value) {
  const [size, exponent] = exactFloat(value);
  const places = Math.max(-exponent, 0);
  return exponent >= 0
    ? [size << BigInt(exponent), 0]
    : [size * 5n ** BigInt(places), places];
}
