"""Whether a constant of the text is a value of a kind, and which.

In: a constant as it looks, the kind it must have. Out: its canonical value of that kind, or
nothing. Invariant: integers fit the other numeric kinds only where they are exact; texts are read
as dates, times and truth values only where the kind says so. Example: `5` is `Decimal(5)` in a
Decimal column, `"2025-1-1"` no Date. A constructor of constants is a constant, too.
"""

from __future__ import annotations

from decimal import Decimal
from typing import cast

from constat.logic import (
    NIL,
    Apply,
    Constant,
    Kind,
    Value,
    canonical_decimal,
    canonical_float,
    check_integer,
    check_symbol,
    implementation,
    parse_value,
)

_TEXTS = (Kind.DATE, Kind.TIMESTAMP, Kind.BOOL)


def fit(constant: Constant, kind: Kind) -> Value | None:
    """Give the value of a constant as one of that kind, `None` where it is none."""
    try:
        match constant.kind:
            case Kind.SYMBOL:
                return _from_text(str(constant.value), kind)
            case Kind.NUMBER:
                return _from_integer(cast("int", constant.value), kind)
            case Kind.DECIMAL:
                return _from_decimal(cast("Decimal", constant.value), kind)
            case Kind.FLOAT | Kind.UNSIGNED:
                return _same(constant, kind)
            case _:
                return constant.value if constant.kind is kind else None
    except ValueError:
        return None


def folded(term: Apply) -> Apply | Constant:
    """Give the constant that a typed constructor of constants makes, else the constructor.

    Raises `EvaluationError` where its text is too long.
    """
    values = [one for one in term.arguments if isinstance(one, Constant)]
    if len(values) != len(term.arguments):
        return term
    if term.function == NIL:
        return Constant(NIL, Kind.STRUCTURE, term.span)
    make = implementation(term.function, tuple(one.kind for one in values), Kind.STRUCTURE)
    return Constant(make(*(one.value for one in values)), Kind.STRUCTURE, term.span)


def _from_text(text: str, kind: Kind) -> Value | None:
    if kind is Kind.SYMBOL:
        return check_symbol(text)
    return parse_value(text, kind) if kind in _TEXTS else None


def _from_integer(value: int, kind: Kind) -> Value | None:
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return check_integer(value, kind)
        case Kind.DECIMAL:
            return canonical_decimal(Decimal(value))
        case Kind.FLOAT if int(float(value)) == value:
            return canonical_float(float(value))
        case _:
            return None


def _from_decimal(value: Decimal, kind: Kind) -> Value | None:
    match kind:
        case Kind.DECIMAL:
            return canonical_decimal(value)
        case Kind.FLOAT:
            # A float literal is written as 0.1; the nearest float is what everyone means by it.
            return canonical_float(float(value))
        case _:
            return None


def _same(constant: Constant, kind: Kind) -> Value | None:
    if kind is not constant.kind:
        return None
    if kind is Kind.UNSIGNED:
        return check_integer(cast("int", constant.value), kind)
    return canonical_float(float(cast("float", constant.value)))
