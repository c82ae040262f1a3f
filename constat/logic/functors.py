"""Functions and comparisons on values: what they take, what they give, and how they fail.

In: a function's name and the kinds of its arguments. Out: signatures for analysis, implementations
for engines. Invariant: an implementation gives a canonical value of the result kind or raises
`EvaluationError`. Meaning is that of the table in `constat/check/FORMAT.md`, section 4, whose
checker implements it a second time.

>>> implementation("/", (Kind.NUMBER, Kind.NUMBER), Kind.NUMBER)(-7, 2)
-3
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, cast

from constat.logic import dates
from constat.logic.arithmetic import arithmetic
from constat.logic.bits import bit_operation
from constat.logic.conversions import conversion, to_kind, to_text
from constat.logic.failure import EvaluationError
from constat.logic.folds import aggregate_kind, fold
from constat.logic.parts import Parts
from constat.logic.patterns import compile_pattern
from constat.logic.structures import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    construct,
    is_constructor,
)
from constat.logic.values import Kind, Value
from constat.logic.vocabulary import BITWISE
from constat.logic.wrapping import machine_function, unwrapped

__all__ = [
    "FUNCTIONS",
    "OPERATORS",
    "RANGE",
    "RANGES",
    "EvaluationError",
    "Signature",
    "aggregate_kind",
    "comparison",
    "fold",
    "implementation",
    "signatures",
]

Function = Callable[..., Value]

MAX_BYTES = 1 << 20
_COMPILED_PATTERNS = 32


@dataclass(frozen=True, slots=True)
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
        "days_between": dates.days_between,
        "years_between": dates.years_between,
        "date_add": dates.date_add,
        "year": dates.year,
        "month": dates.month,
        "day": dates.day,
        "quarter": dates.quarter,
        "date_of": dates.date_of,
    }
)
