"""The definition in the product's words: the reference for every engine.

In: an analysed program and a `World`, all that is outside seen at once. Out: for a reading, each
predicate's rows with whether they are certain (semantics 7 to 10). What it means stands in
`definition`; here programs go in and rows come back.

Example: with `r` open at (⋆), `p(?x) :- r(?x).` makes `p(⋆)` possible and nothing certain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Assumption
from constat.logic import OPEN, Apply, Atom, Constant, OpenRow, Row, Slot, Variable
from tests.oracle import definition
from tests.oracle.translation import cell_of, outside_of, program_of, slot_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram

Relation = dict[OpenRow, bool]
"""The possible rows of a predicate, each with whether it is certain."""

Binding = dict[str, Slot]


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside: rows and openings by predicate, each under an assumption or none."""

    rows: Mapping[str, tuple[tuple[Row, Assumption | None], ...]] = field(default_factory=dict)
    openings: Mapping[str, tuple[tuple[OpenRow, Assumption | None], ...]] = field(
        default_factory=dict
    )


def strength(program: AnalysedProgram, world: World, goal: Atom) -> int:
    """Return the strength of the goal: what the two readings say about its pattern."""
    hard = matching(goal, evaluate(program, world, accepted=False)[goal.predicate])
    accepted = matching(goal, evaluate(program, world, accepted=True)[goal.predicate])
    if any(hard.values()):
        return CERTAIN
    if any(accepted.values()):
        return ACCEPTED
    if accepted:
        return POSSIBLE
    return CONCEIVABLE if hard else ABSENT


def matching(goal: Atom, relation: Relation) -> Relation:
    """Return the rows of the relation that match the goal."""
    return {row: sure for row, sure in relation.items() if unify(goal, row, {}) is not None}


def evaluate(program: AnalysedProgram, world: World, *, accepted: bool) -> dict[str, Relation]:
    """Return all relations in the hard reading, or in the one that accepts every assumption."""
    rules, outside = program_of(program), outside_of(world)
    words = outside.words() | {word for rule in rules.rules for word in rule.words}
    found = definition.Reading(rules, outside, words if accepted else ()).relations
    return {
        name: {
            tuple(slot_of(cell, name, place) for place, cell in enumerate(row)): sure
            for row, sure in relation.items()
        }
        for name, relation in found.items()
    }


def agree(left: Slot, right: Slot) -> bool:
    """Tell whether two slots may be the same value."""
    return definition.same(cell_of(left), cell_of(right)) is not False


def unify(atom: Atom, row: OpenRow, binding: Binding) -> Binding | None:
    """Return the binding extended by the row; what is ⋆ takes the other side's value."""
    extended = dict(binding)
    for term, slot in zip(atom.terms, row, strict=True):
        match term:
            case Variable(name):
                known = extended.get(name, OPEN)
                if not agree(known, slot):
                    return None
                extended[name] = slot if known is OPEN else known
            case Constant(value):
                if not agree(value, slot):
                    return None
            case Apply():
                pass
    return extended
