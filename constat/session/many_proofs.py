"""Several proofs of a goal, as a session gives them: results one after the other.

In: a goal and a ranking. Out: `FoundProofs`, an iterator of `Result`. Invariants: the sources are
asked once, before the first result, and each further proof is looked for when it is asked for;
where decisions are logged, each is written down before it is given. Example:
`[result.confidence for result in session.proofs("is_vip(C001)")]`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from constat.frozen import frozen
from constat.proof.many import decide_many
from constat.proof.topk import Effort, Ranking
from constat.session.asked_goals import asked_over
from constat.session.options import RANKINGS
from constat.session.result import result_of
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Observer
    from constat.proof import Decision
    from constat.proof.many import Proofs
    from constat.session.bench import Bench
    from constat.session.result import Result


@frozen
class Shape:
    """How large a proof is: its different facts, its height, and its size as a tree.

    In a tree a fact counts as often as it is used. Rows that an aggregate reads count as well.
    """

    facts: int
    height: int
    size: int


class FoundProofs:
    """The proofs of a goal, best first: iterate, once.

    A goal that is not proved has the one result that `prove` gives. At the end `complete` tells
    whether there are no other proofs, and `stopped` why that is not known. `shapes` are the
    measures of the proofs that were given.
    """

    def __init__(
        self,
        proofs: Proofs,
        program: AnalysedProgram,
        created: str,
        write: Callable[[Result], Result],
        asked: str = "",
    ) -> None:
        self.shapes: list[Shape] = []
        self._proofs = proofs
        self._program = program
        self._created = created
        self._write = write
        self._asked = asked

    def __iter__(self) -> Iterator[Result]:
        """Iterate over what is left."""
        return self

    def __next__(self) -> Result:
        """Give the next proof."""
        result = self._write(self._result(next(self._proofs)))
        ranked = self._proofs.ranked
        if ranked is not None:
            self.shapes.append(Shape(ranked.facts, ranked.height, ranked.size))
        return result

    @property
    def goal(self) -> str:
        """The goal as it was asked; a result's goal is an instance of it."""
        return self.first.goal

    @cached_property
    def first(self) -> Result:
        """What `prove` says to the goal."""
        return self._result(self._proofs.first)

    @property
    def complete(self) -> bool:
        """Whether all proofs there are have been given."""
        return self._proofs.complete

    @property
    def stopped(self) -> str:
        """Why it is not known whether there are others."""
        return self._proofs.stopped

    def _result(self, decision: Decision) -> Result:
        found = result_of(decision, self._program, self._created)
        return found.asked_as(self._asked) if self._asked else found


def find_proofs(
    bench: Bench,
    goal: str,
    *,
    ranking: str,
    seconds: float,
    observe: Observer | None,
    write: Callable[[Result], Result],
) -> FoundProofs:
    """Evaluate a goal to the end and give its proofs."""
    bench, asked = asked_over(bench, goal)
    created = now()
    proofs = bench.evaluated(
        observe,
        lambda tiers: decide_many(
            bench.engine,
            bench.program,
            asked.atom,
            tiers.externals,
            bench.limits,
            ranking=ranking_of(ranking) or Ranking.HEIGHT,
            effort=Effort(seconds=seconds),
            observe=bench.observe,
        ),
    )
    return FoundProofs(proofs, bench.program, created, write, asked.text)


def ranking_of(name: str) -> Ranking | None:
    """Return what counts among equally confident proofs; nothing else where that is all.

    Raises `ValueError` for a word that is none of `RANKINGS`.
    """
    if name not in RANKINGS:
        raise ValueError(f"proofs are ranked by one of {', '.join(RANKINGS)}")
    return None if name == "confidence" else Ranking(name)
