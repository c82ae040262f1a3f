"""Whether this package can compute a stage at all, and if not, why.

In: a stage, the relations of its plan, a strategy. Out: an empty text, or the reason in a few
words. Invariant: what is not refused here is computed exactly or raises `StrategyError`. Example:
a stage that computes `?x / 2.0` is refused, "`/` of float values is not computed on columns".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from constat.columnar.arithmetic import COMPARISONS, FUNCTIONS
from constat.logic import Kind
from constat.plan import Absence, Call, Compute, Expression, Filter, Fold, Join, Step
from constat.plan.forward import Pipeline, Relation, Stage, Strategy

_INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_STRATEGIES: Final = frozenset({Strategy.BITMAP, Strategy.RUNS})
_FOLDS: Final = frozenset({"count", "sum", "min", "max"})
_PAIR: Final = 2


def refusal(
    stage: Stage, relations: Mapping[str, Relation], strategy: Strategy = Strategy.RUNS
) -> str:
    """Why the stage cannot be computed this way; empty where it can."""
    return next(_reasons(stage, relations, strategy), "")


def _reasons(stage: Stage, relations: Mapping[str, Relation], strategy: Strategy) -> Iterator[str]:
    if strategy not in _STRATEGIES:
        yield f"{strategy.value} is no strategy of the columnar back end"
    arities = [relations[name].arity for name in stage.predicates]
    if strategy is Strategy.BITMAP and all(arity > _PAIR for arity in arities):
        yield "no relation of the stage has at most two columns"
    pipelines = (*stage.base, *stage.recursive)
    read = {name for one in pipelines for name in _predicates(one.plan.steps)}
    for name in (*stage.predicates, *sorted(read)):
        yield from _relation_reasons(relations[name])
    for pipeline in pipelines:
        for expression in pipeline.plan.head:
            yield from _expression_reasons(expression)
        for step in pipeline.plan.steps:
            yield from _step_reasons(step)
        yield from _layout_reasons(pipeline)


def _relation_reasons(relation: Relation) -> Iterator[str]:
    if not relation.arity:
        yield f"{relation.name} has no columns"
    for kind, encoded in zip(relation.kinds, relation.encoded, strict=True):
        if not encoded and kind not in _INTEGERS:
            yield f"{relation.name} has a {kind.value} column that is not encoded"


def _layout_reasons(pipeline: Pipeline) -> Iterator[str]:
    for layout in (pipeline.layout, *pipeline.inner.values()):
        for slot, kind in enumerate(layout.kinds):
            if kind not in _INTEGERS and slot not in layout.encoded:
                yield f"a {kind.value} value is not encoded"


def _predicates(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        match step:
            case Join() | Absence():
                yield step.predicate
            case Fold():
                yield from _predicates(step.steps)
            case Filter() | Compute():
                pass


def _step_reasons(step: Step) -> Iterator[str]:
    match step:
        case Filter(operator, left, right, kind):
            if operator not in COMPARISONS or (kind not in _INTEGERS and operator not in "!="):
                yield f"`{operator}` of {kind.value} values is not computed on columns"
            yield from _expression_reasons(left)
            yield from _expression_reasons(right)
        case Compute(expression):
            yield from _expression_reasons(expression)
        case Fold():
            yield from _fold_reasons(step)
        case Join() | Absence():
            pass


def _fold_reasons(step: Fold) -> Iterator[str]:
    integers = step.function == "count" or step.kind in _INTEGERS
    if step.function not in _FOLDS or not integers:
        kind = "" if step.kind is None else f" of {step.kind.value} values"
        yield f"{step.function}{kind} is not computed on columns"
    if step.target is not None:
        yield from _expression_reasons(step.target)
    if step.threshold is not None:
        yield from _expression_reasons(step.threshold.bound)
    for inner in step.steps:
        # An aggregate inside an aggregate does not exist in the language.
        yield from _step_reasons(inner)


def _expression_reasons(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Call):
        kinds = {*expression.parameters, expression.result}
        if expression.function not in FUNCTIONS or not kinds <= _INTEGERS:
            kind = expression.result.value
            yield f"`{expression.function}` giving {kind} is not computed on columns"
        for argument in expression.arguments:
            yield from _expression_reasons(argument)
