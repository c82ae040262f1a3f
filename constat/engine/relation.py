"""The rows of one predicate, in two parts: those that hold for certain, and all weaker ones.

The certain part is a plain dictionary with hash indexes, so that where nothing is open evaluation
costs what two-valued Datalog costs. The weak part holds rows of strength 2, 1 or 0 and open rows,
whose placeholders match anything. A row moves up when a stronger derivation is found and never
down. Every row has the *stamp* of the batch that brought it; a proof only uses premises with
smaller stamps, so that it ends. Rows that are merely possible have stamps too: for a pattern that
was complete before one of them came, it does not exist.

Example: after `add_sure([("a",)])`, `lookup((0,), (), ("a",))` gives `[()]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE
from constat.logic import OPEN, OpenRow, Row, Slot

Columns = tuple[int, ...]
Key = object
"""What an index is asked with: one value for one column, a tuple for several, `()` for none."""
Completed = Callable[[Columns, Row], float]
"""Since which stamp everything about a pattern is there; infinite where it is not."""


def key_getter(places: Sequence[int]) -> Callable[[Sequence[Slot]], Key]:
    """A function from a tuple to the index key made of those places."""
    if not places:
        return lambda _: ()
    return itemgetter(*places)


def tuple_getter(places: Sequence[int]) -> Callable[[Sequence[Slot]], tuple[Slot, ...]]:
    """A function from a tuple to the tuple of those places."""
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    if not places:
        return lambda _: ()
    return itemgetter(*places)


class _Index:
    """Certain rows by the values of some columns; each entry keeps only the columns asked for."""

    def __init__(
        self, columns: Columns, kept: Columns, same: tuple[tuple[int, int], ...], arity: int
    ) -> None:
        self.key = key_getter(columns)
        self.kept = tuple_getter(kept)
        self.same = same
        self.found: dict[Key, list[tuple[Slot, ...]]] = {}
        # Rows that differ only in dropped columns give one entry: set semantics early.
        used = {*columns, *kept, *(place for _, place in same)}
        self.seen: set[tuple[Key, tuple[Slot, ...]]] | None = set() if len(used) < arity else None

    def add(self, rows: Iterable[Row]) -> None:
        key, kept, found, seen = self.key, self.kept, self.found, self.seen
        for row in rows:
            if self.same and any(row[one] != row[other] for one, other in self.same):
                continue
            value, rest = key(row), kept(row)
            if seen is not None:
                if (value, rest) in seen:
                    continue
                seen.add((value, rest))
            entry = found.get(value)
            if entry is None:
                found[value] = [rest]
            else:
                entry.append(rest)


class _WeakIndex:
    """Weak rows by the values of some columns, one table for each set of columns that are open."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.tables: dict[Columns, dict[tuple[Slot, ...], list[OpenRow]]] = {}

    def add(self, row: OpenRow) -> None:
        shown = tuple(place for place in self.columns if row[place] is not OPEN)
        table = self.tables.setdefault(shown, {})
        table.setdefault(tuple(row[place] for place in shown), []).append(row)

    def wider(self, values: Mapping[int, Slot]) -> Iterator[OpenRow]:
        """The rows that hold no other values than these."""
        for shown, table in self.tables.items():
            if values.keys() >= set(shown):
                yield from table.get(tuple(values[place] for place in shown), ())

    def find(self, values: Mapping[int, Slot]) -> Iterator[OpenRow]:
        for shown, table in self.tables.items():
            yield from table.get(tuple(values[place] for place in shown), ())


class Relation:
    """The rows of one predicate."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.sure: dict[Row, int] = {}
        self.weak: dict[OpenRow, int] = {}
        self.accepted: dict[OpenRow, int] = {}
        self._since: dict[OpenRow, tuple[float, float]] = {}
        self._shapes = _WeakIndex(tuple(range(arity)))
        self._indexes: dict[tuple[Columns, Columns, tuple[tuple[int, int], ...]], _Index] = {}
        self._weak_indexes: dict[Columns, _WeakIndex] = {}

    def add_sure(self, rows: Iterable[Row], stamp: int) -> list[Row]:
        """Add rows that hold for certain; give those that are new as such."""
        sure = self.sure
        new = [row for row in dict.fromkeys(rows) if row not in sure]
        if not new:
            return new
        sure.update(dict.fromkeys(new, stamp))
        if self.weak:
            for row in new:
                self.weak.pop(row, None)
        for index in self._indexes.values():
            index.add(new)
        return new

    def add_weak(
        self, rows: Iterable[tuple[OpenRow, int]], stamp: int
    ) -> list[tuple[OpenRow, int]]:
        """Add weaker rows with their strengths; give those that are new or stronger than before."""
        new: dict[OpenRow, int] = {}
        for row, strength in rows:
            if strength > self.weak.get(row, ABSENT) and row not in self.sure:
                known = row in self.weak
                self.weak[row] = strength
                self._date(row, strength, stamp)
                new[row] = strength
                if strength == ACCEPTED:
                    self.accepted.setdefault(row, stamp)
                if not known:
                    for index in self._weak_indexes.values():
                        index.add(row)
                    if OPEN in row:
                        self._shapes.add(row)
        return list(new.items())

    def says(self, row: OpenRow, strength: int) -> bool:
        """Whether an open row says already that this one may exist, at least as strongly."""
        if strength >= ACCEPTED:
            return False
        values = {place: slot for place, slot in enumerate(row) if slot is not OPEN}
        return any(self.weak[one] >= strength for one in self._shapes.wider(values))

    def _date(self, row: OpenRow, strength: int, stamp: int) -> None:
        """Record since when a row is conceivable, and since when possible."""
        conceivable, possible = self._since.get(row, (stamp, math.inf))
        self._since[row] = (
            conceivable,
            min(possible, stamp if strength > CONCEIVABLE else possible),
        )

    def lookup(
        self, columns: Columns, kept: Columns, same: tuple[tuple[int, int], ...] = ()
    ) -> dict[Key, list[tuple[Slot, ...]]]:
        """The index of certain rows on `columns`, each entry a list of the `kept` columns."""
        index = self._indexes.get((columns, kept, same))
        if index is None:
            index = _Index(columns, kept, same, self.arity)
            index.add(self.sure)
            self._indexes[columns, kept, same] = index
        return index.found

    def matching(
        self, values: Mapping[int, Slot], completed: Completed, *, sure: bool
    ) -> Iterator[tuple[OpenRow, int]]:
        """Rows that unify with the values at those columns, with their strengths.

        Placeholders among `values` are ignored. `completed` says since when a key
        has been complete.

        With `sure` false, only the weak rows.
        """
        bound = {place: value for place, value in values.items() if value is not OPEN}
        columns = tuple(sorted(bound))
        if sure:
            every = tuple(range(self.arity))
            key = key_getter(columns)([bound.get(place, OPEN) for place in every])
            for row in self.lookup(columns, every).get(key, ()):
                yield row, CERTAIN
        if self.weak:
            yield from self._matching_weak(columns, bound, completed)

    def _matching_weak(
        self, columns: Columns, bound: Mapping[int, Slot], completed: Completed
    ) -> Iterator[tuple[OpenRow, int]]:
        index = self._weak_indexes.get(columns)
        if index is None:
            index = _WeakIndex(columns)
            for row in self.weak:
                index.add(row)
            self._weak_indexes[columns] = index
        stamp: float | None = None
        for row in index.find(bound):
            strength = self.weak.get(row, ABSENT)
            if ABSENT < strength < ACCEPTED:
                if stamp is None:
                    key = tuple(bound[column] for column in columns)
                    stamp = completed(columns, key)  # type: ignore[arg-type]  # no placeholder
                strength = self._strength_at(row, strength, stamp)
            if strength > ABSENT:
                yield row, strength

    def _strength_at(self, row: OpenRow, strength: int, stamp: float) -> int:
        """The strength that a merely possible row had at a stamp."""
        conceivable, possible = self._since[row]
        if stamp >= possible:
            return strength
        return CONCEIVABLE if stamp >= conceivable else ABSENT

    def strength(self, values: Mapping[int, Slot], completed: Completed) -> int:
        """The greatest strength of the rows that unify with the values.

        `ABSENT` when there are none.
        """
        found = self.matching(values, completed, sure=True)
        return max((strength for _, strength in found), default=ABSENT)

    def stamp(self, row: Row, least: int) -> int | None:
        """When the row reached that strength (2 or 3); `None` when it has not."""
        if least == ACCEPTED and row in self.accepted:
            return self.accepted[row]
        return self.sure.get(row)

    def rows(self, least: int) -> Iterator[OpenRow]:
        """All rows of at least that strength."""
        yield from self.sure
        for row, strength in self.weak.items():
            if strength >= least:
                yield row


def assign(columns: Columns, values: Iterable[Slot]) -> dict[int, Slot]:
    """Pair columns with the values they are bound to."""
    return dict(zip(columns, values, strict=True))
