"""Recursive thresholds in the search for the proof of greatest confidence.

In: a threshold of a rule instance.  Out: an ``Open`` total that takes summands as their premises
are settled.  Invariant: premises are settled in falling confidence, so the summands that are there
when the bound is first exceeded make the most confident total that there is; of these the greatest
are kept, since fewer rows say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from constat.logic import add_exactly, is_beyond
from constat.proof.groups import Group
from constat.proof.growth import Listed, Number, Summand, premises_of, summand
from constat.proof.instances import ComparisonCode, NegativeCode, is_ground, is_hole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.logic import Row, Value
    from constat.proof.instances import AggregateCode, Binding, RuleCode, ThresholdCode
    from constat.proof.outside import Fact
    from constat.proof.slices import Slice


@dataclass(slots=True)
class Waiting:
    """A summand, and how many of its premises are not settled."""

    summand: Summand
    value: Number
    waits: int


@dataclass(slots=True)
class Open:
    """A total that has to exceed a bound; ``needs_absence`` where it also rests on what is not."""

    place: int
    result: int
    operator: str
    bound: Number
    needs_absence: bool
    waiting: list[Waiting]
    ready: list[Waiting] = field(default_factory=list)
    total: Number = 0

    def fresh(self) -> Open:
        """Return the same total with nothing settled."""
        waiting = [replace(one, waits=len(facts_of(one))) for one in self.waiting]
        return replace(self, waiting=waiting, ready=[], total=0)

    @property
    def reached(self) -> bool:
        """Whether the summands that are settled exceed the bound."""
        return is_beyond(self.total, self.operator, self.bound)

    def settle(self, one: Waiting) -> None:
        """Take note that one more premise of a summand is settled."""
        one.waits -= 1
        if one.waits == 0:
            self.ready.append(one)
            self.total = add_exactly(self.total, one.value)

    def listed(self) -> Listed:
        """Return the greatest of the settled summands, as many as are needed."""
        total: Number = 0
        kept: list[Summand] = []
        for one in sorted(self.ready, key=lambda one: (-one.value, str(one.summand.values))):
            if is_beyond(total, self.operator, self.bound):
                break
            total = add_exactly(total, one.value)
            kept.append(one.summand)
        return Listed(tuple(kept), total)


def open_total(
    walker: Slice, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
) -> Open | None:
    """Return the total of an instance; ``None`` where it cannot hold for certain."""
    threshold = cast("ThresholdCode", literal.threshold)
    bound = threshold.bound.evaluate(binding)
    if is_hole(bound):
        return None
    if not threshold.proven and not walker.growth.top(code, place, literal, binding).grows:
        return None
    start: Binding = [None] * len(code.names)
    for slot in literal.outer:
        start[slot] = binding[slot]
    waiting: list[Waiting] = []
    negated = False
    for cells, inner in Group(walker, literal).distinct(start).items():
        value = summand(literal, inner)
        if value is not None and is_ground(cells) and _is_certain(walker, literal, inner):
            premises = tuple(premises_of(literal, inner))
            below = {one for one in premises if one is not None}
            waiting.append(Waiting(Summand(cast("Row", cells), premises), value, len(below)))
            negated |= any(isinstance(test, NegativeCode) for test in literal.body)
    absence = not threshold.proven or negated
    wanted = cast("Number", bound)
    return Open(place, literal.result, threshold.operator, wanted, absence, waiting)


def certainly_exceeds(
    walker: Slice, code: RuleCode, place: int, literal: AggregateCode, binding: Binding
) -> bool:
    """Tell whether rows that are certain carry the threshold of an instance."""
    total = open_total(walker, code, place, literal, binding)
    if total is None:
        return False
    for one in total.waiting:
        total.total = add_exactly(total.total, one.value)
    return total.reached


def with_totals(
    values: tuple[Value, ...], totals: Iterable[tuple[Open, Listed]]
) -> tuple[Value, ...]:
    """Return the values of an instance with the totals that the chosen summands reach."""
    found = list(values)
    for one, chosen in totals:
        found[one.result] = chosen.total
    return tuple(found)


def facts_of(one: Waiting) -> frozenset[Fact]:
    """Return the distinct premises of a summand."""
    return frozenset(premise for premise in one.summand.premises if premise is not None)


def _is_certain(walker: Slice, literal: AggregateCode, inner: Binding) -> bool:
    for test in literal.body:
        if isinstance(test, ComparisonCode):
            if test.truth(inner) is not True:
                return False
            continue
        row = test.atom.pattern(inner)
        if not is_ground(row):
            return False
        if isinstance(test, NegativeCode):
            if walker.possible(test.atom.predicate, row):
                return False
        elif not walker.is_certain(test.atom.predicate, cast("Row", row)):
            return False
    return True
