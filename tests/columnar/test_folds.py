"""Aggregates over columns: exact, over distinct assignments, and as thresholds in recursion."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.columnar import Tuning
from constat.columnar.arrays import Widths
from constat.columnar.steps import assigns_once
from constat.evaluation import StrategyError
from constat.logic.arithmetic import wrapped
from constat.plan import Fold
from constat.plan.forward import Strategy
from tests.columnar.naive import UndefinedError, fixpoint
from tests.columnar.stages import Case, Rows, case, compute

HIGH = (1 << 63) - 1
LOW = -(1 << 63)
HEAD = """
.decl e(a: number)
.input e(source="t", query="q")
.decl f(a: number, b: number)
.input f(source="t", query="q")
.decl g(a: number, b: number, c: number)
.input g(source="t", query="q")
.decl out(a: number, s: number)
.decl all(s: number)
"""
TINY = Tuning(chunk=2, widths=Widths(key=14, number=12))
BODIES = (
    "{ f(?a, ?b) }",
    "{ f(?a, ?b), e(?b) }",
    "{ f(?a, ?b), !e(?b) }",
    "{ g(?a, ?b, _) }",
    "{ g(_, ?b, ?a), ?b > ?a }",
    "{ f(?a, ?c), f(?c, ?b) }",
    "{ f(?a, ?c), ?b = ?c * 2 }",
)
VALUES = st.one_of(st.integers(-3, 3), st.sampled_from([HIGH, HIGH - 1, LOW, LOW + 1, 1 << 62]))


def tables(values: st.SearchStrategy[int]) -> st.SearchStrategy[dict[str, Rows]]:
    def rows(arity: int) -> st.SearchStrategy[Rows]:
        return st.sets(st.tuples(*[values] * arity), max_size=8)

    return st.fixed_dictionaries({"e": rows(1), "f": rows(2), "g": rows(3)})


def agree(made: Case, inputs: dict[str, Rows], tuning: Tuning) -> None:
    try:
        expected, _ = fixpoint(made.analysed.rules, inputs)
    except UndefinedError:
        with pytest.raises(StrategyError):
            compute(made, inputs, tuning=tuning)
        return
    found, _ = compute(made, inputs, tuning=tuning)
    assert found == {name: expected[name] for name in made.stage.predicates}


@pytest.mark.parametrize("tuning", [Tuning(), TINY], ids=["default", "tiny"])
@settings(max_examples=18, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["sum ?b", "min ?b", "max ?b", "count", "sum ?b * 2"]),
    st.sampled_from(BODIES),
    tables(st.one_of(st.integers(-3, 3), VALUES)),
)
def test_aggregates_by_group_are_those_of_naive_evaluation(
    tuning: Tuning, function: str, body: str, inputs: dict[str, Rows]
) -> None:
    body = body.replace("?b", "_b", 1) if function == "count" and body.count("?b") == 1 else body
    text = f"out(?a, ?s) :- e(?a), ?s = {function} : {body}."
    agree(case(HEAD + text), inputs, tuning)


@given(tables(st.integers(-3, 3)))
@settings(max_examples=20, deadline=None)
def test_an_aggregate_without_a_group_is_over_everything(inputs: dict[str, Rows]) -> None:
    agree(case(HEAD + "all(?s) :- ?s = sum ?b : { f(_, ?b) }, ?s >= 0."), inputs, TINY)


def test_a_sum_may_pass_64_bits_on_the_way_to_its_result() -> None:
    inputs: dict[str, Rows] = {"e": {(1,)}, "f": {(1, HIGH), (1, HIGH - 1), (1, LOW), (1, LOW + 2)}}
    made = case(HEAD + "out(?a, ?s) :- e(?a), ?s = sum ?b : { f(?a, ?b) }.")
    assert compute(made, inputs)[0]["out"] == {(1, -1)}


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_a_sum_beyond_64_bits_is_refused(extra: int, fits: bool) -> None:  # noqa: FBT001
    inputs: dict[str, Rows] = {"e": {(1,)}, "f": {(1, HIGH - 5), (1, 5 + extra)}}
    made = case(HEAD + "out(?a, ?s) :- e(?a), ?s = sum ?b : { f(?a, ?b) }.")
    if fits:
        assert compute(made, inputs)[0]["out"] == {(1, HIGH)}
    else:
        with pytest.raises(StrategyError, match="64 bits"):
            compute(made, inputs)


@pytest.mark.parametrize(
    ("width", "values", "total"),
    [
        (32, {(1 << 31) - 1, 5}, -(1 << 31) + 4),
        (32, {-(1 << 31), -1}, (1 << 31) - 1),
        (64, {HIGH, 5}, LOW + 4),
        (64, {HIGH, HIGH - 1, 9}, 6),
    ],
)
def test_the_sum_of_machine_words_wraps(width: int, values: set[int], total: int) -> None:
    made = case(HEAD + "out(?a, ?s) :- e(?a), ?s = sum ?b : { f(?a, ?b) }.")
    (pipeline,) = made.stage.base
    steps = tuple(
        replace(one, function=wrapped(one.function, width)) if isinstance(one, Fold) else one
        for one in pipeline.plan.steps
    )
    stage = replace(made.stage, base=(replace(pipeline, plan=replace(pipeline.plan, steps=steps)),))
    inputs: dict[str, Rows] = {"e": {(1,)}, "f": {(1, value) for value in values}}
    assert compute(replace(made, stage=stage), inputs)[0]["out"] == {(1, total)}


def test_assignments_that_the_plan_tells_apart_by_fewer_slots_count_once() -> None:
    made = case(HEAD + "out(?a, ?s) :- e(?a), ?s = sum ?b : { g(?a, ?b, _c) }.")
    (pipeline,) = made.stage.base
    fold = next(step for step in pipeline.plan.steps if isinstance(step, Fold))
    assert assigns_once(fold)
    fewer = replace(fold, distinct=fold.distinct[:2])
    assert not assigns_once(fewer)
    steps = tuple(fewer if step is fold else step for step in pipeline.plan.steps)
    changed = replace(pipeline, plan=replace(pipeline.plan, steps=steps))
    stage = replace(made.stage, base=(changed,))
    inputs: dict[str, Rows] = {"e": {(1,), (2,)}, "g": {(1, 7, 1), (1, 7, 2), (1, 9, 1)}}
    for tuning in (Tuning(), TINY):
        found, _ = compute(replace(made, stage=stage), inputs, tuning=tuning)
        assert found["out"] == {(1, 16), (2, 0)}


CONTROL = """
.decl own(x: number, y: number, w: number)
.input own(source="t", query="q")
.decl company(x: number)
.input company(source="t", query="q")
.decl holds(x: number, via: number, y: number, w: number)
holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).
holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.
.decl controls(x: number, y: number)
"""
SUMMED = "controls(?x, ?y) :- holds(?x, _, ?y, _), sum ?w : { holds(?x, _v, ?y, ?w) } > 50."
COUNTED = "controls(?x, ?y) :- holds(?x, _, ?y, _), count : { holds(?x, _v, ?y, _w) } >= 2."
APART = (
    "controls(?x, ?y) :- company(?x), company(?y), "
    "sum ?w : { holds(?x, _v, ?y, ?w), ?w >= 0 } >= ?x."
)
BOUNDED = "controls(?x, ?y) :- own(?x, ?y, ?k), sum ?w : { holds(?x, ?v, ?y, ?w), ?v < 4 } > ?k."
HOLDINGS = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 60)), max_size=14)


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("strategy", [Strategy.RUNS, Strategy.BITMAP])
@pytest.mark.parametrize("tuning", [Tuning(), TINY], ids=["default", "tiny"])
@pytest.mark.parametrize("rule", [SUMMED, COUNTED, APART, BOUNDED])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(HOLDINGS)
def test_a_threshold_in_recursion_has_the_least_fixpoint(
    strategy: Strategy, tuning: Tuning, rule: str, own: Rows
) -> None:
    made = case(CONTROL + rule)
    inputs: dict[str, Rows] = {"own": own, "company": {(n,) for n in range(6)}}
    expected, _ = fixpoint(made.analysed.rules, inputs)
    found, _ = compute(made, inputs, strategy, tuning=tuning)
    assert found == {name: expected[name] for name in made.stage.predicates}


def test_a_summand_below_zero_is_left_to_the_reference_engine() -> None:
    with pytest.raises(StrategyError, match="below zero"):
        compute(case(CONTROL + SUMMED), {"own": {(1, 2, -1)}})


def test_a_threshold_whose_total_passes_64_bits_is_reached() -> None:
    found, _ = compute(case(CONTROL + SUMMED), {"own": {(1, 2, HIGH), (1, 2, 7)}})
    assert found["controls"] == {(1, 2)}


@pytest.mark.parametrize("strategy", [Strategy.RUNS, Strategy.BITMAP])
def test_a_group_whose_total_is_old_is_reached_when_its_binding_comes(strategy: Strategy) -> None:
    made = case("""
    .decl next(a: number, b: number)
    .input next(source="t", query="q")
    .decl given(a: number, w: number)
    .input given(source="t", query="q")
    .decl seen(a: number)
    seen(0).
    seen(?b) :- seen(?a), next(?a, ?b).
    .decl part(a: number, w: number)
    part(?a, ?w) :- given(?a, ?w).
    part(?a, 1) :- big(?a).
    .decl big(a: number)
    big(?a) :- seen(?a), sum ?w : { part(?a, ?w) } > 5.
    """)
    inputs: dict[str, Rows] = {"next": {(n, n + 1) for n in range(4)}, "given": {(4, 9), (9, 9)}}
    found, _ = compute(made, inputs, strategy)
    assert found["big"] == {(4,)}
    assert found["part"] == {(4, 9), (9, 9), (4, 1)}
