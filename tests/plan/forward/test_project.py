"""Fixpoints read the columns they need, so that integers can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.plan.forward import Sizes, Strategy
from tests.plan.forward.programs import SOME, agree, notes, planned, stage_of

if TYPE_CHECKING:
    from constat.logic import Row

HEAD = """
.decl e(x: number, y: number, w: float)
.input e
.decl p(x: number, y: number)
.decl q(x: number, y: number)
"""
NAME = "projection"
PROGRAMS = {
    "a weight nobody reads": "p(?x, ?y) :- e(?x, ?y, _)."
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?w), e(?w, ?z, _).",
    "a weight that is compared": "p(?x, ?y) :- e(?x, ?y, ?w), ?w > 0.5."
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?v), e(?v, ?z, ?w), ?w > 0.5, ?z != ?x, ?v < 5.",
    "two of them": "p(?x, ?y) :- e(?x, ?y, _). q(?x, ?y) :- p(?x, ?y), e(?x, ?y, 0.5)."
    "p(?x, ?z) :- p(?x, ?y), q(?y, ?z), e(?x, _, ?w), ?w < 2.0.",
}
SHARED = {
    "one literal of which rules keep other columns": "p(?x, ?y) :- e(?x, ?y, _)."
    "p(?b, ?x) :- p(?x, ?y), p(?y, ?x), e(?a, ?b, ?w), ?w > 0.5, ?a != ?b."
    "p(?a, ?x) :- p(?x, ?y), p(?y, ?x), e(?a, ?b, ?w), ?w > 0.5, ?a != ?b."
    "p(?x, ?y) :- p(?x, ?z), p(?z, ?y), e(?a, ?b, ?w), ?w > 0.5, ?a != ?b.",
    "a literal that one rule joins and another only asks for": "p(?x, ?y) :- e(?x, ?y, _)."
    "p(?x, ?z) :- p(?x, ?y), p(?y, ?z), e(?a, ?b, ?w), ?w > 0.5, ?a < 9, ?b < 9."
    "p(?x, ?a) :- p(?x, ?y), p(?y, ?a), e(?a, ?b, ?w), ?w > 0.5, ?a < 9, ?b < 9, q(?a, ?b)."
    "q(1, 2).",
}
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0])),
    max_size=10,
    unique=True,
)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("rules", [*PROGRAMS.values(), *SHARED.values()], ids=[*PROGRAMS, *SHARED])
@settings(max_examples=SOME)
@given(rows=ROWS)
def test_projections_keep_the_rows(rules: str, rows: list[Row]) -> None:
    plan = agree(HEAD + rules, "p(?x, ?y)", {"e": rows})
    assert notes(plan, NAME) == {"e": True}


def test_rules_that_keep_the_same_columns_of_a_literal_share_its_projection() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y, _)."
    rules += "p(?x, ?y) :- p(?x, ?z), p(?z, ?y), e(?x, ?y, ?w), ?w > 0.5."
    rules += "p(?y, ?x) :- p(?x, ?z), p(?z, ?y), e(?x, ?y, ?w), ?w > 0.5."
    rules += "p(?y, ?y) :- p(?y, ?z), p(?z, ?y), e(?x, ?y, ?w), ?w > 0.5, ?x < 9."
    plan = planned(HEAD + rules, "p(?x, ?y)")
    made = [name for name, one in plan.relations.items() if one.made_by == NAME]
    assert sorted(made) == ["e/1", "e/2", "e/3"]


@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_fixpoint_over_projections_is_one_of_integers(rules: str) -> None:
    stage = stage_of(planned(HEAD + rules, "p(?x, ?y)"), "p")
    assert Strategy.RUNS in stage.choices


def test_a_few_nodes_reached_over_many_edges_read_them_in_place() -> None:
    rules = "p(?x, ?y) :- q(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z, _). q(1, 2)."
    plan = planned(HEAD + rules, "p(?x, ?y)", sizes=Sizes({"e": 5e6}))
    assert notes(plan, NAME) == {}
    assert stage_of(plan, "p").strategy is Strategy.CTE


def test_an_atom_that_computes_from_its_own_variable_stays_where_that_is_bound() -> None:
    rules = """.decl g(x: number, w: float, y: number)
.input g
p(?x, ?y) :- e(?x, ?y, _).
p(?x, ?z) :- p(?x, ?y), p(?y, ?z), e(?x, ?z, ?w), g(?x, ?w, -(?x)).
p(?z, ?x) :- p(?x, ?y), p(?y, ?z), g(?x, _, -(?x)).
"""
    plan = agree(HEAD + rules, "p(?x, ?y)", {"e": [(1, 2, 0.5), (2, 1, 1.0)], "g": [(1, 0.5, -1)]})
    assert "g" not in notes(plan, NAME)


def test_a_weight_that_a_later_step_reads_stays() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y, _)."
    rules += "p(?x, ?z) :- p(?x, ?y), p(?y, ?z), e(?x, ?y, ?w), e(?y, ?z, ?w)."
    plan = planned(HEAD + rules, "p(?x, ?y)")
    assert False in notes(plan, NAME).values()
