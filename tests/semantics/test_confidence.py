"""Sentences 17 and 18 of the contract: confidence and origins."""

from __future__ import annotations

import pytest

from constat.evaluation import FactDerivation, Origin
from tests.semantics.asking import Ask

RULES = """
.decl a(x: symbol)
.input a(source="memory")
.decl b(x: symbol)
.input b(source="memory")
.decl s(x: symbol, v: number)
.input s(source="memory")
.decl both(x: symbol)
@[confidence = 0.9]
both(?x) :- a(?x), b(?x).
.decl twice(x: symbol)
@[confidence = 0.333333]
twice(?x) :- both(?x).
.decl either(x: symbol)
either(?x) :- both(?x).
either(?x) :- a(?x).
.decl lacks(x: symbol)
lacks(?x) :- a(?x), !b(?x).
.decl total(x: symbol, t: number)
total(?x, ?t) :- a(?x), ?t = sum ?v : { s(?x, ?v) }.
"""


@pytest.mark.parametrize(
    ("facts", "goal", "confidence"),
    [
        ("a(k)\nb(k)", "a(k)", "1"),
        ("a(k)\nb(k)", "both(k)", "0.9"),
        ("assumed a(k)\nb(k)", "a(k)", "0.7"),
        ("assumed a(k)\nb(k)", "both(k)", "0.63"),
        ("assumed a(k)\nassumed b(k)", "both(k)", "0.63"),
        ("a(k)\nb(k)", "twice(k)", "0.299999"),
        ("a(k)\nb(k)", "either(k)", "1"),
        ("a(k)", "lacks(k)", "1"),
        ("a(k)\ns(k, 1)\nassumed s(k, 2)", "total(k, 3)", "0.7"),
        ("a(k)\ns(k, 1)\ns(k, 2)", "total(k, 3)", "1"),
    ],
)
def test_s17_premises_take_the_least_times_the_rule(facts: str, goal: str, confidence: str) -> None:
    asked = Ask(RULES, facts)(goal, exhaust=True)
    assert asked.confidence == confidence
    assert asked.report.confidence == confidence


def test_s17_alternatives_take_the_greatest() -> None:
    rules = RULES + "@[confidence = 0.95]\neither(?x) :- b(?x)."
    assert Ask(rules, "assumed a(k)\nb(k)")("either(k)", exhaust=True).confidence == "0.95"


def test_s17_truth_does_not_look_at_confidence() -> None:
    rules = RULES.replace("0.333333", "0.000001")
    asked = Ask(rules, "a(k)\nb(k)")("twice(k)")
    assert (asked.verdict, asked.confidence) == ("PROVED_UNDER", "0")


def test_s17_a_rule_below_one_is_an_assumption() -> None:
    asked = Ask(RULES, "a(k)\nb(k)")("both(k)")
    assert (asked.verdict, asked.assumptions) == ("PROVED_UNDER", [("rule", "both.1")])


def test_s18_the_origin_of_a_row_is_its_tiers() -> None:
    outcome = Ask(RULES, "a(k)\nassumed b(k)")("both(k)").decision.outcome
    origins = {}
    for name in ("a", "b"):
        derivation = outcome.derivation(name, ("k",), 2)
        assert isinstance(derivation, FactDerivation)
        origins[name] = derivation.evidence.origin
    assert origins == {"a": Origin.DATABASE, "b": Origin.USER_PROVIDED}


def test_s18_words_of_people_models_and_interfaces_are_assumptions() -> None:
    sure = {origin for origin in Origin if not origin.assumed}
    assert sure == {Origin.CONFIG, Origin.DATABASE, Origin.DERIVED}
