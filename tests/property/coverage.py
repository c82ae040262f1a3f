"""Compares possible rows: what a goal's pattern can see of them, and which rows allow which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN, Apply, Atom, Constant, OpenRow, Variable
from tests.oracle.naive import unify

if TYPE_CHECKING:
    from collections.abc import Iterable


def under(goal: Atom, rows: Iterable[OpenRow]) -> set[OpenRow]:
    """Return the rows that match the goal, with the goal's constants in them."""
    found: set[OpenRow] = set()
    for row in rows:
        binding = unify(goal, row, {})
        if binding is not None:
            slots = []
            for term in goal.terms:
                match term:
                    case Variable(name):
                        slots.append(binding[name])
                    case Constant(value):
                        slots.append(value)
                    case Apply():
                        raise AssertionError("a goal computes nothing")
            found.add(tuple(slots))
    return found


def uncovered(rows: Iterable[OpenRow], cover: Iterable[OpenRow]) -> list[OpenRow]:
    """Return the rows that no row of the cover allows."""
    covers = list(cover)
    return [row for row in rows if not any(_covers(other, row) for other in covers)]


def _covers(wide: OpenRow, row: OpenRow) -> bool:
    return all(slot is OPEN or slot == part for slot, part in zip(wide, row, strict=True))
