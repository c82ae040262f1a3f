"""Several proofs of a fact, the best first, each made when it is asked for."""

from __future__ import annotations

import heapq
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.proof.derivations import (
    BY_CONFIDENCE,
    BY_CONFIDENCE_AND_SIZE,
    BY_HEIGHT,
    BY_SIZE,
    Steps,
    Way,
    Ways,
    settle,
)
from constat.proof.levels import MILLION, Ranking, rule_confidence
from constat.proof.proofs import FactNode
from constat.proof.reading import TooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.proof.derivations import Measure, Settled, State
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node
    from constat.proof.reading import Reading
    from constat.proof.slices import Listed

# How: the proofs that are left are cut into parts, each with some instances given and some
# forbidden (Lawler, A procedure for computing the K best solutions, 1972); of each part a bound is
# known, and it is looked into only when no better proof is left.  Finding the best proof of a part
# is Knuth's algorithm.  Where rules are worth less than 1 a fact may be needed with two
# confidences, for which the best derivations differ; then the bound is below what can be had, and
# the part is cut again.
# The number of proofs may be exponential, so everything is bounded by steps and time; proofs that
# were found and not yet given out come in order before the list ends.


Rank = tuple[int, int]
"""Falling confidence, then height or size."""

# A fact that stands above the answers of a goal with variables: any of them proves it.
_ANY: Final = ("", ())


@frozen
class Effort:
    """How long proofs may be looked for; ``steps`` bound memory as well."""

    seconds: float = 10.0
    steps: int = 20_000_000


@frozen
class Ranked:
    """A proof of ``answer``: a node for each fact it uses, and what it is worth.

    ``size`` is that of the tree, ``facts`` the number of different facts.
    """

    answer: Fact
    nodes: Mapping[Fact, Node]
    confidence: int
    height: int
    size: int

    @property
    def facts(self) -> int:
        """The number of different facts."""
        return len(self.nodes)


@frozen
class _Choice:
    """The instance that a proof has for a fact, with what it rests on."""

    fact: Fact
    way: Way
    listed: tuple[Listed, ...]

    def below(self) -> tuple[Fact, ...]:
        return self.way.below(self.listed)

    def fixed(self) -> Way:
        """Return the instance as a way that leaves no choice."""
        return replace(self.way, premises=self.below(), totals=()) if self.listed else self.way


@frozen
class _Part:
    """The proofs that have the first ``given`` choices and then none of the ``forbidden`` ways."""

    choices: Sequence[_Choice] = ()
    given: int = 0
    forbidden: frozenset[Way] = frozenset()


@frozen
class _Found:
    """A best proof of a part; ``part`` is missing where it has been cut already."""

    choices: tuple[_Choice, ...]
    proof: Ranked
    part: _Part | None


class TopK:
    """The proofs of some facts, of one at a time, in order: iterate, once.

    ``complete`` tells at the end whether there are no others; ``stopped`` why it is not known.
    """

    def __init__(
        self,
        ways: Ways,
        answers: Sequence[Fact],
        ranking: Ranking = Ranking.HEIGHT,
        effort: Effort | None = None,
    ) -> None:
        self.complete = False
        self.stopped = ""
        self._ways = ways
        self._ranking = ranking
        self._effort = effort or Effort()
        self._target = answers[0] if len(answers) == 1 else _ANY
        node = FactNode(*_ANY)
        self._any = tuple(Way(_ANY, node, MILLION, MILLION, (one,)) for one in answers)
        self._queue: list[tuple[Rank, int, int, _Part | _Found]] = []
        self._met = 0

    def __iter__(self) -> Iterator[Ranked]:
        """Yield the proofs, best first."""
        steps = Steps(self._effort.steps)
        until = time.monotonic() + self._effort.seconds
        self._push((-MILLION, 0), _Part())
        while self._queue:
            rank, _, _, head = heapq.heappop(self._queue)
            if isinstance(head, _Found):
                if head.part is not None:
                    self._cut(head.part, head.choices, rank)
                yield head.proof
            elif not self.stopped:
                self._try(head, rank, steps)
                if time.monotonic() > until:
                    self.stopped = self.stopped or "the time was up"
        self.complete = not self.stopped

    def _ways_of(self, fact: Fact) -> Sequence[Way]:
        return self._any if fact == _ANY else self._ways.of(fact)

    def _push(self, rank: Rank, one: _Part | _Found) -> None:
        # Of equal ranks a proof that is ready comes before a part that has to be looked into.
        self._met += 1
        heapq.heappush(self._queue, (rank, int(isinstance(one, _Part)), self._met, one))

    def _cut(self, part: _Part, choices: Sequence[_Choice], bound: Rank) -> None:
        """Cut a part without one of its proofs: by the first choice that is another one."""
        for place in range(part.given, len(choices)):
            choice = choices[place]
            before = part.forbidden if place == part.given else frozenset()
            forbidden = before | {choice.way}
            if len(forbidden) < len(self._ways_of(choice.fact)):
                self._push(bound, _Part(choices, place, forbidden))

    def _try(self, part: _Part, bound: Rank, steps: Steps) -> None:
        """Find a best proof of a part and the bound of its rank."""
        try:
            found = self._best(part, bound, steps)
        except TooLargeError:
            self.stopped = "the bound of steps was reached"
            return
        if found is None:
            return
        least, choices = found
        proof = _weighed(choices)
        rank = (-proof.confidence, proof.size if self._ranking is Ranking.SIZE else proof.height)
        if rank > least:
            self._cut(part, choices, least)
            self._push(rank, _Found(choices, proof, None))
        else:
            self._push(rank, _Found(choices, proof, part))

    def _best(
        self, part: _Part, bound: Rank, steps: Steps
    ) -> tuple[Rank, tuple[_Choice, ...]] | None:
        """Return a bound of the part and a proof of it; nothing where it has no proof."""
        limited = _Limited(self._ways_of, part)
        measure = BY_SIZE if self._ranking is Ranking.SIZE else BY_HEIGHT
        target, need = (self._target,), -bound[0]
        settled = settle(target, limited.of, measure, steps, need)
        if (self._target, need) not in settled:
            # No proof of the part is as confident as those before: how confident is the best?
            sure = settle(target, limited.of, BY_CONFIDENCE, steps)
            if (self._target, 0) not in sure:
                return None
            need = -sure[self._target, 0].label[0]
            settled = settle(target, limited.of, measure, steps, need)
        choices = limited.chosen(settled, (self._target, need))
        if choices is None:
            sure = settle(target, limited.of, BY_CONFIDENCE, steps)
            choices = limited.chosen(sure, (self._target, 0)) or ()
        return (-need, settled[self._target, need].label), choices


class _Limited:
    """The ways that a part leaves."""

    def __init__(self, ways_of: Callable[[Fact], Sequence[Way]], part: _Part) -> None:
        self._ways_of = ways_of
        self._given = {one.fact: one for one in part.choices[: part.given]}
        self._fixed = {one.fact: (one.fixed(),) for one in self._given.values()}
        self._at = part.choices[part.given].fact if part.choices else None
        self._forbidden = part.forbidden

    def of(self, fact: Fact) -> Sequence[Way]:
        """Return the ways that a fact may have."""
        fixed = self._fixed.get(fact)
        if fixed is not None:
            return fixed
        every = self._ways_of(fact)
        if fact == self._at:
            return [way for way in every if way not in self._forbidden]
        return every

    def chosen(self, settled: Mapping[State, Settled], target: State) -> tuple[_Choice, ...] | None:
        """Read off a proof, the target first; ``None`` where a fact would need two instances.

        In this order the first choices say which fact comes next, so that parts are disjoint.
        """
        found: dict[Fact, _Choice] = {}
        for state in _states(settled, target):
            one, fact = settled[state], state[0]
            choice = self._given.get(fact) or _Choice(fact, one.way, one.listed)
            before = found.setdefault(fact, choice)
            if before.way is not choice.way or before.listed != choice.listed:
                return None
        return tuple(found.values())


def _states(settled: Mapping[State, Settled], target: State) -> Iterator[State]:
    """Yield the states below the target, breadth first."""
    met = {target}
    waiting = deque([target])
    while waiting:
        state = waiting.popleft()
        yield state
        for below in settled[state].below():
            if below not in met:
                met.add(below)
                waiting.append(below)


def _weighed(choices: Sequence[_Choice]) -> Ranked:
    """Say what a proof is worth, premises before conclusions."""
    by_fact = {one.fact: one for one in choices}
    worth: dict[Fact, tuple[int, int, int]] = {}
    stack = [choices[0].fact]
    while stack:
        fact = stack[-1]
        choice = by_fact[fact]
        below = choice.below()
        left = [one for one in below if one not in worth]
        if left:
            stack += left
            continue
        stack.pop()
        known = [worth[one] for one in below]
        least = min([choice.way.cap, *(one[0] for one in known)])
        worth[fact] = (
            rule_confidence(least, choice.way.factor),
            max((one[1] + 1 for one in known), default=0),
            1 + sum(one[2] for one in known),
        )
    answer = choices[0].fact
    confidence, height, size = worth[answer]
    if answer == _ANY:
        answer = choices[0].below()[0]
        height, size = height - 1, size - 1
    nodes = {one.fact: one.way.settled(one.listed) for one in choices if one.fact != _ANY}
    return Ranked(answer, nodes, confidence, height, size)


# No other derivation of a fact is more confident; where all confidences are equal, no proof is
# lower than the one that is found, and its height is the round in which bulk evaluation finds the
# fact.  See `settling` for why this is so.
# Where a ranking is given and there is one fact, its proof is the first by that ranking; several
# facts share their derivations, and then the smallest or lowest of each is taken.

# Walking the instances is bounded by the steps; settling them takes a few for each.
_PER_WAY: Final = 20


def best_nodes(reading: Reading, facts: tuple[Fact, ...], steps: int) -> dict[Fact, Node]:
    """Return a best derivation of each fact and of what it rests on.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """
    return _settled(Ways(reading, facts, steps), facts, BY_CONFIDENCE, steps)


def first_nodes(
    reading: Reading, facts: tuple[Fact, ...], steps: int, ranking: Ranking | None
) -> dict[Fact, Node]:
    """Return the derivations that come first by a ranking, or the most confident ones.

    Raises ``TooLargeError`` where there are more instances than ``steps`` allows.
    """
    ways = Ways(reading, facts, steps)
    if ranking is None or len(facts) > 1:
        measure = BY_CONFIDENCE_AND_SIZE if ranking is Ranking.SIZE else BY_CONFIDENCE
        return _settled(ways, facts, measure, steps)
    first = next(iter(TopK(ways, facts, ranking, Effort(steps=_PER_WAY * steps))), None)
    if first is None:
        raise TooLargeError
    return dict(first.nodes)


def _settled(ways: Ways, facts: tuple[Fact, ...], measure: Measure, steps: int) -> dict[Fact, Node]:
    settled = settle(facts, ways.of, measure, Steps(_PER_WAY * steps, ways.reading.clock))
    return {fact: one.way.settled(one.listed) for (fact, _), one in settled.items()}
