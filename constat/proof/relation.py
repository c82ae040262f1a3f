"""Open rows of one predicate, found by any columns.

In: rows, in which ⋆ stands for some value nobody knows.  Out: the rows that may match a key.
Invariant: a row with ⋆ in a column matches every value there; indexes follow later additions.

Example: with rows ("a", 1) and (⋆, 2), the key "a" in column 0 finds both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import UNTIMED, Clock
from constat.logic import OPEN, NullCell, NullPolicy
from constat.proof.lateness import timely

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.logic import OpenRow, Row

Columns = tuple[int, ...]


class Relation:
    """A growing set of open rows, indexed on demand."""

    def __init__(self, rows: Iterable[OpenRow] = (), clock: Clock = UNTIMED) -> None:
        self.rows: dict[OpenRow, None] = dict.fromkeys(rows)
        self._indexes: dict[Columns, tuple[dict[OpenRow, list[OpenRow]], list[OpenRow]]] = {}
        self._star_shapes: set[Columns] = set()
        self.null_columns: set[int] = set()
        self.columns_of_none: set[int] = set()
        for row in timely(clock, self.rows):
            self._note_stars(row)

    def add(self, row: OpenRow) -> bool:
        """Add a row; tell whether it is new."""
        if row in self.rows:
            return False
        self.rows[row] = None
        self._note_stars(row)
        for columns, (exact, starred) in self._indexes.items():
            _file(row, columns, exact, starred)
        return True

    def _note_stars(self, row: OpenRow) -> None:
        if OPEN in row:
            self._star_shapes.add(tuple(c for c, slot in enumerate(row) if slot is OPEN))
        if NullCell in map(type, row):
            for column, cell in enumerate(row):
                if isinstance(cell, NullCell):
                    self.null_columns.add(column)
                    if cell.policy is NullPolicy.NONE:
                        self.columns_of_none.add(column)

    @property
    def has_open_rows(self) -> bool:
        """Whether any row has a ⋆, or a cell without a value."""
        return bool(self._star_shapes or self.null_columns)

    def matching(self, columns: Columns, key: Row) -> list[OpenRow]:
        """Return the rows that may have this key in these columns."""
        if not columns:
            return list(self.rows)
        exact, starred = self._index(columns)
        found = exact.get(key, ())
        if not starred:
            return list(found)
        pairs = tuple(zip(columns, key, strict=True))
        return [
            *found,
            *(row for row in starred if all(row[c] == v or _is_vague(row[c]) for c, v in pairs)),
        ]

    def covers(self, head: OpenRow) -> bool:
        """Tell whether a row equals the head wherever the row is not ⋆."""
        if head in self.rows:
            return True
        for stars in self._star_shapes:
            masked = list(head)
            for column in stars:
                masked[column] = OPEN
            if tuple(masked) in self.rows:
                return True
        return False

    def _index(self, columns: Columns) -> tuple[dict[OpenRow, list[OpenRow]], list[OpenRow]]:
        known = self._indexes.get(columns)
        if known is None:
            known = ({}, [])
            for row in self.rows:
                _file(row, columns, *known)
            self._indexes[columns] = known
        return known


def has_none(cell: object) -> bool:
    """Tell whether a cell says that there is no value."""
    return isinstance(cell, NullCell) and cell.policy is NullPolicy.NONE


def _is_vague(cell: object) -> bool:
    """Tell whether a cell may have any value: ⋆, a label, or perhaps none."""
    return cell is OPEN or (isinstance(cell, NullCell) and cell.policy is not NullPolicy.NONE)


def _file(
    row: OpenRow,
    columns: Columns,
    exact: dict[OpenRow, list[OpenRow]],
    starred: list[OpenRow],
) -> None:
    key = tuple([row[column] for column in columns])
    if OPEN in key or NullCell in map(type, key):
        if not any(map(has_none, key)):
            starred.append(row)
    else:
        exact.setdefault(key, []).append(row)
