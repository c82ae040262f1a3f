"""The strategy of each stage, and how it is forced."""

from __future__ import annotations

import math

import pytest

from constat.plan.forward import PlanOptions, Sizes, Strategy
from tests.plan.forward.programs import planned, stage_of

HEAD = """
.decl e(x: number, y: number)
.input e
.decl w(x: number, y: float)
.input w
.decl s(x: number)
.input s
.decl p(x: number, y: number)
.decl r(x: number)
.decl t(x: number, y: float)
"""
CLOSURE = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), e(?y, ?z)."
REACH = "r(?x) :- s(?x). r(?y) :- r(?x), e(?x, ?y)."
PAIRS = "p(?x, ?y) :- e(?x, ?y). p(?x, ?z) :- p(?x, ?y), p(?y, ?z), ?x != ?z."
FLOATS = "t(?x, ?y) :- w(?x, ?y). t(?x, ?y) :- t(?z, ?y), t(?z, _), e(?z, ?x)."


def chosen(rules: str, question: str, sizes: Sizes) -> Strategy:
    return stage_of(planned(HEAD + rules, question, sizes=sizes), question[0]).strategy


@pytest.mark.parametrize(
    ("rules", "question", "rows", "strategy"),
    [
        ("p(?x, ?y) :- e(?x, ?y).", "p(?a, ?b)", 1e6, Strategy.STATEMENT),
        (CLOSURE, "p(?a, ?b)", 7e3, Strategy.BITMAP),
        (CLOSURE, "p(?a, ?b)", 1e8, Strategy.CTE),
        (REACH, "r(?a)", 5e6, Strategy.CTE),
        (PAIRS, "p(?a, ?b)", 1e4, Strategy.BITMAP),
        (PAIRS, "p(?a, ?b)", 1e8, Strategy.RUNS),
        (FLOATS, "t(?a, ?b)", 1e4, Strategy.LOOP),
    ],
)
def test_sizes_and_form_choose(rules: str, question: str, rows: float, strategy: Strategy) -> None:
    assert chosen(rules, question, Sizes({"e": rows, "s": 1.0, "w": 10.0})) is strategy


@pytest.mark.parametrize("rows", [1e9, 1e15, 1e300])
def test_sizes_that_nobody_can_hold_are_planned_all_the_same(rows: float) -> None:
    crossed = CLOSURE + "t(?x, 1.0) :- e(?x, _), e(_, ?y), e(?y, _), e(_, _), ?x != ?y."
    plan = planned(HEAD + crossed, "p(?a, ?b)", "t(?a, ?b)", sizes=Sizes({"e": rows}))
    assert stage_of(plan, "p").strategy is Strategy.CTE
    for stage in plan.stages:
        assert 1e6 < stage.rows <= 1e18
        assert math.isfinite(stage.rounds)
        assert all(math.isfinite(one) for pipeline in stage.base for one in pipeline.rows)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_a_strategy_is_forced_where_it_can_answer(strategy: Strategy) -> None:
    options = PlanOptions(strategy=strategy)
    stage = stage_of(planned(HEAD + PAIRS, "p(?a, ?b)", options=options), "p")
    if strategy in stage.choices:
        assert stage.strategy is strategy
    else:
        assert strategy in {Strategy.STATEMENT, Strategy.CTE}
        assert f"not {strategy.value}: " in stage.why


def test_the_reference_engine_is_always_the_last_choice() -> None:
    for rules in (CLOSURE, PAIRS, FLOATS):
        question = "t(?a, ?b)" if rules is FLOATS else "p(?a, ?b)"
        for stage in planned(HEAD + rules, question).stages:
            assert stage.choices[-1] is Strategy.REFERENCE
            assert stage.strategy is stage.choices[0]


def test_little_memory_has_no_bitmaps() -> None:
    options = PlanOptions(memory=1 << 10)
    sizes = Sizes({"e": 7e3})
    stage = stage_of(planned(HEAD + PAIRS, "p(?a, ?b)", sizes=sizes, options=options), "p")
    assert stage.strategy is Strategy.RUNS
    assert Strategy.BITMAP in stage.choices


def test_a_chain_is_known_to_take_many_rounds() -> None:
    sizes = Sizes({"e": 2000.0}, {("e", 0): 2000.0, ("e", 1): 2000.0})
    stage = stage_of(planned(HEAD + CLOSURE, "p(?a, ?b)", sizes=sizes), "p")
    assert 500 < stage.rounds < 4000
    wide = Sizes({"e": 7000.0}, {("e", 0): 3500.0, ("e", 1): 3500.0})
    assert stage_of(planned(HEAD + CLOSURE, "p(?a, ?b)", sizes=wide), "p").rounds < 50


def test_a_recursion_that_aggregates_is_no_table_expression() -> None:
    rules = "p(?x, ?y) :- e(?x, ?y)."
    rules += "p(?x, ?n) :- p(?x, ?y), ?n = count : { e(?y, _) }, ?n < 5."
    stage = stage_of(planned(HEAD + rules, "p(?a, ?b)"), "p")
    assert Strategy.CTE not in stage.choices
    assert Strategy.LOOP in stage.choices
