"""Settle facts from the bottom up, the best first: Knuth's algorithm on ways to derive them.

In: which ways each fact has, a target, and a measure.  Out: for each fact the way by which it is
best, and how good that is.  Invariant: no label is better than the labels it was made from, so
taking facts by rising label finds the best ones first and never in a circle; every fact rests on
facts that were settled before it.
Reference: Knuth, A generalization of Dijkstra's algorithm, 1977.

A *state* is a fact together with the confidence it is needed with.  Where a rule is worth less than
1, a fact may be needed with several; ways that cannot give what is needed are left out.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from constat.evaluation import UNTIMED
from constat.proof.best_totals import facts_of
from constat.proof.confidence import MILLION, rule_confidence
from constat.proof.lateness import TooLargeError, look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.evaluation import Clock
    from constat.proof.best_totals import Open, Waiting
    from constat.proof.growth import Listed
    from constat.proof.outside import Fact
    from constat.proof.ways import Way

State = tuple["Fact", int]
Label = Any
"""What a measure gives: labels of one measure compare with each other, the less the better."""


class Measure(Protocol):
    """How good a derivation is, made up from the labels of what it rests on."""

    def start(self, way: Way) -> Label:
        """Return what is known before any premise is settled."""
        ...

    def take(self, known: Label, premise: Label) -> Label:
        """Return what is known once one more premise is settled."""
        ...

    def label(self, way: Way, known: Label) -> Label:
        """Return the label of the fact that is derived."""
        ...


class ByConfidence:
    """Falling confidence, then height as far as the search decides it."""

    def start(self, way: Way) -> Label:
        """Begin with what the way is worth whatever its premises are."""
        return way.cap, 0

    def take(self, known: Label, premise: Label) -> Label:
        """Take the least confidence and the greatest height."""
        return min(known[0], -premise[0]), max(known[1], premise[1] + 1)

    def label(self, way: Way, known: Label) -> Label:
        """Apply the rule's own confidence."""
        return -rule_confidence(known[0], way.factor), known[1]


class ByHeight:
    """The height of the proof tree: 0 for a row of a source."""

    def start(self, way: Way) -> Label:  # noqa: ARG002  the same for every way
        """Begin at the bottom."""
        return 0

    def take(self, known: Label, premise: Label) -> Label:
        """Stand above the premise."""
        return max(known, premise + 1)

    def label(self, way: Way, known: Label) -> Label:  # noqa: ARG002  the same for every way
        """Stand above the highest premise."""
        return known


class BySize:
    """The size of the proof tree, in which a fact counts as often as it is used.

    For a recursive total the summand that reaches it counts alone: whichever are listed, one of
    them is as large, so this is a lower bound.
    """

    def start(self, way: Way) -> Label:  # noqa: ARG002  the same for every way
        """Count the fact itself."""
        return 1

    def take(self, known: Label, premise: Label) -> Label:
        """Add the premise."""
        return known + premise

    def label(self, way: Way, known: Label) -> Label:  # noqa: ARG002  the same for every way
        """Return the sum."""
        return known


class ByConfidenceAndSize(ByConfidence):
    """Falling confidence, then size as far as the search decides it."""

    def take(self, known: Label, premise: Label) -> Label:
        """Take the least confidence and add the size."""
        return min(known[0], -premise[0]), known[1] + premise[1] + 1


_STEPS_A_LOOK: Final = 1_000
BY_CONFIDENCE: Final = ByConfidence()
BY_CONFIDENCE_AND_SIZE: Final = ByConfidenceAndSize()
BY_HEIGHT: Final = ByHeight()
BY_SIZE: Final = BySize()


@dataclass(slots=True)
class Steps:
    """How many options may still be looked at."""

    left: int
    clock: Clock = UNTIMED
    unlooked: int = 0

    def spend(self, count: int = 1) -> None:
        """Take steps; raises ``TooLargeError`` where none is left, or no time."""
        self.left -= count
        if self.left < 0:
            raise TooLargeError
        self.unlooked += count
        if self.unlooked > _STEPS_A_LOOK:
            self.unlooked = 0
            look_at(self.clock)


@dataclass(frozen=True, slots=True)
class Settled:
    """The way by which a state is best, the summands chosen for its totals, and its label."""

    way: Way
    listed: tuple[Listed, ...]
    label: Label
    need: int

    def below(self) -> list[State]:
        """Return the states it rests on."""
        wanted = needed(self.need, self.way.factor)
        return [(fact, wanted) for fact in self.way.below(self.listed)]


@dataclass(slots=True)
class _Option:
    """One way for one state, while it waits for its premises."""

    state: State
    way: Way
    known: Label
    totals: list[Open]
    waits: int = 0


@dataclass(slots=True)
class _Race:
    """Who waits for which state, and who is ready."""

    measure: Measure
    users: dict[State, list[_Option]] = field(default_factory=dict)
    summands: dict[State, list[tuple[_Option, Open, Waiting]]] = field(default_factory=dict)
    heap: list[tuple[Label, int, _Option]] = field(default_factory=list)
    pushed: int = 0

    def enter(self, state: State, way: Way, wanted: int) -> Iterable[State]:
        """Let a way take part; return the states it may rest on."""
        totals = [one.fresh() for one in way.totals]
        option = _Option(state, way, self.measure.start(way), totals)
        option.waits = len(way.premises) + sum(not one.reached for one in totals)
        below: list[State] = [(premise, wanted) for premise in way.premises]
        for premise in below:
            self.users.setdefault(premise, []).append(option)
        for total in totals:
            for one in total.waiting:
                for fact in facts_of(one):
                    self.summands.setdefault((fact, wanted), []).append((option, total, one))
                    below.append((fact, wanted))
        if not option.waits:
            self.push(option)
        return below

    def push(self, option: _Option) -> None:
        """Put an option whose premises are settled on the heap; of equal ones the first wins."""
        self.pushed += 1
        label = self.measure.label(option.way, option.known)
        heapq.heappush(self.heap, (label, self.pushed, option))

    def served(self, option: _Option, label: Label) -> None:
        """Take note that an option waits for one thing less."""
        option.waits -= 1
        option.known = self.measure.take(option.known, label)
        if not option.waits:
            self.push(option)

    def run(self, target: State | None, steps: Steps) -> dict[State, Settled]:
        """Settle states until the target is, or until none is left."""
        chosen: dict[State, Settled] = {}
        while self.heap:
            label, _, option = heapq.heappop(self.heap)
            state = option.state
            if state in chosen:
                continue
            listed = tuple([one.listed() for one in option.totals])
            chosen[state] = Settled(option.way, listed, label, state[1])
            if state == target:
                break
            users = self.users.get(state, ())
            summands = self.summands.get(state, ())
            steps.spend(1 + len(users) + len(summands))
            for user in users:
                self.served(user, label)
            for user, total, one in summands:
                if not total.reached:
                    total.settle(one)
                    if total.reached:
                        self.served(user, label)
        return chosen


def settle(
    targets: Sequence[Fact],
    ways_of: Callable[[Fact], Iterable[Way]],
    measure: Measure,
    steps: Steps,
    need: int = 0,
) -> dict[State, Settled]:
    """Settle the targets, each with at least the confidence ``need``, and what they rest on.

    A single target ends the search; it is missing from what is returned where it has no such
    derivation.  Raises ``TooLargeError`` beyond the steps.
    """
    race = _Race(measure)
    waiting: list[State] = [(fact, need) for fact in targets]
    met: set[State] = set()
    while waiting:
        state = waiting.pop()
        if state in met:
            continue
        met.add(state)
        fact, least = state
        for way in ways_of(fact):
            wanted = needed(least, way.factor)
            if way.cap >= wanted:
                steps.spend()
                waiting += race.enter(state, way, wanted)
    only = (targets[0], need) if len(targets) == 1 else None
    return race.run(only, steps)


def needed(least: int, factor: int) -> int:
    """Return what premises must be worth for a conclusion worth at least that."""
    if not least:
        return 0
    # A confidence below a millionth counts as none: nothing certain follows by such a rule.
    return -(-least * MILLION // factor) if factor else MILLION + 1
