"""Forward plans: an analysed program and the wanted atoms in, `ForwardPlan` out.

For answers in bulk, where `constat.plan` alone plans one goal on demand.
"""

from __future__ import annotations

from constat.plan.forward.operators import (
    ForwardPlan,
    Layout,
    Pipeline,
    Reading,
    Relation,
    Rewriting,
    Stage,
    Strategy,
    Wanted,
)
from constat.plan.forward.statistics import Sizes, Statistics

__all__ = [
    "ForwardPlan",
    "Layout",
    "Pipeline",
    "Reading",
    "Relation",
    "Rewriting",
    "Sizes",
    "Stage",
    "Statistics",
    "Strategy",
    "Wanted",
]
