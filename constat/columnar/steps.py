"""The steps of a pipeline on whole batches, in chunks of bounded size.

In: a batch. Out: batches, none with more bindings than the bounds allow. A join first counts what
it will give, from the lengths of the ranges that a segment names for each binding, and only then
makes it, a chunk at a time; so that an exploding join costs time and never memory. `run` takes
the steps depth first with a stack of its own. Invariant: each binding that the steps give for the
batch comes exactly as often as the plan says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from constat.columnar.arithmetic import NumberOf, evaluate, holds
from constat.columnar.arrays import Array, distinct, neighbours_differ
from constat.columnar.batches import Batch
from constat.columnar.bounds import Bounds
from constat.columnar.indexes import Growing, Readable
from constat.columnar.packing import Domain, Packing, Widths
from constat.columnar.segments import Segment
from constat.plan import Absence, Compute, Filter, Join
from constat.plan.forward import Reading

Live = frozenset[int]


class Operator(Protocol):
    """One step, ready to run."""

    def run(self, batch: Batch) -> Iterator[Batch]:
        """The batches that follow from one batch."""
        ...


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class FilterStep:
    """Keep the bindings for which a comparison holds."""

    step: Filter
    live: Live
    number_of: NumberOf

    def run(self, batch: Batch) -> Iterator[Batch]:
        """Compare all at once."""
        yield batch.keep(holds(self.step, batch, self.number_of)).narrow(self.live)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
