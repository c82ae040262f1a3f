"""Powers: exact on integers and Decimals, rounded once on floats.

In: a base and an exponent of one kind. Out: the power, or `EvaluationError`; whether it fits the
kind is the caller's to check. Invariant: a float is the exact power rounded once, half to even, so
that every correct checker finds the same last bit; C's `pow` promises less, and differs between
machines. Precision grows until the rounding is beyond doubt: Ziv, Fast evaluation of elementary
mathematical functions with correctly rounded last bit (1991).

Example: `float_power(2.0, 0.5) == math.sqrt(2.0)`.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

from constat.logic.failure import EvaluationError
from constat.logic.values import MAX_DIGITS, canonical_decimal

_MOST_BITS = 64
_HIGHEST_POWER = 126
_FIRST_DIGITS = 25
_SPARE_DIGITS = 60
_FAR = 1_000_000
_ONE = Decimal(1)
_BEYOND = 8_000
_WIDE = Context(prec=200, Emax=999, Emin=-999)


def integer_power(base: int, exponent: int) -> int:
    """Give the power; where it has more than 65 bits, some integer outside 64 bits."""
    if exponent < 0:
        raise EvaluationError("a negative exponent gives no whole number")
    # 2^65 is outside already, and an exponent from data must not fill the memory. That it is odd
    # or even decides the sign of a power of -1.
    return int(base ** min(exponent, _MOST_BITS + 2 + exponent % 2))


def decimal_power(base: Decimal, exponent: Decimal) -> Decimal:
    """Give the exact power, for whole exponents from 0."""
    if exponent < 0 or exponent != int(exponent):
        raise EvaluationError("the exponent of a Decimal is a whole number from 0")
    power = int(exponent)
    if base in {-1, 0, 1}:
        return Decimal(int(base) ** min(power, 2 + power % 2))
    _, digits, scale = base.as_tuple()
    places = -int(scale)
    # Bounds first, as exponents come from data: the power of n digits has more than (n - 1) times
    # as many, that of a fraction has as many times its places, and 2^127 has 39 digits.
    too_long = (len(digits) - 1) * power >= MAX_DIGITS or places * power > MAX_DIGITS
    if too_long or power > _HIGHEST_POWER:
        raise EvaluationError("the result needs more than 38 digits")
    whole = int(base.scaleb(places, context=_WIDE))
    try:
        return canonical_decimal(Decimal(whole**power).scaleb(-places * power, context=_WIDE))
    except ValueError:
        raise EvaluationError("the result needs more than 38 digits") from None


def float_power(base: float, exponent: float) -> float:
    """Give the power rounded once; infinity where it is too large."""
    if not exponent:
        return 1.0
    if not base:
        if exponent < 0:
            raise EvaluationError("division by zero")
        return 0.0
    if base < 0 and not exponent.is_integer():
        raise EvaluationError("a negative base has powers with whole exponents only")
    size = _short_power(abs(base), exponent)
    if size is None:
        size = _rounded_power(abs(base), exponent)
    return -size if base < 0 and exponent % 2 else size


def _short_power(base: float, exponent: float) -> float | None:
    """Give the power of a positive base where it is a fraction of few bits, else nothing.

    Only such powers can lie exactly between two floats, where no precision decides the rounding.
    """
    odd, scale = _odd_and_scale(base)
    times, roots = exponent.as_integer_ratio()
    while roots > 1:
        root = math.isqrt(odd)
        if root * root != odd or scale % 2:
            return None
        odd, scale, roots = root, scale // 2, roots // 2
    if odd > 1 and not 0 < times <= _MOST_BITS:
        return None
    shift = max(-_BEYOND, min(scale * times, _BEYOND))
    power = odd**times if odd > 1 else 1
    try:
        # One division of integers rounds once, subnormal floats included.
        return (power << shift) / 1 if shift >= 0 else power / (1 << -shift)
    except OverflowError:
        return math.inf


def _odd_and_scale(value: float) -> tuple[int, int]:
    """Give the positive float as an odd integer and how often 2 multiplies it."""
    numerator, denominator = value.as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    return numerator >> zeros, zeros - denominator.bit_length() + 1


def _rounded_power(base: float, exponent: float) -> float:
    digits = _FIRST_DIGITS
    while True:
        # A float near 0 has hundreds of digits. An exponent above 10^19 leaves the floats, so 60
        # digits more than the result has are enough of the base.
        shorter = Context(prec=digits + _SPARE_DIGITS).plus(Decimal(base))
        context = Context(prec=digits, Emax=_FAR, Emin=-_FAR, traps=[])
        power = context.power(shorter, Decimal(exponent))
        # The library errs by a unit in the last place; this leaves it a thousand.
        doubt = _ONE.scaleb(3 - digits)
        low = float(context.multiply(power, context.subtract(_ONE, doubt)))
        high = float(context.multiply(power, context.add(_ONE, doubt)))
        if low == high:
            return low
        digits *= 2
