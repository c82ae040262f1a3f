"""What pyDatalog is not given: assumptions, open facts, inputs that need values."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.catalogue import catalogue
from constat.evaluation import Answer, CallFinished, CallStarted, Demand, Event, Limits
from constat.pydatalog import PyDatalogEngine
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program, world
from tests.property.tables import Manner, tables
from tests.pydatalog.asking import LIMITS, ask, declared

RULES = declared({"e": "x: number", "f": "x: number", "p": "x: number", "q": "x: number"}, "e", "f")
RULES += "p(?x) :- e(?x).\n@[confidence = 0.9]\nq(?x) :- e(?x).\n"


def refused(engine: PyDatalogEngine, rules: str, goal: str, *facts: str) -> tuple[Diagnostic, int]:
    with pytest.raises(ConstatError) as caught:
        ask(engine, rules, goal, facts)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code in catalogue()
    assert diagnostic.note
    assert diagnostic.help
    return diagnostic, caught.value.exit_code


def test_a_rule_with_a_confidence_is_refused_at_its_place(engine: PyDatalogEngine) -> None:
    diagnostic, code = refused(engine, RULES, "q(1)", "e(1)")
    assert (diagnostic.code, code) == ("C0420", 78)
    assert "0.9" in diagnostic.label
    assert diagnostic.span is not None
    lines = RULES.splitlines()
    assert lines[diagnostic.span.line - 1 : diagnostic.span.end_line][-1].startswith("q(?x)")


def test_a_proposed_rule_is_refused(engine: PyDatalogEngine) -> None:
    rules = RULES.replace("@[confidence = 0.9]", '@[author = "llm:x"]')
    diagnostic, code = refused(engine, rules, "q(1)", "e(1)")
    assert (diagnostic.code, code) == ("C0420", 78)
    assert "approved" in diagnostic.label


def test_a_rule_that_the_goal_does_not_need_is_not_looked_at(engine: PyDatalogEngine) -> None:
    assert ask(engine, RULES, "p(1)", ["e(1)"]).holds is True


def test_a_total_that_runs_through_recursion_is_refused_at_its_place(
    engine: PyDatalogEngine,
) -> None:
    rules = declared({"e": "x: number", "p": "x: number", "q": "x: number"}, "e")
    rules += "q(?x) :- e(?x).\np(?x) :- q(?x).\np(?x) :- e(?x), count : { p(_y) } >= ?x.\n"
    diagnostic, code = refused(engine, rules, "p(1)", "e(1)")
    assert (diagnostic.code, code) == ("C0283", 78)
    assert diagnostic.span is not None
    assert "count" in rules.splitlines()[diagnostic.span.line - 1]
    assert ask(engine, rules, "q(1)", ["e(1)"]).holds is True


def test_an_input_that_needs_values_is_refused_at_its_place(engine: PyDatalogEngine) -> None:
    rules = RULES.replace('.input e(source="memory")', '.input e(source="m", required="x")')
    rules = rules.replace("p(?x) :- e(?x).", "p(?x) :- f(?x), e(?x).").partition("@[")[0]
    diagnostic, code = refused(engine, rules, "p(1)", "f(1)")
    assert (diagnostic.code, code) == ("C0421", 78)
    assert "`x`" in diagnostic.label
    assert diagnostic.span is not None
    assert rules.splitlines()[diagnostic.span.line - 1].startswith(".input e")


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("open e(?x)", "there may be more rows: the source did not say"),
        ("open e(7)", "there may be more rows"),
        ("declared e(?x)", "e is complete"),
        ("assumed e(2)", "on alice's word"),
        ("fallen e(2)", "tier crm did not answer"),
    ],
)
def test_facts_that_are_not_closed_are_refused(
    engine: PyDatalogEngine, fact: str, reason: str
) -> None:
    # 78 is for constructs of the language; facts that are open leave the goal unanswered.
    diagnostic, code = refused(engine, RULES, "p(1)", "e(1)", fact)
    assert (diagnostic.code, code) == ("C0422", 4)
    assert reason in diagnostic.note


def test_a_pattern_that_nobody_answers_is_refused(engine: PyDatalogEngine) -> None:
    found = program(RULES)
    silent = tables(found, world(found, ["open e(?x)"]), Manner(silent=True))
    with pytest.raises(ConstatError, match="C0422"):
        engine.answers(found, parse_goal("p(1)", found.program), silent, LIMITS)


def test_a_predicate_that_no_tier_answers_is_refused(engine: PyDatalogEngine) -> None:
    found = program(RULES)
    with pytest.raises(ConstatError, match="C0422"):
        engine.answers(found, parse_goal("p(1)", found.program), {}, LIMITS)


def test_what_the_goal_does_not_need_may_be_open(engine: PyDatalogEngine) -> None:
    assert ask(engine, RULES, "p(1)", ["e(1)", "open f(?x)"]).holds is True


def test_each_table_is_asked_once_and_in_full(engine: PyDatalogEngine) -> None:
    found = program(RULES)
    outside = tables(found, world(found, ["e(1)"]))
    events: list[Event] = []
    goal = parse_goal("p(1)", found.program)
    engine.answers(found, goal, outside, LIMITS, observe=events.append)
    assert [(one.columns, one.keys) for one in outside["e"].demands] == [((), ((),))]
    assert outside["f"].demands == []
    assert [type(one) for one in events] == [CallStarted, CallFinished]


def test_cheap_predicates_are_asked_first(engine: PyDatalogEngine) -> None:
    rules = RULES.replace("p(?x) :- e(?x).", "p(?x) :- e(?x), f(?x).")
    found = program(rules)
    outside = tables(found, world(found, ["e(1)", "open f(?x)"]))
    dear = _Dear()
    with pytest.raises(ConstatError, match="`f` is open"):
        engine.answers(found, parse_goal("p(1)", found.program), {**outside, "e": dear}, LIMITS)
    assert outside["e"].demands == [], "a model is not asked for an answer that is refused"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(rows=2), "limit of 2 rows"),
        (Limits(calls=0), "limit of 0 calls"),
        (Limits(seconds=0.0), "time limit"),
    ],
)
def test_a_limit_is_no_answer(engine: PyDatalogEngine, limits: Limits, reason: str) -> None:
    found = ask(engine, RULES, "p(9)", ["e(1)", "e(2)", "e(3)"], limits)
    assert found.holds is None
    assert reason in found.stopped


@dataclass
class _Dear:
    cost: int = 1000

    def answer(self, demand: Demand) -> Answer:
        raise AssertionError("a dear predicate was asked")
