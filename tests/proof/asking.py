"""Small worlds for the tests of proofs: rules as text, tables in memory, the checker at the end.

In: rules and tables.  Out: decisions whose certificates the independent checker has accepted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from constat.analysis import AnalysedProgram, analyse_or_raise, check_goal
from constat.check import Report, check_certificate
from constat.engine import LazyEngine
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
from constat.logic import OPEN, Atom, OpenRow, Row
from constat.proof import Decision, build_certificate, decide
from constat.proof.levels import Ranking
from constat.syntax import parse_goal, parse_text

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

NOW = "2026-01-31T10:00:00.000000Z"
HEADER = '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n'


def analysed(text: str) -> AnalysedProgram:
    """Read and analyse rules; shows the diagnostics where they are wrong."""
    diagnostics: list[Diagnostic] = []
    program = parse_text(HEADER + text, "rules.dl", diagnostics)
    assert diagnostics == []
    return analyse_or_raise(program)


def word(predicate: str, row: Row, confidence: str = "0.9") -> Assumption:
    """Return the assumption of a user's word."""
    shown = f"{predicate}({', '.join(map(str, row))})"
    return Assumption("fact", shown, f"alice says {shown}", Decimal(confidence))


@dataclass
class Table:
    """One external predicate in memory.

    ``said`` are rows on a user's word with their confidence; ``open`` are shapes that may exist,
    ``silent`` leaves every key unanswered, ``closed`` makes completeness an assumption.
    """

    rows: tuple[Row, ...] = ()
    said: tuple[tuple[Row, str], ...] = ()
    open: tuple[OpenRow, ...] = ()
    silent: bool = False
    closed: Assumption | None = None
    fallen: Assumption | None = None
    origin: Origin = Origin.DATABASE
    cost: int = 10
    demands: list[Demand] = field(default_factory=list)

    def answer(self, demand: Demand) -> Answer:
        self.demands.append(demand)
        if self.silent:
            return Answer()
        name = demand.predicate.name
        evidence = self.evidence(demand)
        rows = tuple(row for row in self.rows if matches(demand, row))
        portions = [Portion(rows, evidence, self.fallen)] if rows else []
        for row, confidence in self.said:
            if matches(demand, row):
                source = Evidence(
                    "user",
                    Origin.USER_PROVIDED,
                    "facts",
                    NOW,
                    row_count=1,
                    confidence=Decimal(confidence),
                    author="alice",
                )
                portions.append(Portion((row,), source, word(name, row, confidence)))
        openings = [
            Opening(row, "the source timed out", "database")
            for row in self.open
            if matches(demand, row)
        ]
        openings += self.closing(demand)
        authorities = (evidence,) if self.closed is None else ()
        return Answer(tuple(portions), tuple(openings), frozenset(demand.keys), authorities)

    def closing(self, demand: Demand) -> list[Opening]:
        if self.closed is None:
            return []
        found = []
        for key in demand.keys:
            known = dict(zip(demand.columns, key, strict=True))
            row = tuple(known.get(place, OPEN) for place in range(demand.predicate.arity))
            found.append(Opening(row, "not declared complete", "config", self.closed))
        return found

    def evidence(self, demand: Demand) -> Evidence:
        name = demand.predicate.name
        keys = tuple(" ".join(map(str, key)) for key in demand.keys)
        return Evidence(
            "database", self.origin, "sales", NOW, f"SELECT * FROM {name}", keys, snapshot="s1"
        )


def matches(demand: Demand, row: OpenRow) -> bool:
    """Tell whether a row has one of the demanded keys."""
    return any(
        all(row[c] is OPEN or row[c] == v for c, v in zip(demand.columns, key, strict=True))
        for key in demand.keys
    )


class RejectedError(AssertionError):
    """The checker does not accept what the writer wrote."""


def goal_of(program: AnalysedProgram, goal: str) -> Atom:
    """Read a goal."""
    return check_goal(parse_goal(goal, program.program), program)


def ask(
    program: AnalysedProgram,
    goal: str,
    tables: dict[str, Table],
    *,
    exhaust: bool = False,
    ranking: Ranking | None = None,
    limits: Limits | None = None,
) -> Decision:
    """Decide a goal, and have its certificate checked."""
    atom = goal_of(program, goal)
    externals = {name: tables.get(name, Table()) for name in program.external}
    decision = decide(
        LazyEngine(),
        program,
        atom,
        externals,
        limits or Limits(),
        exhaust=exhaust,
        ranking=ranking,
    )
    report = checked(certificate(decision))
    assert report.verdict == decision.verdict.value
    return decision


def certificate(decision: Decision) -> bytes:
    """Write the certificate of a decision."""
    return build_certificate(decision, created=NOW, engine_version="constat test")


def checked(data: bytes) -> Report:
    """Return the checker's report on a certificate that it accepts."""
    report = check_certificate(data)
    if not report.accepted:
        raise RejectedError(report.to_text())
    return report


VIP = """
@[says = "customer {c} exists"]
.decl customer(c: symbol)
.input customer(source="sales", query="SELECT c FROM customer")
.decl order_line(c: symbol, o: symbol, amount: Decimal)
.input order_line(source="sales", query="SELECT c, o, amount FROM order_line")
.decl tier(c: symbol, t: symbol)
.input tier(source="sales", query="SELECT c, t FROM tier")
.decl blocked(c: symbol)
.input blocked(source="sales", query="SELECT c FROM blocked")
.decl threshold(x: Decimal)
.input threshold(source="config", key="threshold")
.decl revenue(c: symbol, total: Decimal)
.decl is_vip(c: symbol)
revenue(?c, ?total) :- customer(?c), ?total = sum ?amount : { order_line(?c, _o, ?amount) }.
is_vip(?c) :- revenue(?c, ?total), threshold(?x), ?total > ?x, !blocked(?c).
is_vip(?c) :- tier(?c, "gold"), !blocked(?c).
"""


def vip_tables(**other: Table) -> dict[str, Table]:
    """Give tables in which C1 is a VIP by revenue, C2 is not, and C3 is one on alice's word."""
    tables = {
        "customer": Table((("C1",), ("C2",), ("C3",))),
        "order_line": Table(
            (
                ("C1", "o1", Decimal(150000)),
                ("C1", "o2", Decimal(60)),
                ("C2", "o3", Decimal(10)),
            )
        ),
        "tier": Table((("C2", "silver"),), said=((("C3", "gold"), "0.9"),)),
        "blocked": Table((("C9",),)),
        "threshold": Table(((Decimal(100000),),), origin=Origin.CONFIG),
    }
    return {**tables, **other}


REACH = """
.decl owns(a: symbol, b: symbol)
.input owns(source="sales", query="SELECT a, b FROM owns")
.decl person(a: symbol)
.input person(source="sales", query="SELECT a FROM person")
.decl reach(a: symbol, b: symbol)
.decl apart(a: symbol, b: symbol)
.decl reached(a: symbol, n: number)
reach(?a, ?b) :- owns(?a, ?b).
reach(?a, ?b) :- reach(?a, ?m), owns(?m, ?b).
apart(?a, ?b) :- person(?a), person(?b), !reach(?a, ?b).
reached(?a, ?n) :- person(?a), ?n = count : { reach(?a, _b) }.
"""


def reach_tables(**other: Table) -> dict[str, Table]:
    """Give a cycle of three and one alone."""
    tables = {
        "person": Table((("A",), ("B",), ("C",), ("D",))),
        "owns": Table((("A", "B"), ("B", "C"), ("C", "A"))),
    }
    return {**tables, **other}
