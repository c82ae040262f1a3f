"""Plan whole relations: the passes in order.

In: an analysed program, the wanted atoms, what is known of sizes. Out: a `ForwardPlan`. Invariant:
with any options the wanted relations have the same rows. `constat.plan.PASSES` are the passes of
demand plans, which answer one goal by asking for what it needs; both compile rules by
`compile_rule`, so a step means the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence

from constat.analysis import AnalysedProgram
from constat.logic import Atom
from constat.plan.forward.demand import restrict_to_demand
from constat.plan.forward.draft import Draft, Pass
from constat.plan.forward.encoding import encode_columns
from constat.plan.forward.fields_first import take_fields_first
from constat.plan.forward.linearise import linearise
from constat.plan.forward.operators import ForwardPlan, Wanted
from constat.plan.forward.options import PlanOptions
from constat.plan.forward.pipelines import compile_pipelines
from constat.plan.forward.project import project_inputs
from constat.plan.forward.reach import keep_reachable
from constat.plan.forward.share import share_subplans
from constat.plan.forward.statistics import Statistics
from constat.plan.forward.strategies import choose_strategies

PASSES: tuple[Pass, ...] = (
    keep_reachable,  # needs the wanted relations; drops the rules that none of them needs
    linearise,  # needs all rules of a predicate; gives linear closures, for demands to use
    restrict_to_demand,  # needs the wanted constants, and linear closures; adds predicates
    share_subplans,  # needs final bodies; adds relations for equal beginnings
    take_fields_first,  # needs final bodies; adds relations with the fields of structures
    project_inputs,  # needs final bodies; adds projections for fixpoints over integers
    compile_pipelines,  # needs final rules and sizes; gives steps, readings, liveness, estimates
    encode_columns,  # needs steps; gives relations and layouts
    choose_strategies,  # needs layouts and estimates; gives stages
)


def plan_forward(
    program: AnalysedProgram,
    wanted: Sequence[Atom],
    statistics: Statistics,
    options: PlanOptions | None = None,
) -> ForwardPlan:
    """Plan the wanted atoms over an analysed program."""
    results = [Wanted(atom, atom.predicate) for atom in wanted]
    draft = Draft(program, program, results, statistics, options or PlanOptions())
    for run in PASSES:
        run(draft)
    return ForwardPlan(
        original=program,
        program=draft.program,
        relations=draft.relations,
        inputs=tuple(name for name, one in draft.relations.items() if one.given),
        stages=tuple(draft.stages),
        wanted=tuple(draft.wanted),
        rewritings=tuple(draft.notes),
    )
