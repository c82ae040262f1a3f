"""Each literate case on the forward engine, with every strategy."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import ACCEPTED, CERTAIN
from constat.plan.forward import Strategy
from constat.syntax import parse_fact, parse_goal
from tests.forward.running import forward
from tests.language.reading import language_cases
from tests.language.verdicts import VERDICTS
from tests.language.worlds_of_text import program, world

if TYPE_CHECKING:
    from tests.language.reading import LanguageCase

pytestmark = pytest.mark.sampled(3)

STRATEGIES = (Strategy.REFERENCE, Strategy.LOOP, Strategy.RUNS)
# By default two cases of three go once, half of them by a forced strategy; slow, each by all.
RUN = [case for case in language_cases() if case.expectations]


def check(case: LanguageCase, strategy: Strategy | None, *, magic: bool | None) -> None:
    found = program(case.rules)
    outside = world(found, case.facts)
    for one in case.expectations:
        goal = parse_goal(one.goal, found.program)
        told = forward(found, outside, goal, strategy=strategy, magic=magic)
        assert VERDICTS[told.strength] == one.verdict, one.goal
        if one.rows:
            least = CERTAIN if told.strength == CERTAIN else ACCEPTED
            rows = {parse_fact(row, found.program)[1] for row in one.rows}
            assert told.rows[least] == rows, one.goal


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("case", RUN[::3], ids=lambda case: case.name)
def test_the_goals_of_a_case_have_their_verdicts_and_rows(case: LanguageCase) -> None:
    check(case, None, magic=None)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize(
    ("case", "strategy", "magic"),
    list(zip(RUN[1::3], cycle(STRATEGIES), cycle((True, False)), strict=False)),
    ids=lambda one: getattr(one, "name", None),
)
def test_a_forced_strategy_gives_them_too(
    case: LanguageCase,
    strategy: Strategy,
    magic: bool,  # noqa: FBT001  a parameter
) -> None:
    check(case, strategy, magic=magic)


@pytest.mark.slow
@pytest.mark.parametrize("magic", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_every_strategy_gives_them(
    case: LanguageCase,
    strategy: Strategy,
    magic: bool,  # noqa: FBT001  a parameter
) -> None:
    check(case, strategy, magic=magic)
