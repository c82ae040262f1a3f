"""How much a program would have to do: bindings, over all steps, rounds and stages.

In: a compiled draft. Out: estimated bindings. Invariant: an estimate for a choice between two forms
of a program, never a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constat.plan.forward.draft import Draft
    from constat.plan.forward.operators import Pipeline


def work_of(compiled: Draft) -> float:
    """The bindings that all steps of a compiled draft make."""
    return sum(
        _pipeline(pipeline)
        for stage in compiled.drafts
        for pipeline in (*stage.base, *stage.recursive)
    )


def _pipeline(pipeline: Pipeline) -> float:
    return 1.0 + sum(pipeline.rows)
