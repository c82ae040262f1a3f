"""Arithmetic of machine words, as Souffle has it: integers wrap, floats may be single.

In: a function name such as `wrap32.+`, made by `wrapped`. Out: its signatures, implementation and
fold. Invariant: the name says the width, so whoever evaluates needs no mode; without such a name
nothing wraps. Only the souffle mode of analysis writes these names; no text can, for a dot ends a
name. Example: `implementation("wrap32.+", (NUMBER, NUMBER), NUMBER)(2147483647, 1)` is
-2147483648.

A number wraps to two's complement, an unsigned modulo 2^width. With 32 bits a float is rounded to
single precision after each operation, which is exact single arithmetic: a double has more than
twice the digits (Figueroa, When is double rounding innocuous?, 1995). What a machine does not
define stays an error: division by zero, and floats beyond their range.
"""

from __future__ import annotations

import operator
import re
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.logic.arithmetic import quotient, remainder
from constat.logic.failure import EvaluationError
from constat.logic.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTHS: Final = (32, 64)
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
    if result in _INTEGERS:
        recast = function in _RECASTS and parameters[0] in _INTEGERS
        exact = _unchanged if recast else _EXACT.get(function)
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
    if function == "sum" and kind in _INTEGERS:
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


def _shift_left(kind: Kind, width: int) -> Callable[..., Value]:
    return lambda value, bits: wrap(value << (bits & (width - 1)), kind, width)


def _shift_right(_kind: Kind, width: int) -> Callable[..., Value]:
    return lambda value, bits: value >> (bits & (width - 1))


def _shift_right_with_zeros(kind: Kind, width: int) -> Callable[..., Value]:
    mask = (1 << width) - 1
    return lambda value, bits: wrap((value & mask) >> (bits & (width - 1)), kind, width)


_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_SINGLE_WIDTH: Final = 32
_RECASTS: Final = frozenset({"as", "to_number", "to_unsigned"})
_EXACT: Final = MappingProxyType[str, "Callable[..., int]"](
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
    {"bshl": _shift_left, "bshr": _shift_right, "bshru": _shift_right_with_zeros}
)
WRAPPING: Final = frozenset({*_EXACT, *_SHIFTS, *_RECASTS, "^", "to_float"})
"""The functions whose results the width of a word can change."""
