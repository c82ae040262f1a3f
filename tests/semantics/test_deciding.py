"""Sentences 10 to 15 of the contract: the two readings, what decides, what is asked, limits."""

from __future__ import annotations

import pytest

from constat.evaluation import Limits, RuleDerivation
from constat.logic import OPEN
from tests.semantics.asking import Ask

RULES = """
.decl a(x: symbol)
.input a(source="memory")
.decl b(x: symbol)
.input b(source="memory")
.decl c(x: symbol)
.input c(source="memory")
.decl either(x: symbol)
either(?x) :- a(?x).
either(?x) :- b(?x).
.decl both(x: symbol)
both(?x) :- a(?x), b(?x).
.decl neither(x: symbol)
neither(?x) :- c(?x), !a(?x), !b(?x).
"""


@pytest.mark.parametrize(
    ("facts", "goal", "verdict", "assumptions"),
    [
        ("a(k)\nassumed b(k)", "either(k)", "PROVED", []),
        ("assumed a(k)", "either(k)", "PROVED_UNDER", [("fact", "a(k)")]),
        ("assumed a(k)\nb(k)", "both(k)", "PROVED_UNDER", [("fact", "a(k)")]),
        ("c(k)\nassumed a(k)", "neither(k)", "DISPROVED_UNDER", [("fact", "a(k)")]),
        ("c(k)\ndeclared a(?x)", "neither(k)", "PROVED_UNDER", [("closure", "a")]),
        ("c(k)\nfallen a(k)", "neither(k)", "DISPROVED_UNDER", [("fall-through", "crm")]),
        ("c(k)\nb(k)\nassumed a(k)", "neither(k)", "DISPROVED", []),
    ],
)
def test_s10_the_hard_reading_decides_before_the_accepted_one(
    facts: str, goal: str, verdict: str, assumptions: list[tuple[str, str]]
) -> None:
    asked = Ask(RULES, facts)(goal)
    assert (asked.verdict, asked.assumptions) == (verdict, assumptions)


@pytest.mark.parametrize("mark", ['@[author = "llm:m"]', "@[confidence = 0.9]"])
def test_s10_an_assumed_rule_is_open_in_the_hard_reading(mark: str) -> None:
    rules = f"""
    .decl a(x: symbol)
    .input a(source="memory")
    .decl p(x: symbol)
    @[id = R1] {mark}
    p(?x) :- a(?x).
    .decl q(x: symbol)
    q(?x) :- a(?x), !p(?x).
    """
    ask = Ask(rules, "a(k)")
    assert (ask("p(k)").verdict, ask("p(k)").assumptions) == ("PROVED_UNDER", [("rule", "R1")])
    assert ask("q(k)").verdict == "DISPROVED_UNDER"
    assert ask("p(other)").verdict == "DISPROVED"


def test_s10_an_assumed_rule_supports_nothing_that_holds_without_it() -> None:
    rules = """
    .decl a(x: symbol)
    .input a(source="memory")
    .decl p(x: symbol)
    @[author = "llm:m"]
    p(?x) :- a(?x).
    p(?x) :- a(?x), ?x != "j".
    """
    asked = Ask(rules, "a(k)")("p(k)", exhaust=True)
    assert (asked.verdict, asked.assumptions, asked.report.verdict) == ("PROVED", [], "PROVED")
    derivation = asked.decision.outcome.derivation("p", ("k",), 3)
    assert isinstance(derivation, RuleDerivation)
    assert derivation.rule == 1


def test_s10_the_assumptions_are_a_subset_minimal_set() -> None:
    asked = Ask(RULES, "assumed a(k)\nassumed b(k)")("either(k)", exhaust=True)
    assert asked.verdict == "PROVED_UNDER"
    assert len(asked.assumptions) == 1
    every = Ask(RULES, "assumed a(k)\nassumed b(k)")("both(k)")
    assert every.assumptions == [("fact", "a(k)"), ("fact", "b(k)")]


def test_s10_missing_facts_are_a_subset_minimal_set_that_would_decide() -> None:
    one = Ask(RULES, "open a(k)\nopen b(k)")("either(k)")
    assert (one.verdict, len(one.missing)) == ("UNRESOLVED", 1)
    two = Ask(RULES, "open a(?x)\nb(k)")("both(k)")
    assert two.missing in ({("a", ("k",))}, {("a", (OPEN,))})


def test_s11_more_answers_never_turn_a_decided_verdict_around() -> None:
    unknown = "c(k)\nb(k)\nopen a(?x)"
    for more in ("", "a(k)", "a(j)\na(k)"):
        facts = unknown.replace("open a(?x)", more)
        assert Ask(RULES, unknown)("neither(k)").verdict == "DISPROVED"
        assert Ask(RULES, facts)("neither(k)").verdict == "DISPROVED"
        assert Ask(RULES, facts)("either(k)").verdict == "PROVED"


def test_s11_a_verdict_under_assumptions_may_turn_around() -> None:
    assert Ask(RULES, "c(k)\ndeclared a(?x)")("neither(k)").verdict == "PROVED_UNDER"
    assert Ask(RULES, "c(k)\na(k)")("neither(k)").verdict == "DISPROVED"


@pytest.mark.parametrize(
    ("facts", "goal", "verdict"),
    [
        ("open a(?x)\nb(k)", "either(k)", "PROVED"),
        ("open a(?x)", "both(k)", "DISPROVED"),
        ("c(k)\nopen a(?x)\nb(k)", "neither(k)", "DISPROVED"),
        ("open c(?x)\na(k)", "neither(k)", "DISPROVED"),
    ],
)
def test_s12_a_missing_fact_does_not_hide_a_decided_answer(
    facts: str, goal: str, verdict: str
) -> None:
    assert Ask(RULES, facts)(goal).verdict == verdict


COSTS = (("a", 10), ("b", 1000))


def test_s13_a_model_is_not_asked_once_the_goal_is_settled() -> None:
    asked = Ask(RULES, "a(k)\nassumed b(k)", COSTS)("either(k)")
    assert (asked.verdict, asked.tables["b"].demands) == ("PROVED", [])
    assert {call.demand.predicate.name for call in asked.decision.outcome.calls} == {"a"}


def test_s13_under_assumptions_is_said_only_when_all_else_was_asked() -> None:
    costs = (("a", 1000), ("b", 10))
    asked = Ask(RULES, "a(k)\nassumed b(k)", costs)("either(k)")
    assert asked.verdict == "PROVED"
    assert asked.keys("a") == {((0,), ("k",))}


def test_s13_what_holds_under_an_assumption_is_not_settled() -> None:
    asked = Ask(RULES, "assumed a(k)\nassumed b(k)", COSTS)("either(k)")
    assert asked.verdict == "PROVED_UNDER"
    assert asked.tables["b"].demands


CYCLE = """
.decl edge(x: symbol, y: symbol)
.input edge(source="memory")
.decl bad(x: symbol)
.input bad(source="memory")
.decl reach(x: symbol, y: symbol)
reach(?x, ?y) :- edge(?x, ?y).
reach(?x, ?z) :- reach(?x, ?y), edge(?y, ?z).
.decl tainted(x: symbol)
tainted(?x) :- reach(?x, ?y), bad(?y).
.decl clean(x: symbol)
clean(?x) :- edge(?x, _), !tainted(?x).
.decl cleaner(x: symbol, n: number)
cleaner(?x, ?n) :- clean(?x), ?n = count : { reach(?x, ?y), clean(?y) }.
"""


def test_s14_negated_and_aggregated_subgoals_are_completed_first() -> None:
    ask = Ask(CYCLE, "edge(a, b)\nedge(b, c)\nedge(c, a)\nedge(d, e)\nedge(e, d)\nbad(c)")
    assert ask("clean(a)").verdict == "DISPROVED"
    assert ask("clean(d)").verdict == "PROVED"
    assert ask("cleaner(d, 2)").verdict == "PROVED"
    assert ask("cleaner(?x, ?n)").verdict == "PROVED"


COUNT = """
.decl start(n: number)
.input start(source="memory")
.decl up(n: number)
up(?n) :- start(?n).
up(?n + 1) :- up(?n).
.decl odd(n: number)
odd(?n) :- start(?n), !up(0).
"""


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(seconds=0.2), "the time limit of 0.2 seconds was reached"),
        (Limits(rows=1000), "the limit of 1,000 rows was reached"),
        (Limits(rounds=50), "the limit of 50 rounds was reached"),
    ],
    ids=["seconds", "rows", "rounds"],
)
def test_s15_a_limit_leaves_what_was_not_decided_unresolved(limits: Limits, reason: str) -> None:
    asked = Ask(COUNT, "start(1)", limits=limits)("up(0)")
    assert asked.verdict == "UNRESOLVED"
    assert asked.decision.outcome.stopped == reason
    assert Ask(COUNT, "start(1)", limits=limits)("odd(1)").verdict == "UNRESOLVED"


def test_s15_what_was_decided_before_a_limit_stays_decided() -> None:
    asked = Ask(COUNT, "start(1)", limits=Limits(rounds=50))("up(5)")
    assert asked.verdict == "PROVED"


def test_s15_recursion_over_cyclic_rows_comes_to_an_end() -> None:
    asked = Ask(CYCLE, "edge(a, b)\nedge(b, a)")("reach(?x, ?y)", exhaust=True)
    assert asked.verdict == "PROVED"
    assert asked.decision.outcome.stopped == ""


def test_s15_a_limit_on_calls_is_no_answer() -> None:
    asked = Ask(CYCLE, "edge(a, b)\nedge(b, c)", limits=Limits(calls=1))("reach(a, z)")
    assert asked.verdict == "UNRESOLVED"
