"""The literate cases, and what is looked at in each of them however it is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.syntax import parse_fact, parse_goal
from tests.language.reading import LanguageCase, language_cases
from tests.language.worlds_of_text import program, world

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


def check_case(case: LanguageCase, evaluate: Evaluate) -> None:
    """Hold the goals of a case against its verdicts and rows."""
    found = program(case.rules)
    ask = evaluate(found, world(found, case.facts))
    for one in case.expectations:
        goal = parse_goal(one.goal, found.program)
        strength, rows = ask(goal)
        assert VERDICTS[strength] == one.verdict, one.goal
        if one.rows:
            assert rows == {parse_fact(row, found.program)[1] for row in one.rows}, one.goal
