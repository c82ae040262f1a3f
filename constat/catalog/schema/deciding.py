"""Decide of which kind the values of a column are, by its declared type and by the values.

In: a declared type and cells as a driver gives them. Out: a kind that every cell can be read as,
and how. Invariants: cells are read exactly as an evaluation will read them; a declaration that the
cells contradict is told; numerals with leading zeros stay text, and so do numerals in a text column
that is called a code or a number. Example: a text column of `2025-01-31` is of kind `Date`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.catalog.cells import read_cell
from constat.catalog.schema.families import is_bytes, is_foreign, kinds_of
from constat.catalog.schema.words import words_of
from constat.logic import Kind, format_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.connection import Cell
    from constat.catalog.schema.described import ColumnSchema

_GUESSED: Final = (Kind.NUMBER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL)
_LIKE_A_KEY: Final = frozenset(
    {"id", "key", "code", "no", "nr", "number", "zip", "phone", "fax", "sku", "isbn", "account"}
)


@dataclass(frozen=True, slots=True)
class Decided:
    """How the values of a column are read. `kind` is `None` where no kind can hold them.

    With `cast` a query has to spell them as text. `nulls` tells whether NULL was among the cells,
    `seen` how many others there were; `wrong` how many of those the declared type does not fit.
    """

    column: ColumnSchema
    kind: Kind | None
    cast: bool = False
    nulls: bool = False
    seen: int = 0
    wrong: int = 0


def decide(column: ColumnSchema, cells: Sequence[Cell], *, typed: bool) -> Decided:
    """Decide by the cells; `typed` where the source declares types, as files do not."""
    values = [cell for cell in cells if cell is not None]
    nulls = len(values) < len(cells)
    if is_bytes(column.declared) or any(isinstance(cell, bytes) for cell in values):
        return Decided(column, None, nulls=nulls, seen=len(values))
    if is_foreign(column.declared):
        return Decided(column, Kind.SYMBOL, cast=True, nulls=nulls, seen=len(values))
    likely = kinds_of(column.declared) if typed else ()
    wrong = 0
    if likely and likely[0] is not Kind.SYMBOL:
        wrong = min(_unreadable(values, kind) for kind in likely if kind is not Kind.SYMBOL)
    for kind in _candidates(column, likely, values):
        if _unreadable(values, kind) == 0:
            return Decided(column, kind, nulls=nulls, seen=len(values), wrong=wrong)
    return Decided(column, Kind.SYMBOL, cast=True, nulls=nulls, seen=len(values), wrong=wrong)


def _candidates(
    column: ColumnSchema, likely: Sequence[Kind], values: Sequence[Cell]
) -> Sequence[Kind]:
    """Give the kinds to try, the likeliest first."""
    if likely and likely[0] is not Kind.SYMBOL:
        return likely
    if not values or not all(isinstance(cell, str) for cell in values):
        # Nothing to judge by, or numbers where nothing is declared.
        return (Kind.SYMBOL,) if not values else (Kind.NUMBER, Kind.DECIMAL, Kind.FLOAT)
    guessed = [kind for kind in _GUESSED if _spells(values, kind)]
    if likely and set(words_of(column.name)[-1:]) & _LIKE_A_KEY:
        # The source keeps it as text on purpose: an account number is not counted with.
        guessed = [kind for kind in guessed if not kind.numeric]
    return (*guessed, Kind.SYMBOL)


def _spells(values: Sequence[Cell], kind: Kind) -> bool:
    """Tell whether texts are what values of a kind look like, to the letter where they count."""
    for cell in values:
        try:
            value = read_cell(cell, kind)
        except ValueError:
            return False
        if kind.numeric and not _written_alike(str(cell), format_value(value, kind)):
            return False
    return True


def _written_alike(text: str, canonical: str) -> bool:
    """Tell whether a numeral has no leading zeros or signs; zeros behind the point may stand."""
    whole, _, fraction = text.partition(".")
    return canonical == (f"{whole}.{fraction.rstrip('0')}".rstrip(".") if fraction else whole)


def _unreadable(values: Sequence[Cell], kind: Kind) -> int:
    count = 0
    for cell in values:
        try:
            read_cell(cell, kind)
        except ValueError:
            count += 1
    return count
