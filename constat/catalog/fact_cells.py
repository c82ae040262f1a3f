"""The cells of fact files: texts that spell values, both ways.

In: a kind and the width of integers. Out: a function from a cell to a value, which raises
`ValueError` with a reason that does not quote the cell; and one from a value to a cell. Invariant:
for 64 bits a written cell reads back as the value it was. Example: with 32 bits `2147483648` is
no number.

Numbers may be spelled as Souffle reads them, which is as C does: with blanks or a plus before
them, a fraction without digits on one side, an unsigned in hexadecimal or binary digits. Blanks
behind a number are an error there as here.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.catalog.fact_structures import structure_reader, structure_writer
from constat.logic import Kind, Value, format_value, parse_value
from constat.logic.wrapping import bounds, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.logic import Column

Cell = Value
_NARROW: Final = 32
_DIGITS: Final = MappingProxyType({32: 9, 64: 17})
_SHORT: Final = 9
_BLANKS: Final = " \t\v\f\r"
_PLUS: Final = re.compile(r"\+[0-9]")
_POINTED: Final = re.compile(r"([+-]?)([0-9]*)\.([0-9]*)((?:[eE][+-]?[0-9]+)?)\Z")
_PREFIXED: Final = re.compile(r"0x[0-9a-fA-F]{1,20}\Z|0b[01]{1,70}\Z")


def cell_reader(column: Column, word_size: int) -> Callable[[str], Cell]:
    """Give the reader of cells of a column."""
    kind = column.kind
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _integers(kind, word_size)
        case Kind.FLOAT if word_size == _NARROW:
            return lambda cell: single(float(_fraction(cell, kind)))
        case Kind.FLOAT | Kind.DECIMAL:
            return lambda cell: _fraction(cell, kind)
        case Kind.STRUCTURE:
            return structure_reader(column, word_size)
        case _:
            return lambda cell: parse_value(cell, kind)


def cell_writer(kind: Kind, word_size: int, *, quoted: bool) -> Callable[[Value], str]:
    """Give the writer of cells of a column.

    A float has as many digits as tell it from all others of its width, as Souffle writes it. Of
    `quoted` cells the texts inside a structure stand in quotes, too.
    """
    if kind is Kind.FLOAT:
        digits = _DIGITS[word_size]
        return lambda value: f"{value:.{digits}g}"
    if kind is Kind.SYMBOL:
        return str
    if kind is Kind.STRUCTURE:
        return structure_writer(_DIGITS[word_size], quoted=quoted)
    return lambda value: format_value(value, kind)


def _integers(kind: Kind, word_size: int) -> Callable[[str], Cell]:
    low, high = bounds(kind, word_size)

    def read(cell: str) -> Cell:
        # Nearly all cells are short and plain; these need no pattern and no bounds.
        if len(cell) <= _SHORT and cell.isascii() and cell.isdigit():
            return int(cell)
        if kind is Kind.UNSIGNED and _PREFIXED.match(cell):
            value = int(cell, 0)
        else:
            text = cell.lstrip(_BLANKS)
            value = int(parse_value(text[1:] if _PLUS.match(text) else text, kind))
        if not low <= value <= high:
            raise ValueError(f"is outside {low} to {high}")
        return value

    return read


def _fraction(cell: str, kind: Kind) -> Value:
    text = cell.lstrip(_BLANKS)
    found = _POINTED.match(text)
    if found and (found[2] or found[3]):
        text = f"{found[1]}{found[2] or 0}.{found[3] or 0}{found[4]}"
    return parse_value(text, kind)
