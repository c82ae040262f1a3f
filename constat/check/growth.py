"""Totals of recursive thresholds: what listed premises reach, and what nothing can exceed.

In: a threshold and a binding of its rule.  Out: whether some total may exceed the bound (for the
closure), and whether a summand may be negative (for nodes).  Invariant: every possible assignment
of the group is looked at, and what is unknown counts as enough; so where a total is said not to
exceed the bound, no model has one that does.  FORMAT.md, section 6.

Example: with the possible shares 30 and 15 nothing exceeds 50; with 30 and ⋆ something may.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .aggregates import Group
from .joins import Joins
from .levels import Lookups
from .rejection import Rejected
from .values import Hole, OpenRow, Value, is_known, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .aggregates import Aggregates
    from .rows import Rows
    from .rules import Aggregate, Binding, Threshold


@dataclass(frozen=True, slots=True)
class Top:
    """The greatest total a group may have, ``None`` where nobody knows one.

    ``grows`` tells that every summand is known not to be negative.
    """

    total: Fraction | None
    grows: bool
    consulted: frozenset[int]
    lookups: Lookups


class Growth:
    """Evaluates groups of thresholds; each is evaluated once."""

    def __init__(self, owner: Aggregates, rows: Rows) -> None:
        self.owner = owner
        self.rows = rows
        self.evaluator = rows.evaluator
        self.known: dict[tuple[int, int, OpenRow], Top] = {}

    def top(self, rule: int, at: int, literal: Aggregate, binding: Binding) -> Top:
        """Return what the possible rows of the binding's group may add up to."""
        group = tuple([binding[variable] for variable in literal.outer])
        if Hole.UNBOUND in group:
            raise Rejected("unbound", "an aggregate comes before what binds its group")
        if not all(map(is_known, group)):
            return Top(None, grows=False, consulted=frozenset(), lookups=Lookups())
        key = (rule, at, group)
        known = self.known.get(key)
        if known is None:
            noted, self.rows.lookups = self.rows.lookups, Lookups()
            known = self.known[key] = self._top(literal, self.owner.start(key, literal))
            self.rows.lookups = noted
        self.rows.lookups.add(known.lookups)
        return known

    def may_exceed(self, threshold: Threshold, top: Top, binding: Binding) -> bool:
        """Tell whether the total may exceed the bound under a binding."""
        bound = self.bound(threshold, binding)
        return top.total is None or bound is None or exceeds(top.total, threshold, bound)

    def bound(self, threshold: Threshold, binding: Binding) -> Fraction | None:
        """Return the value of the bound; ``None`` where nobody knows it."""
        value = self.evaluator.value(threshold.bound, binding)
        if value is Hole.UNBOUND:
            raise Rejected("unbound", "a threshold comes before what binds its bound")
        return Fraction(parse(threshold.bound.kind, value)) if type(value) is str else None

    def summand(self, literal: Aggregate, binding: Binding) -> Fraction | None:
        """Return what an assignment adds; ``None`` where nobody knows it."""
        if literal.target is None:
            return Fraction(1)
        value = self.evaluator.value(literal.target, binding)
        return Fraction(parse(literal.target.kind, value)) if type(value) is str else None

    def _top(self, literal: Aggregate, start: Binding) -> Top:
        group = Group(self.owner, literal, Joins(self.rows, self.rows.possible))
        total: Fraction | None = Fraction()
        grows = True
        for found in group.found(start):
            self.rows.spend(1)
            value = self.summand(literal, assigned(literal, start, found))
            grows &= value is not None and value >= 0
            # A row with ⋆ stands for any number of rows.
            if value is None or any(isinstance(cell, Hole) for cell in found):
                total = None
            elif total is not None:
                total += max(value, Fraction())
        return Top(total, grows, frozenset(group.joins.consulted), self.rows.lookups)


def assigned(literal: Aggregate, start: Binding, values: Iterable[Value]) -> Binding:
    """Return the binding with the local variables of an aggregate bound."""
    binding = list(start)
    for variable, value in zip(literal.inner, values, strict=True):
        binding[variable] = value
    return binding


def exceeds(total: Fraction, threshold: Threshold, bound: Fraction) -> bool:
    """Tell whether a total is beyond the bound."""
    return total > bound or (total == bound and not threshold.above)
