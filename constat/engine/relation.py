"""The rows of one predicate, certain and weaker ones, and how literals meet null cells."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Final

from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    UNTIMED,
    Clock,
    LimitReachedError,
    PackedRows,
)
from constat.logic import (
    OPEN,
    Kind,
    NullCell,
    OpenRow,
    Parts,
    Row,
    Slot,
    Value,
    implementation,
    may_agree,
)
from constat.plan import Join

# What long texts take in memory stays below the limit, whatever a rule does: lists that grow by a
# cell in each round would fill any memory long before rows are counted.

_SHORT: Final = 1024
"""Shorter texts are bounded by the limit of rows."""
_MEGABYTE: Final = 1_000_000
_GROW: Final = frozenset({"cat"})


class Texts:
    """What one evaluation remembers of the texts it made."""

    def __init__(self, most: float = math.inf) -> None:
        self._parts = Parts()
        self._most = most
        self._made = 0
        self._known: dict[str, str] = {}

    def function(
        self, function: str, parameters: tuple[Kind, ...], result: Kind
    ) -> Callable[..., Value]:
        """Give the implementation of a function; it may raise `LimitReachedError`."""
        found = implementation(function, parameters, result, self._parts)
        if result is not Kind.STRUCTURE and function not in _GROW:
            return found
        return lambda *values: self._kept(found(*values))

    def unbind(self) -> None:
        """Take the bound away: what was evaluated is looked at again, and nothing grows."""
        self._most = math.inf

    def _kept(self, value: Value) -> Value:
        """Give a value, or the same text as it was made before: it is kept once."""
        if not isinstance(value, str) or len(value) <= _SHORT:
            return value
        known = self._known.setdefault(value, value)
        if known is value:
            self._made += value.__sizeof__()
            if self._made > self._most:
                megabytes = int(self._most) // _MEGABYTE
                raise LimitReachedError(f"the limit of {megabytes:,} MB of long texts was reached")
        return known


# Only an evaluation that has met such a row comes here. A label is carried like a value; a literal
# that reads a cell of `maybe`, or holds a label against anything but itself, may hold and need
# not.

Binding = tuple[Slot, ...]
Number = int | Decimal
Columns = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

_MANY = 1_000
"""From this many bindings on that agree in what is known nobody tells them apart."""


def is_null(slot: object) -> bool:
    """Whether a slot holds a null cell."""
    return type(slot) is NullCell


def has_null(slots: Iterable[object]) -> bool:
    """Whether one of the slots holds a null cell."""
    return NullCell in map(type, slots)


def is_hole(slot: object) -> bool:
    """Whether nobody knows what a slot holds: a placeholder or a null cell."""
    return slot is OPEN or type(slot) is NullCell


def has_hole(slots: Sequence[object]) -> bool:
    """Whether one of the slots is a hole."""
    return OPEN in slots or has_null(slots)


def fits(row: OpenRow, read: Iterable[int]) -> bool:
    """Whether what is read of a row is there for certain: values and labels."""
    cells: OpenRow = row
    return all(not isinstance(cells[place], NullCell) or cells[place].is_label for place in read)  # type: ignore[union-attr]  # a null cell by then


def grade(
    row: OpenRow, strength: int, values: Mapping[int, Slot], read: Columns, same: Pairs
) -> int:
    """How surely a row of that strength matches an atom; `ABSENT` where it cannot.

    `values` are those the atom's columns are bound to, `read` the columns it reads besides, `same`
    the pairs of columns that have to be equal.
    """
    cells = [(row[column], value) for column, value in values.items()]
    cells += [(row[column], row[column]) for column in read]
    cells += [(row[one], row[other]) for one, other in same]
    for cell, value in cells:
        nulls = [one for one in (cell, value) if isinstance(one, NullCell)]
        if any(one.policy.is_empty for one in nulls):
            return ABSENT
        if nulls and not (cell == value and nulls[0].is_label):
            strength = min(strength, POSSIBLE)
    return strength


def unify_nulls(binding: Binding, row: OpenRow, step: Join) -> Binding | None:
    """Extend a binding by a row that `grade` lets match; `None` when values differ.

    What nobody knows takes a value that it meets, so that no more correlation is lost than must be.
    """
    values = list(binding)
    for column, place in zip(step.columns, step.key, strict=True):
        met = _met(values[place], row[column])
        if met is None:
            return None
        if place >= step.fixed:
            values[place] = met
    shown = list(row)
    for one, other in step.same:
        met = _met(shown[one], shown[other])
        if met is None:
            return None
        shown[one] = met
    values.extend(
        _read(shown[column]) if column in step.read else shown[column] for column in step.kept
    )
    return tuple(values)


def _met(held: Slot, found: Slot) -> Slot | None:
    """What two slots are that are equal; `None` where they cannot be."""
    if held is OPEN:
        return _read(found)
    if is_null(held):
        return held if is_hole(found) else found
    return held if is_hole(found) or found == held else None


def _read(cell: Slot) -> Slot:
    """What a variable is bound to by a cell: a value or a label, or else nobody knows."""
    return OPEN if isinstance(cell, NullCell) and not cell.is_label else cell


def are_distinct(bindings: Sequence[Binding]) -> bool:
    """Whether any two of the bindings, which are all different, differ for certain."""
    doubtful = {
        place
        for binding in bindings
        if has_null(binding)
        for place, cell in enumerate(binding)
        if is_doubtful(cell)
    }
    if not doubtful:
        return True
    known: dict[Binding, list[Binding]] = defaultdict(list)
    for binding in bindings:
        key = tuple(cell for place, cell in enumerate(binding) if place not in doubtful)
        known[key].append(binding)
    return not any(map(_has_equals, known.values()))


def _has_equals(bindings: list[Binding]) -> bool:
    if len(bindings) > _MANY:
        return True
    return any(
        may_agree(one, other) for place, one in enumerate(bindings) for other in bindings[:place]
    )


def is_doubtful(slot: object) -> bool:
    """Whether a slot may be equal to another one that is not the same."""
    return isinstance(slot, NullCell) and not slot.policy.is_empty


def told_apart(values: Mapping[Binding, Number]) -> list[Binding]:
    """Give bindings of which any two differ for certain, of much value together.

    Those without a doubtful cell, and besides those that are doubtful in the same columns and
    differ from them and from each other in the rest. So more bindings never make less.
    """
    plain = [one for one in values if not any(map(is_doubtful, one))]
    shapes: dict[Columns, dict[Binding, Binding]] = defaultdict(dict)
    for binding in values:
        shown = tuple(place for place, cell in enumerate(binding) if not is_doubtful(cell))
        if len(shown) < len(binding):
            known = tuple(binding[place] for place in shown)
            first = shapes[shown].setdefault(known, binding)
            if values[binding] < values[first]:
                shapes[shown][known] = binding
    best: list[Binding] = []
    for shown, found in shapes.items():
        there = {tuple(one[place] for place in shown) for one in plain}
        left = [binding for known, binding in found.items() if known not in there]
        if sum(map(values.__getitem__, left)) > sum(map(values.__getitem__, best)):
            best = left
    return [*plain, *best]


# The certain part is a plain dictionary with hash indexes, so that where nothing is open
# evaluation costs what two-valued Datalog costs. The weak part holds rows of strength 2, 1 or 0
# and open rows, whose placeholders match anything. A row moves up when a stronger derivation is
# found and never down. Every row has the *stamp* of the batch that brought it; a proof only uses
# premises with smaller stamps, so that it ends. Rows that are merely possible have stamps too: for
# a pattern that was complete before one of them came, it does not exist.
# Certain rows may hold null cells (`constat.logic.values`): such a row is found by what is known
# of it, and `null_cells.grade` says whether it matches. Without one nothing here looks for them.

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
        # Of a tuple a slice is a tuple, and no code of Python runs for each row.
        return itemgetter(slice(places[0], places[0] + 1))
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
        #: Whether its one entry is the rows as they are.
        self.is_list = not (columns or same) and kept == tuple(range(arity))
        # Rows that differ only in dropped columns give one entry: set semantics early.
        used = {*columns, *kept, *(place for _, place in same)}
        self.seen: set[tuple[Key, tuple[Slot, ...]]] | None = set() if len(used) < arity else None

    def add(self, rows: Iterable[Row]) -> None:
        key, kept, found, seen = self.key, self.kept, self.found, self.seen
        if self.read:
            rows = [row for row in rows if fits(row, self.read)]
        if self.is_list:
            every = list(rows)
            if every:
                found.setdefault((), []).extend(every)
            return
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
        self._sure: dict[Row, int] = {}
        self.packed: PackedRows | None = None
        """All certain rows, where they came packed and nobody has looked at them by their keys."""
        self._packed_at = 0
        self.weak: dict[OpenRow, int] = {}
        self.accepted: dict[OpenRow, int] = {}
        self.nulled: dict[OpenRow, None] = {}
        """The certain rows that hold null cells."""
        self.has_nulls = False
        """Whether any row holds one, certain or not."""
        self._since: dict[OpenRow, tuple[float, float]] = {}
        self._shapes = _WeakIndex(tuple(range(arity)))
        self._indexes: dict[tuple[Columns, Columns, Pairs, Columns], _Index] = {}
        self._looked_at: set[tuple[Columns, Columns, Pairs, Columns]] = set()
        self._weak_indexes: dict[Columns, _WeakIndex] = {}
        self._null_indexes: dict[Columns, _WeakIndex] = {}

    @property
    def sure(self) -> dict[Row, int]:
        """The certain rows with their stamps."""
        packed = self.packed
        if packed is not None:
            self.packed = None
            self._sure.update(dict.fromkeys(self.clock.over(packed), self._packed_at))
        return self._sure

    def take_packed(self, rows: PackedRows, stamp: int) -> bool:
        """Take rows as they are where there are no others; tell whether that was done."""
        if self.packed is not None or self._sure or self.weak or self._indexes:
            return False
        self.packed, self._packed_at = rows, stamp
        return True

    def add_sure(self, rows: Iterable[Row], stamp: int, *, nulls: bool = False) -> list[Row]:
        """Add rows that hold for certain; give those that are new as such.

        `nulls` tells that they may hold null cells.
        """
        sure = self.sure
        every = dict.fromkeys(self.clock.over(rows), stamp)
        new = [row for row in every if row not in sure] if sure else list(every)
        if not new:
            return new
        if nulls:
            self._note_nulls(new)
        sure.update(every if len(new) == len(every) else dict.fromkeys(new, stamp))
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
        self,
        columns: Columns,
        kept: Columns,
        same: Pairs = (),
        read: Columns = (),
        alone: Key | None = None,
    ) -> dict[Key, list[tuple[Slot, ...]]]:
        """The index of certain rows on `columns`, each entry a list of the `kept` columns.

        Rows that may have nothing in a column of `read` are left out. Where one key `alone` is
        looked up, the first time only its rows are there: an index of all costs as ten such looks.
        """
        if not self.has_nulls:
            read = ()
        one = (columns, kept, same, read)
        index = self._indexes.get(one)
        if index is None:
            index = _Index(columns, kept, same, self.arity, read)
            rows: Iterable[Row] = self.clock.over(self.sure)
            if alone is not None and columns and one not in self._looked_at:
                self._looked_at.add(one)
                key = index.key
                index.add([row for row in rows if key(row) == alone])
                return index.found
            index.add(rows)
            self._indexes[one] = index
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
        complete: float | None = None
        for row in self._certain(columns, bound, every=sure or len(bound) < len(values)):
            strength = grade(row, CERTAIN, values, *atom)
            if ABSENT < strength < ACCEPTED:
                # As of a weak row: it may match, but what was complete before it is without it.
                if complete is None:
                    key = tuple(bound[column] for column in columns)
                    complete = completed(columns, key)  # type: ignore[arg-type]  # no placeholder
                if complete < self.sure[row]:  # type: ignore[index]  # a certain row
                    continue
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
