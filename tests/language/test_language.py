"""The literate cases are there; analysis and engine are held against them in their own folders."""

from __future__ import annotations

from constat.evaluation import Verdict
from tests.language.verdicts import CASES, RUN, VERDICTS


def test_the_words_of_the_cases_are_the_verdicts() -> None:
    assert set(VERDICTS.values()) == {verdict.value for verdict in Verdict}


def test_there_are_cases() -> None:
    assert len(RUN) >= 40
    assert all(case.expectations or case.errors for case in CASES)
