"""Sentences 1 to 3 of the contract: verdicts, exit codes, certificates, stopped searches."""

from __future__ import annotations

import json

import pytest

from constat.check import check_certificate
from constat.evaluation import Verdict
from tests.semantics.asking import Ask

RULES = """
.decl a(x: symbol)
.input a(source="memory")
.decl b(x: symbol)
.input b(source="memory")
.decl p(x: symbol)
p(?x) :- a(?x), !b(?x).
"""
FACTS = """
a(sure)
assumed a(said)
open a(unknown)
declared b(declared)
a(declared)
"""
GOALS = [
    ("p(sure)", "PROVED", 0),
    ("p(said)", "PROVED_UNDER", 3),
    ("p(unknown)", "UNRESOLVED", 4),
    ("p(nobody)", "DISPROVED", 5),
    ("b(declared)", "DISPROVED_UNDER", 6),
]


@pytest.mark.parametrize(("goal", "verdict", "code"), GOALS)
def test_s1_each_verdict_has_its_exit_code(goal: str, verdict: str, code: int) -> None:
    asked = Ask(RULES, FACTS)(goal)
    assert (asked.verdict, asked.decision.verdict.exit_code) == (verdict, code)


def test_s1_one_is_never_a_verdict() -> None:
    assert 1 not in {verdict.exit_code for verdict in Verdict}
    assert len({verdict.exit_code for verdict in Verdict}) == 5


@pytest.mark.parametrize(("goal", "verdict", "code"), GOALS)
def test_s2_every_verdict_has_a_certificate_that_verifies_with_its_code(
    goal: str, verdict: str, code: int
) -> None:
    report = Ask(RULES, FACTS)(goal).report
    assert (report.verdict, report.exit_code, report.reason) == (verdict, code, None)


def test_s2_a_changed_certificate_is_rejected_with_one() -> None:
    certificate = Ask(RULES, FACTS)("p(sure)").certificate
    assert check_certificate(certificate.replace(b"sure", b"sore")).exit_code == 1
    assert check_certificate(b"").exit_code == 1


def test_s2_the_checker_lists_the_assumptions() -> None:
    report = Ask(RULES, FACTS)("p(said)").report
    assert any("alice" in text for text in report.under)


TWO_WAYS = """
.decl a(x: symbol)
.input a(source="memory")
.decl b(x: symbol)
.input b(source="memory")
.decl p(x: symbol)
@[confidence = 0.5]
p(?x) :- a(?x).
@[confidence = 0.75]
p(?x) :- b(?x).
"""


def test_s3_a_confidence_of_one_is_exact_even_where_the_search_stopped() -> None:
    asked = Ask(RULES, FACTS)("p(sure)")
    assert (asked.confidence, asked.decision.exact) == ("1", True)
    assert asked.report.confidence == "1"


def test_s3_a_search_that_stopped_reports_a_bound() -> None:
    costs = (("a", 1), ("b", 100))
    asked = Ask(TWO_WAYS, "a(k)\nb(k)", costs)("p(k)")
    assert not asked.decision.exact
    assert asked.report.confidence in {"at least 0.5", "at least 0.75"}


def test_s3_the_certificate_says_whether_the_search_stopped() -> None:
    rules = TWO_WAYS.replace("@[confidence = 0.5]", "")
    certain = json.loads(Ask(rules, "a(k)\nb(k)")("p(k)").certificate)
    bound = json.loads(Ask(TWO_WAYS, "a(k)\nb(k)")("p(k)").certificate)
    assert certain["header"]["search"] == "exhausted"
    assert bound["header"]["search"] == "stopped"


def test_s3_the_exhausted_search_reports_the_best_proof() -> None:
    asked = Ask(TWO_WAYS, "a(k)\nb(k)")("p(k)", exhaust=True)
    assert (asked.confidence, asked.decision.exact) == ("0.75", True)
