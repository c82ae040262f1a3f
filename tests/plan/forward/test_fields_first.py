"""Structures are taken apart before a recursion, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.logic import FIELD_OF
from constat.plan.forward import PlanOptions
from tests.plan.forward.programs import SOME, agree, notes, planned, stage_of

if TYPE_CHECKING:
    from constat.logic import Row

HEAD = """
.type List = [head: number, tail: List]
.decl e(l: List, n: number)
.input e
.decl p(l: List, n: number)
p(?l, 0) :- e(?l, _), ?l = nil.
"""
NAME = "fields first"
PROGRAMS = {
    "a tail": "p(?l, ?n + 1) :- e(?l, _), ?l = [_, ?t], p(?t, ?n), ?n < 9.",
    "head and tail": "p(?l, ?h) :- e([?h, ?t], ?m), ?l = [?h, ?t], p(?t, ?n), ?n < ?m.",
    "two levels": "p(?t, ?n + ?i) :- e([?h, [?i, ?t]], _), p([?h, nil], ?n), ?n < 9."
    "p(?l, ?h) :- e(?l, ?h), ?l = [?h, _].",
    "two atoms": "p(?l, ?n) :- e([_, ?t], _), e(?l, ?m), ?l = [?m, _], p(?t, ?n), ?m != ?n.",
    "a head that is made": "p([?h, ?t], ?n) :- e([?h, ?t], ?n), p(?t, _).",
}
CELLS = st.sampled_from([0, 1, 2])
LISTS = st.recursive(
    st.just("nil"), lambda inner: st.builds("[{}, {}]".format, CELLS, inner), max_leaves=4
)
ROWS = st.lists(st.tuples(LISTS, st.integers(0, 3)), max_size=8, unique=True)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=list(PROGRAMS))
@settings(max_examples=SOME)
@given(rows=ROWS)
def test_the_rows_stay_the_same(rules: str, rows: list[Row]) -> None:
    plan = agree(HEAD + rules, "p(?x, ?y)", {"e": rows})
    assert notes(plan, NAME) == {"e": True}


@pytest.mark.parametrize("rewrite", [True, False])
def test_no_round_of_a_recursion_looks_into_a_structure(*, rewrite: bool) -> None:
    options = PlanOptions(rewrite=rewrite)
    plan = planned(HEAD + PROGRAMS["a tail"], "p(?x, ?y)", options=options)
    rounds = stage_of(plan, "p").recursive
    assert any(FIELD_OF in str(one.plan.steps) for one in rounds) is not rewrite


@pytest.mark.parametrize(
    "rules",
    [
        "p(?l, ?n) :- e(?l, ?n), ?l = [_, _].",
        "p(?t, ?n) :- p([_, ?t], ?n), e(_, ?n).",
        "p(?l, ?n) :- e(?l, ?m), p(?l, ?n), ?m != ?n.",
    ],
    ids=["no recursion", "its own rows", "no field"],
)
def test_nothing_is_moved_where_nothing_is_gained(rules: str) -> None:
    assert notes(planned(HEAD + rules, "p(?x, ?y)"), NAME) == {}


def test_what_may_err_stays_where_it_is() -> None:
    rules = "p(?l, ?n) :- e(?l, ?m), ?l = [?h, ?t], ?n = 6 / ?m, p(?t, ?h)."
    plan = planned(HEAD + rules, "p(?x, ?y)")
    assert notes(plan, NAME) == {"e": True}
    texts = [str(rule) for rule in plan.program.rules if "fields" in rule.head.predicate]
    assert texts
    assert not any("'/'" in text for text in texts)
