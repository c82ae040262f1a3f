"""Values for what a set of facts leaves open, so that it can be tried; and how people read it.

In: a state in which everything is shown.  Out: ``Chosen``: the facts with values, and the facts as
shapes with conditions.  Invariant: the values meet the conditions, and where any value would do, it
is one that the source's rows do not have; a value that is forced is no variable any more.

Example: ``placed_order(C002, ?order, ?amount, ?day)`` with ``?amount > 0`` is tried with 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.logic import OPEN
from constat.proof.symbolic import Hole, Linear, UnsolvedError, choose, is_value, show_condition
from constat.proof.worlds import Delta
from constat.syntax import print_row

if TYPE_CHECKING:
    from constat.logic import OpenRow, Predicate, Row, Value
    from constat.proof.abduction_state import State, Supposed
    from constat.proof.symbolic import Cell
    from constat.proof.worlds import Worlds

# A number that no source is likely to have, where its rows are too many to look.
_UNUSUAL: Final = 900_000_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A fact to suppose: with variables for what may be chosen, conditions, and as it was tried."""

    fact: str
    conditions: tuple[str, ...]
    tried: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set of facts; ``shapes`` are what is compared between sets."""

    delta: Delta
    added: tuple[Shown, ...]
    removed: tuple[str, ...]
    shapes: frozenset[tuple[str, str]]


def witnesses(state: State, worlds: Worlds) -> Chosen:
    """Choose values; raises `UnsolvedError` where none are found."""
    return _Choosing(state, worlds).chosen()


class _Choosing:
    """Chooses the values of one state."""

    def __init__(self, state: State, worlds: Worlds) -> None:
        self.state = state
        self.worlds = worlds
        self.predicates = worlds.program.program.predicates
        self.values: dict[int, Value] = {}
        self.names: dict[int, str] = {}

    def chosen(self) -> Chosen:
        """Choose for every fact, then write them."""
        rows = [self.row(one) for one in self.state.added]
        pairs = list(zip(self.state.added, rows, strict=True))
        shown = dict.fromkeys(self.shown(one, row) for one, row in pairs)
        removed = tuple(
            print_row(self.predicates[name], row)
            for name, row in sorted(self.state.removed, key=str)
        )
        delta = Delta(frozenset((one.predicate, row) for one, row in pairs), self.state.removed)
        shapes = {("add", one.fact) for one in shown} | {("remove", text) for text in removed}
        return Chosen(delta, tuple(shown), removed, frozenset(shapes))

    def row(self, one: Supposed) -> Row:
        """Return a fact with all its values."""
        return tuple(
            self.value(one, place, self.state.binding.follow(cell))
            for place, cell in enumerate(one.cells)
        )

    def value(self, one: Supposed, place: int, cell: Cell) -> Value:
        if is_value(cell):
            return cell  # type: ignore[return-value]  # a value
        hole = _hole(cell)
        if hole not in self.values:
            conditions = [known for known in self.state.conditions if known.hole == hole]
            self.values[hole] = choose(self.state.kinds[hole], conditions, self.taken(one, place))
            self.names[hole] = self.name(one, place)
        return self.values[hole]

    def taken(self, one: Supposed, place: int) -> set[Value]:
        """Return the values that rows like this one have in a column, and that are chosen."""
        chosen = set(self.values.values())
        shape = self.shape(one)
        if all(slot is OPEN for slot in shape):
            return {_UNUSUAL, *chosen}
        rows = self.worlds.rows(one.predicate, shape, self.state.delta)
        return {row[place] for row in rows} | chosen

    def shape(self, one: Supposed) -> OpenRow:
        cells = (self.state.binding.follow(cell) for cell in one.cells)
        return tuple(cell if is_value(cell) else OPEN for cell in cells)  # type: ignore[misc]

    def name(self, one: Supposed, place: int) -> str:
        """Name a value after its column; a second one of that name gets a number."""
        wanted = self.predicates[one.predicate].columns[place].name
        name, number = wanted, 1
        while name in self.names.values():
            number += 1
            name = f"{wanted}_{number}"
        return name

    def shown(self, one: Supposed, row: Row) -> Shown:
        """Write a fact with variables, its conditions, and as it is tried."""
        predicate = self.predicates[one.predicate]
        columns = list(predicate.columns)
        conditions: dict[str, None] = {}
        for place, cell in enumerate(one.cells):
            followed = self.state.binding.follow(cell)
            if is_value(followed):
                continue
            hole = _hole(followed)
            columns[place] = replace(columns[place], name=self.names[hole])
            for known in self.state.conditions:
                if known.hole == hole:
                    kind = self.state.kinds[hole]
                    conditions[show_condition(known, kind, self.names[hole])] = None
        named: Predicate = replace(predicate, columns=tuple(columns))
        return Shown(
            print_row(named, self.shape(one)), tuple(conditions), print_row(predicate, row)
        )


def _hole(cell: Cell) -> int:
    match cell:
        case Hole(number=number):
            return number
        case Linear(hole=hole, plain=True):
            return hole
        case _:
            raise UnsolvedError("a supposed row with a value that is made of another")
