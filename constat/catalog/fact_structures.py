"""Structures in fact files: read as Souffle writes them, and written so.

In: a column and the width of numbers. Out: a function from a cell to the canonical text of a
structure of the column's type, which raises `ValueError`; and one back. Invariant: what was written
with quotes reads back as it was; without them (as Souffle writes texts) it does unless a text holds
a comma or a closing bracket, or begins or ends with what a reader passes over: a blank, a quote.
Example: `[1, "a"]` is written `[1, a]`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.logic import RECORD, Kind, format_value, read_as
from constat.logic.structure_text import STRING, unquoted
from constat.logic.wrapping import bounds, single

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.logic import Column, Structures, Value

_NARROW: Final = 32
_PIECE: Final = re.compile(rf'{STRING}|\$[A-Za-z0-9_]+|[\[\]()]|, |[^"\[\]()$, ]+')
_WRITTEN: Final = re.compile(rf"{STRING}|-?0x[0-9a-f.]+p[+-][0-9]+")
_CLOSERS: Final = frozenset("])")


def structure_reader(column: Column, word_size: int) -> Callable[[str], Value]:
    """Give the reader of cells of a column of structures."""
    structures = column.structures
    if word_size != _NARROW or structures is None:
        return lambda cell: read_as(cell, column)
    return lambda cell: "".join(_narrowed(str(read_as(cell, column)), column, structures))


def structure_writer(digits: int, *, quoted: bool) -> Callable[[Value], str]:
    """Give the writer of such cells; floats have so many digits."""

    def write(value: Value) -> str:
        return _WRITTEN.sub(lambda found: _shown(found[0], digits, quoted=quoted), str(value))

    return write


def _shown(piece: str, digits: int, *, quoted: bool) -> str:
    if piece[0] != '"':
        return f"{float.fromhex(piece):.{digits}g}"
    return piece if quoted else unquoted(piece)


def _narrowed(text: str, column: Column, structures: Structures) -> Iterator[str]:
    """Yield the pieces of a structure, its numbers in 32 bits; raises `ValueError` beyond them."""
    waiting: list[Iterator[Column]] = []
    expected, constructor = column, ""
    for piece in _PIECE.findall(text):
        if piece == ", ":
            expected = next(waiting[-1])
        elif piece in _CLOSERS:
            waiting.pop()
        elif piece in {"[", "("}:
            fields = _fields(expected, RECORD if piece == "[" else constructor, structures)
            waiting.append(fields)
            # Where there are no fields nothing is expected, and the closing bracket comes next.
            expected = next(fields, expected)
        elif piece[0] == "$":
            constructor = piece
        yield _leaf(piece, expected) if expected.kind.numeric else piece


def _fields(column: Column, constructor: str, structures: Structures) -> Iterator[Column]:
    branch = structures.branch(column.type_name, constructor)
    return iter(branch.fields if branch is not None else ())


def _leaf(piece: str, column: Column) -> str:
    """Give a number in 32 bits; brackets and commas beside it are no numbers."""
    if piece[0] not in "-0123456789":
        return piece
    if column.kind is Kind.FLOAT:
        return format_value(single(float.fromhex(piece)), Kind.FLOAT)
    if column.kind is Kind.DECIMAL:
        return piece
    low, high = bounds(column.kind, _NARROW)
    if not low <= int(piece) <= high:
        raise ValueError(f"has a field {column.name} that is outside {low} to {high}")
    return piece
