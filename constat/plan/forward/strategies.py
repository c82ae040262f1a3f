"""Which strategy computes each stage, by estimated rounds, rows and domain.

In: a draft with laid out pipelines. Out: `Draft.stages`. Invariant: `choices` has only strategies
that give the right answer, the reference engine last; a forced strategy is taken where it is one of
them. The order follows measurements: bitmaps for pairs that grow beyond their inputs (a closure of
7,000 edges: a tenth of the time of SQL); one table expression for other linear recursion (5 million
edges from one node: less than half); sorted runs otherwise; rounds of statements last, for they
scan the whole relation in each round.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.logic import Constant
from constat.plan.forward.fixpoints import domain
from constat.plan.forward.operators import Stage, Strategy
from constat.plan.forward.suitability import refusals
from constat.plan.operators import Join

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Row
    from constat.plan.forward.draft import Draft, StageDraft

_DEFAULT_MEMORY = 1 << 30
_SHARE_OF_MEMORY = 4
_BITS = 8
_PAIR = 2
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
