"""Which conclusions differ between two worlds: what appeared, vanished, or has another value.

In: the outcomes of one goal in two worlds, and a way to ask each world for one row.  Out:
``Change`` values.  Invariant: a row is called new or gone only where the other world was asked for
it: an engine demands what a goal needs, so a row may be in one outcome only because nobody asked
the other.  What was not asked within the budget is counted, never guessed.

Example: with one more order the revenue of C002 changes from 100,000 to 100,050, and it appears
among the VIPs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

from constat.evaluation import ACCEPTED, POSSIBLE, UNTIMED
from constat.frozen import frozen
from constat.logic import OPEN, row_order
from constat.proof.sentences import value_column
from constat.syntax import print_row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.evaluation import Clock, DemandEntry, Outcome
    from constat.logic import OpenRow, Predicate, Row

_HOLDS, _UNKNOWN, _FAILS = "holds", "unknown", "does not hold"

Asker = Callable[[str, "Row"], int | None]
"""Gives the strength of a row in a world, or ``None`` where no more may be asked."""


@frozen
class Change:
    """One conclusion that differs.

    ``kind`` is ``appeared``, ``vanished``, ``changed`` (another value for the same key), ``became
    unknown`` or ``became known``.  ``before`` and ``after`` are rows as goals; one of them is empty
    where there is none.  What became unknown stands in ``before`` if it held, else in
    ``after``; what became known in ``after`` if it holds, else in ``before``.
    """

    kind: str
    predicate: str
    before: str
    after: str


@frozen
class Changes:
    """All conclusions that differ; of ``uncompared`` rows one world was not asked."""

    listed: tuple[Change, ...]
    uncompared: int


@frozen
class World:
    """One side of a comparison."""

    outcome: Outcome
    ask: Asker


def compare(
    before: World,
    after: World,
    predicates: Mapping[str, Predicate],
    names: tuple[str, ...],
    clock: Clock = UNTIMED,
) -> Changes:
    """Compare what two worlds conclude about predicates, as long as the clock allows."""
    found: list[Change] = []
    uncompared = 0
    for name in names:
        comparison = _Comparison(before, after, predicates[name], clock)
        found += comparison.changes()
        uncompared += comparison.uncompared
    return Changes(tuple(found), uncompared)


class _Comparison:
    """Compares one predicate."""

    def __init__(self, before: World, after: World, predicate: Predicate, clock: Clock) -> None:
        self.clock = clock
        self.before = _Side(before, predicate.name)
        self.after = _Side(after, predicate.name)
        self.predicate = predicate
        self.uncompared = 0

    def changes(self) -> list[Change]:
        """Give the changes, in the order of rows."""
        before, after = self.before.rows, self.after.rows
        rows = set(before.keys() ^ after.keys())
        unknown = (row for row in (*self.before.weak, *self.after.weak) if row in before)
        rows |= {row for row in unknown if row in after and before[row] != after[row]}
        differing = [
            (row, was, now)
            for row in sorted(rows, key=row_order)
            if (states := self.states(row)) is not None and (was := states[0]) != (now := states[1])
        ]
        gone = {row for row, was, now in differing if (was, now) == (_HOLDS, _FAILS)}
        new = {row for row, was, now in differing if (was, now) == (_FAILS, _HOLDS)}
        pairs = self.pairs(gone, new)
        return [
            change
            for row, was, now in differing
            if (change := self.change(row, was, now, pairs)) is not None
        ]

    def states(self, row: Row) -> tuple[str, str] | None:
        if not self.clock.left:
            self.uncompared += 1
            return None
        was, now = self.before.state(row), self.after.state(row)
        if was is None or now is None:
            self.uncompared += 1
            return None
        return was, now

    def pairs(self, gone: set[Row], new: set[Row]) -> dict[Row, Row]:
        """Pair a row that is gone with the one new row of the same key."""
        columns = self.key()
        if columns is None:
            return {}
        old, fresh = _by_key(gone, columns), _by_key(new, columns)
        return {
            rows[0]: fresh[key][0]
            for key, rows in old.items()
            if len(rows) == 1 and len(fresh.get(key, ())) == 1
        }

    def key(self) -> tuple[int, ...] | None:
        """Return the columns that tell what a value belongs to."""
        if self.predicate.key:
            return self.predicate.key
        place = value_column(self.predicate)
        if place is None:
            return None
        return tuple(column for column in range(self.predicate.arity) if column != place)

    def change(self, row: Row, was: str, now: str, pairs: dict[Row, Row]) -> Change | None:
        name, shown = self.predicate.name, print_row(self.predicate, row)
        if row in pairs.values():
            return None
        match was, now:
            case (_, "unknown"):
                held = was == _HOLDS
                return Change("became unknown", name, shown if held else "", "" if held else shown)
            case ("unknown", _):
                holds = now == _HOLDS
                return Change("became known", name, "" if holds else shown, shown if holds else "")
            case ("holds", _) if row in pairs:
                other = print_row(self.predicate, pairs[row])
                return Change("changed", name, shown, other)
            case ("holds", _):
                return Change("vanished", name, shown, "")
            case _:
                return Change("appeared", name, "", shown)


class _Side:
    """The rows of one predicate in one world."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        told: dict[OpenRow, str] = dict.fromkeys(world.outcome.rows(name, ACCEPTED), _HOLDS)
        possible = list(world.outcome.rows(name, POSSIBLE))
        # What holds is possible: of as many rows none is only that.
        more = len(possible) > len(told)
        weak = [row for row in possible if row not in told] if more else []
        told |= dict.fromkeys(weak, _UNKNOWN)
        # Rows with an open column are kept apart.
        is_open = type(OPEN) in set(map(type, chain.from_iterable(told)))
        self._shapes = [row for row in told if OPEN in row] if is_open else []
        for shape in self._shapes:
            del told[shape]
        self.rows: dict[Row, str] = told  # type: ignore[assignment]  # ground
        self.weak: list[Row] = weak  # type: ignore[assignment]  # also shapes, which are in no rows
        self._demands = [one for one in world.outcome.demands if one.predicate == name]

    def state(self, row: Row) -> str | None:
        """Say what is known of a row; ``None`` where nobody may be asked any more."""
        known = self.rows.get(row)
        if known == _HOLDS:
            return known
        if self._is_demanded(row):
            return known or (_UNKNOWN if self._is_open(row) else _FAILS)
        strength = self.world.ask(self.name, row)
        return None if strength is None else _state(strength)

    def _is_demanded(self, row: Row) -> bool:
        if self.world.outcome.stopped:
            return False
        return any(_asks_for(one, row) for one in self._demands)

    def _is_open(self, row: Row) -> bool:
        """Tell whether a shape of this world may be the row."""
        return any(
            all(slot is OPEN or slot == value for slot, value in zip(shape, row, strict=True))
            for shape in self._shapes
        )


def _asks_for(entry: DemandEntry, row: Row) -> bool:
    return tuple(row[column] for column in entry.columns) in entry.keys


def _state(strength: int) -> str:
    if strength >= ACCEPTED:
        return _HOLDS
    return _UNKNOWN if strength == POSSIBLE else _FAILS


def _by_key(rows: set[Row], columns: tuple[int, ...]) -> dict[Row, list[Row]]:
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found
