"""Powers of the four numeric kinds.

In: a kind and two of its values.  Out: the spelled power, or ``None`` for ⚡.  Invariant: integers
and Decimals are exact, a float is the exact power rounded once, half to even.  The work is bounded
whatever the exponent: repeated multiplication stops at the first product that cannot be spelled,
because no later one can.  FORMAT.md, section 4.

Example: ``power("number", -2, 3) == "-8"``.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from .values import DIGITS, Number, parse, spell

_EXACT: Final = Context(prec=4 * DIGITS + 4)
_FIRST_DIGITS: Final = 100
_FAR: Final = 10**6
_ONE: Final = Decimal(1)
# A power that lies exactly between two floats has an exponent of at most these.
_MOST_TIMES: Final = 1075
_MOST_ROOTS: Final = 1024


def power(kind: str, base: Number, exponent: Number) -> str | None:
    """Return the base to the power of the exponent."""
    if kind == "float":
        result = _float_power(float(base), float(exponent))
        return None if result is None else spell(kind, result)
    times = int(exponent)
    if times < 0 or times != exponent:
        return None
    return _repeated(kind, base, times)


def _repeated(kind: str, base: Number, times: int) -> str | None:
    if base in {-1, 0, 1}:
        times = times if times <= 1 else 2 + times % 2
    product = "1"
    for _ in range(times):
        grown = spell(kind, _times(kind, parse(kind, product), base))
        if grown is None:
            return None
        product = grown
    return product


def _times(kind: str, left: Number, right: Number) -> Number:
    if kind == "Decimal":
        return _EXACT.multiply(Decimal(left), Decimal(right))
    return int(left) * int(right)


def _float_power(base: float, exponent: float) -> float | None:
    if exponent == 0:
        return 1.0
    if base == 0:
        return 0.0 if exponent > 0 else None
    odd = math.fmod(exponent, 2) != 0
    if base < 0 and exponent != math.floor(exponent):
        return None
    size = _rounded(abs(base), exponent)
    return -size if base < 0 and odd else size


def _rounded(base: float, exponent: float) -> float:
    """Round exp(exponent * ln(base)) once, with as many digits as that takes."""
    digits = _FIRST_DIGITS
    while True:
        context = Context(prec=digits, Emax=_FAR, Emin=-_FAR, traps=[])
        logarithm = context.multiply(Decimal(exponent), context.ln(Decimal(base)))
        found = context.exp(logarithm)
        # The logarithm errs in its last digits; below 10^3 that costs at most 10 of the result's,
        # and above it the result is 0 or too large in any case.
        slack = Decimal(1).scaleb(10 - digits)
        low = float(context.multiply(found, context.subtract(_ONE, slack)))
        high = float(context.multiply(found, context.add(_ONE, slack)))
        if low == high:
            return low
        between = _middle(low, high)
        if between is not None and _is_power(between, base, exponent):
            return between.numerator / between.denominator
        digits *= 2


def _middle(low: float, high: float) -> Fraction | None:
    if math.isinf(high) or math.nextafter(low, math.inf) != high:
        return None
    return (Fraction(low) + Fraction(high)) / 2


def _is_power(result: Fraction, base: float, exponent: float) -> bool:
    """Tell whether the power is exactly this: both sides to the root's power, without rounding."""
    times, roots = exponent.as_integer_ratio()
    if abs(times) > _MOST_TIMES or roots > _MOST_ROOTS:
        return False
    return bool(Fraction(base) ** times == result**roots)
