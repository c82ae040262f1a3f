"""Aggregates over whole batches: the groups of all bindings are folded at once.

In: a batch. Out: one batch with the value of each binding's group, or, for a threshold, the
bindings whose total is beyond the bound. Sums are kept as two integers, high and low halves, so
that they are exact whatever the order; a result beyond 64 bits is a `StrategyError`, except that
a threshold only needs to know that it is beyond. Invariant: an assignment counts once.

Example: groups [7, 7, 8] with the assignments (7, 1), (7, 2) sum to [3, 3, 0].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from constat.columnar.arithmetic import COMPARISONS, NumberOf, evaluate
from constat.columnar.arrays import Array, Mask, neighbours_differ
from constat.columnar.batches import Batch
from constat.columnar.bounds import Bounds
from constat.columnar.packing import Domain, Packing, Widths
from constat.columnar.steps import Live, Operator, first_of_each, run
from constat.evaluation.bulk import StrategyError
from constat.plan import Compute, Fold, Join

GROUP: Final = -1
"""The slot of an inner binding that holds the number of its group."""

_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1
_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
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
        totals = _Totals(self.step.function, len(firsts))
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

    def __init__(self, function: str, groups: int) -> None:
        self._function = function
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
