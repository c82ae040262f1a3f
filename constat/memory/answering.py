"""The rows of a history as an external predicate: complete, for the archive holds everything.

In: rows, and a demand of an engine.  Out: the rows it asks for.  Invariant: what is not among the
rows was not said, so every key is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.evaluation import Answer, Evidence, Origin, Portion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.evaluation import Demand
    from constat.logic import Row

SOURCE: Final = "archive of messages"
_PLAIN: Final = Evidence("database", Origin.DATABASE, SOURCE, "")


class SaidRows:
    """The rows of one predicate, found by any columns."""

    cost = 1

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._indexes: dict[tuple[int, ...], dict[Row, list[Row]]] = {}

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch, without saying where each row is from."""
        rows = self.matching(demand)
        portions = (Portion(rows, _PLAIN),) if rows else ()
        return Answer(portions, (), frozenset(demand.keys), (_PLAIN,))

    def matching(self, demand: Demand) -> tuple[Row, ...]:
        """Return the rows that a demand asks for, each once."""
        index = self._index(demand.columns)
        return tuple(dict.fromkeys(row for key in demand.keys for row in index.get(key, ())))

    def _index(self, columns: tuple[int, ...]) -> dict[Row, list[Row]]:
        if columns not in self._indexes:
            found: dict[Row, list[Row]] = {}
            for row in self.rows:
                found.setdefault(tuple(row[column] for column in columns), []).append(row)
            self._indexes[columns] = found
        return self._indexes[columns]
