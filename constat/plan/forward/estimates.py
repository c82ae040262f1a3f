"""How many rows relations and bindings will have, roughly.

In: sizes of given relations and the steps of rules. Out: sizes of derived relations and bindings
after each step. Invariant: estimates are finite and never below zero. The model is System R's:
columns are independent, values are spread evenly, and the smaller set of values is contained in
the greater. Example: joining 7,000 edges among 3,500 nodes with themselves gives 7,000 x 7,000 /
3,500 = 14,000 bindings.

See Selinger et al., Access path selection in a relational database management system (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from constat.plan.forward.statistics import Statistics
from constat.plan.operators import (
    Absence,
    Compute,
    Expression,
    Filter,
    Fold,
    Join,
    RulePlan,
    Slot,
    Step,
    slots_of,
)

UNKNOWN_ROWS = 1000.0
MOST_ROWS = 1e18
_KEYNESS = 0.85
_KEPT: Final = MappingProxyType({"!=": 0.9, "<": 0.33, "<=": 0.33, ">": 0.33, ">=": 0.33})
_KEPT_BY_TEXT = 0.25
_KEPT_BY_ABSENCE = 0.7
_KEPT_BY_THRESHOLD = 0.5


@dataclass(slots=True)
class Estimates:
    """Rows by relation, distinct values by relation and column."""

    counts: dict[str, float] = field(default_factory=dict)
    values: dict[tuple[str, int], float] = field(default_factory=dict)

    def rows(self, predicate: str) -> float:
        """How many rows a relation has."""
        return self.counts.get(predicate, UNKNOWN_ROWS)

    def distinct(self, predicate: str, column: int) -> float:
        """How many distinct values a column has; at least one."""
        known = self.values.get((predicate, column))
        return max(1.0, self.rows(predicate) ** _KEYNESS if known is None else known)

    def values_of(self, predicate: str, column: int, met: float) -> float:
        """How many distinct values a column has, when it is met with so many others.

        A single value that is looked up is more often a category than a key.
        """
        if met <= 1.0 and (predicate, column) not in self.values:
            return max(1.0, math.sqrt(self.rows(predicate)))
        return max(met, self.distinct(predicate, column))

    def take(self, predicate: str, arity: int, statistics: Statistics) -> None:
        """Take what is known of a given relation."""
        rows = statistics.rows(predicate)
        self.counts[predicate] = rows = UNKNOWN_ROWS if rows is None else max(0.0, rows)
        for column in range(arity):
            known = statistics.distinct(predicate, column)
            if known is not None:
                self.values[predicate, column] = max(1.0, min(known, max(rows, 1.0)))

    def add(self, predicate: str, rows: float, values: Sequence[float]) -> None:
        """Unite a relation with rows that have so many distinct values in each column."""
        before = self.counts.get(predicate, 0.0)
        merged = [
            max(self.distinct(predicate, column) if before else 0.0, found)
            for column, found in enumerate(values)
        ]
        most = math.prod(merged)
        self.counts[predicate] = min(before + rows, most, MOST_ROWS)
        for column, found in enumerate(merged):
            self.values[predicate, column] = max(1.0, min(found, self.counts[predicate]))

    def fan_out(self, step: Join, values: Mapping[int, float] | Sequence[float]) -> float:
        """How many rows a join finds for each binding."""
        found = self.rows(step.predicate)
        for column, slot in zip(step.columns, step.key, strict=True):
            found /= self.values_of(step.predicate, column, values[slot])
        for one, other in step.same:
            found /= max(self.distinct(step.predicate, one), self.distinct(step.predicate, other))
        return found


@dataclass(slots=True)
class Bindings:
    """Bindings under estimation: how many, and how many distinct values in each slot."""

    rows: float
    values: list[float]

    def of(self, expression: Expression) -> float:
        """How many distinct values an expression has."""
        found = math.prod(self.values[slot] for slot in slots_of(expression))
        return max(1.0, min(found, self.rows))

    def distinct(self, slots: Sequence[int]) -> float:
        """How many bindings are left when only these slots are looked at."""
        return distinct_of(self.rows, math.prod(self.of(Slot(slot)) for slot in slots))


def distinct_of(rows: float, domain: float) -> float:
    """How many different ones are among `rows` draws from `domain` values.

    >>> distinct_of(10.0, 1e9)
    10.0
    """
    if domain <= 1.0:
        return min(rows, 1.0)
    if rows <= domain / 1000:
        return rows
    return domain * -math.expm1(-rows / domain)


def follow(plan: RulePlan, estimates: Estimates) -> tuple[tuple[float, ...], Bindings]:
    """Estimate the bindings after each step, and what is known of the last ones."""
    bindings = Bindings(1.0, [1.0] * len(plan.constants))
    counts = []
    for step in plan.steps:
        advance(bindings, step, estimates)
        counts.append(bindings.rows)
    return tuple(counts), bindings


def head_values(plan: RulePlan, bindings: Bindings) -> list[float]:
    """How many distinct values each column of the head gets."""
    return [bindings.of(expression) for expression in plan.head]


def advance(bindings: Bindings, step: Step, estimates: Estimates) -> None:
    """Take a step."""
    match step:
        case Join(predicate=predicate, columns=columns, key=key, kept=kept):
            bindings.rows = min(bindings.rows * estimates.fan_out(step, bindings.values), MOST_ROWS)
            for column, slot in zip(columns, key, strict=True):
                found = estimates.distinct(predicate, column)
                bindings.values[slot] = min(bindings.values[slot], found)
            bindings.values.extend(estimates.distinct(predicate, column) for column in kept)
        case Absence():
            bindings.rows *= _KEPT_BY_ABSENCE
        case Filter():
            bindings.rows *= _kept(bindings, step)
        case Compute(expression=expression):
            bindings.values.append(bindings.of(expression))
        case Fold(threshold=threshold):
            bindings.values.append(max(1.0, bindings.rows))
            bindings.rows *= 1.0 if threshold is None else _KEPT_BY_THRESHOLD


def _kept(bindings: Bindings, step: Filter) -> float:
    if step.operator == "=":
        return 1 / max(bindings.of(step.left), bindings.of(step.right))
    return _KEPT.get(step.operator, _KEPT_BY_TEXT)
