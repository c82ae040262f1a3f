"""The rows of one predicate, in two parts: those that hold for certain, and all weaker ones.

The certain part is a plain dictionary with hash indexes, so that where nothing is open evaluation
costs what two-valued Datalog costs. The weak part holds rows of strength 2, 1 or 0 and open rows,
whose placeholders match anything. A row moves up when a stronger derivation is found and never
down. Every row has the *stamp* of the batch that brought it; a proof only uses premises with
smaller stamps, so that it ends. Rows that are merely possible have stamps too: for a pattern that
was complete before one of them came, it does not exist.

Certain rows may hold null cells (`constat.logic.unknowns`): such a row is found by what is known of
it, and `null_cells.grade` says whether it matches. Without one nothing here looks for them.

Example: after `add_sure([("a",)])`, `lookup((0,), (), ("a",))` gives `[()]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from constat.engine.null_cells import Pairs, fits, grade, has_null, is_hole, is_null
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, UNTIMED, Clock
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
        self,
        columns: Columns,
        kept: Columns,
        same: Pairs,
        arity: int,
        read: Columns = (),
    ) -> None:
        self.read = read
        self.key = key_getter(columns)
        self.kept = tuple_getter(kept)
        self.same = same
        self.found: dict[Key, list[tuple[Slot, ...]]] = {}
        # Rows that differ only in dropped columns give one entry: set semantics early.
        used = {*columns, *kept, *(place for _, place in same)}
        self.seen: set[tuple[Key, tuple[Slot, ...]]] | None = set() if len(used) < arity else None

    def add(self, rows: Iterable[Row]) -> None:
        key, kept, found, seen = self.key, self.kept, self.found, self.seen
        if self.read:
            rows = [row for row in rows if fits(row, self.read)]
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
    """Rows by the values of some columns, one table for each set of columns that are open.

    With `nulls`, null cells count as open.
    """

    def __init__(self, columns: Columns, *, nulls: bool = False) -> None:
        self.columns = columns
        self.nulls = nulls
        self.tables: dict[Columns, dict[tuple[Slot, ...], list[OpenRow]]] = {}

    def add(self, row: OpenRow) -> None:
        shown = tuple(place for place in self.columns if row[place] is not OPEN)
        if self.nulls:
            shown = tuple(place for place in shown if not is_null(row[place]))
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

    def __init__(self, arity: int, clock: Clock = UNTIMED) -> None:
        self.arity = arity
        self.clock = clock
        self.sure: dict[Row, int] = {}
        self.weak: dict[OpenRow, int] = {}
        self.accepted: dict[OpenRow, int] = {}
        self.nulled: dict[OpenRow, None] = {}
        """The certain rows that hold null cells."""
        self.has_nulls = False
        """Whether any row holds one, certain or not."""
        self._since: dict[OpenRow, tuple[float, float]] = {}
        self._shapes = _WeakIndex(tuple(range(arity)))
        self._indexes: dict[tuple[Columns, Columns, Pairs, Columns], _Index] = {}
        self._weak_indexes: dict[Columns, _WeakIndex] = {}
        self._null_indexes: dict[Columns, _WeakIndex] = {}

    def add_sure(self, rows: Iterable[Row], stamp: int, *, nulls: bool = False) -> list[Row]:
        """Add rows that hold for certain; give those that are new as such.

        `nulls` tells that they may hold null cells.
        """
        sure = self.sure
        new = [row for row in dict.fromkeys(self.clock.over(rows)) if row not in sure]
        if not new:
            return new
        if nulls:
            self._note_nulls(new)
        sure.update(dict.fromkeys(new, stamp))
        if self.weak:
            for row in new:
                self.weak.pop(row, None)
        try:
            for index in self._indexes.values():
                index.add(self.clock.over(new))
        except BaseException:
            # Half an index would hide rows; whoever looks again makes it anew.
            self._indexes.clear()
            raise
        return new

    def _note_nulls(self, new: Iterable[Row]) -> None:
        nulled = [row for row in new if has_null(row)]
        if not nulled:
            return
        self._meet_nulls()
        self.nulled.update(dict.fromkeys(nulled))
        for index in self._null_indexes.values():
            for row in nulled:
                index.add(row)

    def _meet_nulls(self) -> None:
        """Drop what was indexed as if no cell were null."""
        if not self.has_nulls:
            self.has_nulls = True
            self._indexes.clear()
            self._weak_indexes.clear()

    def add_weak(
        self, rows: Iterable[tuple[OpenRow, int]], stamp: int, *, nulls: bool = False
    ) -> list[tuple[OpenRow, int]]:
        """Add weaker rows with their strengths; give those that are new or stronger than before."""
        new: dict[OpenRow, int] = {}
        if nulls:
            rows = list(rows)
            if any(has_null(row) for row, _ in self.clock.over(rows)):
                self._meet_nulls()
        for row, strength in self.clock.over(rows):
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
        self, columns: Columns, kept: Columns, same: Pairs = (), read: Columns = ()
    ) -> dict[Key, list[tuple[Slot, ...]]]:
        """The index of certain rows on `columns`, each entry a list of the `kept` columns.

        Rows that may have nothing in a column of `read` are left out.
        """
        if not self.has_nulls:
            read = ()
        index = self._indexes.get((columns, kept, same, read))
        if index is None:
            index = _Index(columns, kept, same, self.arity, read)
            index.add(self.clock.over(self.sure))
            self._indexes[columns, kept, same, read] = index
        return index.found

    def matching(
        self,
        values: Mapping[int, Slot],
        completed: Completed,
        *,
        sure: bool,
        read: Columns = (),
        same: Pairs = (),
    ) -> Iterator[tuple[OpenRow, int]]:
        """Rows that unify with the values at those columns, with their strengths.

        Placeholders among `values` are ignored. `completed` says since when a key
        has been complete. With null cells a strength says how surely the row matches, the columns
        `read` and the pairs `same` of the atom included.

        With `sure` false, only what is not certain: weak rows, and matches that may be none.
        """
        if self.has_nulls or has_null(values.values()):
            yield from self._matching_nulls(values, completed, (read, same), sure=sure)
            return
        bound = {place: value for place, value in values.items() if value is not OPEN}
        columns = tuple(sorted(bound))
        if sure:
            every = tuple(range(self.arity))
            key = key_getter(columns)([bound.get(place, OPEN) for place in every])
            for row in self.lookup(columns, every).get(key, ()):
                yield row, CERTAIN
        if self.weak:
            yield from self._matching_weak(columns, bound, completed)

    def _matching_nulls(
        self,
        values: Mapping[int, Slot],
        completed: Completed,
        atom: tuple[Columns, Pairs],
        *,
        sure: bool,
    ) -> Iterator[tuple[OpenRow, int]]:
        bound = {place: value for place, value in values.items() if not is_hole(value)}
        columns = tuple(sorted(bound))
        for row in self._certain(columns, bound, every=sure or len(bound) < len(values)):
            strength = grade(row, CERTAIN, values, *atom)
            if strength > ABSENT and (sure or strength < CERTAIN):
                yield row, strength
        if self.weak:
            for row, held in self._matching_weak(columns, bound, completed):
                strength = grade(row, held, values, *atom)
                if strength > ABSENT:
                    yield row, strength

    def _certain(
        self, columns: Columns, bound: Mapping[int, Slot], *, every: bool
    ) -> Iterator[OpenRow]:
        """The certain rows that may have these values; unless `every`, only those with nulls."""
        index = self._null_indexes.get(columns)
        if index is None:
            index = self._null_indexes[columns] = _WeakIndex(columns, nulls=True)
            for row in self.nulled:
                index.add(row)
        yield from index.find(bound)
        if every:
            key = key_getter(columns)([bound.get(place, OPEN) for place in range(self.arity)])
            for row in self.lookup(columns, tuple(range(self.arity))).get(key, ()):
                if row not in self.nulled:
                    yield row

    def _matching_weak(
        self, columns: Columns, bound: Mapping[int, Slot], completed: Completed
    ) -> Iterator[tuple[OpenRow, int]]:
        index = self._weak_indexes.get(columns)
        if index is None:
            index = _WeakIndex(columns, nulls=self.has_nulls)
            for row in self.clock.over(self.weak):
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

    def strength(self, values: Mapping[int, Slot], completed: Completed, read: Columns = ()) -> int:
        """The greatest strength of the rows that unify with the values.

        `ABSENT` when there are none.
        """
        found = self.matching(values, completed, sure=True, read=read)
        return max((strength for _, strength in found), default=ABSENT)

    def stamp(self, row: Row, least: int) -> int | None:
        """When the row reached that strength (2 or 3); `None` when it has not."""
        if least == ACCEPTED and row in self.accepted:
            return self.accepted[row]
        return self.sure.get(row)

    def rows(self, least: int) -> Iterator[OpenRow]:
        """All rows of at least that strength, null cells as they came."""
        yield from self.sure
        for row, strength in self.weak.items():
            if strength >= least:
                yield row


def assign(columns: Columns, values: Iterable[Slot]) -> dict[int, Slot]:
    """Pair columns with the values they are bound to."""
    return dict(zip(columns, values, strict=True))
