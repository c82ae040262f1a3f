"""Wanted constants restrict the rules where that pays, and never change an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.plan.forward import PlanOptions, Sizes
from constat.plan.forward.demand import is_stratified
from tests.plan.forward.programs import EDGES, SOME, agree, notes, planned

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
NAME = "magic sets"
FORCED = PlanOptions(magic=True)
PROGRAMS = {
    "left-linear": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "right-linear": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- e(?x, ?y), p(?y, ?z).",
    "not linear": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z), ?x != ?z.",
    "same generation": "p(?x, ?y) :- e(?x, ?z), e(?y, ?z)."
    "p(?x, ?y) :- e(?x, ?u), p(?u, ?v), e(?y, ?v).",
    "mutual": "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- q(?x, ?y), e(?y, ?z)."
    "q(?x, ?z) :- f(?x, ?y), p(?y, ?z).",
    "a fact": "p(1, 2). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "negation of what is derived": "q(?x, ?y) :- e(?x, ?y). q(?x, ?z) :- q(?x, ?y), e(?y, ?z)."
    "p(?x, ?y) :- f(?x, ?y), !q(?x, ?y). p(?x, ?z) :- p(?x, ?y), f(?y, ?z).",
    "negation below a recursion": "q(?x, ?y) :- e(?x, ?z), e(?z, ?y), !f(?x, ?y)."
    "p(?x, ?y) :- q(?x, ?y), !r(?x, _). p(?x, ?z) :- p(?x, ?y), q(?y, ?z)."
    "r(?x, ?y) :- f(?x, ?y), f(?y, ?x).",
    "an aggregate": "q(?x, ?y) :- e(?x, ?z), e(?z, ?y)."
    "p(?x, ?n) :- e(?x, _), ?n = count : { q(?x, _) }.",
    "an aggregate of demands": "q(?x, ?y) :- e(?x, ?y). q(?x, ?z) :- q(?x, ?y), e(?y, ?z)."
    "p(?x, ?n) :- f(?x, ?y), ?n = sum ?z : { q(?y, ?z) }, !q(?x, ?n).",
    "shared prefix": "q(?x, ?y) :- e(?x, ?y). r(?x, ?y) :- f(?x, ?y)."
    "q(?x, ?z) :- r(?x, ?y), q(?y, ?z)."
    "p(?x, ?w) :- e(?x, ?y), f(?y, ?z), q(?z, ?v), r(?z, ?w), ?v < 4.",
    "computed": "q(?x, ?y) :- e(?x, ?y). p(?x, ?y) :- e(?x, ?z), ?w = ?z + 1, q(?w, ?y).",
    "computed head": "p(?x + 1, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z).",
    "constants": "p(?x, 1) :- e(?x, 2), q(3, ?x). q(?x, ?y) :- e(?x, ?y), f(?y, 1).",
    "threshold": "p(?x, ?y) :- e(?x, ?y)."
    "p(?x, ?y) :- q(?x, _), e(_, ?y), ?n = count : { p(?x, _z) }, ?n >= 3. q(?x, ?y) :- f(?x, ?y).",
}


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=list(PROGRAMS))
@settings(max_examples=SOME)
@given(edges=EDGES, others=EDGES, question=st.sampled_from(["p(1, ?b)", "p(?a, 2)", "p(1, 2)"]))
def test_demands_keep_the_rows(
    rules: str, edges: list[Row], others: list[Row], question: str
) -> None:
    agree(HEAD + rules, question, {"e": edges, "f": others}, FORCED)


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name not in {"threshold", "computed head"}]
)
def test_demands_are_made(name: str) -> None:
    plan = planned(HEAD + PROGRAMS[name], "p(1, ?b)", options=FORCED)
    assert notes(plan, NAME) == {"p": True}
    assert plan.wanted[0].relation == "p/bf"
    assert plan.relations["p/bf"].made_by == NAME


def test_demands_pay_for_a_few_of_many() -> None:
    sizes = Sizes({"e": 1e6}, {("e", 0): 1e6, ("e", 1): 1e6})
    plan = planned(HEAD + "p(?x, ?z) :- e(?x, ?y), e(?y, ?z).", "p(1, ?b)", sizes=sizes)
    assert notes(plan, NAME) == {"p": True}


def test_demands_that_reach_everything_are_not_made() -> None:
    rules = "q(?y) :- f(_, ?y). q(?y) :- q(?x), e(?x, ?y). p(?x, ?y) :- q(?y), f(?x, _), ?x < 10."
    text = HEAD.replace(".decl q(x: number, y: number)", ".decl q(x: number)") + rules
    plan = planned(text, "p(?a, 1)", sizes=Sizes({"e": 1e6, "f": 10.0}))
    assert list(notes(plan, NAME).values()) == [False]


def test_the_gate_says_what_it_compared() -> None:
    plan = planned(HEAD + PROGRAMS["left-linear"], "p(1, ?b)")
    (note,) = [one for one in plan.rewritings if one.name == NAME]
    assert "bindings with demands" in note.why


def test_demands_stop_at_negation_where_they_would_close_a_cycle() -> None:
    rules = """
    q(?x, ?y) :- e(?x, ?y), f(?y, _).
    p(?x, ?y) :- e(?x, ?y), !q(?x, ?y), p(?y, _).
    p(?x, ?y) :- f(?x, ?y).
    """
    plan = planned(HEAD + rules, "p(1, ?b)", options=FORCED)
    assert {"p/bf", "q"} <= set(plan.relations)
    assert "q/bb" not in plan.relations
    assert is_stratified(plan.program)


def test_nothing_is_restricted_where_something_may_be_unknown() -> None:
    options = PlanOptions(magic=True, open=frozenset({"e"}))
    plan = planned(HEAD + PROGRAMS["left-linear"], "p(1, ?b)", options=options)
    assert notes(plan, NAME) == {"p": False}


def test_two_constants_of_one_form_share_the_rules() -> None:
    text = HEAD + PROGRAMS["right-linear"]
    plan = planned(text, "p(1, ?b)", "p(2, ?b)", options=FORCED)
    assert [one.relation for one in plan.wanted] == ["p/bf", "p/bf"]
    stated = [stage.stated for stage in plan.stages if stage.stated]
    assert stated == [{"demand/p/bf": ((1,), (2,))}]


@settings(max_examples=SOME)
@given(edges=EDGES, others=EDGES)
def test_constants_in_a_rule_are_demands_too(edges: list[Row], others: list[Row]) -> None:
    rules = HEAD + PROGRAMS["left-linear"] + "q(?x, ?y) :- r(?x, ?y), !p(2, ?x)."
    rules += "r(?x, ?y) :- p(1, ?x), p(?y, 3), f(?x, _)."
    plan = agree(rules, "q(?a, ?b)", {"e": edges, "f": others}, FORCED)
    assert plan.wanted[0].relation == "q/ff"
    assert {"p/bf", "demand/p/bf", "p/fb"} <= set(plan.relations)


def test_a_rule_without_constants_is_no_reason_to_look() -> None:
    plan = planned(HEAD + PROGRAMS["left-linear"], "p(?a, ?b)", options=FORCED)
    assert plan.rewritings == ()


def test_computed_values_are_never_demanded() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y). p(?x, ?y) :- ?z = ?x - 1, p(?z, ?y), f(?x, _)."
    plan = planned(HEAD + rules, "p(3, ?b)", options=FORCED)
    demands = [one for one in plan.program.rules if one.head.predicate == "demand/p/bf"]
    assert [one.body for one in demands] == [()]


def test_forms_without_end_are_not_made() -> None:
    names = [f"?x{place}" for place in range(14)]
    columns = ", ".join(f"c{place}: number" for place in range(14))
    turned = ", ".join(names[1:] + names[:1])
    swapped = ", ".join([names[1], names[0], *names[2:]])
    text = f".decl e({columns})\n.input e\n.decl p({columns})\n"
    every = ", ".join(names)
    for body in (f"e({every})", f"p({turned})", f"p({swapped})"):
        text += f"p({every}) :- {body}.\n"
    question = ", ".join(["1"] * 7 + [f"?v{place}" for place in range(7)])
    plan = planned(text, f"p({question})", options=FORCED)
    assert notes(plan, NAME) == {"p": False}
    assert plan.program is plan.original
