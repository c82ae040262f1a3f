"""Which engine answers a query: the goal-directed one, unless there is too much to go through.

In: a compiled query and the external predicates. Out: an outcome, or `None` where the query is
better computed in bulk. Invariant: neither engine ever says what the other denies. They say the
same, but where over many rows an unknown value is joined in several places: there bulk evaluation
leaves rows open that a single proof might decide, and says so. What is known before anything is
read decides first: the sizes of the sources. A goal with constants, or one over small sources, is
tried; when it has gone through `MANY` rows, or a large source is asked for everything, that attempt
ends. Example: `is_vip(?c)` over five million orders in Parquet is never tried; `is_vip(C001)` over
an indexed file is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.evaluation import Limits, RelationPredicate
from constat.logic import Constant
from constat.plan.costs import predicates_of, rules_by_head
from constat.proof.projection import with_projections

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.evaluation import (
        Answer,
        Demand,
        Engine,
        ExternalPredicate,
        Externals,
        Observer,
        Outcome,
    )
    from constat.session.querying import Compiled

MANY: Final = 200_000
"""From so many rows on, computing in bulk is worth its start, which takes a few tenths."""
# What is across a network is not asked how large it is.
_FAR: Final = 100


class _TooMuchError(Exception):
    """The attempt is not worth its time any more."""


def try_small(
    engine: Engine, compiled: Compiled, externals: Externals, limits: Limits, observe: Observer
) -> Outcome | None:
    """Evaluate a query goal by goal; `None` where that is too much."""
    large = _large(compiled, externals)
    if large and not any(isinstance(term, Constant) for term in compiled.goal.terms):
        return None
    budget = _Budget(MANY)
    watched = {name: _Watched(one, name in large, budget) for name, one in externals.items()}
    bounded = replace(limits, rows=min(limits.rows, MANY))
    try:
        outcome = engine.evaluate(
            with_projections(compiled.program),
            compiled.goal,
            watched,
            bounded,
            exhaust=True,
            observe=observe,
        )
    except _TooMuchError:
        return None
    too_many = "rows" in outcome.stopped and limits.rows > MANY
    return None if too_many else outcome


def _large(compiled: Compiled, externals: Externals) -> frozenset[str]:
    """Name the external predicates below a query that may have very many rows."""
    below = _below(compiled.program, compiled.goal.predicate)
    return frozenset(name for name in below if name in externals and _is_large(externals[name]))


def _is_large(external: ExternalPredicate) -> bool:
    if external.cost >= _FAR or not isinstance(external, RelationPredicate):
        return False
    try:
        rows = external.estimate()
    except ConstatError:
        # Whoever asks it, if anybody does, will say what is wrong.
        return False
    return rows is not None and rows > MANY


def _below(program: AnalysedProgram, name: str) -> set[str]:
    heads = rules_by_head(program)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            for number in heads.get(one, ()):
                for literal in program.rules[number].body:
                    waiting += predicates_of(literal)
    return found


@dataclass(slots=True)
class _Budget:
    """The rows that an attempt may still read."""

    left: int

    def take(self, rows: int) -> None:
        """Count rows that came; raises when there are too many."""
        self.left -= rows
        if self.left < 0:
            raise _TooMuchError


@dataclass(slots=True)
class _Watched:
    """An external predicate under a budget."""

    external: ExternalPredicate
    large: bool
    budget: _Budget

    @property
    def cost(self) -> int:
        """How dear a demand is."""
        return self.external.cost

    @property
    def source(self) -> str:
        """The source that may be asked beside others; see `ConcurrentPredicate`."""
        found: str = getattr(self.external, "source", "")
        return found

    def answer(self, demand: Demand) -> Answer:
        """Answer one batch, if that is not too much."""
        if self.large and not demand.columns:
            raise _TooMuchError
        answer = self.external.answer(demand)
        self.budget.take(sum(len(portion.rows) for portion in answer.portions))
        return answer
