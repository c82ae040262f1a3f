"""Exact arithmetic on the four numeric kinds, and that of machine words, as Souffle has it."""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.logic.values import (
    MAX_DIGITS,
    EvaluationError,
    Kind,
    Value,
    canonical_decimal,
    canonical_float,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# A float is the exact power rounded once, half to even, so that every correct checker finds the
# same last bit; C's `pow` promises less, and differs between machines. Precision grows until the
# rounding is beyond doubt: Ziv, Fast evaluation of elementary mathematical functions with
# correctly rounded last bit (1991).

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


# A `number` is its 64 bits in two's complement, so an operation never leaves the kind; bits that a
# shift moves out are gone.

_WIDTH = 64
_ALL = (1 << _WIDTH) - 1
_SIGN = 1 << (_WIDTH - 1)


def bit_operation(function: str, kind: Kind) -> Callable[..., Value]:
    """Give the function of a bitwise or logical operator on `number` or `unsigned`."""
    if kind is Kind.UNSIGNED and function in _UNSIGNED:
        return _UNSIGNED[function]
    return _SIGNED[function]


def _count(bits: int) -> int:
    # Souffle takes the count modulo the width of its build, so `1 bshl 64` is 1 in one and
    # something else in another: nobody means that, and here it is an error.
    if 0 <= bits < _WIDTH:
        return bits
    raise EvaluationError("a shift is by 0 to 63 bits")


def _signed(bits: int) -> int:
    return bits - 2 * _SIGN if bits & _SIGN else bits


def _shift_left(value: int, bits: int) -> int:
    return _signed(value << _count(bits) & _ALL)


def _shift_right(value: int, bits: int) -> int:
    return value >> _count(bits)


def _shift_right_with_zeros(value: int, bits: int) -> int:
    return _signed((value & _ALL) >> _count(bits))


def _shift_unsigned_left(value: int, bits: int) -> int:
    return value << _count(bits) & _ALL


def _unsigned_complement(value: int) -> int:
    return value ^ _ALL


def _both(left: int, right: int) -> int:
    return int(left != 0 and right != 0)


def _either(left: int, right: int) -> int:
    return int(left != 0 or right != 0)


def _one_of_two(left: int, right: int) -> int:
    return int((left != 0) is not (right != 0))


def _neither(value: int) -> int:
    return int(value == 0)


_SIGNED = MappingProxyType[str, Callable[..., int]](
    {
        "band": operator.and_,
        "bor": operator.or_,
        "bxor": operator.xor,
        "bnot": operator.invert,
        "bshl": _shift_left,
        "bshr": _shift_right,
        "bshru": _shift_right_with_zeros,
        "land": _both,
        "lor": _either,
        "lxor": _one_of_two,
        "lnot": _neither,
    }
)
# What is not listed here is the same on both kinds.
_UNSIGNED = MappingProxyType[str, Callable[..., int]](
    {
        "bnot": _unsigned_complement,
        "bshl": _shift_unsigned_left,
        "bshru": _shift_right,
    }
)


# Nothing wraps and nothing is rounded silently; only `/` on Decimal rounds, half-even to 12
# places, and floats as IEEE 754 does, powers included.

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


# The name says the width, so whoever evaluates needs no mode; without such a name nothing wraps.
# Only the souffle mode of analysis writes these names; no text can, for a dot ends a name.
# A number wraps to two's complement, an unsigned modulo 2^width. With 32 bits a float is rounded
# to single precision after each operation, which is exact single arithmetic: a double has more
# than twice the digits (Figueroa, When is double rounding innocuous?, 1995). What a machine does
# not define stays an error: division by zero, and floats beyond their range.

_NAME: Final = re.compile(r"wrap(32|64)\.(.+)\Z", re.DOTALL)
_SINGLE: Final = struct.Struct("<f")


def wrapped(function: str, width: int) -> str:
    """Give the name of a function whose results wrap."""
    return f"wrap{width}.{function}"


def unwrapped(function: str) -> tuple[str, int]:
    """Give the plain name and the width of a wrapped one; the name itself and 0 of a plain one."""
    found = _NAME.match(function)
    return (found[2], int(found[1])) if found else (function, 0)


def bounds(kind: Kind, width: int) -> tuple[int, int]:
    """Give the least and the greatest integer of a kind."""
    if kind is Kind.UNSIGNED:
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def wrap(value: int, kind: Kind, width: int) -> int:
    """Give the integer of that width that has the same low bits."""
    mask = (1 << width) - 1
    value &= mask
    if kind is Kind.NUMBER and value >> (width - 1):
        value -= mask + 1
    return value


def single(value: float) -> float:
    """Give the nearest float of 32 bits. Raises `ValueError` beyond their range."""
    try:
        found: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except OverflowError:
        raise ValueError("is not a finite number") from None
    return found or 0.0


def machine_function(
    function: str,
    parameters: tuple[Kind, ...],
    result: Kind,
    width: int,
    plain: Callable[..., Value],
) -> Callable[..., Value]:
    """Give the implementation of a wrapped function, from its plain name and implementation."""
    if result in _WRAPPING_INTEGERS:
        recast = function in _RECASTS and parameters[0] in _WRAPPING_INTEGERS
        exact = _unchanged if recast else _WRAPPING_EXACT.get(function)
        if exact is not None:
            return _wrapping(exact, result, width)
        shift = _SHIFTS.get(function)
        return _fitting(plain, result, width) if shift is None else shift(result, width)
    if result is Kind.FLOAT and width == _SINGLE_WIDTH:
        return _rounding(plain)
    return plain


def machine_fold(
    function: str,
    kind: Kind | None,
    values: Sequence[Value],
    width: int,
    plain: Callable[[str, Kind | None, Sequence[Value]], Value | None],
) -> Value | None:
    """Fold the values of one group as `plain` does; sums wrap, and narrow floats are rounded."""
    if function == "sum" and kind in _WRAPPING_INTEGERS:
        return wrap(sum(cast("Sequence[int]", values)), kind, width)
    found = plain(function, kind, values)
    if isinstance(found, float) and width == _SINGLE_WIDTH:
        return _narrow(found)
    return found


def _wrapping(exact: Callable[..., int], kind: Kind, width: int) -> Callable[..., Value]:
    def compute(*values: int) -> int:
        return wrap(exact(*values), kind, width)

    return compute


def _fitting(plain: Callable[..., Value], kind: Kind, width: int) -> Callable[..., Value]:
    low, high = bounds(kind, width)

    def compute(*values: Value) -> int:
        found = cast("int", plain(*values))
        if low <= found <= high:
            return found
        raise EvaluationError(f"the result does not fit in a {kind.value} of {width} bits")

    return compute


def _rounding(plain: Callable[..., Value]) -> Callable[..., Value]:
    def compute(*values: Value) -> float:
        return _narrow(cast("float", plain(*values)))

    return compute


def _narrow(value: float) -> float:
    try:
        return single(value)
    except ValueError:
        raise EvaluationError("the result is not a finite float of 32 bits") from None


def _unchanged(value: int) -> int:
    return value


def _wrapping_shift_left(kind: Kind, width: int) -> Callable[..., Value]:
    return lambda value, bits: wrap(value << (bits & (width - 1)), kind, width)


def _wrapping_shift_right(_kind: Kind, width: int) -> Callable[..., Value]:
    return lambda value, bits: value >> (bits & (width - 1))


def _wrapping_shift_right_with_zeros(kind: Kind, width: int) -> Callable[..., Value]:
    mask = (1 << width) - 1
    return lambda value, bits: wrap((value & mask) >> (bits & (width - 1)), kind, width)


_WRAPPING_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_SINGLE_WIDTH: Final = 32
_RECASTS: Final = frozenset({"as", "to_number", "to_unsigned"})
_WRAPPING_EXACT: Final = MappingProxyType[str, "Callable[..., int]"](
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": quotient,
        "%": remainder,
        "neg": operator.neg,
        "bnot": operator.invert,
    }
)
# A shift takes its count modulo the width, as machines do.
_SHIFTS: Final = MappingProxyType[str, "Callable[[Kind, int], Callable[..., Value]]"](
    {
        "bshl": _wrapping_shift_left,
        "bshr": _wrapping_shift_right,
        "bshru": _wrapping_shift_right_with_zeros,
    }
)
WRAPPING: Final = frozenset({*_WRAPPING_EXACT, *_SHIFTS, *_RECASTS, "^", "to_float"})
"""The functions whose results the width of a word can change."""
