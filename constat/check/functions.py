"""The functions and comparisons of rules, evaluated on spelled values."""

from __future__ import annotations

import math
import operator
from datetime import date, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from .pattern import full_match
from .values import (
    DIGITS,
    KINDS,
    NUMERIC,
    ORDERED,
    STRUCTURE,
    Hole,
    Label,
    Number,
    Structure,
    Structures,
    is_constructor,
    is_decimal,
    is_number_field,
    is_spelled,
    parse,
    quoted,
    spell,
    unquoted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .values import Field, Known, Value

# Only arithmetic on patterns from 0 to 2^64 - 1; a negative number is its pattern less 2^64, as
# two's complement says.  FORMAT.md, section 4.

WIDTH: Final = 64
UNARY: Final = frozenset({"bnot", "lnot"})
LOGICAL: Final = frozenset({"land", "lor", "lxor", "lnot"})
SHIFTS: Final = frozenset({"bshl", "bshr", "bshru"})
BINARY: Final = frozenset({"band", "bor", "bxor", "land", "lor", "lxor"}) | SHIFTS

_PATTERNS: Final = 2**WIDTH


def bitwise(name: str, kind: str, *values: int) -> str | None:
    """Return what the operator gives."""
    if name in LOGICAL:
        return str(int(_truth(name, *(value != 0 for value in values))))
    if name in SHIFTS:
        return _shift(name, kind, *values)
    return _from_pattern(kind, _combine_bits(name, *(value % _PATTERNS for value in values)))


def _truth(name: str, left: bool, right: bool = True) -> bool:  # noqa: FBT001, FBT002 - operands
    match name:
        case "land":
            return left and right
        case "lor":
            return left or right
        case "lxor":
            return left != right
        case _:
            return not left


def _combine_bits(name: str, left: int, right: int = 0) -> int:
    match name:
        case "band":
            return left & right
        case "bor":
            return left | right
        case "bxor":
            return left ^ right
        case _:
            return _PATTERNS - 1 - left


def _shift(name: str, kind: str, value: int, bits: int) -> str | None:
    if not 0 <= bits < WIDTH:
        return None
    factor = 2**bits
    match name:
        case "bshl":
            return _from_pattern(kind, value * factor % _PATTERNS)
        case "bshr":
            # Floor division keeps the sign, as a shift of two's complement does.
            return str(value // factor)
        case _:
            return _from_pattern(kind, value % _PATTERNS // factor)


def _from_pattern(kind: str, pattern: int) -> str | None:
    negative = kind == "number" and pattern >= _PATTERNS // 2
    return spell(kind, pattern - _PATTERNS if negative else pattern)


# Only the proleptic Gregorian calendar, in UTC.


def days_between(first: str, second: str) -> int:
    """Return second minus first, in days."""
    return (date.fromisoformat(second) - date.fromisoformat(first)).days


def years_between(first: str, second: str) -> int:
    """Return the whole years from first to second."""
    if second < first:
        return -years_between(second, first)
    start, end = date.fromisoformat(first), date.fromisoformat(second)
    # In a year without 29 February the first day that is not before it is 1 March.
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))


def date_add(day: str, days: int) -> str | None:
    """Return the date so many days later."""
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        return None


def part(name: str, moment: str) -> int:
    """Return the year, month, day or quarter of a date or timestamp."""
    match name:
        case "year":
            return int(moment[:4])
        case "month":
            return int(moment[5:7])
        case "day":
            return int(moment[8:10])
        case _:
            return (int(moment[5:7]) + 2) // 3


# Integers and Decimals are exact, a float is the exact power rounded once, half to even.  The work
# is bounded whatever the exponent: repeated multiplication stops at the first product that cannot
# be spelled, because no later one can.  FORMAT.md, section 4.

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


# What takes apart is total, so the order of a rule's literals decides no error: where there is no
# such field of that kind it gives a fixed value, and a rule that means a certain constructor asks
# for it beside the field.  FORMAT.md, section 4.

APART: Final = frozenset({"constructor_of", "field_of"})

_NOTHING: Final = MappingProxyType(
    {
        "number": "0",
        "unsigned": "0",
        "float": "0x0.0p+0",
        "Decimal": "0",
        "symbol": "",
        "Date": "0001-01-01",
        "Timestamp": "0001-01-01T00:00:00.000000Z",
        "Bool": "false",
    }
)


def is_about_structures(name: str) -> bool:
    """Tell whether the function makes structures or takes them apart."""
    return name in APART or is_constructor(name)


def field_signature_holds(name: str, kinds: tuple[str, ...], result: str) -> bool:
    """Tell whether such a function takes these kinds and gives this one."""
    match name:
        case "constructor_of":
            return (kinds, result) == ((STRUCTURE,), "symbol")
        case "field_of":
            return kinds == (STRUCTURE, "number") and result in KINDS
        case _:
            return len(kinds) > 0 and result == STRUCTURE


def field_call(
    structures: Structures, name: str, kinds: tuple[str, ...], result: str, args: list[Known]
) -> Known | None:
    """Evaluate such a function, whose signature holds; ``None`` for ⚡."""
    whole = args[0]
    if name not in APART:
        return structures.made(name, tuple(map(_as_field, kinds, args)))
    if not isinstance(whole, Structure):
        raise TypeError(name)
    if name == "constructor_of":
        return whole.indicator
    place = int(str(args[1]))
    field = whole.fields[place] if 0 <= place < len(whole.fields) else None
    return _value(structures, result, field)


def on_texts(name: str, kinds: tuple[str, ...], result: str, texts: tuple[str, ...]) -> str | None:
    """Evaluate such a function on spelled values."""
    structures = Structures()
    args: list[Known] = []
    for kind, text in zip(kinds, texts, strict=True):
        found = structures.read(text, is_number_field) if kind == STRUCTURE else text
        if found is None:
            raise ValueError(text)
        args.append(found)
    value = field_call(structures, name, kinds, result, args)
    return None if value is None else str(value)


def _as_field(kind: str, value: Known) -> Field:
    return value if kind in NUMERIC or kind == STRUCTURE else quoted(str(value))


def _value(structures: Structures, kind: str, field: Field | None) -> Known:
    """Return the value of this kind that a field spells, or what stands for nothing."""
    if kind == STRUCTURE:
        return field if isinstance(field, Structure) else structures.nil
    if not isinstance(field, str):
        return _NOTHING[kind]
    text = field if kind in NUMERIC else unquoted(field)
    return text if text is not None and is_spelled(kind, text) else _NOTHING[kind]


# No rounding except where the format names it, so that two checkers agree on every digit.
# FORMAT.md, section 4.

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


def signature_holds(name: str, kinds: tuple[str, ...], result: str) -> bool:
    """Tell whether the function takes these kinds and gives this one."""
    if name in _UNIFORM:
        return {*kinds} == {result} and _takes(name, len(kinds), result)
    if is_about_structures(name):
        return field_signature_holds(name, kinds, result)
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
    UNARY, BINARY
)


def _takes(name: str, count: int, kind: str) -> bool:
    """Tell whether a function of arguments and result of one kind takes so many of this kind."""
    if name in {"min", "max"}:
        return count > 1 and kind in ORDERED
    if count != (1 if name == "neg" or name in UNARY else 2):
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


TOTAL: Final = frozenset(
    {"band", "bor", "bxor", "bnot", "land", "lor", "lxor", "lnot", "min", "max", "strlen"}
    | {"to_string", "days_between", "years_between", "year", "month", "day", "quarter", "date_of"}
)
"""The functions that never err: of a label they make a label.  FORMAT.md, section 4."""


def made_of(name: str, args: Sequence[Value]) -> Value:
    """Return what a function makes of values and a label, or labels: a label, or ⋆."""
    labels = [value for value in args if isinstance(value, Label)]
    if name not in TOTAL or len(labels) != 1 or labels[0].made is not None:
        return Hole.STAR
    return Label(
        labels[0].number,
        (name, tuple([None if isinstance(value, Label) else str(value) for value in args])),
    )


def call(name: str, kinds: tuple[str, ...], result: str, args: tuple[str, ...]) -> str | None:
    """Evaluate a function whose signature holds."""
    match name:
        case "+" | "-" | "*" | "/" | "%" | "^" | "neg":
            return _arithmetic(name, result, [parse(result, text) for text in args])
        case _ if name in UNARY or name in BINARY:
            return bitwise(name, result, *map(int, args))
        case "min" | "max":
            return _extreme(name, result, args)
        case "cat" | "strlen" | "substr":
            return _on_text(name, args)
        case "to_string":
            return repr(parse("float", args[0])) if kinds[0] == "float" else args[0]
        case "as" | "to_number" | "to_unsigned" | "to_float" | "to_decimal":
            change = _convert if name == "as" else _to_kind
            return change(kinds[0], result, args[0])
        case _ if is_about_structures(name):
            return on_texts(name, kinds, result, args)
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
            return str(days_between(*args))
        case "years_between":
            return str(years_between(*args))
        case "date_add":
            return date_add(args[0], int(args[1]))
        case "date_of":
            return args[0][:10]
        case _:
            return str(part(name, args[0]))


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
