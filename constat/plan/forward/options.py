"""What a caller may ask of the planner of forward plans.

Invariant: no option changes a result, only how it comes about.
"""

from __future__ import annotations

from dataclasses import dataclass

from constat.plan.forward.operators import Strategy


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan.

    `strategy` is taken for every stage where it gives the right answer. `magic` says whether
    rules are restricted to what a wanted constant demands; `None` decides by cost. Without
    `rewrite` the rules stay as they are written. Predicates in `open`, and what rests on them,
    are not rewritten: what is unknown of them is to be told by the rules as written. `memory` is
    what a stage may take, in bytes; 0 stands for one GiB.
    """

    strategy: Strategy | None = None
    magic: bool | None = None
    rewrite: bool = True
    open: frozenset[str] = frozenset()
    memory: int = 0
