"""From one kind to another: `as`, `to_string` and the readers of text.

In: the kinds. Out: a function on values that gives a canonical value or raises `EvaluationError`.
Invariant: `as` keeps the value or errs, Decimal to float excepted; only the functions that say so,
`to_number`, `to_unsigned` and `to_float`, give the whole part or the nearest float. Example:
`conversion(Kind.NUMBER, Kind.FLOAT)(3) == 3.0`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from constat.logic.arithmetic import exact_decimal, finite_float, within
from constat.logic.failure import EvaluationError
from constat.logic.values import Kind, Value, format_value, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_FRACTION = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")
_LONGEST_INTEGER = 20


def conversion(source: Kind, target: Kind) -> Callable[..., Value]:
    """Give the cast from one kind to another; the pair is one of those that `as` takes."""
    if source is target or target is Kind.SYMBOL:
        return _unchanged
    match target:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _to_integer(target)
        case Kind.FLOAT:
            return _decimal_to_float if source is Kind.DECIMAL else _integer_to_float
        case Kind.DECIMAL:
            return _to_decimal
        case _:
            return _from_spelling(target)


def to_text(kind: Kind) -> Callable[..., Value]:
    """Give `to_string` on that kind: the canonical spelling, a float as people write it."""
    if kind is Kind.FLOAT:
        return repr
    return lambda value: format_value(value, kind)


def to_kind(source: Kind, target: Kind) -> Callable[..., Value]:
    """Give `to_number` and its like: read a text, cut a fraction off, or take the nearest float."""
    if source is Kind.SYMBOL:
        return from_symbol(target)
    match target:
        case Kind.NUMBER | Kind.UNSIGNED:
            # `int` cuts towards zero, whatever it is given.
            return lambda value: within(int(value), target)
        case Kind.FLOAT:
            return lambda value: finite_float(float(value))
        case _:
            return conversion(source, target)


def from_symbol(kind: Kind) -> Callable[..., Value]:
    """Give the reader of texts for a numeric kind: a sign, digits, perhaps a fraction."""
    match kind:
        case Kind.FLOAT:
            return _read_float
        case Kind.DECIMAL:
            return _read_decimal
        case _:
            return lambda text: _read_integer(text, kind)


def _unchanged(value: Value) -> Value:
    return value


def _to_integer(kind: Kind) -> Callable[..., Value]:
    def convert(value: Value) -> int:
        number = cast("int | float | Decimal", value)
        whole = int(number)
        if whole != number:
            raise EvaluationError(f"the value is not a whole {kind.value}")
        return within(whole, kind)

    return convert


def _integer_to_float(value: int) -> float:
    # Python compares an int with a float exactly, so this sees every lost digit.
    nearest = float(value)
    if nearest != value:
        raise EvaluationError("no float has exactly this value")
    return nearest


def _decimal_to_float(value: Decimal) -> float:
    return finite_float(float(value))


def _to_decimal(value: float) -> Decimal:
    return exact_decimal(Decimal(value))


def _from_spelling(kind: Kind) -> Callable[..., Value]:
    def convert(text: str) -> Value:
        try:
            value = parse_value(text, kind)
        except ValueError:
            value = None
        # `parse_value` is generous with sources; `as` takes the canonical spelling only.
        if value != text:
            raise EvaluationError(f"the text does not spell a {kind.value}")
        return value

    return convert


def _read_integer(text: str, kind: Kind) -> int:
    if not _INTEGER.match(text):
        raise EvaluationError(f"the text does not spell a {kind.value}")
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lstrip("0") or "0"
    # Python refuses very long digit strings, and none of them fits in 64 bits anyway.
    size = int(digits) if len(digits) <= _LONGEST_INTEGER else 1 << 70
    return within(sign * size, kind)


def _read_float(text: str) -> float:
    if not _FRACTION.match(text):
        raise EvaluationError("the text does not spell a float")
    value = float(text)
    if math.isinf(value):
        raise EvaluationError("the result is not a finite float")
    return finite_float(value)


def _read_decimal(text: str) -> Decimal:
    if not _FRACTION.match(text):
        raise EvaluationError("the text does not spell a Decimal")
    return exact_decimal(Decimal(text))
