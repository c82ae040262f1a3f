"""Transitive rules become linear where that is sound, and stay where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from constat.plan.forward import PlanOptions
from tests.plan.forward.programs import EDGES, SOME, agree, notes, planned, stage_of

if TYPE_CHECKING:
    from constat.logic import Row

HEAD = """
.decl e(x: number, y: number)
.input e
.decl f(x: number, y: number)
.input f
.decl p(x: number, y: number)
"""
NAME = "linear closure"
CLOSURES = {
    "one edge relation": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "body turned round": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?y, ?z), p(?x, ?y).",
    "columns turned round": "p(?x, ?y) :- e(?y, ?x). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "backward": "p(?x, ?y) :- e(?x, ?y). p(?z, ?x) :- p(?y, ?x), p(?z, ?y).",
    "two exits and a fact": "p(?x, ?y) :- e(?x, ?y). p(?x, ?y) :- f(?y, ?x), ?x < 4. p(0, 3)."
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "loops only": "p(?x, ?x) :- e(?x, _). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "negation below": "p(?x, ?y) :- e(?x, ?y), !f(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
}
KEPT = {
    "linear already": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "recursive exit": "p(?x, ?y) :- e(?x, ?y). p(?x, ?y) :- p(?y, ?x), f(?x, ?x)."
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
    "a filter": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z), ?x < ?z.",
    "a fork": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?y, ?x), p(?y, ?z).",
    "a meeting": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?z, ?y).",
    "a swap": "p(?x, ?y) :- e(?x, ?y). p(?z, ?x) :- p(?x, ?y), p(?y, ?z).",
    "a loop": "p(?x, ?y) :- e(?x, ?y). p(?x, ?x) :- p(?x, ?y), p(?y, ?x).",
    "a constant": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, 1), p(1, ?z).",
    "through another": ".decl q(x: number, y: number) p(?x, ?y) :- e(?x, ?y)."
    "p(?x, ?y) :- q(?x, ?y)."
    "q(?x, ?y) :- p(?y, ?x), f(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z).",
}


@pytest.mark.parametrize("rules", CLOSURES.values(), ids=list(CLOSURES))
def test_a_closure_is_made_linear(rules: str) -> None:
    plan = planned(HEAD + rules, "p(?a, ?b)")
    assert notes(plan, NAME) == {"p": True}
    stage = stage_of(plan, "p")
    assert stage.linear
    assert len(stage.recursive) == 1


@pytest.mark.parametrize("rules", KEPT.values(), ids=list(KEPT))
def test_any_other_recursion_is_kept(rules: str) -> None:
    plan = planned(HEAD + rules, "p(?a, ?b)")
    assert True not in notes(plan, NAME).values()
    assert plan.program == plan.original


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("rules", [*CLOSURES.values(), *KEPT.values()])
@settings(max_examples=SOME)
@given(edges=EDGES, others=EDGES)
def test_the_rows_are_those_of_the_rules_as_written(
    rules: str, edges: list[Row], others: list[Row]
) -> None:
    world = {"e": edges, "f": others}
    agree(HEAD + rules, "p(?a, ?b)", world)
    agree(HEAD + rules, "p(?a, 3)", world, PlanOptions(magic=False))


def test_a_closure_for_each_group_keeps_the_group() -> None:
    text = """
    .decl e(g: number, x: number, y: number)
    .input e
    .decl p(x: number, g: number, y: number)
    p(?x, ?g, ?y) :- e(?g, ?x, ?y).
    p(?x, ?g, ?z) :- p(?x, ?g, ?y), p(?y, ?g, ?z).
    """
    rows: list[Row] = [(1, 1, 2), (1, 2, 3), (2, 3, 4), (2, 2, 1)]
    plan = agree(text, "p(?x, ?g, ?y)", {"e": rows})
    assert notes(plan, NAME) == {"p": True}


def test_pairs_of_columns_are_composed_as_pairs() -> None:
    text = """
    .decl e(a: number, b: number, c: number, d: number)
    .input e
    .decl p(a: number, b: number, c: number, d: number)
    p(?a, ?b, ?c, ?d) :- e(?a, ?b, ?c, ?d).
    p(?a, ?b, ?e, ?f) :- p(?a, ?b, ?c, ?d), p(?d, ?c, ?e, ?f).
    """
    rows: list[Row] = [(1, 2, 3, 4), (4, 3, 5, 6), (6, 5, 1, 1), (3, 4, 7, 7), (1, 1, 2, 2)]
    plan = agree(text, "p(?a, ?b, ?c, ?d)", {"e": rows})
    assert notes(plan, NAME) == {"p": True}


def test_rows_from_outside_and_open_predicates_keep_the_rule() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z)."
    outside = planned(HEAD + ".input p\n" + rules, "p(?a, ?b)")
    assert notes(outside, NAME) == {"p": False}
    unknown = planned(HEAD + rules, "p(?a, ?b)", options=PlanOptions(open=frozenset({"e"})))
    assert notes(unknown, NAME) == {"p": False}


def test_the_side_of_a_wanted_constant_is_kept() -> None:
    rules = HEAD + CLOSURES["one edge relation"]
    for question, read_last in (("p(1, ?b)", "e"), ("p(?a, 1)", "p")):
        plan = planned(rules, question, options=PlanOptions(magic=False))
        body = plan.program.rules[-1].body
        assert [one.atom.predicate for one in body if hasattr(one, "atom")][1] == read_last
