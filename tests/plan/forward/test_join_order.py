"""Joins are ordered by estimated sizes."""

from __future__ import annotations

import pytest

from constat.plan import Absence, Filter, Join
from constat.plan.forward import Sizes
from constat.plan.forward.estimates import Estimates, distinct_of
from tests.plan.forward.programs import planned, stage_of

HEAD = """
.decl big(x: number, y: number)
.input big
.decl mid(x: number, y: number)
.input mid
.decl tiny(x: number)
.input tiny
.decl p(x: number, y: number)
"""
SIZES = Sizes(
    {"big": 1e7, "mid": 1e5, "tiny": 3.0},
    {("big", 0): 1e6, ("big", 1): 1e6, ("mid", 0): 1e5, ("mid", 1): 1e3, ("tiny", 0): 3.0},
)


def order(rule: str, sizes: Sizes = SIZES) -> list[str]:
    (pipeline,) = stage_of(planned(HEAD + rule, "p(?a, ?b)", sizes=sizes), "p").base
    steps = pipeline.plan.steps
    return [one.predicate for one in steps if isinstance(one, Join)]


def test_the_smallest_relation_is_first_and_the_rest_hang_on_it() -> None:
    rule = "p(?x, ?z) :- big(?x, ?y), mid(?y, ?z), tiny(?z)."
    assert order(rule) == ["tiny", "mid", "big"]


def test_no_order_follows_the_text() -> None:
    rules = ["tiny(?z)", "mid(?y, ?z)", "big(?x, ?y)"]
    assert {tuple(order(f"p(?x, ?z) :- {', '.join(one)}.")) for one in (rules, rules[::-1])} == {
        ("tiny", "mid", "big")
    }


def test_a_cross_product_waits_for_the_end() -> None:
    rule = "p(?x, ?z) :- tiny(?z), big(?x, ?y), mid(?y, _)."
    assert order(rule) in (["tiny", "mid", "big"], ["mid", "big", "tiny"])
    joined = order("p(?x, ?w) :- big(?x, ?y), mid(?y, ?z), mid(?z, ?w).")
    assert joined == ["mid", "mid", "big"]


def test_a_constant_makes_a_relation_small() -> None:
    assert order("p(?x, ?z) :- mid(?x, ?y), big(?y, ?z), big(7, ?y).")[0] == "big"


def test_filters_and_absences_come_as_soon_as_they_can() -> None:
    rule = "p(?x, ?z) :- big(?x, ?y), big(?y, ?z), !mid(?x, ?y), ?x < 10."
    (pipeline,) = stage_of(planned(HEAD + rule, "p(?a, ?b)", sizes=SIZES), "p").base
    kinds = [type(step) for step in pipeline.plan.steps]
    assert kinds.index(Filter) < 3
    assert kinds.index(Absence) < 3
    assert kinds[-1] is Join


def test_a_recursive_pipeline_begins_with_the_last_round() -> None:
    rule = "p(?x, ?y) :- tiny(?x), tiny(?y). p(?x, ?z) :- tiny(?x), mid(?y, ?z), p(?x, ?y)."
    (pipeline,) = stage_of(planned(HEAD + rule, "p(?a, ?b)", sizes=SIZES), "p").recursive
    first = pipeline.plan.steps[0]
    assert isinstance(first, Join)
    assert first.predicate == "p"


def test_joins_are_estimated_as_system_r_does() -> None:
    rule = "p(?x, ?z) :- big(?x, ?y), big(?y, ?z)."
    (pipeline,) = stage_of(planned(HEAD + rule, "p(?a, ?b)", sizes=SIZES), "p").base
    assert pipeline.rows == pytest.approx((1e7, 1e8))


def test_sizes_that_nobody_knows_are_guessed() -> None:
    estimates = Estimates()
    estimates.take("e", 2, Sizes())
    assert estimates.rows("e") == 1000
    assert 1 < estimates.distinct("e", 0) < 1000


@pytest.mark.parametrize(
    ("rows", "domain", "expected"), [(10.0, 1e12, 10.0), (1e12, 10.0, 10.0), (5.0, 1.0, 1.0)]
)
def test_duplicates_are_estimated(rows: float, domain: float, expected: float) -> None:
    assert distinct_of(rows, domain) == pytest.approx(expected)


def test_estimates_stay_finite() -> None:
    rule = f"p(1, 2) :- {', '.join(['big(_, _)'] * 60)}."
    plan = planned(HEAD + rule, "p(?a, ?b)", sizes=Sizes({"big": 1e18}))
    assert all(rows <= 1e18 for rows in stage_of(plan, "p").base[0].rows)
