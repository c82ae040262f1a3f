"""Which strategies can compute a stage, and which one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Constant, Kind
from constat.logic.arithmetic import unwrapped
from constat.plan.forward.estimates import domain
from constat.plan.forward.operators import Pipeline, Relation, Stage, Strategy
from constat.plan.forward.pipelines import TEXTS
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
    from constat.logic import Row
    from constat.plan.forward.estimates import Draft, StageDraft

# A strategy without a reason gives the right answer or raises `StrategyError`. The columnar back
# end works on 64-bit integers, so all columns that its rules read must be integers or encoded; a
# recursive table expression sees the last round only, so it takes linear rules.

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
            plain = unwrapped(function)[0]
            if plain not in _FOLDS or (kind is not None and kind not in INTEGERS):
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


# `choices` has only strategies that give the right answer, the reference engine last; a forced
# strategy is taken where it is one of them. The order follows measurements: bitmaps for pairs that
# grow beyond their inputs (a closure of 7,000 edges: a tenth of the time of SQL); one table
# expression for other linear recursion (5 million edges from one node: less than half); sorted
# runs otherwise; rounds of statements last, for they scan the whole relation in each round.

_DEFAULT_MEMORY = 1 << 30
_SHARE_OF_MEMORY = 4
_BITS = 8
_SIMPLE: Final = MappingProxyType(
    {
        Strategy.STATEMENT: "not recursive: one statement",
        Strategy.REFERENCE: "any meaning",
    }
)
_GROWN = 2.0


def choose_strategies(draft: Draft) -> None:
    """Turn drafts of stages into stages."""
    for number, stage in enumerate(draft.drafts):
        draft.stages.append(_stage(draft, number, stage))


def _stage(draft: Draft, number: int, stage: StageDraft) -> Stage:
    against: Mapping[Strategy, str] = {}
    ranked: Mapping[Strategy, str] = _SIMPLE
    if stage.recursive:
        against, ranked = refusals(stage, draft.relations), _ranked(draft, stage)
    choices = tuple(one for one in ranked if not against.get(one))
    strategy, why = choices[0], ranked[choices[0]]
    forced = draft.options.strategy
    if forced is not None and forced is not strategy:
        if forced in choices:
            strategy, why = forced, "asked for"
        elif stage.recursive:
            why = f"{why}; not {forced.value}: {against[forced]}"
    return Stage(
        number=number,
        predicates=stage.component.predicates,
        stated=_stated(draft, stage),
        base=tuple(stage.base),
        recursive=tuple(stage.recursive),
        linear=stage.linear,
        strategy=strategy,
        choices=choices,
        why=why,
        rows=stage.rows,
        rounds=stage.rounds,
    )


def _stated(draft: Draft, stage: StageDraft) -> dict[str, tuple[Row, ...]]:
    rows: dict[str, dict[Row, None]] = {}
    for number in stage.stated:
        head = draft.program.rules[number].head
        row = tuple(term.value for term in head.terms if isinstance(term, Constant))
        rows.setdefault(head.predicate, {})[row] = None
    return {name: tuple(found) for name, found in rows.items()}


def _ranked(draft: Draft, stage: StageDraft) -> dict[Strategy, str]:
    """All strategies with a reason for each, the best estimate first."""
    reasons = {
        Strategy.CTE: "linear recursion: one recursive table expression",
        Strategy.BITMAP: "recursion over pairs, with a bit for each that may be",
        Strategy.RUNS: "recursion over integers, kept sorted",
        Strategy.LOOP: "recursion in rounds of statements",
        Strategy.REFERENCE: "any meaning",
    }
    order = []
    fits = _fits(draft, stage)
    if fits and _is_dense(draft, stage):
        order.append(Strategy.BITMAP)
    order.append(Strategy.CTE)
    if fits:
        order.append(Strategy.BITMAP)
    order += [Strategy.RUNS, Strategy.LOOP, Strategy.BITMAP, Strategy.REFERENCE]
    return {one: reasons[one] for one in dict.fromkeys(order)}


def _fits(draft: Draft, stage: StageDraft) -> bool:
    """Whether a bit for each row that may be takes a small share of the memory."""
    bits = sum(domain(draft, name) for name in stage.component.predicates)
    memory = draft.options.memory or _DEFAULT_MEMORY
    return bits <= memory * _BITS / _SHARE_OF_MEMORY


def _is_dense(draft: Draft, stage: StageDraft) -> bool:
    """Whether pairs grow beyond what they are made of, so that reading inputs costs little.

    Reaching nodes from a few is not: there a table expression never sorts the edges.
    """
    own = set(stage.component.predicates)
    read = {
        step.predicate
        for pipeline in stage.recursive
        for step in pipeline.plan.steps
        if isinstance(step, Join) and step.predicate not in own
    }
    pairs = all(draft.relations[name].arity == _PAIR for name in own)
    return pairs and stage.rows > _GROWN * sum(draft.estimates.rows(name) for name in read)
