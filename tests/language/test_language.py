"""Each literate case on the oracle and on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.engine import LazyEngine
from constat.evaluation import ACCEPTED, CERTAIN, Verdict
from constat.syntax import parse_fact, parse_goal
from tests.language.reading import LanguageCase, errors, language_cases
from tests.language.worlds_of_text import program, read_program, world
from tests.property.coverage import under
from tests.property.running import LIMITS, truth
from tests.property.tables import tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, OpenRow
    from tests.oracle.naive import World

    Answer = tuple[int, set[OpenRow]]
    Ask = Callable[[Atom], Answer]
    Evaluate = Callable[[AnalysedProgram, World], Ask]

CASES = language_cases()
RUN = [case for case in CASES if case.expectations]
REFUSED = [case for case in CASES if case.errors]
VERDICTS = dict(
    zip(
        (3, 2, 1, 0, -1),
        ("PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED_UNDER", "DISPROVED"),
        strict=True,
    )
)


def by_oracle(found: AnalysedProgram, outside: World) -> Ask:
    expected = truth(found, outside)

    def ask(goal: Atom) -> Answer:
        strength = expected.strength(goal)
        least = CERTAIN if strength == CERTAIN else ACCEPTED
        return strength, under(goal, expected.rows(goal.predicate, least))

    return ask


def by_engine(found: AnalysedProgram, outside: World) -> Ask:
    def ask(goal: Atom) -> Answer:
        outcome = LazyEngine().evaluate(found, goal, tables(found, outside), LIMITS, exhaust=True)
        strength = outcome.strength(goal)
        stopping = LazyEngine().evaluate(found, goal, tables(found, outside), LIMITS)
        assert stopping.strength(goal) == strength
        least = CERTAIN if strength == CERTAIN else ACCEPTED
        return strength, under(goal, outcome.rows(goal.predicate, least))

    return ask


@pytest.mark.parametrize("evaluate", [by_oracle, by_engine])
@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_the_goals_of_a_case_have_their_verdicts_and_rows(
    case: LanguageCase, evaluate: Evaluate
) -> None:
    found = program(case.rules)
    ask = evaluate(found, world(found, case.facts))
    for one in case.expectations:
        goal = parse_goal(one.goal, found.program)
        strength, rows = ask(goal)
        assert VERDICTS[strength] == one.verdict, one.goal
        if one.rows:
            assert rows == {parse_fact(row, found.program)[1] for row in one.rows}, one.goal


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_refused_program_has_its_codes(case: LanguageCase) -> None:
    _, diagnostics = read_program(case.rules)
    assert errors(diagnostics) == sorted(case.errors)


def test_the_words_of_the_cases_are_the_verdicts() -> None:
    assert set(VERDICTS.values()) == {verdict.value for verdict in Verdict}


def test_there_are_cases() -> None:
    assert len(RUN) >= 40
    assert all(case.expectations or case.errors for case in CASES)
