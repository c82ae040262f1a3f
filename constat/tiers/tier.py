"""What a tier is, and what it answers: the protocol that a project's own tiers implement.

In: a `Demand` for a predicate the tier is configured for. Out: a `TierAnswer` about each key:
complete (these are all the rows), partial (these rows, perhaps more) or failed, with a reason.
Invariant: what an answer does not call complete is never taken for "no rows". Example, a tier that
knows one fact: `TierAnswer(portions=(Portion((("C009", "gold"),), evidence),))`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from constat.evaluation import Demand, Evidence, Opening, Portion
from constat.logic import Predicate, Row


@dataclass(frozen=True, slots=True)
class TierAnswer:
    """What one tier knows for a demand.

    For the keys in `complete` the portions and openings are all the tier's rows. `failures` tells
    why a key was not answered as it should have been; rows given for it still hold. A key in
    neither has the rows given, perhaps more. `authorities` is the evidence for `complete`.
    `remarks` tell why a key has no rows although nothing failed: the tier does not know.
    """

    portions: tuple[Portion, ...] = ()
    openings: tuple[Opening, ...] = ()
    complete: frozenset[Row] = frozenset()
    failures: Mapping[Row, str] = field(default_factory=dict, hash=False)
    authorities: tuple[Evidence, ...] = ()
    remarks: Mapping[Row, str] = field(default_factory=dict, hash=False)


class Tier(Protocol):
    """One place that facts come from."""

    @property
    def name(self) -> str:
        """The name in the project and in evidence."""
        ...

    @property
    def cost(self) -> int:
        """How dear a demand is, on the scale of `ExternalPredicate`."""
        ...

    def configured(self, predicate: Predicate) -> bool:
        """Whether the project expects this tier to know the predicate."""
        ...

    def answer(self, demand: Demand) -> TierAnswer:
        """Answer one batch. An exception is recorded as a failure for all its keys."""
        ...


@runtime_checkable
class SnapshotTier(Tier, Protocol):
    """A tier whose sources are read in states that have names."""

    def state(self, predicate: Predicate) -> str | None:
        """Name the state that a predicate is read in now; `None` where it has no name."""
        ...


@dataclass(frozen=True, slots=True)
class TierSettings:
    """What the factory of a project's own tier is called with."""

    name: str
    folder: Path
    cost: int
    predicates: tuple[str, ...] | None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)


def failed(demand: Demand, reason: str) -> TierAnswer:
    """Give the answer of a tier that could not be asked, or broke down."""
    return TierAnswer(failures=dict.fromkeys(demand.keys, reason))
