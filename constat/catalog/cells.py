"""Turn what a source stores into values of the declared kind, exactly or not at all.

In: a cell and a kind. Out: the canonical value, or `ValueError` with a reason that quotes nothing.
Invariant: no value is rounded or guessed; NULL and bytes are never values; a value with a type of
its own (truth value, decimal, date) is no text. A binary float in a Decimal column means its
shortest decimal, because sources without decimals (SQLite) store 10.1 as the float nearest to 10.1;
one of 32 bits means the shortest decimal among those. Example:
`read_cell(150000.1, Kind.DECIMAL) == Decimal("150000.1")`.
"""

from __future__ import annotations

import re
import struct
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, assert_never

from constat.catalog.connection import Single, Spelled
from constat.logic import (
    Kind,
    Value,
    canonical_decimal,
    canonical_float,
    check_integer,
    check_symbol,
    parse_value,
    read_as,
)

if TYPE_CHECKING:
    from constat.catalog.connection import Cell
    from constat.logic import Column

_MIDNIGHT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(:00(\.0{1,9})?)?\Z")
_TRUTH: Final = (("0", "false"), ("1", "true"), ("false", "false"), ("true", "true"))


def read_cell(cell: Cell, kind: Kind) -> Value:
    """Give the value of a cell; raises `ValueError` where the cell is not exactly of that kind."""
    if cell is None or isinstance(cell, bytes):
        raise ValueError("is NULL" if cell is None else "holds bytes")
    if isinstance(cell, bool | Decimal | date | Spelled):
        return _typed(cell, kind)
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integer(cell, kind)
        case Kind.FLOAT:
            return _float(cell)
        case Kind.DECIMAL:
            return _decimal(cell)
        case Kind.SYMBOL:
            return _symbol(cell)
        case Kind.DATE | Kind.TIMESTAMP:
            return _time(cell, kind)
        case Kind.BOOL:
            return _truth(cell)
        case Kind.STRUCTURE:
            return parse_value(_text(cell), kind)
        case _:
            assert_never(kind)


def read_column(cell: Cell, column: Column) -> Value:
    """Give the value of a cell of a column; a structure as people write it, of the column's type.

    Raises `ValueError` as `read_cell` does.
    """
    if column.kind is not Kind.STRUCTURE or not isinstance(cell, str) or isinstance(cell, Spelled):
        return read_cell(cell, column.kind)
    return read_as(cell, column)


def _typed(cell: bool | Decimal | date | Spelled, kind: Kind) -> Value:  # noqa: FBT001  a cell
    """Read what a source with types of its own gives."""
    if kind in {Kind.SYMBOL, Kind.STRUCTURE}:
        raise ValueError("holds no text where text is declared; cast it in the query")
    if isinstance(cell, Decimal):
        return _exact(cell, kind)
    if isinstance(cell, bool):
        if kind is not Kind.BOOL:
            raise ValueError("holds a truth value")
        return "true" if cell else "false"
    if kind in {Kind.DATE, Kind.TIMESTAMP}:
        return _time(str(cell), kind)
    return parse_value(str(cell), kind)


def _exact(cell: Decimal, kind: Kind) -> Value:
    """Read a decimal of the source, which may stand for an integer or a float it equals."""
    if kind in {Kind.DATE, Kind.TIMESTAMP, Kind.BOOL}:
        raise ValueError("holds a number")
    value = canonical_decimal(cell)
    if kind is Kind.DECIMAL:
        return value
    if kind is Kind.FLOAT:
        nearest = canonical_float(float(value))
        # As in `_decimal`: a float and its shortest decimal stand for each other.
        if Decimal(repr(nearest)) != value:
            raise ValueError("has more digits than a float; cast it in the query")
        return nearest
    if value != value.to_integral_value():
        raise ValueError("is a fraction where an integer is declared")
    return check_integer(int(value), kind)


def _symbol(cell: float | str) -> str:
    return check_symbol(_text(cell))


def _text(cell: float | str) -> str:
    if not isinstance(cell, str):
        raise ValueError("holds a number where text is declared; cast it in the query")  # noqa: TRY004  callers catch one type
    return cell


def _truth(cell: float | str) -> str:
    for written, truth in _TRUTH:
        if not isinstance(cell, float) and str(cell) == written:
            return truth
    raise ValueError("is none of 0, 1, true and false")


def _integer(cell: float | str, kind: Kind) -> int:
    if isinstance(cell, str):
        value = parse_value(cell, kind)
        return value if isinstance(value, int) else 0
    if isinstance(cell, float):
        if not cell.is_integer():
            raise ValueError("is a fraction where an integer is declared")
        cell = int(cell)
    return check_integer(cell, kind)


def _float(cell: float | str) -> float:
    if isinstance(cell, str):
        return float(parse_value(cell, Kind.FLOAT))
    try:
        value = float(cell)
    except OverflowError:
        raise ValueError("is outside the floats") from None
    if isinstance(cell, int) and int(value) != cell:
        raise ValueError("is an integer that no float equals")
    return canonical_float(value)


def _decimal(cell: float | str) -> Decimal:
    if isinstance(cell, str):
        return Decimal(parse_value(cell, Kind.DECIMAL))
    return canonical_decimal(Decimal(_shortest(cell) if isinstance(cell, Single) else repr(cell)))


def _shortest(cell: Single) -> str:
    """Give the shortest decimal that is nearest to this float among those of 32 bits."""
    for digits in range(6, 10):
        text = f"{cell:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", cell):
            return text
    return repr(float(cell))


def _time(cell: float | str, kind: Kind) -> Value:
    if not isinstance(cell, str):
        raise ValueError("holds a number where a time is declared")  # noqa: TRY004  as in _symbol
    if kind is Kind.DATE:
        midnight = _MIDNIGHT.match(cell)
        return parse_value(midnight[1] if midnight else cell, kind)
    return parse_value(cell, kind)
