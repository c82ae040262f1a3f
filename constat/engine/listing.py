"""The rows that carry a threshold: enough of them, all older than the conclusion.

In: a rule instance of a row with a stamp. Out: for each threshold of the rule, assignments whose
total is beyond its bound, the greatest first and no more than are needed. Invariant: each premise
of an assignment has a smaller stamp than the row, so that following premises ends; where older
rows do not reach the bound, this instance is not what made the row. Example: of the shares 30, 5
and 25 and the bound 50 the assignments with 30 and 25 are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import cast

from constat.engine.batch import Batch, Binding
from constat.engine.expressions import reads_hole, value_of
from constat.engine.null_cells import told_apart
from constat.engine.relation import tuple_getter
from constat.engine.state import State
from constat.engine.steps import Steps, inside
from constat.evaluation import ACCEPTED
from constat.logic import (
    OPEN,
    Aggregate,
    Atom,
    EvaluationError,
    Kind,
    Positive,
    Rule,
    Value,
    add_exactly,
    is_beyond,
    local_names,
)
from constat.plan import Beyond, Expression, Fold, RulePlan, expression_of

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Listed:
    """The listed assignments of a threshold, and their total."""

    assignments: tuple[Mapping[str, Value], ...]
    total: Number


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists what carries the thresholds of one rule, over relations that nobody adds to."""

    state: State
    steps: Steps
    rule: Rule
    plan: RulePlan

    def of(self, binding: Binding, least: int, stamp: int) -> dict[int, Listed] | None:
        """Give the listed assignments by place in the body; `None` where a bound is not reached."""
        found: dict[int, Listed] = {}
        for place, step, threshold in self._thresholds():
            listed = self._listed(place, step, threshold, binding, (least, stamp))
            if listed is None:
                return None
            found[place] = listed
        return found

    def _thresholds(self) -> Iterator[tuple[int, Fold, Beyond]]:
        """The steps of thresholds, each with its place: both stand in the order of the plan."""
        folds = (step for step in self.plan.steps if isinstance(step, Fold))
        places = (one for one in self.plan.order if isinstance(self.rule.body[one], Aggregate))
        for place, step in zip(places, folds, strict=True):
            if step.threshold is not None:
                yield place, step, step.threshold

    def _listed(
        self, place: int, step: Fold, threshold: Beyond, binding: Binding, wanted: tuple[int, int]
    ) -> Listed | None:
        bound = _number(threshold.bound, binding)
        if bound is None:
            return None
        literal = cast("Aggregate", self.rule.body[place])
        local = frozenset(local_names(self.rule, literal))
        total: Number = 0
        assignments: list[Mapping[str, Value]] = []
        for value, names in self._candidates(step, literal, binding, wanted):
            if is_beyond(total, threshold.operator, bound):
                break
            total = add_exactly(total, value)
            assignments.append({name: one for name, one in names.items() if name in local})
        reached = is_beyond(total, threshold.operator, bound)
        return Listed(tuple(assignments), total) if reached else None

    def _candidates(
        self, step: Fold, literal: Aggregate, binding: Binding, wanted: tuple[int, int]
    ) -> list[tuple[Number, dict[str, Value]]]:
        """The assignments whose premises are old enough, the greatest summand first."""
        distinct = tuple_getter(step.distinct)
        found: dict[Binding, Number] = {}
        over = self.state.clock.over
        for one in over(self._inner(step, binding, wanted[0])):
            value = 1 if step.target is None else _number(step.target, one)
            if value is not None:
                found[distinct(one)] = value
        named = [
            (one, cast("dict[str, Value]", dict(zip(step.names, one, strict=True))))
            for one in over(found)
        ]
        old = {one: names for one, names in over(named) if self._older(literal, names, *wanted)}
        if self.state.nulls:
            old = {one: old[one] for one in told_apart({one: found[one] for one in old})}
        pairs = [(-found[one], str(names), names) for one, names in over(old.items())]
        return [(-value, names) for value, _, names in sorted(pairs, key=itemgetter(0, 1))]

    def _inner(self, step: Fold, binding: Binding, least: int) -> list[Binding]:
        start = Batch([tuple_getter(step.group)(binding) + step.constants])
        runner = self.steps.run(step.steps, start, inside(self.plan), inner=True)
        try:
            request = next(runner)
        except StopIteration as finished:
            batch: Batch = finished.value
        else:
            raise AssertionError(f"a closed evaluation asked for {request.predicate}")
        weak = [one for one, strength in batch.weak if least == ACCEPTED and strength >= ACCEPTED]
        return [one for one in (*batch.sure, *weak) if OPEN not in one]

    def _older(
        self, literal: Aggregate, names: Mapping[str, Value], least: int, stamp: int
    ) -> bool:
        for inner in literal.body:
            if isinstance(inner, Positive):
                row = self._row(inner.atom, names)
                reached = self.state.relation(inner.atom.predicate).stamp(row, least)
                if reached is None or reached >= stamp:
                    return False
        return True

    def _row(self, atom: Atom, names: Mapping[str, Value]) -> tuple[Value, ...]:
        kinds: Mapping[str, Kind] = self.state.program.variable_kinds[self.plan.rule]
        slots = {name: place for place, name in enumerate(names)}
        values = tuple(names.values())
        return tuple(
            value_of(expression_of(term, slots, kinds), self.state.texts)(values)
            for term in atom.terms
        )


def _number(expression: Expression, binding: Binding) -> Number | None:
    """Compute a bound or a summand; one that errs or is null is unknown: it carries nothing."""
    if reads_hole(expression, binding):
        return None
    try:
        return cast("Number", value_of(expression)(binding))
    except EvaluationError:
        return None
