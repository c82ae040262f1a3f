"""The cells of fact files: texts that spell values, both ways.

In: a kind and the width of integers. Out: a function from a cell to a value, which raises
`ValueError` with a reason that does not quote the cell; and one from a value to a cell. Invariant:
for 64 bits a written cell reads back as the value it was. Example: with 32 bits `2147483648` is
no number.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Kind, Value, format_value, parse_value
from constat.logic.wrapping import bounds, single

if TYPE_CHECKING:
    from collections.abc import Callable

Cell = Value
_NARROW: Final = 32
_DIGITS: Final = MappingProxyType({32: 9, 64: 17})
_SHORT: Final = 9


def cell_reader(kind: Kind, word_size: int) -> Callable[[str], Cell]:
    """Give the reader of cells of a column."""
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integers(kind, word_size)
        case Kind.FLOAT if word_size == _NARROW:
            return lambda cell: single(float(parse_value(cell, Kind.FLOAT)))
        case _:
            return lambda cell: parse_value(cell, kind)


def cell_writer(kind: Kind, word_size: int) -> Callable[[Value], str]:
    """Give the writer of cells of a column.

    A float has as many digits as tell it from all others of its width, as Souffle writes it.
    """
    if kind is Kind.FLOAT:
        digits = _DIGITS[word_size]
        return lambda value: f"{value:.{digits}g}"
    if kind is Kind.SYMBOL:
        return str
    return lambda value: format_value(value, kind)


def _integers(kind: Kind, word_size: int) -> Callable[[str], Cell]:
    low, high = bounds(kind, word_size)

    def read(cell: str) -> Cell:
        # Nearly all cells are short and plain; these need no pattern and no bounds.
        if len(cell) <= _SHORT and cell.isascii() and cell.isdigit():
            return int(cell)
        value = int(parse_value(cell, kind))
        if not low <= value <= high:
            raise ValueError(f"is outside {low} to {high}")
        return value

    return read
