"""Sentences 4 to 9 of the contract: answers, the certain and the possible, negation, errors."""

from __future__ import annotations

import pytest

from constat.logic import OPEN
from tests.property.tables import Manner
from tests.semantics.asking import Ask

TIER = """
.decl tier(c: symbol, t: symbol)
.input tier(source="memory")
.decl vip(c: symbol)
vip(?c) :- tier(?c, "gold").
"""


def test_s4_a_complete_answer_decides_both_ways() -> None:
    ask = Ask(TIER, "tier(ann, gold)\ntier(bob, silver)")
    assert ask("vip(ann)").verdict == "PROVED"
    assert ask("vip(bob)").verdict == "DISPROVED"
    assert ask("vip(nobody)").verdict == "DISPROVED"


def test_s4_a_partial_answer_proves_and_does_not_disprove() -> None:
    ask = Ask(TIER, "tier(ann, gold)\nopen tier(?c, ?t)")
    assert ask("vip(ann)").verdict == "PROVED"
    assert ask("vip(bob)").verdict == "UNRESOLVED"


def test_s4_a_key_that_nobody_answers_is_unknown_and_not_empty() -> None:
    ask = Ask(TIER, "open tier(bob, ?t)", manner=Manner(silent=True))
    asked = ask("vip(bob)")
    assert asked.verdict == "UNRESOLVED"
    assert asked.missing == {("tier", ("bob", "gold"))}
    assert ask("vip(ann)").verdict == "DISPROVED"


def test_s4_a_predicate_that_nothing_outside_knows_is_unknown() -> None:
    from constat.engine import LazyEngine
    from constat.evaluation import Limits
    from constat.proof import decide
    from constat.syntax import parse_goal
    from tests.language.worlds_of_text import program

    found = program(TIER)
    goal = parse_goal("vip(ann)", found.program)
    decision = decide(LazyEngine(), found, goal, {}, Limits())
    assert decision.verdict.value == "UNRESOLVED"


@pytest.mark.parametrize("manner", [Manner(), Manner(narrow=True), Manner(wide=True)])
def test_s5_the_meaning_does_not_depend_on_which_columns_are_bound(manner: Manner) -> None:
    rules = """
    .decl e(a: symbol, b: symbol)
    .input e(source="memory")
    .decl p(a: symbol, b: symbol)
    p(?a, ?b) :- e(?a, ?b), !e(?b, ?a).
    """
    ask = Ask(rules, "e(x, y)\ne(y, z)\ne(z, y)\nopen e(w, ?b)", manner=manner)
    for goal in ("p(x, y)", "p(x, ?b)", "p(?a, y)", "p(?a, ?b)"):
        assert ask(goal).verdict == "PROVED", goal
    for goal in ("p(y, z)", "p(y, ?b)"):
        assert ask(goal).verdict == "DISPROVED", goal
    for goal in ("p(w, x)", "p(w, ?b)", "p(?a, x)"):
        assert ask(goal).verdict == "UNRESOLVED", goal


def test_s6_rows_used_after_a_tier_failed_rest_on_that_assumption() -> None:
    asked = Ask(TIER, "fallen tier(ann, gold)")("vip(ann)")
    assert asked.verdict == "PROVED_UNDER"
    assert asked.assumptions == [("fall-through", "crm")]


def test_s6_two_values_for_one_key_are_both_possible_and_none_certain() -> None:
    ask = Ask(TIER, "open tier(ann, gold)\nopen tier(ann, silver)")
    assert ask("vip(ann)").verdict == "UNRESOLVED"
    assert ask("tier(ann, bronze)").verdict == "DISPROVED"
    assert ask("tier(ann, ?t)").verdict == "UNRESOLVED"


def test_s7_the_certain_and_the_possible_coincide_where_nothing_is_open() -> None:
    asked = Ask(TIER, "tier(ann, gold)\ntier(bob, silver)")("vip(?c)", exhaust=True)
    outcome = asked.decision.outcome
    assert set(outcome.rows("vip", 3)) == set(outcome.rows("vip", 0)) == {("ann",)}


def test_s7_an_open_pattern_adds_a_possible_row_with_placeholders() -> None:
    asked = Ask(TIER, "tier(ann, gold)\nopen tier(?c, gold)")("vip(?c)", exhaust=True)
    outcome = asked.decision.outcome
    assert set(outcome.rows("vip", 3)) == {("ann",)}
    assert (OPEN,) in set(outcome.rows("vip", 1))


NUMBERS = """
.decl v(c: symbol, x: number)
.input v(source="memory")
.decl limit(x: number)
.input limit(source="memory")
.decl over(c: symbol)
over(?c) :- v(?c, ?x), limit(?l), ?x > ?l.
.decl double(c: symbol, y: number)
double(?c, ?x * 2) :- v(?c, ?x).
.decl same(c: symbol)
same(?c) :- v(?c, ?x), limit(?x).
"""


def test_s7_a_comparison_over_the_placeholder_is_possible_and_never_certain() -> None:
    assert Ask(NUMBERS, "v(a, 5)\nopen limit(?x)")("over(a)").verdict == "UNRESOLVED"
    assert Ask(NUMBERS, "v(a, 5)\nlimit(4)\nopen limit(?x)")("over(a)").verdict == "PROVED"


def test_s7_arithmetic_over_the_placeholder_yields_it() -> None:
    ask = Ask(NUMBERS, "open v(a, ?x)")
    assert ask("double(a, 8)").verdict == "UNRESOLVED"
    assert ask("double(b, 8)").verdict == "DISPROVED"


def test_s7_the_placeholder_joins_with_anything() -> None:
    assert Ask(NUMBERS, "open v(a, ?x)\nlimit(4)")("same(a)").verdict == "UNRESOLVED"
    assert Ask(NUMBERS, "open v(a, ?x)\nlimit(4)")("same(b)").verdict == "DISPROVED"


NOT = """
.decl c(x: symbol)
.input c(source="memory")
.decl b(x: symbol)
.input b(source="memory")
.decl good(x: symbol)
good(?x) :- c(?x), !b(?x).
"""


@pytest.mark.parametrize(
    ("fact", "verdict"),
    [
        ("", "PROVED"),
        ("b(k)", "DISPROVED"),
        ("open b(k)", "UNRESOLVED"),
        ("open b(?x)", "UNRESOLVED"),
        ("assumed b(k)", "DISPROVED_UNDER"),
        ("declared b(?x)", "PROVED_UNDER"),
    ],
)
def test_s8_a_negation_is_certain_when_the_row_is_not_possible(fact: str, verdict: str) -> None:
    assert Ask(NOT, f"c(k)\n{fact}")("good(k)").verdict == verdict


SUM = """
.decl g(x: symbol)
.input g(source="memory")
.decl r(x: symbol, v: number)
.input r(source="memory")
.decl total(x: symbol, t: number)
total(?x, ?t) :- g(?x), ?t = sum ?v : { r(?x, ?v) }.
.decl least(x: symbol, t: number)
least(?x, ?t) :- g(?x), ?t = min ?v : { r(?x, ?v) }.
"""


@pytest.mark.parametrize(
    ("fact", "verdict"),
    [
        ("", "PROVED"),
        ("r(k, 1)", "DISPROVED"),
        ("open r(k, ?v)", "UNRESOLVED"),
        ("open r(other, ?v)", "PROVED"),
        ("assumed r(k, 1)", "DISPROVED_UNDER"),
        ("declared r(k, ?v)", "PROVED_UNDER"),
    ],
)
def test_s8_an_aggregate_is_certain_iff_the_rows_of_its_group_are(fact: str, verdict: str) -> None:
    assert Ask(SUM, f"g(k)\nr(k, 5)\n{fact}")("total(k, 5)").verdict == verdict


def test_s8_the_group_key_comes_from_outside_the_aggregate() -> None:
    ask = Ask(SUM, "g(k)\nr(k, 5)\nr(other, 1)")
    assert ask("total(other, ?t)").verdict == "DISPROVED"
    assert ask("total(k, ?t)").verdict == "PROVED"


def test_s8_an_empty_group_has_no_minimum_where_it_is_complete() -> None:
    assert Ask(SUM, "g(k)")("least(k, ?t)").verdict == "DISPROVED"
    assert Ask(SUM, "g(k)\nopen r(k, ?v)")("least(k, ?t)").verdict == "UNRESOLVED"


ERRS = """
.decl r(x: symbol, a: number, b: number)
.input r(source="memory")
.decl q(x: symbol, v: number)
q(?x, ?v) :- r(?x, ?a, ?b), ?v = ?a / ?b.
.decl raw(x: symbol, s: symbol)
.input raw(source="memory")
.decl n(x: symbol, v: number)
n(?x, to_number(?s)) :- raw(?x, ?s).
.decl big(x: symbol)
big(?x) :- r(?x, ?a, _), ?a * 9223372036854775807 > 0.
"""


def test_s9_an_instance_that_errs_leaves_its_head_possible() -> None:
    ask = Ask(ERRS, "r(good, 6, 2)\nr(bad, 6, 0)\nraw(t, abc)")
    assert ask("q(good, 3)").verdict == "PROVED"
    assert ask("q(bad, 3)").verdict == "UNRESOLVED"
    assert ask("q(other, 3)").verdict == "DISPROVED"
    assert ask("n(t, 0)").verdict == "UNRESOLVED"
    assert ask("big(good)").verdict == "UNRESOLVED"


def test_s9_the_reason_names_the_rule_and_its_bindings() -> None:
    failures = Ask(ERRS, "r(bad, 6, 0)")("q(bad, ?v)").decision.outcome.failures
    assert len(failures) == 1
    assert "division by zero" in failures[0].reason
    assert failures[0].bindings == {"x": "bad", "a": "6", "b": "0"}


def test_s9_a_false_literal_hides_the_error_of_another() -> None:
    rules = (
        ERRS
        + """
    .decl ok(x: symbol)
    .input ok(source="memory")
    .decl both(x: symbol)
    both(?x) :- r(?x, ?a, ?b), ?a / ?b > 1, ok(?x).
    """
    )
    assert Ask(rules, "r(bad, 6, 0)")("both(bad)").verdict == "DISPROVED"
    assert Ask(rules, "r(bad, 6, 0)\nok(bad)")("both(bad)").verdict == "UNRESOLVED"
