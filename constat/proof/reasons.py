"""The principal reasons of a "no": codes of the literals that fail, the nearest to holding first.

In: a refutation, whose rules may carry reason codes by literal (``@[reasons = "-,R12"]``).  Out:
ranked ``Reason`` values.  Invariant: each reason is a literal that fails for this goal, with its
values; none comes from a list.  A literal with a code speaks for itself; one that lacks a derived
conclusion and has no code is looked into.

Rank: by the gap to holding (`distances`), 0 nearest; a literal that lacks a derived conclusion is
as near as the nearest literal that conclusion stops at, anything else without a distance is
farthest. Ties go by the order of rules and then of the body. A code is given once, at its nearest.

Example: 950 where 1,000 is needed comes before "is blocked", and 400 behind 950.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from constat.analysis.abducing import NO_REASON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.proof.obstacles import Obstacle
    from constat.proof.refutation import Refutation, RuleAttempt

MOST: Final = 4


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its code, the literal that fails and where it stands in the rule's text."""

    code: str
    rule: str
    place: int
    obstacle: Obstacle
    gap: Fraction


def principal_reasons(refutation: Refutation, most: int | None = MOST) -> tuple[Reason, ...]:
    """Rank the reason codes of what fails; at most so many, or all."""
    found = list(_Collecting(refutation).reasons())
    # Sorting keeps the order met, which is that of rules and bodies, where gaps are equal.
    ranked = sorted(found, key=lambda one: one.gap)
    first: dict[str, Reason] = {}
    for one in ranked:
        first.setdefault(one.code, one)
    return tuple(first.values())[:most]


class _Collecting:
    """Walks from the goal down to literals with codes."""

    def __init__(self, refutation: Refutation) -> None:
        self.lacking = refutation.lacking
        self.places = {one.fact: place for place, one in enumerate(refutation.lacking)}
        self.nearest: dict[int, Fraction] = {}

    def reasons(self) -> Iterator[Reason]:
        """Yield the reasons in the order of rules and bodies, each conclusion once."""
        waiting = [0] if self.lacking else []
        seen = set(waiting)
        while waiting:
            conclusion = self.lacking[waiting.pop(0)]
            for attempt in conclusion.attempts:
                for obstacle in sorted(_failing(attempt), key=lambda one: one.place):
                    code = _code(attempt, obstacle)
                    number = self.below(obstacle)
                    if code:
                        gap = obstacle.gap if number is None else self.gap_of(number)
                        yield Reason(code, attempt.rule, obstacle.number, obstacle, gap)
                    elif number is not None and number not in seen:
                        seen.add(number)
                        waiting.append(number)

    def below(self, obstacle: Obstacle) -> int | None:
        """Return the number of the conclusion that an obstacle lacks, if it was looked into."""
        return self.places.get(obstacle.required) if obstacle.kind == "lacking" else None

    def gap_of(self, number: int) -> Fraction:
        """Return the gap of the nearest literal that a conclusion stops at, however deep."""
        known = self.nearest.get(number)
        if known is None:
            known = self.nearest[number] = min(self.gaps(number), default=Fraction(1))
        return known

    def gaps(self, number: int) -> Iterator[Fraction]:
        waiting, seen = [number], {number}
        while waiting:
            for attempt in self.lacking[waiting.pop()].attempts:
                if attempt.stop is None:
                    continue
                below = self.below(attempt.stop)
                if below is None:
                    yield attempt.stop.gap
                elif below not in seen:
                    seen.add(below)
                    waiting.append(below)


def _failing(attempt: RuleAttempt) -> list[Obstacle]:
    return [] if attempt.stop is None else [attempt.stop, *attempt.others]


def _code(attempt: RuleAttempt, obstacle: Obstacle) -> str:
    # Analysis gave what takes a structure apart the code of the literal that it comes from.
    if obstacle.place >= len(attempt.codes):
        return ""
    code = attempt.codes[obstacle.place]
    return "" if code == NO_REASON else code
