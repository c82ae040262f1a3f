"""The goal-directed engine against the definition, on all small databases of every construct.

It decides at least what the definition decides. An engine that binds the goal's constants first
keeps what a placeholder loses (semantics 7), so it may decide more: then all completions say so.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import pytest

from constat.engine import LazyEngine
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program
from tests.oracle.asking import truths_of
from tests.oracle.completions import Domain, Models, completions
from tests.oracle.definition import Body, Outside, Reading, Truth
from tests.oracle.families import PROGRAMS, Database, read_by, sample, text_of, told_apart
from tests.oracle.translation import goal_of, outside_of, program_of
from tests.property.running import LIMITS
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import Atom

DOMAIN: Final[Domain] = {"number": (0, 1, 2), "float": (0.0, 1.0)}
"""2 is in no database and no program, and yet goals ask for it."""


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_engine_decides_what_the_definition_decides(name: str) -> None:
    compare(name, sample(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_so_it_does_on_every_small_database(name: str) -> None:
    compare(name, told_apart(name))


def compare(name: str, chosen: list[Database]) -> None:
    analysed = program(text_of(name))
    rules = program_of(analysed)
    models, read = Models(rules, DOMAIN), read_by(name)
    for database in chosen:
        world = database.world()
        outside = outside_of(world)
        words = outside.words() | {word for rule in rules.rules for word in rule.words}
        readings = Reading(rules, outside), Reading(rules, outside, words)
        for goal in goals(analysed):
            body = goal_of(goal)
            wanted = tuple(reading.truth_of(body) for reading in readings)
            asked = tables(analysed, world)
            outcome = LazyEngine().evaluate(analysed, goal, asked, LIMITS)
            assert not any(one.demands for one in asked.values() if one.predicate.name not in read)
            found = truths_of(outcome.strength(goal))
            for want, got, accepted in zip(wanted, found, (set(), words), strict=True):
                place = (name, database, goal, want, got)
                assert got == want or (
                    want is None and agreed(models, outside, accepted, body, got)
                ), place


def goals(analysed: AnalysedProgram) -> list[Atom]:
    """Give all goals over 0, 1, 2 and a variable for the predicates that have rules."""
    found = []
    heads = (rule.head.predicate for rule in analysed.rules)
    # The relation of a range has a name that no goal can spell.
    for name in dict.fromkeys(name for name in heads if "." not in name):
        width = analysed.program.predicates[name].arity
        for cells in product(("0", "1", "2", "?x"), repeat=width):
            terms = (cell + str(n) if cell == "?x" else cell for n, cell in enumerate(cells))
            found.append(parse_goal(f"{name}({', '.join(terms)})", analysed.program))
    return found


def agreed(models: Models, outside: Outside, accepted: set[str], goal: Body, truth: Truth) -> bool:
    """Tell whether all completions say so."""
    found = completions(models.program, outside, DOMAIN, accepted, most=512)
    return all(models.of(one).holds(goal) is truth for one in found)
