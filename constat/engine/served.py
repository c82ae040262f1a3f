"""Which patterns of a predicate have been asked for, so that nothing is asked twice.

A served pattern is complete: every row that matches it is in the relation (derived as far as the
rules go, fetched as far as the sources told). A wider pattern serves a narrower one, never the
reverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from constat.engine.relation import Columns, tuple_getter
from constat.logic import Row


class Served:
    """The keys asked for, by the columns they bind."""

    def __init__(self) -> None:
        self._keys: dict[Columns, set[Row]] = {}

    def missing(self, columns: Columns, keys: Iterable[Row]) -> list[Row]:
        """The keys that no served pattern covers."""
        left = list(keys)
        for wide, served in self._keys.items():
            if not left:
                break
            if wide == columns:
                left = [key for key in left if key not in served]
            elif set(wide) <= set(columns):
                project = tuple_getter([columns.index(column) for column in wide])
                left = [key for key in left if project(key) not in served]
        return left

    def covers(self, columns: Columns, key: Row) -> bool:
        """Whether the pattern is served."""
        return not self.missing(columns, (key,))

    def add(self, columns: Columns, keys: Iterable[Row]) -> None:
        """Record that keys were asked for."""
        self._keys.setdefault(columns, set()).update(keys)

    def clear(self) -> None:
        """Forget everything: the relation may be incomplete."""
        self._keys.clear()

    def entries(self) -> Iterator[tuple[Columns, frozenset[Row]]]:
        """All keys by columns."""
        for columns, keys in self._keys.items():
            yield columns, frozenset(keys)
