"""Asks a goal of a program written as text, over tables in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.proof import build_certificate, decide
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program, world
from tests.property.running import LIMITS
from tests.property.tables import SOME_TIME, STRICT, Manner, TableExternal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.check import Report
    from constat.evaluation import Limits
    from constat.logic import OpenRow, Row
    from constat.proof import Decision


@dataclass(frozen=True, slots=True)
class Asked:
    """A decision and the tables that were asked for it."""

    decision: Decision
    tables: Mapping[str, TableExternal]

    @property
    def verdict(self) -> str:
        return self.decision.verdict.value

    @property
    def confidence(self) -> str:
        return str(self.decision.confidence.normalize())

    @property
    def assumptions(self) -> list[tuple[str, str]]:
        """The kinds and subjects of the assumptions that were accepted."""
        return sorted((one.kind, one.subject) for one in self.decision.assumptions)

    @property
    def missing(self) -> set[tuple[str, OpenRow]]:
        return set(self.decision.missing)

    @property
    def certificate(self) -> bytes:
        return build_certificate(self.decision, created=SOME_TIME, engine_version="test")

    @property
    def report(self) -> Report:
        return check_certificate(self.certificate)

    def keys(self, predicate: str) -> set[tuple[tuple[int, ...], Row]]:
        """Return the columns and keys that were demanded of a predicate."""
        demands = self.tables[predicate].demands
        return {(demand.columns, key) for demand in demands for key in demand.keys}


@dataclass(frozen=True, slots=True)
class Ask:
    """A program and facts; call it with a goal."""

    rules: str
    facts: str = ""
    costs: tuple[tuple[str, int], ...] = ()
    manner: Manner = STRICT
    limits: Limits = LIMITS

    def __call__(self, goal: str, *, exhaust: bool = False) -> Asked:
        analysed = program(self.rules)
        outside = world(
            analysed, [line.strip() for line in self.facts.splitlines() if line.strip()]
        )
        costs = dict(self.costs)
        tables = {
            name: TableExternal(
                analysed.program.predicates[name],
                outside,
                self.manner,
                cost=costs.get(name, 10),
            )
            for name in sorted(analysed.external)
        }
        atom = parse_goal(goal, analysed.program)
        decision = decide(LazyEngine(), analysed, atom, tables, self.limits, exhaust=exhaust)
        return Asked(decision, tables)
