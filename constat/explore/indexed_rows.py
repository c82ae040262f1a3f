"""The rows of a relation, found by the columns that a demand gives.

In: the rows of a relation, and demands. Out: the rows of each key, and the shape of what may be
there besides. Invariant: rows are grouped once for each list of columns that is asked for. Example:
`IndexedRows(rows).matching(demand)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Demand
    from constat.logic import OpenRow, Row


class IndexedRows:
    """Rows with an index for each list of columns that was asked for."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def matching(self, demand: Demand) -> tuple[Row, ...]:
        """Return the rows of all keys, key after key."""
        index = self._index(demand.columns)
        return tuple(row for key in demand.keys for row in index.get(key, ()))

    def _index(self, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        if columns not in self._indexes:
            found: dict[Row, list[Row]] = {}
            for row in self._rows:
                found.setdefault(tuple([row[place] for place in columns]), []).append(row)
            self._indexes[columns] = found
        return self._indexes[columns]


def shape_of(demand: Demand, key: Row) -> OpenRow:
    """Return the row of a key whose other columns are open."""
    bound = dict(zip(demand.columns, key, strict=True))
    return tuple(bound.get(place, OPEN) for place in range(demand.predicate.arity))
