"""What is known of the sizes of relations before they are read.

In: names of predicates. Out: counts, or nothing where nobody knows. Invariant: an estimate decides
how something is computed and never what. Example: `Sizes({"edge": 5_000_000})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Statistics(Protocol):
    """Sizes of given relations; `None` for what is not known."""

    def rows(self, predicate: str) -> float | None:
        """How many rows a relation has."""
        ...

    def distinct(self, predicate: str, column: int) -> float | None:
        """How many distinct values a column has."""
        ...


@dataclass(frozen=True, slots=True)
class Sizes:
    """Statistics that are at hand: rows by predicate, distinct values by predicate and column."""

    counts: Mapping[str, float] = field(default_factory=dict, hash=False)
    values: Mapping[tuple[str, int], float] = field(default_factory=dict, hash=False)

    def rows(self, predicate: str) -> float | None:
        """How many rows a relation has."""
        return self.counts.get(predicate)

    def distinct(self, predicate: str, column: int) -> float | None:
        """How many distinct values a column has."""
        return self.values.get((predicate, column))
