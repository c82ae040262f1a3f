"""Rules as text and external predicates as tables: what the engine's tests are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.analysis import analyse_or_raise
from constat.diagnostics import Severity
from constat.engine import LazyEngine, LazyOutcome
from constat.evaluation import (
    Answer,
    Assumption,
    Demand,
    Evidence,
    Limits,
    Opening,
    Origin,
    Portion,
)
from constat.syntax import parse_goal, parse_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.logic import Atom, Row

EVIDENCE = Evidence("database", Origin.DATABASE, "test", "2026-01-01T00:00:00.000000Z")
BY_USER = Evidence("user", Origin.USER_PROVIDED, "alice", "2026-01-01T00:00:00.000000Z")


@dataclass
class Table:
    """An external predicate over rows in memory; answers only what is asked and remembers it."""

    rows: list[Row] = field(default_factory=list)
    assumed: list[Row] = field(default_factory=list)
    unknown: frozenset[Row] = frozenset()
    openings: tuple[Opening, ...] = ()
    cost: int = 10
    demands: list[Demand] = field(default_factory=list)

    def answer(self, demand: Demand) -> Answer:
        """Give the rows of the demanded keys, and nothing for the unknown keys."""
        self.demands.append(demand)
        keys = set(demand.keys)

        def wanted(rows: list[Row]) -> tuple[Row, ...]:
            return tuple(row for row in rows if tuple(row[c] for c in demand.columns) in keys)

        portions = [Portion(wanted(self.rows), EVIDENCE)]
        portions += [
            Portion((row,), BY_USER, Assumption("fact", str(row), f"alice says {row}", Decimal(1)))
            for row in wanted(self.assumed)
        ]
        answered = frozenset(keys - self.unknown)
        return Answer(tuple(portions), self.openings, answered, (EVIDENCE,))


def program(text: str) -> AnalysedProgram:
    """Analyse rules given as text."""
    diagnostics: list[Diagnostic] = []
    parsed = parse_text(text, "test.dl", diagnostics)
    assert not [one for one in diagnostics if one.severity is Severity.ERROR]
    return analyse_or_raise(parsed)


def goal(text: str, analysed: AnalysedProgram) -> Atom:
    """Read a goal."""
    return parse_goal(text, analysed.program)


def run(
    text: str,
    question: str,
    tables: Mapping[str, Table],
    *,
    exhaust: bool = False,
    limits: Limits | None = None,
) -> LazyOutcome:
    """Evaluate a goal over rules and tables."""
    analysed = program(text)
    asked = goal(question, analysed)
    return LazyEngine().evaluate(analysed, asked, tables, limits or Limits(), exhaust=exhaust)
