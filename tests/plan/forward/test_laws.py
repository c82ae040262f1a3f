"""A forward plan gives the rows that the obviously right evaluator gives, whatever the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constat.logic import Atom, EvaluationError, Open, Variable
from constat.plan.forward import PlanOptions, Sizes, Strategy, plan_forward, planning
from tests.oracle import forward_plan, naive
from tests.property.strategies import EXACT, Case, cases

if TYPE_CHECKING:
    from constat.logic import Row, Slot, Value
    from constat.plan.forward import ForwardPlan


def rows_of(case: Case) -> dict[str, list[Row]]:
    return {name: [row for row, _ in found] for name, found in case.world.rows.items()}


def everything(case: Case) -> list[Atom]:
    predicates = case.program.program.predicates.values()
    return [
        Atom(one.name, tuple(Variable(f"g{place}") for place in range(one.arity)))
        for one in predicates
    ]


def run(plan: ForwardPlan, case: Case) -> dict[str, set[Row]]:
    try:
        return forward_plan.evaluate(plan, rows_of(case))
    except EvaluationError:
        assume(False)
        raise


def truth(case: Case) -> dict[str, set[Row]]:
    relations = naive.evaluate(case.program, case.world, accepted=True)
    return {
        name: {tuple(known(slot) for slot in row) for row in rows}
        for name, rows in relations.items()
    }


def known(slot: Slot) -> Value:
    if isinstance(slot, Open):
        assume(False)
        raise TypeError(slot)
    return slot


STATISTICS = st.builds(
    lambda counts: Sizes({f"e{place}": count for place, count in enumerate(counts)}),
    st.lists(st.sampled_from([0.0, 1.0, 50.0, 1e6]), max_size=4),
)


@given(cases(EXACT), STATISTICS, st.sampled_from([None, *Strategy]))
def test_every_relation_has_the_rows_of_the_rules(
    case: Case, statistics: Sizes, strategy: Strategy | None
) -> None:
    plan = plan_forward(
        case.program, everything(case), statistics, PlanOptions(strategy=strategy, rewrite=False)
    )
    found = run(plan, case)
    expected = truth(case)
    assert {name: found[name] for name in case.program.program.predicates} == expected
    assert all(
        forward_plan.kinds_fit(plan, one)
        for stage in plan.stages
        for one in (*stage.base, *stage.recursive)
    )


@given(cases(EXACT), STATISTICS)
def test_every_relation_has_the_same_rows_after_all_rewritings(
    case: Case, statistics: Sizes
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "_is_large", lambda _draft: True)
        patch.setattr(planning, "_WORTH", -1.0)
        patch.setattr(planning, "_COST_OF_KEEPING", 0.0)
        plan = plan_forward(case.program, everything(case), statistics)
    found, expected = run(plan, case), truth(case)
    assert {name: found[name] for name in expected} == expected


@given(cases(EXACT), STATISTICS, st.sampled_from([None, True, False]))
def test_a_goal_has_the_same_rows_with_and_without_demands(
    case: Case,
    statistics: Sizes,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    plan = plan_forward(case.program, [case.goal], statistics, PlanOptions(magic=magic))
    found = run(plan, case)[plan.wanted[0].relation]
    expected = truth(case)[case.goal.predicate]
    assert matching(case.goal, found) == matching(case.goal, expected)


def matching(goal: Atom, rows: set[Row]) -> set[Row]:
    relation: naive.Relation = dict.fromkeys(rows, True)
    return {tuple(known(slot) for slot in row) for row in naive.matching(goal, relation)}
