"""From the pipelines of a plan to steps that can run.

In: a pipeline, and where its relations lie. Out: `Prepared` pipelines: one for each time a
pipeline has to run in a round. A rule with a threshold over its own stage is prepared several
ways: once for the first round, over everything; then for the groups that the last round touched,
and for the bindings it brought. Invariant: what a join of a growing relation will look up is said
to that relation before its first round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from constat.columnar.arithmetic import NumberOf, encode, evaluate
from constat.columnar.arrays import Array
from constat.columnar.batches import Batch
from constat.columnar.bounds import Bounds
from constat.columnar.folds import GROUP, FoldStep, assigns_once
from constat.columnar.indexes import Growing, Readable
from constat.columnar.packing import Widths
from constat.columnar.steps import (
    AbsenceStep,
    ComputeStep,
    DistinctStep,
    FilterStep,
    JoinStep,
    Live,
    Operator,
    TouchedStep,
    run,
)
from constat.plan import Absence, Compute, Expression, Filter, Fold, Join, Step, slots_of
from constat.plan.forward import Pipeline, Reading

Seen = Callable[[int, int], None]


class When(Enum):
    """In which rounds a pipeline runs."""

    BASE = "base"
    FIRST = "first"
    LATER = "later"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline with its steps ready to run; `places[i]` is the plan's step of operator i."""

    pipeline: Pipeline
    when: When
    operators: tuple[Operator, ...]
    places: tuple[int, ...]
    start: Batch
    number_of: NumberOf

    def rows(self, bounds: Bounds, seen: Seen | None = None) -> Iterator[list[Array]]:
        """The columns of rows for the head, a chunk at a time, with repetitions.

        `seen(step, bindings)` hears how many bindings there are after a step of the plan.
        """
        for batch in run(self.operators, self.start, bounds, self._heard(seen)):
            yield [evaluate(one, batch, self.number_of) for one in self.pipeline.plan.head]

    def _heard(self, seen: Seen | None) -> Seen | None:
        if seen is None:
            return None
        tell, places = seen, self.places

        def heard(level: int, count: int) -> None:
            place = places[level]
            # Of two operators for one step the later one tells what the step gave.
            if level + 1 == len(places) or places[level + 1] != place:
                tell(place, count)

        return heard


@dataclass(frozen=True, slots=True)
class Preparation:
    """What every pipeline of a stage is prepared with."""

    relations: Mapping[str, Readable]
    number_of: NumberOf
    bounds: Bounds
    widths: Widths = field(default_factory=Widths)

    def base(self, pipeline: Pipeline) -> Prepared:
        """Prepare a pipeline that reads no relation of its stage."""
        return self._prepare(pipeline, When.BASE, {})

    def recursive(self, pipeline: Pipeline) -> list[Prepared]:
        """Prepare a pipeline that reads its own stage."""
        steps = pipeline.plan.steps
        fold = next((n for n, one in enumerate(steps) if _is_threshold(one)), None)
        if fold is None:
            readings = dict(enumerate(pipeline.readings))
            return [self._prepare(pipeline, When.EACH, readings)]
        own = [
            place
            for place, step in enumerate(steps)
            if isinstance(step, Join) and self._grows(step.predicate)
        ]
        everything = self._prepare(pipeline, When.FIRST, {})
        touched = self._prepare(pipeline, When.LATER, {}, touched=True)
        brought = [self._prepare(pipeline, When.LATER, {place: Reading.DELTA}) for place in own]
        return [everything, touched, *brought]

    def _grows(self, predicate: str) -> bool:
        return isinstance(self.relations[predicate], Growing)

    def _prepare(
        self,
        pipeline: Pipeline,
        when: When,
        readings: Mapping[int, Reading],
        *,
        touched: bool = False,
    ) -> Prepared:
        plan = pipeline.plan
        wanted = frozenset(slot for one in plan.head for slot in slots_of(one))
        maker = _Maker(self, plan.steps, len(plan.constants), wanted)
        for place, step in enumerate(plan.steps):
            if touched and isinstance(step, Fold) and step.threshold is not None:
                maker.add_touched(step, place)
            maker.add(step, place, readings.get(place, Reading.FULL))
            if place in pipeline.distinct and place + 1 < len(plan.steps):
                maker.add_distinct(place)
        constants = {
            place: encode(value, self.number_of) for place, value in enumerate(plan.constants)
        }
        start = Batch(1, {}, constants)
        operators, places = tuple(maker.operators), tuple(maker.places)
        return Prepared(pipeline, when, operators, places, start, self.number_of)


class _Maker:
    """Makes operators one after the other; knows the next free slot and what is read later."""

    def __init__(
        self, preparation: Preparation, steps: Sequence[Step], width: int, wanted: Live
    ) -> None:
        self._preparation = preparation
        self._live = live_after(steps, wanted)
        self._width = width
        self.operators: list[Operator] = []
        self.places: list[int] = []

    def add(self, step: Step, place: int, reading: Reading) -> None:
        """Append the operator of a step."""
        self.operators.append(self._operator(step, self._live[place], reading))
        self.places.append(place)
        match step:
            case Join():
                self._width += len(step.kept)
            case Compute() | Fold():
                self._width += 1
            case Absence() | Filter():
                pass
            case _:
                assert_never(step)

    def _operator(self, step: Step, live: Live, reading: Reading) -> Operator:
        ready = self._preparation
        match step:
            case Join():
                relation = self._reads(step.predicate, step.columns, reading)
                return JoinStep(step, relation, reading, live, self._width, ready.bounds)
            case Absence():
                relation = self._reads(step.predicate, step.columns, Reading.FULL)
                return AbsenceStep(step, relation, live)
            case Filter():
                return FilterStep(step, live, ready.number_of)
            case Compute():
                return ComputeStep(step, live, self._width, ready.number_of)
            case Fold():
                return self._fold(step, live)
            case _:
                assert_never(step)

    def _reads(self, predicate: str, key: tuple[int, ...], reading: Reading) -> Readable:
        relation = self._preparation.relations[predicate]
        if isinstance(relation, Growing):
            relation.prepare(key, reading)
        return relation

    def _fold(self, step: Fold, live: Live) -> FoldStep:
        ready = self._preparation
        target = () if step.target is None else slots_of(step.target)
        told = () if assigns_once(step) else step.distinct
        wanted = frozenset((GROUP, *target, *told))
        width = len(step.group)
        inner = _Maker(ready, step.steps, width + len(step.constants), wanted)
        for place, one in enumerate(step.steps):
            inner.add(one, place, Reading.FULL)
        constants = {
            width + place: encode(value, ready.number_of)
            for place, value in enumerate(step.constants)
        }
        return FoldStep(
            step,
            tuple(inner.operators),
            constants,
            live,
            self._width,
            ready.number_of,
            ready.bounds,
            ready.widths,
        )

    def add_touched(self, step: Fold, place: int) -> None:
        """Keep the bindings whose group the last round may have changed."""
        looked: list[tuple[Growing, tuple[int, ...], tuple[int, ...]]] = []
        for inner in step.steps:
            if not isinstance(inner, Join):
                continue
            relation = self._preparation.relations[inner.predicate]
            if isinstance(relation, Growing):
                pairs = [
                    (column, step.group[slot])
                    for column, slot in zip(inner.columns, inner.key, strict=True)
                    if slot < len(step.group)
                ]
                key = tuple(column for column, _ in pairs)
                relation.prepare(key, Reading.DELTA)
                looked.append((relation, key, tuple(slot for _, slot in pairs)))
        self.operators.append(TouchedStep(tuple(looked)))
        self.places.append(place - 1)

    def add_distinct(self, place: int) -> None:
        """Drop repetitions here."""
        live = tuple(sorted(self._live[place]))
        self.operators.append(DistinctStep(live, self._preparation.widths))
        self.places.append(place)


def live_after(steps: Sequence[Step], wanted: Live) -> list[Live]:
    """For each step the slots that something reads after it; the group's number always is."""
    live = wanted
    found: list[Live] = []
    for step in reversed(steps):
        found.append(live)
        live = live | frozenset(_reads_of(step))
    return found[::-1]


def _reads_of(step: Step) -> tuple[int, ...]:
    match step:
        case Join() | Absence():
            return step.key
        case Filter():
            return (*slots_of(step.left), *slots_of(step.right))
        case Compute():
            return slots_of(step.expression)
        case Fold():
            bound: tuple[Expression, ...] = () if not step.threshold else (step.threshold.bound,)
            return (*step.group, *(slot for one in bound for slot in slots_of(one)))
        case _:
            assert_never(step)


def _is_threshold(step: Step) -> bool:
    return isinstance(step, Fold) and step.threshold is not None
