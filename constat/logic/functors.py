"""Functions, comparisons and aggregates on values: what they take, give, and how they fail."""

from __future__ import annotations

import math
import operator as operators
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.frozen import frozen
from constat.logic import vocabulary
from constat.logic.arithmetic import (
    arithmetic,
    bit_operation,
    exact_decimal,
    finite_float,
    machine_fold,
    machine_function,
    rounded_ratio,
    unwrapped,
    within,
)
from constat.logic.patterns import compile_pattern
from constat.logic.structures import CONSTRUCTOR_OF, FIELD_OF, Parts, construct, is_constructor
from constat.logic.values import (
    OPEN,
    EvaluationError,
    Kind,
    MadeBy,
    NullCell,
    Open,
    Value,
    format_value,
    parse_value,
)
from constat.logic.vocabulary import BITWISE

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST_DAY = date.max.toordinal()


def days_between(first: str, second: str) -> int:
    """Count the days from the first date to the second."""
    return date.fromisoformat(second).toordinal() - date.fromisoformat(first).toordinal()


def years_between(first: str, second: str) -> int:
    """Count the whole years from the first date to the second, negative when it lies before."""
    if second < first:
        return -years_between(second, first)
    # Text order of "MM-DD" makes 29 February end its year on 1 March where there is no such day.
    return int(second[:4]) - int(first[:4]) - (second[5:] < first[5:])


def date_add(start: str, days: int) -> str:
    """Give the date that many days later."""
    ordinal = date.fromisoformat(start).toordinal() + days
    if not 1 <= ordinal <= _LAST_DAY:
        raise EvaluationError("the date is outside the years 0001 to 9999")
    return date.fromordinal(ordinal).isoformat()


def year(moment: str) -> int:
    """Give the year of a Date or Timestamp."""
    return int(moment[:4])


def month(moment: str) -> int:
    """Give the month, 1 to 12."""
    return int(moment[5:7])


def day(moment: str) -> int:
    """Give the day of the month, 1 to 31."""
    return int(moment[8:10])


def quarter(moment: str) -> int:
    """Give the quarter of the year, 1 to 4."""
    return (int(moment[5:7]) + 2) // 3


def date_of(moment: str) -> str:
    """Give the date of a Timestamp, in UTC."""
    return moment[:10]


# `as` keeps the value or errs, Decimal to float excepted; only the functions that say so,
# `to_number`, `to_unsigned` and `to_float`, give the whole part or the nearest float.

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


# The result does not depend on the order of the values; sums are exact, and what is not
# representable is rounded once.

# 38 digits before the point, 38 after it, and room for 10^24 summands: every sum is exact.
_SUMS = Context(prec=100, Emax=999, Emin=-999)


def aggregate_kind(function: str, kind: Kind | None) -> Kind | None:
    """Give the kind of an aggregate over values of that kind, `None` where it is not defined.

    `count` takes no kind. `min` and `max` need an order, which Bool and structures have not.
    """
    match unwrapped(function)[0]:
        case "count":
            return Kind.NUMBER
        case "sum" if kind is not None and kind.numeric:
            return kind
        case "min" | "max" if kind not in {Kind.BOOL, Kind.STRUCTURE}:
            return kind
        case "mean" if kind is Kind.DECIMAL:
            return Kind.DECIMAL
        case "mean" if kind is not None and kind.numeric:
            return Kind.FLOAT
        case _:
            return None


def fold(function: str, kind: Kind | None, values: Sequence[Value]) -> Value | None:
    """Fold the values of one group. Raises `EvaluationError` where the result does not fit."""
    plain, width = unwrapped(function)
    if width:
        return machine_fold(plain, kind, values, width, fold)
    match function:
        case "count":
            return len(values)
        case "sum":
            return _sum(cast("Kind", kind), values)
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
        case "mean":
            return _mean(cast("Kind", kind), values) if values else None
        case _:
            raise KeyError(function)


def is_ruled_out(function: str, operator: str, value: Value, member: Value) -> bool:
    """Tell whether the least or greatest of a group cannot compare so with a value.

    Nobody knows it, but one member is known: the greatest is not below it, the least not above.

    >>> is_ruled_out("max", "=", 3, 5), is_ruled_out("max", "=", 7, 5)
    (True, False)
    """
    below: Callable[[Value, Value], bool] = operators.lt
    beyond = below(value, member) if function == "max" else below(member, value)
    if operator in {"=", "<=" if function == "max" else ">="}:
        return beyond
    return operator == ("<" if function == "max" else ">") and (beyond or value == member)


TURNED: Final = MappingProxyType({"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="})
"""The comparisons that may rule a value out, each with its sides changed round."""


def _sum(kind: Kind, values: Sequence[Value]) -> Value:
    match kind:
        case Kind.FLOAT:
            return _float_sum(cast("Sequence[float]", values))
        case Kind.DECIMAL:
            return exact_decimal(_decimal_sum(cast("Sequence[Decimal]", values)))
        case _:
            return within(sum(cast("Sequence[int]", values)), kind)


def _mean(kind: Kind, values: Sequence[Value]) -> Value:
    match kind:
        case Kind.FLOAT:
            top, bottom = _exact_sum(cast("Sequence[float]", values))
            return _nearest(top, bottom * len(values))
        case Kind.DECIMAL:
            top, bottom = _decimal_sum(cast("Sequence[Decimal]", values)).as_integer_ratio()
            return rounded_ratio(top, bottom * len(values))
        case _:
            return _nearest(sum(cast("Sequence[int]", values)), len(values))


def _decimal_sum(values: Sequence[Decimal]) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = _SUMS.add(total, value)
    return total


def _float_sum(values: Sequence[float]) -> float:
    try:
        return finite_float(math.fsum(values))
    except OverflowError:
        # `fsum` gives up on an intermediate overflow even where the sum itself is finite.
        return _nearest(*_exact_sum(values))


def _exact_sum(values: Sequence[float]) -> tuple[int, int]:
    """Give the sum as a numerator and a denominator."""
    ratios = [value.as_integer_ratio() for value in values]
    # Denominators are powers of two, so the greatest is a multiple of all.
    common = max(bottom for _, bottom in ratios)
    return sum(top * (common // bottom) for top, bottom in ratios), common


def _nearest(numerator: int, denominator: int) -> float:
    try:
        # True division of integers is rounded once, however large they are.
        return finite_float(numerator / denominator)
    except OverflowError:
        raise EvaluationError("the result is not a finite float") from None


# An implementation gives a canonical value of the result kind or raises `EvaluationError`. Meaning
# is that of the table in `constat/check/FORMAT.md`, section 4, whose checker implements it a
# second time.

Function = Callable[..., Value]

MAX_BYTES = 1 << 20
_COMPILED_PATTERNS = 32


@frozen
class Signature:
    """Kinds of the parameters and of the result; `variadic` repeats the last parameter."""

    parameters: tuple[Kind, ...]
    result: Kind
    variadic: bool = False


_NUMERIC = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL)
_INTEGERS = (Kind.NUMBER, Kind.UNSIGNED)
_TEXTS = (Kind.DATE, Kind.TIMESTAMP, Kind.BOOL)
_MADE = Kind.STRUCTURE
_ORDERED = (*_NUMERIC, Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP)
_PARSERS = MappingProxyType(
    {
        "to_number": Kind.NUMBER,
        "to_unsigned": Kind.UNSIGNED,
        "to_float": Kind.FLOAT,
        "to_decimal": Kind.DECIMAL,
    }
)


_BINARY_BITS = ("band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
_UNARY_BITS = ("bnot", "lnot")

OPERATORS: frozenset[str] = frozenset({"+", "-", "*", "/", "%", "^", "neg"}) | BITWISE
"""The functions that are written before or between terms, as in `?x + 1` and `?x band 1`."""


def _operator_signatures() -> Iterator[tuple[str, tuple[Signature, ...]]]:
    for function in ("+", "-", "*", "/", "^"):
        yield function, tuple(Signature((kind, kind), kind) for kind in _NUMERIC)
    for function in ("%", *_BINARY_BITS):
        yield function, tuple(Signature((kind, kind), kind) for kind in _INTEGERS)
    yield "neg", tuple(Signature((kind,), kind) for kind in _NUMERIC)
    for function in _UNARY_BITS:
        yield function, tuple(Signature((kind,), kind) for kind in _INTEGERS)


def _all_signatures() -> Iterator[tuple[str, tuple[Signature, ...]]]:
    yield from _operator_signatures()
    for function in ("min", "max"):
        yield function, tuple(Signature((kind, kind), kind, variadic=True) for kind in _ORDERED)
    symbol, number, date = Kind.SYMBOL, Kind.NUMBER, Kind.DATE
    yield "cat", (Signature((symbol, symbol), symbol, variadic=True),)
    yield "strlen", (Signature((symbol,), number),)
    yield "substr", (Signature((symbol, number, number), symbol),)
    yield "to_string", tuple(Signature((kind,), symbol) for kind in Kind if kind is not _MADE)
    for function, kind in _PARSERS.items():
        yield function, tuple(Signature((source,), kind) for source in (symbol, *_NUMERIC))
    yield "days_between", (Signature((date, date), number),)
    yield "years_between", (Signature((date, date), number),)
    yield "date_add", (Signature((date, number), date),)
    for function in ("year", "month", "day", "quarter"):
        yield function, tuple(Signature((kind,), number) for kind in (date, Kind.TIMESTAMP))
    yield "date_of", (Signature((Kind.TIMESTAMP,), date),)
    yield "as", tuple(_casts())


def _casts() -> Iterator[Signature]:
    # A structure of another type has other fields: there is no cast between them.
    for kind in Kind:
        if kind is not _MADE:
            yield Signature((kind,), kind)
    for source in _NUMERIC:
        yield from (Signature((source,), kind) for kind in _NUMERIC if kind is not source)
    for kind in _TEXTS:
        yield Signature((kind,), Kind.SYMBOL)
        yield Signature((Kind.SYMBOL,), kind)


_SIGNATURES = MappingProxyType(dict(_all_signatures()))

RANGE: Final = "range"
"""What makes several values: analysis puts a relation in its place, so no engine computes it."""
RANGES: Final = tuple(Signature((kind,) * count, kind) for count in (2, 3) for kind in _NUMERIC)

FUNCTIONS: tuple[str, ...] = tuple(_SIGNATURES)
"""Every function of the language; `as` is the cast."""


def signatures(function: str) -> tuple[Signature, ...]:
    """Give the ways in which a function can be used; none for an unknown name."""
    return _SIGNATURES.get(unwrapped(function)[0], ())


def implementation(
    function: str, parameters: tuple[Kind, ...], result: Kind, parts: Parts | None = None
) -> Function:
    """Give what computes the function on values of those kinds.

    Raises `KeyError` for kinds that are in no signature: analysis lets none through. An evaluation
    that takes structures apart hands in what remembers their parts.
    """
    made = _on_structures(function, parameters, result, parts)
    if made is not None:
        return made
    if not any(_fits(one, parameters, result) for one in signatures(function)):
        raise KeyError(function, parameters, result)
    plain, width = unwrapped(function)
    if width:
        exact = implementation(plain, parameters, result)
        return machine_function(plain, parameters, result, width, exact)
    match function:
        case "+" | "-" | "*" | "/" | "%" | "^" | "neg":
            return arithmetic(function, result)
        case "as":
            return conversion(parameters[0], result)
        case "to_string":
            return to_text(parameters[0])
        case "to_number" | "to_unsigned" | "to_float" | "to_decimal":
            return to_kind(parameters[0], result)
        case _ if function in OPERATORS:
            return bit_operation(function, result)
        case _:
            return _NAMED[function]


def comparison(operator: str, kind: Kind) -> Callable[[Value, Value], bool]:
    """Give the test of a comparison on two values of that kind.

    For `match` the left value is the pattern, for `contains` the part. Raises `KeyError` for an
    unknown operator; the test of `match` raises `EvaluationError` for a bad pattern.
    """
    if operator in {"match", "!match"}:
        return _matching(wanted=operator == "match")
    if operator not in {"=", "!="} and kind in {Kind.BOOL, Kind.STRUCTURE}:
        raise KeyError(operator, kind)
    return cast("Callable[[Value, Value], bool]", _COMPARISONS[operator])


def made_of(function: str, cells: Sequence[object]) -> NullCell | Open:
    """Give what a function makes of cells of which one at least is no value.

    A total function makes a label of a label and values; anything else gives what nobody knows.
    """
    labels = [cell for cell in cells if isinstance(cell, NullCell)]
    known = vocabulary.FUNCTIONS.get(function)
    if known is None or not known.total or len(labels) != 1 or OPEN in cells:
        return OPEN
    (label,) = labels
    if not label.is_label or label.made is not None:
        return OPEN
    arguments = tuple(None if cell is label else cast("Value", cell) for cell in cells)
    return replace(label, made=MadeBy(function, arguments))


def _on_structures(
    function: str, parameters: tuple[Kind, ...], result: Kind, parts: Parts | None
) -> Function | None:
    """Give what makes or reads structures: functions of any kinds, so they are in no table."""
    if is_constructor(function) and result is _MADE:
        return construct(function, parameters)
    if function == CONSTRUCTOR_OF and (parameters, result) == ((_MADE,), Kind.SYMBOL):
        return (parts or Parts()).constructor_of
    if function == FIELD_OF and parameters == (_MADE, Kind.NUMBER):
        return (parts or Parts()).field_of(result)
    return None


def _fits(signature: Signature, parameters: tuple[Kind, ...], result: Kind) -> bool:
    wanted = signature.parameters
    if signature.variadic:
        wanted += wanted[-1:] * (len(parameters) - len(wanted))
    return wanted == parameters and signature.result is result


def _matching(*, wanted: bool) -> Callable[[Value, Value], bool]:
    # Bounded, and owned by the comparison that asked: patterns may come from data.
    compiled = lru_cache(maxsize=_COMPILED_PATTERNS)(compile_pattern)

    def test(pattern: Value, text: Value) -> bool:
        return compiled(cast("str", pattern)).matches(cast("str", text)) is wanted

    return test


def _contains(part: str, text: str) -> bool:
    return part in text


def _lacks(part: str, text: str) -> bool:
    return part not in text


def _concatenate(*texts: str) -> str:
    joined = "".join(texts)
    size = len(joined) if joined.isascii() else len(joined.encode())
    if size > MAX_BYTES:
        raise EvaluationError(f"the text is longer than {MAX_BYTES} bytes")
    return joined


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _substring(text: str, start: int, length: int) -> str:
    if start < 0 or length < 0:
        raise EvaluationError("the start or the length of substr is negative")
    if text.isascii():
        return text[start : start + length]
    encoded = text.encode()
    end = min(start + length, len(encoded))
    if start >= end:
        return ""
    if _inside_character(encoded, start) or _inside_character(encoded, end):
        raise EvaluationError("substr counts bytes, and these cut a character in two")
    return encoded[start:end].decode()


def _inside_character(encoded: bytes, place: int) -> bool:
    # Continuation bytes are 10xxxxxx; a cut before one splits a character.
    return place < len(encoded) and encoded[place] & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8


_COMPARISONS = MappingProxyType[str, Callable[..., bool]](
    {
        "=": operators.eq,
        "!=": operators.ne,
        "<": operators.lt,
        "<=": operators.le,
        ">": operators.gt,
        ">=": operators.ge,
        "contains": _contains,
        "!contains": _lacks,
    }
)
_NAMED = MappingProxyType[str, Function](
    {
        # Values of one kind compare as `<` does, and equal ones are the same.
        "min": min,
        "max": max,
        "cat": _concatenate,
        "strlen": _byte_length,
        "substr": _substring,
        "days_between": days_between,
        "years_between": years_between,
        "date_add": date_add,
        "year": year,
        "month": month,
        "day": day,
        "quarter": quarter,
        "date_of": date_of,
    }
)
