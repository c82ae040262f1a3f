"""Each literate case on the engine that looks for what a goal needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.engine import LazyEngine
from constat.evaluation import ACCEPTED, CERTAIN
from tests.language.reading import LanguageCase
from tests.language.verdicts import RUN, check_case
from tests.property.coverage import under
from tests.property.running import LIMITS
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.logic import Atom
    from tests.language.verdicts import Answer, Ask
    from tests.oracle.naive import World


def by_engine(found: AnalysedProgram, outside: World) -> Ask:
    def ask(goal: Atom) -> Answer:
        outcome = LazyEngine().evaluate(found, goal, tables(found, outside), LIMITS, exhaust=True)
        strength = outcome.strength(goal)
        stopping = LazyEngine().evaluate(found, goal, tables(found, outside), LIMITS)
        assert stopping.strength(goal) == strength
        least = CERTAIN if strength == CERTAIN else ACCEPTED
        return strength, under(goal, outcome.rows(goal.predicate, least))

    return ask


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_the_goals_of_a_case_have_their_verdicts_and_rows(case: LanguageCase) -> None:
    check_case(case, by_engine)
