"""Which patterns of a predicate have been asked for, so that nothing is asked twice.

A served pattern is complete: every row that matches it is in the relation (derived as far as the
rules go, fetched as far as the sources told). A wider pattern serves a narrower one, never the
reverse. Once a pattern is complete, what might exist for it is known: an open row that a wider
question brings later says nothing new about it, and would make a proof that was found forget why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from constat.engine.relation import Columns, tuple_getter
from constat.logic import Row


class Served:
    """The keys asked for, by the columns they bind, with the stamp at which each was complete."""

    def __init__(self) -> None:
        self._keys: dict[Columns, dict[Row, float]] = {}

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
        """Record that keys were asked for; they are not complete yet."""
        asked = self._keys.setdefault(columns, {})
        for key in keys:
            asked.setdefault(key, math.inf)

    def complete(self, columns: Columns, keys: Iterable[Row], stamp: int) -> None:
        """Record that everything about these keys is there; the first time counts."""
        asked = self._keys.get(columns, {})
        for key in keys:
            # What was forgotten meanwhile is not complete.
            if asked.get(key) == math.inf:
                asked[key] = stamp

    def completed(self, columns: Columns, key: Row) -> float:
        """The earliest stamp at which everything about a pattern was there; infinite before."""
        first = math.inf
        for wide, asked in self._keys.items():
            if wide == columns:
                first = min(first, asked.get(key, math.inf))
            elif set(wide) <= set(columns):
                project = tuple_getter([columns.index(column) for column in wide])
                first = min(first, asked.get(project(key), math.inf))  # type: ignore[arg-type]  # values of a key
        return first

    @property
    def whole(self) -> bool:
        """Whether everything was asked for, complete or not."""
        return bool(self._keys.get(()))

    def narrow_no_more(self) -> None:
        """Forget the keys that are not complete yet, where everything was asked for meanwhile."""
        for columns in [one for one in self._keys if one]:
            kept = {key: at for key, at in self._keys[columns].items() if at < math.inf}
            self._keys[columns] = kept

    def clear(self) -> None:
        """Forget everything: the relation may be incomplete."""
        self._keys.clear()

    def entries(self) -> Iterator[tuple[Columns, frozenset[Row]]]:
        """All keys by columns."""
        for columns, keys in self._keys.items():
            yield columns, frozenset(keys)
