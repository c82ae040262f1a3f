"""Computes whole programs with the SQL back end, for comparison with the oracle.

In: a program, rows of its given relations, a strategy for recursive stages.  Out: the rows of its
relations.  Stages that are not recursive are one statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.evaluation import Resources, StageReport
from constat.logic import Atom, Variable
from constat.plan.forward import ForwardPlan, Sizes, Strategy, plan_forward
from constat.plan.forward.operators import PlanOptions
from constat.sql import Database, run_stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from constat.analysis import AnalysedProgram
    from constat.logic import Row

Facts = "Mapping[str, Iterable[Row]]"


def free_atom(program: AnalysedProgram, name: str) -> Atom:
    arity = program.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"v{place}") for place in range(arity)))


def plan_of(
    program: AnalysedProgram, wanted: Iterable[str] = (), strategy: Strategy | None = None
) -> ForwardPlan:
    names = list(wanted) or list(program.program.predicates)
    atoms = [free_atom(program, name) for name in names]
    options = PlanOptions(strategy=strategy, magic=False)
    return plan_forward(program, atoms, Sizes(), options)


def load(database: Database, plan: ForwardPlan, facts: Mapping[str, Iterable[Row]]) -> None:
    for relation in plan.relations.values():
        database.declare(relation)
    for name in plan.inputs:
        database.load_rows(name, facts.get(name, ()))


def compute(
    program: AnalysedProgram,
    facts: Mapping[str, Iterable[Row]],
    strategy: Strategy = Strategy.LOOP,
    resources: Resources | None = None,
    *,
    analyze: bool = False,
) -> tuple[dict[str, set[Row]], list[StageReport]]:
    """Return the rows of all relations, and the reports of the stages."""
    plan = plan_of(program, strategy=strategy)
    with Database(resources or Resources(threads=1, memory=500_000_000)) as database:
        load(database, plan, facts)
        reports = []
        for stage in plan.stages:
            taken = strategy if stage.recursive else Strategy.STATEMENT
            if taken not in stage.choices:
                taken = Strategy.LOOP
            reports.append(run_stage(database, plan, stage, taken, analyze=analyze))
        return {name: rows_of(database, name) for name in plan.relations}, reports


def rows_of(database: Database, name: str) -> set[Row]:
    batches = list(database.rows(name))
    found = {row for batch in batches for row in batch}
    assert sum(map(len, batches)) == len(found), "a row came twice"
    return found
