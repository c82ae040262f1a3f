"""Recursive thresholds: groups whose totals grow while a component is evaluated.

In: bindings that wait for the total of their group to be beyond a bound, and assignments of the
groups as they are found. Out: bindings as soon as they hold, each as strong as it is by then.
Invariant: what was given out is never taken back, because a total of rows that are certain is a
lower bound of the true total as long as no summand is negative.

Where the text does not rule negative summands out (`Beyond.proven` is false), a group is at most
possible until `lift`: the component calls it when nothing new can come, and then a group with a
summand below zero, or with one that nobody knows, stays undecided (semantics 9).

Example: `sum > 50` with 30 certain and 40 of strength 2 gives the binding with strength 2. See Ross
and Sagiv, Monotonic aggregation in deductive databases (1992).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import cast

from constat.engine.batch import Batch, Binding
from constat.engine.expressions import reads_hole, value_of
from constat.engine.null_cells import is_doubtful, told_apart
from constat.engine.relation import tuple_getter
from constat.engine.texts import Texts
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, UNTIMED, Clock
from constat.logic import OPEN, EvaluationError, add_exactly, is_beyond
from constat.plan import Beyond, Expression, Fold

Fail = Callable[[Binding, str], None]
Number = int | Decimal

NO_VALUE = 0
"""What stands in the slot of a threshold's result: nothing reads it."""


@dataclass(slots=True)
class _Waiter:
    """A binding, as strong as it came; `released` is how strong it has been given out."""

    strength: int
    bound: Number
    released: int = ABSENT


@dataclass(slots=True)
class _Group:
    """`totals[s]` adds the assignments of at least strength s; negative ones add nothing.

    `unknown` is the greatest strength at which there may be any number of further summands,
    `negative` that of a summand that is, or may be, below zero.
    """

    assignments: dict[Binding, int] = field(default_factory=dict)
    totals: list[Number] = field(default_factory=lambda: [0, 0, 0, 0])
    waiters: dict[Binding, _Waiter] = field(default_factory=dict)
    unknown: int = ABSENT
    negative: int = ABSENT
    lifted: bool = False
    doubtful: dict[Binding, Number] = field(default_factory=dict)
    """What assignments add that may be the same as others, because they hold null cells."""

    def strength(self, operator: str, bound: Number) -> int:
        """How surely the total is beyond a bound, as far as rows are known."""
        for level in (CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE):
            if self.unknown >= level or is_beyond(self._total(level), operator, bound):
                return min(level, self.most)
        return ABSENT

    def _total(self, level: int) -> Number:
        """The least that is there at a level, and the most where it is only possible."""
        if not self.doubtful or level < ACCEPTED:
            return self.totals[level]
        there = [one for one, strength in self.assignments.items() if strength >= level]
        values: dict[Binding, Number] = {one: self.doubtful.get(one, 0) for one in there}
        more = sum(values[one] for one in told_apart(values))
        return add_exactly(self.totals[level], more)

    @property
    def most(self) -> int:
        """How strong a conclusion from the group can be."""
        if not self.lifted or self.negative >= POSSIBLE:
            return POSSIBLE
        return ACCEPTED if self.negative == CONCEIVABLE else CERTAIN


class Totals:
    """All groups of one threshold of one rule."""

    def __init__(
        self,
        step: Fold,
        threshold: Beyond,
        fail: Fail,
        texts: Texts,
        clock: Clock = UNTIMED,
    ) -> None:
        self._threshold = threshold
        self._clock = clock
        self._target: Expression | None = step.target
        self._fail = fail
        self._group = tuple_getter(step.group)
        self._width = len(step.group)
        self._distinct = tuple_getter(step.distinct)
        self._value = None if step.target is None else value_of(step.target, texts)
        self._bound = value_of(threshold.bound, texts)
        self._groups: dict[Binding, _Group] = {}
        self._waiting: list[_Group] = []

    def wait(self, batch: Batch) -> tuple[Batch, list[Binding]]:
        """Take bindings; give those that hold already, and the groups that are new."""
        out = Batch()
        new: list[Binding] = []
        for binding, strength in self._all(batch):
            key = self._group(binding)
            bound = self._bound_of(binding)
            if bound is None or OPEN in key:
                _give(out, binding, min(strength, POSSIBLE))
                continue
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(lifted=self._threshold.proven)
                new.append(key)
                if not group.lifted:
                    self._waiting.append(group)
            waiter = group.waiters.setdefault(binding, _Waiter(strength, bound))
            waiter.strength = max(waiter.strength, strength)
            self._release(group, binding, waiter, out)
        return out, new

    def add(self, inner: Batch) -> Batch:
        """Take assignments; give the bindings that hold by them."""
        touched: dict[Binding, _Group] = {}
        for binding, strength in self._all(inner):
            key = binding[: self._width]
            group = self._groups[key]
            if self._added(group, binding, strength):
                touched[key] = group
        return self._released(touched.values())

    def lift(self) -> Batch:
        """Let complete groups give certain conclusions, where no summand can be negative."""
        groups, self._waiting = self._waiting, []
        for group in self._clock.over(groups):
            group.lifted = True
        return self._released(groups)

    def _all(self, batch: Batch) -> Iterator[tuple[Binding, int]]:
        for binding in self._clock.over(batch.sure):
            yield binding, CERTAIN
        yield from self._clock.over(batch.weak)

    def _bound_of(self, binding: Binding) -> Number | None:
        if reads_hole(self._threshold.bound, binding):
            return None
        try:
            return cast("Number", self._bound(binding))
        except EvaluationError as error:
            self._fail(binding, str(error))
            return None

    def _added(self, group: _Group, binding: Binding, strength: int) -> bool:
        assignment = self._distinct(binding)
        before = group.assignments.get(assignment, ABSENT)
        if strength <= before:
            return False
        group.assignments[assignment] = strength
        value = self._value_of(binding)
        if value is None or value < 0:
            group.negative = max(group.negative, self._doubt(strength, value))
        if value is None or OPEN in assignment:
            # Such a row stands for any number of rows.
            group.unknown = max(group.unknown, min(strength, POSSIBLE))
        elif value > 0:
            if any(map(is_doubtful, assignment)):
                group.doubtful[assignment] = value
                strength = min(strength, POSSIBLE)
            for level in range(before + 1, strength + 1):
                group.totals[level] = add_exactly(group.totals[level], value)
        return True

    def _doubt(self, strength: int, value: Number | None) -> int:
        """How possible it is that this summand is negative."""
        if self._threshold.proven:
            return ABSENT
        if value is not None:
            message = f"{value} is negative, and a recursive sum must not fall"
            self._fail((), message)
        return strength

    def _value_of(self, binding: Binding) -> Number | None:
        if self._value is None or self._target is None:
            return 1
        if reads_hole(self._target, binding):
            return None
        try:
            return cast("Number", self._value(binding))
        except EvaluationError as error:
            self._fail((), str(error))
            return None

    def _released(self, groups: Iterable[_Group]) -> Batch:
        out = Batch()
        for group in self._clock.over(groups):
            waiters = group.waiters.items()
            for binding, waiter in self._clock.over(waiters):
                self._release(group, binding, waiter, out)
        return out

    def _release(self, group: _Group, binding: Binding, waiter: _Waiter, out: Batch) -> None:
        if waiter.released >= waiter.strength:
            return
        found = min(waiter.strength, group.strength(self._threshold.operator, waiter.bound))
        if found > waiter.released:
            waiter.released = found
            _give(out, binding, found)


def _give(out: Batch, binding: Binding, strength: int) -> None:
    extended = (*binding, NO_VALUE)
    if strength == CERTAIN:
        out.sure.append(extended)
    else:
        out.weak.append((extended, strength))
