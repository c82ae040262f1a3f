"""What would decide an unresolved goal: a subset-minimal set of facts, as goals to paste back.

In: an outcome whose recorded answers can be evaluated again, and the proof of "unresolved".  Out:
``Gap`` values, each with its reason and what an answer to it would decide.  Invariant: every gap
matches an open row that the certificate shows.  Greedy and within a budget (semantics 10): where
the budget ends, the list still decides the goal but may be longer than needed.

Example: ``is_vip(C009)`` with ``tier(C009, gold)`` unknown gives that one gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constat.evaluation import ABSENT, CERTAIN
from constat.logic import OPEN
from constat.proof.reading import assumptions_met
from constat.proof.recorded import Supposition

if TYPE_CHECKING:
    from constat.evaluation import Assumption
    from constat.logic import OpenRow
    from constat.proof.acceptance import Replay
    from constat.proof.proofs import Proof

_MOST_LISTED = 100
_MOST_EXPLAINED = 8

Shape = tuple[str, "OpenRow"]


@dataclass(frozen=True, slots=True)
class Gap:
    """An open row that matters: ask for it, and the goal may be decided.

    ``if_true`` and ``if_false`` say what the goal becomes when the gap alone is answered by this
    row, or by "there is none": ``proved``, ``disproved``, ``open``, or empty where it was not
    tried.
    """

    predicate: str
    row: OpenRow
    reason: str
    tier: str
    if_true: str = ""
    if_false: str = ""

    @property
    def shape(self) -> Shape:
        """The predicate and the row."""
        return (self.predicate, self.row)


def find_gaps(replay: Replay, proof: Proof) -> tuple[tuple[Gap, ...], int]:
    """Find what would decide the goal; at least the openings it rests on.

    Also counts those that are left out of the list.
    """
    candidates = _openings(proof)
    if not candidates:
        return (), 0
    if replay.outcome.strength(replay.outcome.goal) in {CERTAIN, ABSENT}:
        # Evaluation decides it, so answers that it tries out say nothing about the certificate.
        some = tuple(candidates[:_MOST_LISTED])
        return some, len(candidates) - len(some)
    accepted = frozenset(assumptions_met(replay.outcome.program, replay.outcome.calls))
    search = _Search(replay, accepted, candidates)
    chosen = search.smallest()
    listed = enumerate(chosen[:_MOST_LISTED])
    gaps = tuple(search.explained(gap, place) for place, gap in listed)
    return gaps, len(chosen) - len(gaps)


def _openings(proof: Proof) -> list[Gap]:
    """List the open rows under which the goal is possible and that no assumption would close."""
    found: dict[Shape, Gap] = {}
    outside = proof.slice.outside
    for predicate, columns, key in sorted(outside.usage.covered, key=str):
        side = outside.side(predicate)
        for row in side.rows.matching(columns, key):
            opening = side.openings.get(row, {}).get(None)
            if opening is not None and (predicate, row) not in found:
                found[predicate, row] = Gap(predicate, row, opening.reason, opening.tier)
    return list(found.values())


class _Search:
    """Tries answers to gaps on the record."""

    def __init__(
        self, replay: Replay, accepted: frozenset[Assumption], candidates: list[Gap]
    ) -> None:
        self.replay = replay
        self.accepted = accepted
        self.candidates = candidates

    def smallest(self) -> list[Gap]:
        """Return the smaller of two minimal sets: answers that say yes, or answers that say no."""
        ground = [gap for gap in self.candidates if OPEN not in gap.row]
        by_yes = self._minimal(ground, yes=True) if ground else None
        by_no = self._minimal(self.candidates, yes=False)
        found = [one for one in (by_yes, by_no) if one is not None]
        return min(found, key=len) if found else self.candidates

    def strength(self, gaps: list[Gap], *, yes: bool) -> int | None:
        """Return the goal's strength with gaps answered; ``None`` when the budget is spent."""
        if not self.replay.budget.spend():
            return None
        shapes = frozenset(gap.shape for gap in gaps)
        nothing: frozenset[Shape] = frozenset()
        present, closed = (shapes, nothing) if yes else (nothing, shapes)
        supposition = Supposition(self.accepted, closed=closed, present=present)
        return self.replay.evaluate(supposition).strength(self.replay.outcome.goal)

    def _decided(self, gaps: list[Gap], *, yes: bool) -> bool:
        return self.strength(gaps, yes=yes) in {CERTAIN, ABSENT}

    def _minimal(self, gaps: list[Gap], *, yes: bool) -> list[Gap] | None:
        """Drop gaps in halving chunks as long as the rest decides; ``None`` if all do not."""
        if not self._decided(gaps, yes=yes):
            return None
        kept, size = list(gaps), max(1, len(gaps) // 2)
        while True:
            at = 0
            while at < len(kept):
                rest = kept[:at] + kept[at + size :]
                if rest and self._decided(rest, yes=yes):
                    kept = rest
                else:
                    at += size
            if size == 1:
                return kept
            size = max(1, size // 2)

    def explained(self, gap: Gap, place: int) -> Gap:
        """Say what the gap alone would decide."""
        if place >= _MOST_EXPLAINED:
            return gap
        if_false = _word(self.strength([gap], yes=False))
        if OPEN in gap.row:
            return replace(gap, if_false=if_false)
        return replace(gap, if_true=_word(self.strength([gap], yes=True)), if_false=if_false)


def _word(strength: int | None) -> str:
    match strength:
        case None:
            return ""
        case 3:
            return "proved"
        case -1:
            return "disproved"
        case _:
            return "open"
