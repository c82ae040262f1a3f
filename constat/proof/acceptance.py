"""Evaluate again on recorded answers with other assumptions accepted, asking nobody.

In: an outcome.  Out: the reading in which exactly a set of assumptions is accepted, and from an
accepting outcome a subset-minimal set that still decides the goal.  Invariant: no tier is called;
accepted assumptions are made plain and all others open, so one evaluation in the hard reading
answers "what if exactly these hold" (semantics 10).

Example: if either of two users' facts proves the goal, one of the two is dropped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from constat.evaluation import CERTAIN, CONCEIVABLE, with_parts
from constat.proof.reading import Reading, accept_rules
from constat.proof.recorded import RecordedExternals, Supposition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.evaluation import Assumption, Engine, Externals, Limits, Outcome


@dataclass(slots=True)
class Budget:
    """How often and how long recorded answers may be evaluated again."""

    runs: int = 200
    seconds: float = 10.0
    started: float = field(default_factory=time.monotonic)

    def is_spent(self) -> bool:
        """Tell whether no run is left."""
        return self.runs <= 0 or time.monotonic() - self.started > self.seconds

    def spend(self) -> bool:
        """Take one run; tell whether there was one left."""
        if self.is_spent():
            return False
        self.runs -= 1
        return True


@dataclass(frozen=True, slots=True)
class Replay:
    """An outcome whose recorded answers can be evaluated again."""

    engine: Engine
    outcome: Outcome
    externals: Externals
    limits: Limits
    budget: Budget

    def evaluate(self, supposition: Supposition) -> Outcome:
        """Evaluate on recorded answers under a supposition."""
        program = accept_rules(self.outcome.program, supposition.accepted)
        recorded = RecordedExternals(self.outcome.calls, supposition, self.externals)
        return self.engine.evaluate(program, self.outcome.goal, recorded, self.limits, exhaust=True)

    def accepting(self, accepted: Iterable[Assumption]) -> Reading:
        """Return the reading that accepts exactly these assumptions, with their parts."""
        chosen = frozenset(with_parts(accepted))
        outcome = self.evaluate(Supposition(chosen))
        original = self.outcome
        return Reading(original.program, original.calls, outcome, chosen, CERTAIN, CONCEIVABLE)

    def decides(self, accepted: Iterable[Assumption], wanted: int) -> Reading | None:
        """Return the reading if it gives the goal the wanted strength, 3 or -1."""
        if not self.budget.spend():
            return None
        reading = self.accepting(accepted)
        return reading if reading.outcome.strength(self.outcome.goal) == wanted else None


@dataclass(frozen=True, slots=True)
class Minimal:
    """A reading that decides the goal; ``proven`` when no assumption of it can be dropped."""

    reading: Reading
    proven: bool


def minimal_reading(
    replay: Replay, every: Reading, used: Sequence[Assumption], wanted: int
) -> Minimal:
    """Drop assumptions one by one, the least confident first, as long as the goal stays decided."""
    best = replay.decides(used, wanted)
    if best is None:
        best = replay.decides(every.accepted, wanted)
    if best is None:
        # Recorded answers do not reach: the accepting reading of the first outcome stands.
        return Minimal(every, proven=False)
    # What has parts goes first: they stay accepted as long as it is.
    for assumption in sorted(
        best.accepted, key=lambda one: (not one.parts, one.confidence, one.kind, one.text)
    ):
        if replay.budget.is_spent():
            return Minimal(best, proven=False)
        if any(assumption in one.parts for one in best.accepted):
            continue
        best = replay.decides(best.accepted - {assumption}, wanted) or best
    return Minimal(best, proven=True)
