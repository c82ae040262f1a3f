"""Each literate case of the language that pyDatalog accepts has the answers of the case."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.syntax import parse_fact
from tests.language.reading import Expectation, LanguageCase, language_cases
from tests.language.worlds_of_text import program
from tests.pydatalog.asking import ask

if TYPE_CHECKING:
    from constat.pydatalog import PyDatalogEngine

CASES = [case for case in language_cases() if case.expectations]
ANSWERS = {"PROVED": True, "DISPROVED": False}


def outcome(engine: PyDatalogEngine, case: LanguageCase, one: Expectation) -> str:
    """Compare one goal of a case; say what became of it."""
    try:
        found = ask(engine, case.rules, one.goal, case.facts)
    except ConstatError as refusal:
        return refusal.diagnostics[0].code
    if found.stopped:
        assert "errs" in found.stopped, "only an error leaves a case without an answer"
        return "erred"
    assert found.holds == ANSWERS[one.verdict]
    if one.rows:
        read = program(case.rules).program
        assert found.rows == {parse_fact(row, read)[1] for row in one.rows}
    return "agreed"


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_has_the_same_answers_or_none(engine: PyDatalogEngine, case: LanguageCase) -> None:
    for one in case.expectations:
        outcome(engine, case, one)


@pytest.mark.laws
def test_most_goals_of_the_cases_are_answered(engine: PyDatalogEngine) -> None:
    told = Counter(outcome(engine, case, one) for case in CASES for one in case.expectations)
    assert told["agreed"] >= 150
    assert told["erred"] <= 20
    # What is refused is open or assumed; no closed case is.
    open_cases = [
        one
        for case in CASES
        if case.name.startswith("unknown") or "not known" in case.name
        for one in case.expectations
    ]
    assert told["C0420"] + told["C0421"] + told["C0422"] <= len(open_cases)
