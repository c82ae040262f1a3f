"""The steps of pipelines on whole batches: joins, aggregates, heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Final, Protocol, assert_never

import numpy as np

from constat.columnar.arrays import (
    Array,
    Batch,
    Bounds,
    Domain,
    Mask,
    Packing,
    Widths,
    distinct,
    neighbours_differ,
)
from constat.columnar.domains import (
    COMPARISONS,
    NumberOf,
    encode,
    evaluate,
    holds,
    wrap_words,
)
from constat.columnar.relations import Growing, Readable, Segment
from constat.evaluation import StrategyError
from constat.frozen import frozen
from constat.logic import Kind
from constat.logic.arithmetic import unwrapped
from constat.plan import Absence, Compute, Expression, Filter, Fold, Join, Step, slots_of
from constat.plan.forward import Pipeline, Reading

# Each binding that the steps give for the batch comes exactly as often as the plan says.

Live = frozenset[int]


class Operator(Protocol):
    """One step, ready to run."""

    def run(self, batch: Batch) -> Iterator[Batch]:
        """The batches that follow from one batch."""
        ...


@frozen
class JoinStep:
    """Extend bindings by the rows of a relation; `width` is the first slot that is new."""

    step: Join
    relation: Readable
    reading: Reading
    live: Live
    width: int
    bounds: Bounds

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Join with each segment of the relation, a chunk at a time."""
        key = self.step.columns
        segments = self.relation.segments(key, self.reading)
        if not segments:
            return
        values = [batch.column(slot) for slot in self.step.key]
        codes = self.relation.by(key).find(values, batch.count)
        for segment in segments:
            starts, counts = segment.ranges(codes)
            for part in self._chunks(batch, starts, counts):
                yield self._expand(part, segment)

    def _chunks(self, batch: Batch, starts: Array, counts: Array) -> Iterator[_Part]:
        total = int(counts.sum())
        if total <= self.bounds.chunk:
            if total:
                yield _Part(batch, starts, counts, total)
            return
        ends = np.cumsum(counts)
        for first in range(0, total, self.bounds.chunk):
            self.bounds.tick()
            last = min(first + self.bounds.chunk, total)
            yield _cut(batch, starts, counts, ends, (first, last))

    def _expand(self, part: _Part, segment: Segment) -> Batch:
        step = self.step
        slots, places = part.expand(self.live)
        wanted = [
            column
            for number, column in enumerate(step.kept)
            if self.width + number in self.live or any(column in pair for pair in step.same)
        ]
        wanted.extend(column for pair in step.same for column in pair if column not in wanted)
        found = segment.take(places, list(dict.fromkeys(wanted)))
        for number, column in enumerate(step.kept):
            if column in found:
                slots[self.width + number] = found[column]
        result = Batch(part.total, slots, part.batch.constants)
        if step.same:
            equal = [found[one] == found[other] for one, other in step.same]
            result = result.keep(np.logical_and.reduce(equal)).narrow(self.live)
        return result


@frozen
class _Part:
    """Bindings with the ranges of rows each is joined with; `total` rows in all."""

    batch: Batch
    starts: Array
    counts: Array
    total: int

    def expand(self, live: Live) -> tuple[dict[int, Array], Array | slice]:
        """Repeat the bindings once per row; give the places of the rows, too."""
        if self.batch.count == 1:
            first = int(self.starts[0])
            slots = {
                slot: np.full(self.total, column[0], np.int64)
                for slot, column in self.batch.slots.items()
                if slot in live
            }
            return slots, slice(first, first + self.total)
        if self.total <= self.batch.count and int(self.counts.max()) <= 1:
            rows = np.flatnonzero(self.counts)
            return self.batch.take(rows, live), self.starts[rows]
        rows = np.repeat(np.arange(self.batch.count), self.counts)
        before = np.cumsum(self.counts)
        before -= self.counts
        before -= self.starts
        places = np.arange(self.total)
        places -= before[rows]
        return self.batch.take(rows, live), places


def _cut(batch: Batch, starts: Array, counts: Array, ends: Array, span: tuple[int, int]) -> _Part:
    """The bindings that give the outputs from the first to the last of a span."""
    first, last = span
    low = int(np.searchsorted(ends, first, side="right"))
    high = int(np.searchsorted(ends, last, side="left")) + 1
    part_starts = starts[low:high].copy()
    part_counts = counts[low:high].copy()
    skipped = first - (int(ends[low]) - int(counts[low]))
    part_starts[0] += skipped
    part_counts[0] -= skipped
    part_counts[-1] -= int(ends[high - 1]) - last
    slots = {slot: column[low:high] for slot, column in batch.slots.items()}
    return _Part(Batch(high - low, slots, batch.constants), part_starts, part_counts, last - first)


@frozen
class AbsenceStep:
    """Keep the bindings that no row of a finished relation matches."""

    step: Absence
    relation: Readable
    live: Live

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Look each binding up."""
        key = self.step.columns
        values = [batch.column(slot) for slot in self.step.key]
        codes = self.relation.by(key).find(values, batch.count)
        absent = np.ones(batch.count, np.bool_)
        for segment in self.relation.segments(key, Reading.FULL):
            absent &= segment.ranges(codes)[1] == 0
        yield batch.keep(absent).narrow(self.live)


@frozen
class TouchedStep:
    """Keep the bindings for which the last round brought rows to one of some relations.

    For each: by which columns it is looked up, and with which slots.
    """

    looked: tuple[tuple[Growing, tuple[int, ...], tuple[int, ...]], ...]

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Look each binding up in the deltas."""
        touched = np.zeros(batch.count, np.bool_)
        for relation, key, slots in self.looked:
            codes = relation.by(key).find([batch.column(slot) for slot in slots], batch.count)
            for segment in relation.segments(key, Reading.DELTA):
                touched |= segment.ranges(codes)[1] > 0
        yield batch.keep(touched)


@frozen
class FilterStep:
    """Keep the bindings for which a comparison holds."""

    step: Filter
    live: Live
    number_of: NumberOf

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Compare all at once."""
        yield batch.keep(holds(self.step, batch, self.number_of)).narrow(self.live)


@frozen
class ComputeStep:
    """Append the value of an expression."""

    step: Compute
    live: Live
    width: int
    number_of: NumberOf

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Compute all at once; also what nothing reads, because it may fail."""
        value = evaluate(self.step.expression, batch, self.number_of)
        narrow = batch.narrow(self.live)
        slots = dict(narrow.slots)
        if self.width in self.live:
            slots[self.width] = value
        yield Batch(batch.count, slots, batch.constants)


@frozen
class DistinctStep:
    """Drop repeated bindings within a batch; whoever reads them takes sets anyway."""

    live: tuple[int, ...]
    widths: Widths

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Sort the bindings as keys and take the first of each kind."""
        columns = [batch.slots[slot] for slot in self.live if slot in batch.slots]
        if not columns:
            yield Batch(min(batch.count, 1), {}, batch.constants)
            return
        domains = [Domain(int(one.min()), int(one.max())) for one in columns]
        packing = Packing(domains, self.widths)
        keys = distinct(packing.pack(columns))
        slots = [slot for slot in self.live if slot in batch.slots]
        unpacked = dict(zip(slots, packing.unpack(keys), strict=True))
        yield Batch(len(keys), unpacked, batch.constants)


def first_of_each(columns: Sequence[Array], widths: Widths) -> Array:
    """The places of one row of each kind, rising; the columns are not empty."""
    packing = Packing([Domain(int(one.min()), int(one.max())) for one in columns], widths)
    keys = packing.pack(columns)
    order = np.argsort(keys, kind="stable")
    return np.sort(order[neighbours_differ(keys[order])])


def run(
    operators: Sequence[Operator],
    batch: Batch,
    bounds: Bounds,
    seen: Callable[[int, int], None] | None = None,
) -> Iterator[Batch]:
    """Run steps depth first. `seen(step, bindings)` hears how many bindings each step gave."""
    if not operators:
        yield batch
        return
    pending = [operators[0].run(batch)]
    last = len(operators) - 1
    while pending:
        following = next(pending[-1], None)
        if following is None:
            pending.pop()
            continue
        level = len(pending) - 1
        if seen is not None:
            seen(level, following.count)
        if not following.count:
            continue
        if level == last:
            yield following
        else:
            bounds.tick()
            pending.append(operators[level + 1].run(following))


# An assignment counts once.

GROUP: Final = -1
"""The slot of an inner binding that holds the number of its group."""

_HALF: Final = 32
_SIGNED_BITS: Final = 64
_LOW: Final = (1 << _HALF) - 1
_BYTES: Final = 32


@frozen
class FoldStep:
    """Append the aggregate of each binding's group; `inner` are the steps of its body."""

    step: Fold
    inner: tuple[Operator, ...]
    constants: Mapping[int, int]
    live: Live
    width: int
    number_of: NumberOf
    bounds: Bounds
    widths: Widths

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Fold all groups of the batch."""
        keys = [batch.column(slot) for slot in self.step.group]
        firsts, numbers = _groups(keys, batch.count, self.widths)
        self.bounds.need(len(firsts) * _BYTES, "the totals of an aggregate")
        totals = _Totals(self.step, len(firsts))
        slots = {place: column[firsts] for place, column in enumerate(keys)}
        slots[GROUP] = np.arange(len(firsts))
        for part in self._assignments(Batch(len(firsts), slots, self.constants)):
            totals.add(part.slots[GROUP], self._values(part))
        if self.step.threshold is not None:
            beyond = self._beyond(batch, totals, numbers)
            yield batch.keep(beyond).narrow(self.live)
            return
        values, known = totals.values()
        found = batch.narrow(self.live)
        if self.width in self.live:
            found = Batch(
                batch.count, {**found.slots, self.width: values[numbers]}, batch.constants
            )
        yield found if known.all() else found.keep(known[numbers])

    def _values(self, part: Batch) -> Array:
        if self.step.target is None:
            return np.ones(part.count, np.int64)
        values = evaluate(self.step.target, part, self.number_of)
        threshold = self.step.threshold
        if threshold is not None and not threshold.proven and int(values.min()) < 0:
            raise StrategyError("a threshold sums a value below zero")
        return values

    def _beyond(self, batch: Batch, totals: _Totals, numbers: Array) -> Mask:
        threshold = self.step.threshold
        if threshold is None:
            raise AssertionError("only a threshold is compared")
        bound = evaluate(threshold.bound, batch, self.number_of)
        values, large = totals.beyond()
        compared = COMPARISONS[threshold.operator](values[numbers], bound)
        return compared | large[numbers]

    def _assignments(self, groups: Batch) -> Iterator[Batch]:
        """The bindings of the body, each assignment once."""
        found = run(self.inner, groups, self.bounds)
        if assigns_once(self.step):
            yield from found
            return
        parts = list(found)
        if not parts:
            return
        slots = {
            slot: np.concatenate([one.slots[slot] for one in parts]) for slot in parts[0].slots
        }
        count = sum(one.count for one in parts)
        self.bounds.need(count * _BYTES, "the assignments of an aggregate")
        told = [slots[GROUP], *(slots[slot] for slot in self.step.distinct if slot in slots)]
        places = first_of_each(told, self.widths)
        kept = {slot: column[places] for slot, column in slots.items()}
        yield Batch(len(places), kept, self.constants)


def assigns_once(step: Fold) -> bool:
    """Whether the body gives each assignment only once, because it keeps all that joins bring."""
    kept: set[int] = set()
    width = len(step.group) + len(step.constants)
    for inner in step.steps:
        if isinstance(inner, Join):
            seen = {*inner.columns, *inner.kept, *(other for _, other in inner.same)}
            if len(seen) < inner.arity:
                return False
            kept.update(range(width, width + len(inner.kept)))
            width += len(inner.kept)
        elif isinstance(inner, Compute | Fold):
            width += 1
    return kept <= set(step.distinct)


def _groups(keys: Sequence[Array], count: int, widths: Widths) -> tuple[Array, Array]:
    """One place of each group, and the number of each binding's group."""
    if not keys or not count:
        return np.arange(min(count, 1)), np.zeros(count, np.int64)
    packing = Packing([Domain(int(one.min()), int(one.max())) for one in keys], widths)
    codes = packing.pack(keys)
    order = np.argsort(codes, kind="stable")
    first = neighbours_differ(codes[order])
    numbers = np.empty(count, np.int64)
    numbers[order] = np.cumsum(first) - 1
    return order[first], numbers


class _Totals:
    """What the assignments seen so far give for each group."""

    def __init__(self, step: Fold, groups: int) -> None:
        function, self._word = unwrapped(step.function)
        self._function, self._kind = function, step.kind or Kind.NUMBER
        self._high = np.zeros(groups, np.int64)
        self._low = np.zeros(groups, np.int64)
        self._seen = np.zeros(groups, np.bool_)
        if function == "min":
            self._high[:] = np.iinfo(np.int64).max
        elif function == "max":
            self._high[:] = np.iinfo(np.int64).min

    def add(self, groups: Array, values: Array) -> None:
        """Take one value for each of these groups, which may repeat."""
        match self._function:
            case "min":
                np.minimum.at(self._high, groups, values)
                self._seen[groups] = True
            case "max":
                np.maximum.at(self._high, groups, values)
                self._seen[groups] = True
            case _:
                np.add.at(self._high, groups, values >> _HALF)
                np.add.at(self._low, groups, values & _LOW)
                # Carried at once, so that neither half can overflow however many rows follow.
                self._high += self._low >> _HALF
                self._low &= _LOW

    def values(self) -> tuple[Array, Mask]:
        """The value of each group, and whether it has one."""
        if self._function in {"min", "max"}:
            return self._high, self._seen
        if self._word and (self._word < _SIGNED_BITS or self._kind is Kind.NUMBER):
            wrapped = wrap_words(self._together(), self._kind, self._word)
            return wrapped, np.ones(len(self._high), np.bool_)
        if not self._fits().all():
            raise StrategyError("the result of an aggregate does not fit in 64 bits")
        return self._together(), np.ones(len(self._high), np.bool_)

    def beyond(self) -> tuple[Array, Mask]:
        """The value of each group, and where it is beyond every integer of 64 bits."""
        return self._together(), self._high >> (_HALF - 1) > 0

    def _fits(self) -> Mask:
        half = 1 << (_HALF - 1)
        fits: Mask = (self._high >= -half) & (self._high < half)
        return fits

    def _together(self) -> Array:
        return (self._high << _HALF) | self._low


# What a join of a growing relation will look up is said to that relation before its first round.

Seen = Callable[[int, int], None]


class When(Enum):
    """In which rounds a pipeline runs."""

    BASE = "base"
    FIRST = "first"
    LATER = "later"
    EACH = "each"


@frozen
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


@frozen
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
