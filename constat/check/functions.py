"""The functions and comparisons of rules, evaluated on spelled values.

In: a function, the kinds, the spelled arguments.  Out: the spelled result, or ``None`` for ⚡ (an
error: overflow, division by zero, a text that is no number).  Invariant: no rounding except where
the format names it, so that two checkers agree on every digit.  FORMAT.md, section 4.

Example: ``call("/", ("number", "number"), "number", ("-7", "2")) == "-3"``.
"""

from __future__ import annotations

import math
import operator
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from . import bits, calendar_dates, fields
from .pattern import full_match
from .powers import power
from .values import (
    DIGITS,
    KINDS,
    NUMERIC,
    ORDERED,
    STRUCTURE,
    Number,
    is_decimal,
    is_spelled,
    parse,
    spell,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_TEXT: Final = 1_048_576
PLACES: Final = 12

_PLAIN: Final = KINDS - {STRUCTURE}
_INTEGERS: Final = frozenset({"number", "unsigned"})
_MOMENTS: Final = frozenset({"Date", "Timestamp"})
_READERS: Final = (
    ("to_number", "number"),
    ("to_unsigned", "unsigned"),
    ("to_float", "float"),
    ("to_decimal", "Decimal"),
)
_ORDERS: Final = ("<", "<=", ">", ">=")
_ON_TEXT: Final = ("match", "!match", "contains", "!contains")
# Two operands of 38 digits on either side of the point never need more than this exactly.
_EXACT: Final = Context(prec=4 * DIGITS + 4)


def signature_holds(name: str, kinds: tuple[str, ...], result: str) -> bool:
    """Tell whether the function takes these kinds and gives this one."""
    if name in _UNIFORM:
        return {*kinds} == {result} and _takes(name, len(kinds), result)
    if fields.is_about_structures(name):
        return fields.signature_holds(name, kinds, result)
    match name, kinds:
        case "cat", (_, _, *_):
            return {*kinds, result} == {"symbol"}
        case (("as" | "to_string"), (kind,)):
            return kind != STRUCTURE and result in (_PLAIN if name == "as" else {"symbol"})
        case (("year" | "month" | "day" | "quarter"), (kind,)):
            return kind in _MOMENTS and result == "number"
        case _, (kind,) if (name, result) in _READERS:
            return kind == "symbol" or kind in NUMERIC
        case _:
            return (name, kinds, result) in _FIXED


_UNIFORM: Final = frozenset({"+", "-", "*", "/", "^", "%", "neg", "min", "max"}).union(
    bits.UNARY, bits.BINARY
)


def _takes(name: str, count: int, kind: str) -> bool:
    """Tell whether a function of arguments and result of one kind takes so many of this kind."""
    if name in {"min", "max"}:
        return count > 1 and kind in ORDERED
    if count != (1 if name == "neg" or name in bits.UNARY else 2):
        return False
    plain = name in {"+", "-", "*", "/", "^", "neg"}
    return kind in (NUMERIC if plain else _INTEGERS)


_FIXED: Final = (
    ("strlen", ("symbol",), "number"),
    ("substr", ("symbol", "number", "number"), "symbol"),
    ("days_between", ("Date", "Date"), "number"),
    ("years_between", ("Date", "Date"), "number"),
    ("date_add", ("Date", "number"), "Date"),
    ("date_of", ("Timestamp",), "Date"),
)


def call(name: str, kinds: tuple[str, ...], result: str, args: tuple[str, ...]) -> str | None:
    """Evaluate a function whose signature holds."""
    match name:
        case "+" | "-" | "*" | "/" | "%" | "^" | "neg":
            return _arithmetic(name, result, [parse(result, text) for text in args])
        case _ if name in bits.UNARY or name in bits.BINARY:
            return bits.bitwise(name, result, *map(int, args))
        case "min" | "max":
            return _extreme(name, result, args)
        case "cat" | "strlen" | "substr":
            return _on_text(name, args)
        case "to_string":
            return repr(parse("float", args[0])) if kinds[0] == "float" else args[0]
        case "as" | "to_number" | "to_unsigned" | "to_float" | "to_decimal":
            change = _convert if name == "as" else _to_kind
            return change(kinds[0], result, args[0])
        case _ if fields.is_about_structures(name):
            return fields.on_texts(name, kinds, result, args)
        case _:
            return _on_dates(name, args)


def _arithmetic(name: str, kind: str, values: list[Number]) -> str | None:
    try:
        if name == "neg":
            return spell(kind, _negated(values[0]))
        left, right = values
        if name == "^":
            return power(kind, left, right)
        if name in {"/", "%"}:
            return _divide(name, kind, left, right) if right else None
        return spell(kind, _combine(name, kind, left, right))
    except OverflowError:
        return None


def _negated(value: Number) -> Number:
    # The minus sign alone would round a Decimal to the digits of the thread's context.
    return _EXACT.minus(value) if isinstance(value, Decimal) else -value


def _combine(name: str, kind: str, left: Number, right: Number) -> Number:
    if kind == "Decimal":
        exact = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[name]
        return exact(Decimal(left), Decimal(right))
    plain: Callable[[Number, Number], Number] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
    }[name]
    return plain(left, right)


def _divide(name: str, kind: str, left: Number, right: Number) -> str | None:
    if kind == "float":
        return spell(kind, float(left) / float(right))
    if kind == "Decimal":
        return spell(kind, round_to_places(Fraction(left) / Fraction(right)))
    quotient = abs(int(left)) // abs(int(right))
    if (left < 0) != (right < 0):
        quotient = -quotient
    return spell(kind, quotient if name == "/" else int(left) - int(right) * quotient)


def round_to_places(exact: Fraction) -> Decimal:
    """Return the nearest Decimal of 12 places, half to even."""
    # `round` of a Fraction is exact and half-even; scaling an integer loses nothing.
    return Decimal(round(exact * 10**PLACES)).scaleb(-PLACES, Context(prec=10**4))


def _extreme(name: str, kind: str, args: tuple[str, ...]) -> str:
    """Return the least or the greatest argument; equal ones are spelled alike."""
    best = args[0]
    for one in args[1:]:
        if compare("<" if name == "min" else ">", kind, one, best):
            best = one
    return best


def _on_text(name: str, args: tuple[str, ...]) -> str | None:
    if name == "cat":
        joined = "".join(args)
        return joined if len(joined.encode()) <= LONGEST_TEXT else None
    data = args[0].encode()
    if name == "strlen":
        return str(len(data))
    start, length = int(args[1]), int(args[2])
    if start < 0 or length < 0:
        return None
    try:
        # A cut through a character leaves bytes that are not UTF-8.
        return data[start : start + length].decode()
    except UnicodeDecodeError:
        return None


def _to_kind(kind: str, result: str, text: str) -> str | None:
    """Read a text, take the whole part of a number, or the nearest float."""
    if kind == "symbol":
        return _from_text(result, text)
    value = parse(kind, text)
    if result in _INTEGERS:
        return spell(result, math.trunc(value))
    return spell(result, float(value)) if result == "float" else _convert(kind, result, text)


def _from_text(result: str, text: str) -> str | None:
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    whole, _, fraction = unsigned.partition(".")
    if not is_decimal(unsigned) or unsigned.startswith("-"):
        return None
    # Leading zeros are allowed here; without them the length bounds the value.
    digits = (whole.lstrip("0") or "0") + ("." + fraction if fraction else "")
    signed = "-" + digits if text[0] == "-" else digits
    if result in _INTEGERS:
        too_long = fraction or "." in unsigned or len(digits) > DIGITS
        return None if too_long else spell(result, int(signed))
    try:
        return spell(result, float(signed) if result == "float" else Decimal(signed))
    except (OverflowError, ArithmeticError):
        return None


def _convert(kind: str, result: str, text: str) -> str | None:
    if kind == result:
        return text
    if kind in NUMERIC and result in NUMERIC:
        return _convert_number(kind, result, parse(kind, text))
    if result == "symbol" and kind not in NUMERIC:
        return text
    if kind == "symbol" and result not in NUMERIC and is_spelled(result, text):
        return text
    return None


def _convert_number(kind: str, result: str, value: Number) -> str | None:
    try:
        if result == "float":
            nearest = float(value)
            return spell(result, nearest) if kind == "Decimal" or nearest == value else None
        if result == "Decimal":
            return spell(result, Decimal(value))
        return spell(result, int(value)) if value == int(value) else None
    except OverflowError:
        return None


def _on_dates(name: str, args: tuple[str, ...]) -> str | None:
    match name:
        case "days_between":
            return str(calendar_dates.days_between(*args))
        case "years_between":
            return str(calendar_dates.years_between(*args))
        case "date_add":
            return calendar_dates.date_add(args[0], int(args[1]))
        case "date_of":
            return args[0][:10]
        case _:
            return str(calendar_dates.part(name, args[0]))


def operator_holds(name: str, kind: str) -> bool:
    """Tell whether two values of the kind can be compared in this way."""
    if name in {"=", "!="}:
        return True
    return kind in ORDERED if name in _ORDERS else name in _ON_TEXT and kind == "symbol"


def compare(name: str, kind: str, left: str, right: str) -> bool | None:
    """Compare two spelled values; ``None`` for ⚡."""
    match name:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "contains" | "!contains":
            return (left in right) == (name == "contains")
        case "match" | "!match":
            found = full_match(left, right)
            return None if found is None else found == (name == "match")
        case _:
            return _ordered(name, *_sort_keys(kind, left, right))


def _sort_keys(kind: str, left: str, right: str) -> tuple[Number, Number] | tuple[str, str]:
    # Dates and timestamps of fixed width sort as texts do.
    return (parse(kind, left), parse(kind, right)) if kind in NUMERIC else (left, right)


def _ordered(name: str, left: Number | str, right: Number | str) -> bool:
    before = left < right  # type: ignore[operator]
    match name:
        case "<":
            return before
        case "<=":
            return before or left == right
        case ">":
            return not before and left != right
        case _:
            return not before
