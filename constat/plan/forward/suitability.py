"""Which strategies can compute a stage at all.

In: a recursive stage with laid out pipelines, and the relations. Out: for each strategy a reason
against it, or nothing. Invariant: a strategy without a reason gives the right answer or raises
`StrategyError`. The columnar back end works on 64-bit integers, so all columns that its rules read
must be integers or encoded; a recursive table expression sees the last round only, so it takes
linear rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from constat.logic import Kind
from constat.plan.forward.frames import TEXTS
from constat.plan.forward.operators import Pipeline, Relation, Strategy
from constat.plan.operators import (
    Absence,
    Call,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    Literally,
    Slot,
    Step,
)

if TYPE_CHECKING:
    from constat.plan.forward.draft import StageDraft

INTEGERS = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_FOLDS = frozenset({"count", "sum", "min", "max"})
_PAIR = 2


def refusals(stage: StageDraft, relations: Mapping[str, Relation]) -> dict[Strategy, str]:
    """Give for every strategy why it cannot compute a recursive stage; an empty text if it can."""
    columnar = next(_columnar(stage, relations), "")
    narrowest = min(relations[name].arity for name in stage.component.predicates)
    bitmap = f"all relations have over {_PAIR} columns" if narrowest > _PAIR else ""
    return {
        Strategy.STATEMENT: "the stage is recursive",
        Strategy.CTE: next(_expression(stage), ""),
        Strategy.LOOP: "",
        Strategy.BITMAP: columnar or bitmap,
        Strategy.RUNS: columnar,
        Strategy.REFERENCE: "",
    }


def _expression(stage: StageDraft) -> Iterator[str]:
    """Why a recursive table expression cannot hold the stage."""
    if not stage.linear:
        yield "a rule reads the stage twice"
    for pipeline in stage.recursive:
        if any(isinstance(step, Fold) for step in pipeline.plan.steps):
            yield "a recursive rule aggregates"


def _columnar(stage: StageDraft, relations: Mapping[str, Relation]) -> Iterator[str]:
    """Why 64-bit integers cannot hold the stage."""
    for name in stage.component.predicates:
        yield from _columns(relations[name])
    for pipeline in (*stage.base, *stage.recursive):
        for step in pipeline.plan.steps:
            yield from _step(step, pipeline, relations)
        for expression in pipeline.plan.head:
            yield from _arithmetic(expression)
        for layout in (pipeline.layout, *pipeline.inner.values()):
            for slot, kind in enumerate(layout.kinds):
                if kind not in INTEGERS and slot not in layout.encoded:
                    yield f"a rule carries {kind.value} values that are no integers"


def _columns(relation: Relation) -> Iterator[str]:
    if not relation.arity:
        yield f"{relation.name} has no columns"
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if kind not in INTEGERS and not encoded:
            yield f"{relation.name} has a {kind.value} column that is no integer"


def _step(step: Step, pipeline: Pipeline, relations: Mapping[str, Relation]) -> Iterator[str]:
    match step:
        case Join(predicate=predicate) | Absence(predicate=predicate):
            yield from _columns(relations[predicate])
        case Filter(operator=operator, left=left, right=right, kind=kind):
            if kind not in INTEGERS and (kind not in TEXTS or operator not in {"=", "!="}):
                yield f"a rule compares {kind.value} values"
            for expression in (left, right):
                yield from _arithmetic(expression)
        case Compute(expression=expression):
            yield from _arithmetic(expression)
        case Fold(function=function, steps=steps, kind=kind):
            if function not in _FOLDS or (kind is not None and kind not in INTEGERS):
                values = "" if kind is None else f" of {kind.value} values"
                yield f"a rule needs {function}{values}"
            for one in steps:
                yield from _step(one, pipeline, relations)


def _arithmetic(expression: Expression) -> Iterator[str]:
    pending = [expression]
    while pending:
        match pending.pop():
            case Slot() | Literally():
                pass
            case Call(function, arguments, parameters, result):
                if not INTEGERS.issuperset((*parameters, result)):
                    yield f"a rule computes {function} of values that are no integers"
                pending.extend(arguments)
