"""Small programs as text, planned and evaluated on small graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import CERTAIN, Limits
from constat.logic import Open
from constat.plan.forward import PlanOptions, Sizes, plan_forward
from tests.engine.tables import Table, goal, program
from tests.oracle import forward_plan, naive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.logic import Row
    from constat.plan.forward import ForwardPlan, Stage

__all__ = ["EDGES", "SOME", "agree", "answers", "notes", "planned", "program", "stage_of"]

Given = dict[str, list[tuple[int, int]]]
SOME = 15
EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12, unique=True)


def planned(
    text: str,
    *goals: str,
    sizes: Sizes | None = None,
    options: PlanOptions | None = None,
) -> ForwardPlan:
    """Plan goals over rules given as text."""
    analysed = program(text)
    return plan_forward(analysed, [goal(one, analysed) for one in goals], sizes or Sizes(), options)


def notes(plan: ForwardPlan, name: str) -> dict[str, bool]:
    """Give what a pass says it did, by subject."""
    return {one.subject: one.applied for one in plan.rewritings if one.name == name}


def stage_of(plan: ForwardPlan, predicate: str) -> Stage:
    """Give the stage that computes a predicate."""
    return next(one for one in plan.stages if predicate in one.predicates)


def answers(plan: ForwardPlan, given: Mapping[str, list[Row]]) -> list[set[Row]]:
    """Give the rows of each wanted atom, by the interpreter of plans."""
    relations = forward_plan.evaluate(plan, given)
    return [
        {row for row in relations[one.relation] if naive.unify(one.atom, row, {}) is not None}
        for one in plan.wanted
    ]


def expected(analysed: AnalysedProgram, question: str, given: Mapping[str, list[Row]]) -> set[Row]:
    """Give the rows of a goal, by the reference engine."""
    asked = goal(question, analysed)
    tables = {name: Table(list(given.get(name, []))) for name in analysed.external}
    outcome = LazyEngine().evaluate(analysed, asked, tables, Limits(), exhaust=True)
    found: set[Row] = set()
    for row in outcome.rows(asked.predicate, CERTAIN):
        if naive.unify(asked, row, {}) is not None:
            found.add(tuple(slot for slot in row if not isinstance(slot, Open)))
    return found


def agree(
    text: str, question: str, given: Mapping[str, list[Row]], options: PlanOptions | None = None
) -> ForwardPlan:
    """Plan and evaluate a goal; fail where the rows are not those of the rules as written."""
    plan = planned(text, question, options=options)
    (found,) = answers(plan, given)
    assert found == expected(program(text), question, given)
    return plan
