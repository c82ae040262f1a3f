"""The rows of a table as a sequence: a row exists as Python values only while somebody looks.

In: a table without missing cells. Out: tuples of canonical values, in the table's order. Invariant:
a row is the same value whether it is read alone, in a stretch, or with all others. Example: three
rows of a million are decoded without the others: `TableRows(table)[:3]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np

from constat.logic import canonical_decimal
from constat.store.tables_format import FIXED, TEXTUAL, Column, Table, column_values, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import Row

MANY: Final = 50_000
"""From so many rows on, a relation of a step is kept as a table and not as Python values."""
_BATCH: Final = 10_000


class TableRows(Sequence["Row"]):
    """The rows of a table. Equal to any sequence of the same rows."""

    def __init__(self, table: Table) -> None:
        if any(column.missing for column in table.columns):
            raise ValueError("a row of a relation has no missing cell")
        self.table = table

    def __len__(self) -> int:
        return self.table.rows

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, self.table.rows, _BATCH):
            yield from self._stretch(first, min(first + _BATCH, self.table.rows))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        """Give a row, or a stretch of rows."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            if step != 1:
                raise ValueError("rows are taken one after the other")
            return tuple(self._stretch(first, max(first, last)))
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        return self._stretch(number, number + 1)[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TableRows):
            return self.table == other.table or tuple(self) == tuple(other)
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(map(tuple.__eq__, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"TableRows({len(self):,} rows)"

    def _stretch(self, first: int, last: int) -> list[Row]:
        if not self.table.columns:
            return [()] * (last - first)
        cells = [_values(_part(column, first, last), last - first) for column in self.table.columns]
        return list(zip(*cells, strict=True))


def rows_table(columns: Sequence[tuple[str, str]], rows: Iterable[Row]) -> Table:
    """Make the table of rows; those that lie in one already are not read."""
    if isinstance(rows, TableRows):
        named = zip(columns, rows.table.columns, strict=True)
        made = [Column(name, one.kind, one.data, one.missing, one.ends) for (name, _), one in named]
        return Table(tuple(made), rows.table.rows)
    listed = list(rows)
    if not columns:
        return Table((), len(listed))
    return table_of(columns, [[row[place] for row in listed] for place in range(len(columns))])


def table_rows(table: Table) -> Sequence[Row]:
    """Give the rows of a table: as Python values where they are few."""
    if table.rows >= MANY:
        return TableRows(table)
    cells = [_values(column, table.rows) for column in table.columns]
    return tuple(zip(*cells, strict=True)) if cells else ((),) * table.rows


def repeated(table: Table) -> int:
    """Count the rows that are equal to the one before them."""
    same = np.ones(max(0, table.rows - 1), np.bool_)
    # The columns that are compared fastest come first: most often one of them settles it.
    for column in sorted(table.columns, key=lambda one: one.kind in TEXTUAL):
        if not same.any():
            break
        same &= _same(column)
    return int(same.sum())


def _same(column: Column) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if column.kind not in TEXTUAL:
        cells = np.frombuffer(column.data, FIXED[column.kind])
        found: np.ndarray[Any, np.dtype[np.bool_]] = cells[1:] == cells[:-1]
        return found
    ends = np.frombuffer(column.ends, "<i8").tolist()
    texts = [column.data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return np.fromiter((a == b for a, b in zip(texts[1:], texts, strict=False)), np.bool_)


def _part(column: Column, first: int, last: int) -> Column:
    if column.kind not in TEXTUAL:
        size = np.dtype(FIXED[column.kind]).itemsize
        return Column(column.name, column.kind, column.data[first * size : last * size])
    ends = np.frombuffer(column.ends, "<i8")
    start = int(ends[first - 1]) if first else 0
    chosen = ends[first:last]
    stop = int(chosen[-1]) if len(chosen) else start
    own = (chosen - start).astype("<i8").tobytes()
    return Column(column.name, column.kind, column.data[start:stop], b"", own)


def _values(column: Column, rows: int) -> list[Any]:
    found = column_values(column, rows)
    if column.kind == "Decimal":
        return [canonical_decimal(Decimal(one)) for one in found]
    return found
