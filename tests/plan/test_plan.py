"""The order of literals, the adornments a goal needs, and what plans carry."""

from __future__ import annotations

from constat.logic import Constant
from constat.plan import Absence, Fold, Join, plan_program, predicate_costs, unproductive
from tests.engine.tables import goal, program

RULES = """
.decl cheap(x: symbol, v: number)
.input cheap(source="config", key="v")
.decl dear(x: symbol, v: number)
.input dear(source="t", query="q")
.decl top(x: symbol)
top(?x) :- dear(?x, ?v), ?v > ?w, cheap(?x, ?w).
.decl over(x: symbol)
over(?x) :- top(?x).
.decl every(n: number)
every(?n) :- ?n = count : { top(_x) }.
"""
COSTS = {"cheap": 1, "dear": 100}


def test_costs_rise_from_sources_to_what_rests_on_them() -> None:
    costs = predicate_costs(program(RULES), COSTS)
    assert (costs["cheap"], costs["dear"], costs["top"], costs["over"]) == (1, 100, 100, 100)


def test_cheap_literals_come_first_and_comparisons_as_soon_as_they_can() -> None:
    analysed = program(RULES)
    plan = plan_program(analysed, goal("top(a)", analysed), COSTS)
    rule = plan.procedures["top", (0,)].rules[0]
    assert rule.order == (2, 0, 1)


def test_bound_columns_travel_to_the_predicates_below() -> None:
    analysed = program(RULES)
    plan = plan_program(analysed, goal("over(a)", analysed), COSTS)
    assert set(plan.procedures) == {("over", (0,)), ("top", (0,))}
    free = plan_program(analysed, goal("over(?x)", analysed), COSTS)
    assert set(free.procedures) == {("over", ()), ("top", ())}


def test_an_aggregate_asks_for_its_body_with_its_group_bound() -> None:
    analysed = program(RULES)
    plan = plan_program(analysed, goal("every(?n)", analysed), COSTS)
    (fold,) = plan.procedures["every", ()].rules[0].steps
    assert isinstance(fold, Fold)
    assert [step.predicate for step in fold.steps if isinstance(step, Join)] == ["top"]
    assert ("top", ()) in plan.procedures


def test_constants_become_bound_columns() -> None:
    text = """
    .decl e(x: symbol, y: symbol)
    .input e(source="t", query="q")
    .decl p(x: symbol)
    p(?x) :- e(?x, "gold"), !e("gold", ?x).
    """
    analysed = program(text)
    plan = plan_program(analysed, goal("p(?x)", analysed), {"e": 1})
    join, absence = plan.procedures["p", ()].rules[0].steps
    assert isinstance(join, Join)
    assert isinstance(absence, Absence)
    assert join.columns == (1,)
    assert absence.columns == (0, 1)


def test_a_column_nobody_reads_is_not_carried() -> None:
    text = """
    .decl e(x: symbol, y: symbol)
    .input e(source="t", query="q")
    .decl p(x: symbol)
    p(?x) :- e(?x, _).
    """
    analysed = program(text)
    plan = plan_program(analysed, goal("p(?x)", analysed), {"e": 1})
    (join,) = plan.procedures["p", ()].rules[0].steps
    assert isinstance(join, Join)
    assert join.kept == (0,)


def test_the_goal_binds_its_constants() -> None:
    analysed = program(RULES)
    asked = goal("cheap(a, 5)", analysed)
    assert all(isinstance(term, Constant) for term in asked.terms)
    assert plan_program(analysed, asked, COSTS).goal == ("cheap", (0, 1))


def test_predicates_that_only_rest_on_themselves_are_unproductive() -> None:
    text = """
    .decl e(x: symbol)
    .input e(source="t", query="q")
    .decl p(x: symbol)
    .decl q(x: symbol)
    .decl r(x: symbol)
    .decl s(x: symbol)
    .decl t(x: symbol)
    p(?x) :- e(?x), q(?x).
    q(?x) :- p(?x).
    r(?x) :- e(?x), q(?x).
    s(?x) :- s(?x), e(?x).
    s("a").
    t(?x) :- e(?x), !p(?x).
    """
    assert unproductive(program(text)) == {"p", "q", "r"}
