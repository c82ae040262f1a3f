"""Forward plans: an analysed program and the wanted atoms in, `ForwardPlan` out.

For answers in bulk, where `constat.plan` alone plans one goal on demand. `PASSES` are the passes of
the forward planner; `constat.plan.PASSES` those of demand plans.
"""

from constat.plan.forward.operators import (
    ForwardPlan,
    Layout,
    Pipeline,
    PlanOptions,
    Reading,
    Relation,
    Rewriting,
    Sizes,
    Stage,
    Statistics,
    Strategy,
    Wanted,
)
from constat.plan.forward.planning import PASSES, EdgeClosure, edge_closure, plan_forward

__all__ = [
    "PASSES",
    "EdgeClosure",
    "ForwardPlan",
    "Layout",
    "Pipeline",
    "PlanOptions",
    "Reading",
    "Relation",
    "Rewriting",
    "Sizes",
    "Stage",
    "Statistics",
    "Strategy",
    "Wanted",
    "edge_closure",
    "plan_forward",
]
