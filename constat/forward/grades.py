"""Grades: how sure the rows of a relation are, and which of their columns are open.

In: rows that are not certain, as a source gives them. Out: for each grade the rows as plain rows,
without the open columns. Invariants: a grade has one relation, in which every value is known, so
that a back end of closed relations can compute it; a row with an open column is at most possible
(semantics 7). Example: the open row `order(7, *)` of strength 1 is the row `(7,)` of the grade
`Grade(1, (1,))`, whose relation is `order.possible.without.amount`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.evaluation import ABSENT, ACCEPTED, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, Atom, Predicate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.logic import OpenRow, Row

WORDS: Final = MappingProxyType(
    {ACCEPTED: "accepted", POSSIBLE: "possible", CONCEIVABLE: "conceivable"}
)


@dataclass(frozen=True, slots=True, order=True)
class Grade:
    """A strength below certain, and the columns that are open."""

    strength: int
    open: tuple[int, ...] = ()

    def known(self, arity: int) -> tuple[int, ...]:
        """The columns that hold values."""
        return tuple(place for place in range(arity) if place not in self.open)


def graded_name(predicate: Predicate, grade: Grade) -> str:
    """Name the relation of a grade; names of the language have no point, so it is free."""
    missing = [predicate.columns[place].name for place in grade.open]
    without = ["without", *missing] if missing else []
    return ".".join([predicate.name, WORDS[grade.strength], *without])


def graded_predicate(predicate: Predicate, grade: Grade) -> Predicate:
    """Declare the relation of a grade."""
    columns = tuple(predicate.columns[place] for place in grade.known(predicate.arity))
    return Predicate(graded_name(predicate, grade), columns)


def graded_atom(predicate: Predicate, grade: Grade, atom: Atom) -> Atom:
    """Give the atom of a grade: the terms that stand at known columns."""
    terms = tuple(atom.terms[place] for place in grade.known(predicate.arity))
    return Atom(graded_name(predicate, grade), terms, atom.span)


def by_grade(
    sure: Iterable[Row], weak: Iterable[tuple[OpenRow, int]]
) -> dict[Grade, tuple[Row, ...]]:
    """Sort weak rows by grade, each at its greatest strength; certain rows are left out."""
    best: dict[OpenRow, int] = {}
    for row, strength in weak:
        if strength > best.get(row, ABSENT):
            best[row] = strength
    if any(OPEN not in row for row in best):
        for row in sure:
            best.pop(row, None)
    found: dict[Grade, list[Row]] = {}
    for row, strength in best.items():
        missing = tuple(place for place, slot in enumerate(row) if slot is OPEN)
        known: Row = tuple(slot for slot in row if slot is not OPEN)
        found.setdefault(Grade(strength, missing), []).append(known)
    return {grade: tuple(rows) for grade, rows in sorted(found.items())}


def open_row(grade: Grade, row: Row) -> OpenRow:
    """Put the placeholders of a grade back into a row of its relation."""
    values = iter(row)
    width = len(row) + len(grade.open)
    return tuple(OPEN if place in grade.open else next(values) for place in range(width))
