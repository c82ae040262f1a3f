"""Runs the engine on a case and compares what it says with the oracle.

In: a case.  Out: the outcome and the tables with the demands they saw.  Rows are compared *under
the goal*: an engine may know an open row only for the constants it asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.engine import LazyEngine
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Limits, Outcome
from tests.oracle.naive import Relation, evaluate
from tests.property.coverage import under
from tests.property.tables import STRICT, Manner, TableExternal, tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, OpenRow
    from tests.oracle.naive import World
    from tests.property.strategies import Case

LIMITS = Limits(seconds=30.0)


@dataclass(frozen=True)
class Run:
    """One evaluation by the engine."""

    outcome: Outcome
    tables: Mapping[str, TableExternal]
    goal: Atom

    @property
    def strength(self) -> int:
        return self.outcome.strength(self.goal)


@dataclass(frozen=True)
class Truth:
    """What the oracle says in both readings."""

    hard: dict[str, Relation]
    accepted: dict[str, Relation]

    def rows(self, predicate: str, least: int) -> set[OpenRow]:
        """Return the rows of at least that strength."""
        reading = self.hard if least in {CERTAIN, CONCEIVABLE} else self.accepted
        sure = least in {CERTAIN, ACCEPTED}
        return {row for row, certain in reading[predicate].items() if certain or not sure}

    def strength(self, goal: Atom) -> int:
        """Return the strength of the goal."""
        for least in (CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE):
            if under(goal, self.rows(goal.predicate, least)):
                return least
        return ABSENT


def truth(program: AnalysedProgram, world: World) -> Truth:
    """Evaluate both readings with the oracle."""
    return Truth(evaluate(program, world, accepted=False), evaluate(program, world, accepted=True))


def run(case: Case, manner: Manner = STRICT, *, exhaust: bool = False) -> Run:
    """Evaluate a case with the engine over fresh tables."""
    externals = tables(case.program, case.world, manner)
    outcome = LazyEngine().evaluate(case.program, case.goal, externals, LIMITS, exhaust=exhaust)
    return Run(outcome, externals, case.goal)
