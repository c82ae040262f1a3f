"""Rules that begin alike share the work where it pays; the rows stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from constat.plan.forward import PlanOptions, Sizes, planning
from tests.plan.forward.programs import EDGES, SOME, agree, notes, planned, stage_of

if TYPE_CHECKING:
    from constat.logic import Row

HEAD = """
.decl e(x: number, y: number)
.input e
.decl f(x: number, y: number)
.input f
.decl p(x: number, y: number)
.decl q(x: number, y: number)
.decl r(x: number, y: number)
"""
NAME = "common subplans"
LARGE = Sizes(
    {"e": 1e6, "f": 10.0},
    {("e", 0): 1e6, ("e", 1): 1e6, ("f", 0): 10.0, ("f", 1): 10.0},
)
ALIKE = {
    "two joins": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z), f(?z, _)."
    "q(?a, ?c) :- e(?a, ?b), e(?b, ?c), ?a < ?c. r(?x, ?y) :- p(?x, ?y), q(?x, ?y).",
    "a filter and an absence": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z), ?x != ?z, !f(?x, ?z), f(?x, _)."
    "q(?b, ?c) :- e(?a, ?b), e(?b, ?c), ?a != ?c, !f(?a, ?c). r(?x, ?y) :- p(?x, ?y), q(?y, ?x).",
    "constants": "p(?x, 1) :- e(?x, 2), e(?x, ?y), f(?y, _). q(?x, ?y) :- e(?x, 2), e(?x, ?y)."
    "r(?x, ?y) :- p(?x, ?y), q(?x, _).",
    "a recursion": "p(?x, ?z) :- e(?x, ?y), e(?y, ?z)."
    "p(?x, ?w) :- e(?x, ?y), e(?y, ?z), p(?z, ?w). r(?x, ?y) :- p(?x, ?y).",
    "an aggregate behind": "p(?x, ?n) :- e(?x, ?y), e(?y, _), ?n = count : { f(?y, _) }."
    "q(?x, ?y) :- e(?x, ?y), e(?y, _). r(?x, ?y) :- p(?x, ?y), q(?x, ?y).",
}


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("rules", ALIKE.values(), ids=list(ALIKE))
@settings(max_examples=SOME)
@given(edges=EDGES, others=EDGES)
def test_sharing_keeps_the_rows(rules: str, edges: list[Row], others: list[Row]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_is_large", lambda _draft: True)
        patch.setattr(planning, "_WORTH", -1.0)
        patch.setattr(planning, "_COST_OF_KEEPING", 0.0)
        plan = agree(HEAD + rules, "r(?x, ?y)", {"e": edges, "f": others})
    assert True in notes(plan, NAME).values()


def test_a_join_of_two_rules_is_computed_once_where_it_is_large() -> None:
    plan = planned(HEAD + ALIKE["two joins"], "r(?x, ?y)", sizes=LARGE)
    assert "shared/1" not in plan.relations
    filtered = "p(?x, ?z) :- e(?x, ?y), e(?y, ?z), f(?z, ?x), ?x < 3. q(?a, ?b) :- e(?a, ?b), "
    filtered += "e(?b, ?c), f(?c, ?a), ?a > 3. r(?x, ?y) :- p(?x, ?y), q(_, ?y)."
    plan = planned(HEAD + filtered, "r(?x, ?y)", sizes=Sizes({"e": 1e6, "f": 1e6}))
    assert list(notes(plan, NAME).values()) == [True]
    assert plan.relations["shared/1"].made_by == NAME
    assert plan.relations["shared/1"].arity == 3


def test_small_joins_are_not_kept() -> None:
    few = planned(HEAD + ALIKE["two joins"], "r(?x, ?y)", sizes=Sizes({"e": 10.0, "f": 10.0}))
    assert notes(few, NAME) == {}
    thin = Sizes({"e": 1e5, "f": 10.0}, {("e", 0): 1e5, ("e", 1): 1e5})
    plan = planned(HEAD + ALIKE["two joins"], "r(?x, ?y)", sizes=thin)
    assert list(notes(plan, NAME).values()) == [False]


def test_nothing_is_shared_where_rules_are_to_stay() -> None:
    options = PlanOptions(rewrite=False)
    plan = planned(HEAD + ALIKE["two joins"], "r(?x, ?y)", sizes=LARGE, options=options)
    assert plan.rewritings == ()


def test_a_beginning_that_reads_its_own_component_is_not_shared() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z), f(?x, _)."
    rules += "p(?x, ?w) :- p(?x, ?y), e(?y, ?z), e(?z, ?w)."
    plan = planned(HEAD + rules, "p(?x, ?y)", sizes=LARGE)
    assert notes(plan, NAME) == {}
    assert stage_of(plan, "p").linear
