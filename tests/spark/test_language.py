"""Each literate case that Spark supports gives its verdicts and rows there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import ACCEPTED, CERTAIN
from constat.syntax import parse_fact, parse_goal
from tests.forward.running import forward
from tests.language.reading import language_cases
from tests.language.verdicts import VERDICTS
from tests.language.worlds_of_text import program, world

if TYPE_CHECKING:
    from constat.project.settings import SparkSetting
    from tests.language.reading import LanguageCase

RUN = [case for case in language_cases() if case.expectations]
_REFUSALS = {"C0681", "C0682"}


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_the_goals_of_a_case_have_their_verdicts_and_rows_or_are_refused(
    case: LanguageCase, spark: SparkSetting
) -> None:
    found = program(case.rules)
    outside = world(found, case.facts)
    refused = []
    for one in case.expectations:
        goal = parse_goal(one.goal, found.program)
        try:
            told = forward(found, outside, goal, spark=spark)
        except ConstatError as problem:
            if not {each.code for each in problem.diagnostics} <= _REFUSALS:
                raise
            refused.append(f"{one.goal}: {problem.diagnostics[0].message}")
            continue
        assert VERDICTS[told.strength] == one.verdict, one.goal
        if one.rows:
            least = CERTAIN if told.strength == CERTAIN else ACCEPTED
            rows = {parse_fact(row, found.program)[1] for row in one.rows}
            assert told.rows[least] == rows, one.goal
    if len(refused) == len(case.expectations):
        pytest.skip(refused[0])
