"""Find the cheapest sets of facts that would prove a goal: abduction, by uniform cost.

In: a goal, the world it does not hold in, and what may be supposed or taken away at which cost.
Out: ``Found`` sets, the cheapest first, and how far the search got.  Invariants: states are taken
in the order of their cost, so no cheaper set of those the search can find is missed; each set is
tried in the world it supposes, with values for what is left open, and dropped if it does not prove
the goal there or a part of it does; a construct that is not searched is named, never passed over.

A state is what remains to be shown. A row is taken from the world, or supposed; a conclusion is
taken from the world, or its rules are tried; an absence that fails takes a row away, or a premise
of each derivation. See Kakas, Kowalski and Toni, Abductive logic programming (1992).

Example: ``is_vip(C002)``, 0 short of the threshold: order with ``?amount > 0``, or a gold account.
"""

from __future__ import annotations

import heapq
import itertools
import time
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.evaluation import LimitReachedError
from constat.frozen import frozen
from constat.proof.abduction_steps import Expander
from constat.proof.suppositions import State, start_state
from constat.proof.symbolic import UnsolvedError
from constat.proof.worlds import Chosen, Delta, witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Atom
    from constat.proof.suppositions import Abducibles
    from constat.proof.worlds import Worlds

MOST_STATES: Final = 20_000
_MOST_SUBSETS: Final = 8


@frozen
class Found:
    """One set of facts: its cost, and the facts with values chosen for what is open."""

    cost: Decimal
    chosen: Chosen


@frozen
class Abduction:
    """What a search found.

    ``bound`` is the cost from which on there may be other sets, ``None`` where the search ended
    by itself; ``dropped`` counts sets that did not prove the goal when they were tried;
    ``unsolved`` names what was not searched, so that sets which need it may be missing;
    ``stopped`` says why the search ended before everything was looked at, if it did.
    """

    found: tuple[Found, ...]
    bound: Decimal | None
    dropped: int
    unsolved: tuple[str, ...]
    stopped: str = ""


@dataclass(slots=True)
class Search:
    """One search; ``top`` sets are wanted within so many seconds."""

    worlds: Worlds
    goal: Atom
    costs: Abducibles
    top: int
    seconds: float
    most: int = MOST_STATES
    found: list[Found] = field(default_factory=list)
    dropped: int = 0
    tried: set[Delta] = field(default_factory=set)

    def run(self) -> Abduction:
        """Take states by cost until enough sets are found or the budget is spent."""
        expander = Expander(self.worlds, self.costs)
        until = time.monotonic() + self.seconds
        order = itertools.count()
        waiting: list[tuple[Decimal, int, State]] = []

        def put(state: State) -> None:
            # Of equally dear states the newest: it has the least left to show.
            heapq.heappush(waiting, (state.cost, -next(order), state))

        put(start_state(self.goal, self.worlds.program))
        taken = 0
        stopped = ""
        while waiting and len(self.found) < self.top:
            if taken >= self.most:
                stopped = f"after {taken:,} steps, which is the most that are taken"
                break
            if time.monotonic() > until:
                stopped = f"after {self.seconds:g} s, which is the time it has"
                break
            taken += 1
            _, _, state = waiting[0]
            try:
                made = list(expander.expanded(state)) if state.tasks else []
                if not state.tasks:
                    self.finish(state, expander)
            except LimitReachedError as limit:
                stopped = f"because {limit}"
                break
            heapq.heappop(waiting)
            for one in reversed(made):
                put(one)
        bound = waiting[0][0] if waiting else None
        self.found.sort(key=_for_people)
        unsolved = sorted(
            expander.unsolved
            | (set() if self.found else expander.bounded)
            | {f"values of {name} that contradict each other" for name in self.worlds.contradicted}
        )
        if waiting and not stopped:
            stopped = f"with {len(self.found)} sets, which is how many are wanted"
        return Abduction(tuple(self.found), bound, self.dropped, tuple(unsolved), stopped)

    def finish(self, state: State, expander: Expander) -> None:
        """Choose values for a set, try it, and keep it if no part of it proves the goal."""
        try:
            chosen = witnesses(state, self.worlds)
        except UnsolvedError as problem:
            expander.unsolved.add(str(problem))
            return
        if chosen.delta in self.tried or any(_is_part(one.chosen, chosen) for one in self.found):
            return
        self.tried.add(chosen.delta)
        if not self.worlds.proves(self.goal, chosen.delta):
            self.dropped += 1
            return
        part = next(
            (one for one in _parts(chosen.delta) if self.worlds.proves(self.goal, one)), None
        )
        if part is None:
            self.found.append(Found(state.cost, chosen))
        else:
            # A part of it is enough, and the search may not come by that part alone.
            self.finish(self._narrowed(state, chosen, part), expander)

    def _narrowed(self, state: State, chosen: Chosen, part: Delta) -> State:
        """Return a state with the facts of a part only."""
        added = tuple(
            one
            for one, row in zip(state.added, chosen.rows, strict=True)
            if (one.predicate, row) in part.added
        )
        cost = sum((self.costs.added[name] for name, _ in part.added), Decimal(0))
        cost += sum((self.costs.removed[name] for name, _ in part.removed), Decimal(0))
        return replace(state, added=added, removed=part.removed, cost=cost)


def _for_people(found: Found) -> tuple[Decimal, int, int, list[tuple[str, str]]]:
    """Order sets: the cheapest first, then those with fewer facts and less left to choose."""
    shapes = sorted(found.chosen.shapes)
    return found.cost, len(shapes), sum("?" in text for _, text in shapes), shapes


def _is_part(one: Chosen, other: Chosen) -> bool:
    """Tell whether a set found before says as much with no more."""
    return one.shapes <= other.shapes


def _parts(delta: Delta) -> Iterator[Delta]:
    """Yield the proper parts of a set: all of a small one, of a large one each with one less."""
    facts = [(fact, True) for fact in sorted(delta.added, key=str)]
    facts += [(fact, False) for fact in sorted(delta.removed, key=str)]
    sizes = range(len(facts)) if len(facts) <= _MOST_SUBSETS else (len(facts) - 1,)
    for size in sizes:
        for kept in itertools.combinations(facts, size):
            yield Delta(
                frozenset(fact for fact, is_added in kept if is_added),
                frozenset(fact for fact, is_added in kept if not is_added),
            )
