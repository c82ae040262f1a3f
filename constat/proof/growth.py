"""Recursive thresholds in proofs: summands that reach a bound, and totals that cannot.

In: a threshold and a binding of its rule.  Out: ``Top``, what the possible rows of the group may
add up to; and ``Listed``, the summands of a node with their premises.  Invariant: the most a group
may reach is found as a checker finds it (FORMAT.md, section 6), look-up by look-up, so that every
pattern it asks for is served by the certificate.

Example: with the possible shares 30 and 15 the top is 45; with 30 and ⋆ there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from constat.logic import add_exactly, is_beyond
from constat.proof.groups import Group
from constat.proof.instances import (
    NegativeCode,
    PositiveCode,
    is_ground,
    is_known,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.logic import Row, Value
    from constat.proof.groups import GroupKey, Walker
    from constat.proof.instances import AggregateCode, Binding, Cell, RuleCode, ThresholdCode
    from constat.proof.outside import Fact

Number = int | Decimal


@dataclass(frozen=True, slots=True)
class Top:
    """``total`` is ``None`` where nobody knows the most there can be.

    ``grows`` tells that every possible summand is known not to be negative.
    """

    total: Number | None
    grows: bool


@dataclass(frozen=True, slots=True)
class Summand:
    """An assignment: values of the local variables, a fact for each positive literal."""

    values: tuple[Value, ...]
    premises: tuple[Fact | None, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """What carries a threshold of a node; ``total`` is a lower bound of its result."""

    summands: tuple[Summand, ...]
    total: Number

    def premises(self) -> Iterator[Fact]:
        """Yield the facts the total rests on."""
        for summand in self.summands:
            yield from (premise for premise in summand.premises if premise is not None)


class Growth:
    """Evaluates the groups of a slice's thresholds, each once."""

    def __init__(self, owner: Walker) -> None:
        self._owner = owner
        self._known: dict[GroupKey, Top] = {}

    def restart(self) -> None:
        """Forget the totals: rows have been added."""
        self._known.clear()

    def top(self, code: RuleCode, place: int, literal: AggregateCode, binding: Binding) -> Top:
        """Return what the possible rows of the binding's group may add up to."""
        group = tuple([binding[slot] for slot in literal.outer])
        if not all(map(is_known, group)):
            return Top(None, grows=False)
        key = (code.number, place, group)
        known = self._known.get(key)
        if known is None:
            start: Binding = [None] * len(code.names)
            for slot, value in zip(literal.outer, group, strict=True):
                start[slot] = value
            known = self._known[key] = self._top(literal, start)
        return known

    def may_exceed(self, threshold: ThresholdCode, top: Top, binding: Binding) -> bool:
        """Tell whether a total may exceed the bound under a binding."""
        bound = threshold.bound.evaluate(binding)
        if top.total is None or not is_known(bound):
            return True
        return is_beyond(top.total, threshold.operator, cast("Number", bound))

    def _top(self, literal: AggregateCode, start: Binding) -> Top:
        total: Number | None = 0
        grows = True
        for cells, binding in Group(self._owner, literal).distinct(start).items():
            value = summand(literal, binding)
            grows &= value is not None and value >= 0
            # A row with ⋆ stands for any number of rows.
            if value is None or not is_ground(cells):
                total = None
            elif total is not None:
                total = add_exactly(total, max(value, 0))
        return Top(total, grows)


def summand(literal: AggregateCode, binding: Binding) -> Number | None:
    """Return what an assignment adds; ``None`` where nobody knows it."""
    if literal.target is None:
        return 1
    value = literal.target.evaluate(binding)
    return cast("Number", value) if is_known(value) else None


def listed(
    code: RuleCode,
    literal: AggregateCode,
    values: Sequence[Value],
    assignments: Iterable[Mapping[str, Value]],
) -> Listed:
    """Return assignments of local variables, by name, as summands with their premises."""
    outer: list[Cell] = [*values, *[None] * (len(code.names) - code.outer)]
    total: Number = 0
    found: list[Summand] = []
    for assignment in assignments:
        binding = list(outer)
        cells = tuple([assignment[code.names[slot]] for slot in literal.inner])
        for slot, value in zip(literal.inner, cells, strict=True):
            binding[slot] = value
        total = add_exactly(total, summand(literal, binding) or 0)
        found.append(Summand(cells, tuple(premises_of(literal, binding))))
    return Listed(tuple(found), total)


def bound_by(code: RuleCode, literal: AggregateCode, one: Summand, binding: Binding) -> Binding:
    """Return the binding of a node with a summand's local variables bound."""
    extended: Binding = [*binding[: code.outer], *[None] * (len(code.names) - code.outer)]
    for slot, value in zip(literal.inner, one.values, strict=True):
        extended[slot] = value
    return extended


def premises_of(literal: AggregateCode, binding: Binding) -> Iterator[Fact | None]:
    """Yield the fact of each positive literal of an assignment, and nothing for the others."""
    for test in literal.body:
        if isinstance(test, PositiveCode):
            row = cast("Row", test.atom.pattern(binding))
            yield test.atom.predicate, row
        else:
            yield None


def has_negations(literal: AggregateCode) -> bool:
    """Tell whether a summand rests on an absence."""
    return any(isinstance(test, NegativeCode) for test in literal.body)
