"""Exact arithmetic on the four numeric kinds.

In: an operator and a kind. Out: a function on values that gives a value of that kind or raises
`EvaluationError`. Invariant: nothing wraps and nothing is rounded silently; only `/` on Decimal
rounds, half-even to 12 places, and floats as IEEE 754 does, powers included. Example:
`arithmetic("/", Kind.NUMBER)(-7, 2) == -3`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Context, Decimal
from types import MappingProxyType

from constat.logic.failure import EvaluationError
from constat.logic.powers import decimal_power, float_power, integer_power
from constat.logic.values import Kind, Value, canonical_decimal, canonical_float

PLACES = 12
"""How many places `/` and `mean` on Decimal keep."""

_MINUS_LOWEST = 1 << 63
_BOUNDS = MappingProxyType(
    {Kind.NUMBER: (-_MINUS_LOWEST, _MINUS_LOWEST - 1), Kind.UNSIGNED: (0, (1 << 64) - 1)}
)
# Wide enough for every sum and product of two Decimals of 38 digits and 38 places to be exact.
_EXACT = Context(prec=200, Emax=999, Emin=-999)


def arithmetic(function: str, kind: Kind) -> Callable[..., Value]:
    """Give the function of `+ - * / ^ % neg` on values of a numeric kind (`%`: integers)."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _bounded(_INTEGERS[function], kind)
        case Kind.FLOAT:
            return _finite(_FLOATS[function])
        case Kind.DECIMAL:
            return _DECIMALS[function]
        case _:
            raise KeyError(function, kind)


def within(value: int, kind: Kind) -> int:
    """Give an exact integer back, or raise outside the 64 bits of its kind."""
    low, high = _BOUNDS[kind]
    if low <= value <= high:
        return value
    raise EvaluationError(f"the result does not fit in a {kind.value} of 64 bits")


def exact_decimal(value: Decimal) -> Decimal:
    """Give the canonical Decimal, or raise where 38 digits cannot spell it."""
    try:
        return canonical_decimal(value)
    except ValueError:
        raise EvaluationError("the result needs more than 38 digits") from None


def finite_float(value: float) -> float:
    """Give the float with one zero, or raise for infinity and NaN."""
    try:
        return canonical_float(value)
    except ValueError:
        raise EvaluationError("the result is not a finite float") from None


def rounded_ratio(numerator: int, denominator: int) -> Decimal:
    """Give the quotient of two integers rounded half-even to 12 places; the divisor is positive.

    Rounding happens once, on integers: a Decimal context would round to digits first, then to
    places.
    """
    quotient, rest = divmod(numerator * 10**PLACES, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and quotient % 2):
        quotient += 1
    return exact_decimal(Decimal(quotient).scaleb(-PLACES, context=_EXACT))


def _bounded(function: Callable[..., int], kind: Kind) -> Callable[..., Value]:
    low, high = _BOUNDS[kind]

    def compute(*values: int) -> int:
        result = function(*values)
        # Inline, not `within`: this runs once per tuple.
        if low <= result <= high:
            return result
        raise EvaluationError(f"the result does not fit in a {kind.value} of 64 bits")

    return compute


def _finite(function: Callable[..., float]) -> Callable[..., Value]:
    def compute(*values: float) -> float:
        return finite_float(function(*values))

    return compute


def quotient(left: int, right: int) -> int:
    """Divide integers of any size, truncating towards zero."""
    # `//` rounds down; the contract truncates towards zero.
    if not right:
        raise EvaluationError("division by zero")
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def remainder(left: int, right: int) -> int:
    """Give the remainder of `quotient`, with the sign of the dividend."""
    if not right:
        raise EvaluationError("division by zero")
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def _divide_floats(left: float, right: float) -> float:
    if not right:
        raise EvaluationError("division by zero")
    return left / right


def _divide_decimals(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise EvaluationError("division by zero")
    upper, lower = left.as_integer_ratio(), right.as_integer_ratio()
    numerator, denominator = upper[0] * lower[1], upper[1] * lower[0]
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    return rounded_ratio(numerator, denominator)


def _add_decimals(left: Decimal, right: Decimal) -> Decimal:
    return exact_decimal(_EXACT.add(left, right))


def _subtract_decimals(left: Decimal, right: Decimal) -> Decimal:
    return exact_decimal(_EXACT.subtract(left, right))


def _multiply_decimals(left: Decimal, right: Decimal) -> Decimal:
    return exact_decimal(_EXACT.multiply(left, right))


def _negate_decimal(value: Decimal) -> Decimal:
    return exact_decimal(value.copy_negate())


_INTEGERS = MappingProxyType[str, Callable[..., int]](
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": quotient,
        "%": remainder,
        "^": integer_power,
        "neg": operator.neg,
    }
)
_FLOATS = MappingProxyType[str, Callable[..., float]](
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": _divide_floats,
        "^": float_power,
        "neg": operator.neg,
    }
)
_DECIMALS = MappingProxyType[str, Callable[..., Value]](
    {
        "+": _add_decimals,
        "-": _subtract_decimals,
        "*": _multiply_decimals,
        "/": _divide_decimals,
        "^": decimal_power,
        "neg": _negate_decimal,
    }
)
