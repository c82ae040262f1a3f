"""A goal that is decided when the time is up is still shown, within a grace (record 0052)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import Limits, Verdict
from constat.proof import build_certificate, decide, proof_tree
from constat.proof.levels import Ranking
from constat.proof.proofs import Proof
from constat.proof.reading import hard_reading
from constat.proof.refutation import refute
from constat.session.result import result_of
from tests.engine.tables import Table, goal, program

if TYPE_CHECKING:
    from typing import Any

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Externals, Observer
    from constat.logic import Atom
    from constat.proof import Decision

# A proof of some thousand steps: it looks at the clock on its way.
COUNTED = """
.decl e(a: number, b: number)
.input e(source="t", query="q")
.decl many(n: number)
many(?n) :- ?n = count : { e(_a, ?b), ?b > 0 }.
.decl none(a: number)
none(?a) :- e(?a, ?b), ?b < 0.
.decl some(n: number)
@[id = S] @[confidence = 0.9]
some(1) :- e(?a, ?b), ?b > ?a.
"""
ROWS = 3_000
SECONDS = 10.0


@dataclass
class Slow:
    """An engine whose evaluation takes so many seconds of the clock, after which none goes by."""

    takes: float
    time: float = 0.0

    def evaluate(  # the engine's own arguments
        self,
        program: AnalysedProgram,
        goal: Atom,
        externals: Externals,
        limits: Limits,
        *,
        exhaust: bool = False,
        observe: Observer = lambda _: None,
    ) -> Any:  # noqa: ANN401  whatever the engine gives
        found = LazyEngine().evaluate(
            program, goal, externals, limits, exhaust=exhaust, observe=observe
        )
        self.time += self.takes
        return found


def decided(question: str, takes: float, **how: Any) -> Decision:  # noqa: ANN401  as `decide`
    engine, analysed = Slow(takes), program(COUNTED)
    limits = Limits(seconds=SECONDS, now=lambda: engine.time, where="constat.yaml")
    rows: list[Any] = [(n, n + 1) for n in range(ROWS)]
    tables = {"e": Table(rows)}
    return decide(engine, analysed, goal(question, analysed), tables, limits, **how)


def header(decision: Decision) -> dict[str, Any]:
    made = build_certificate(decision, created="2026-01-01T00:00:00.000000Z", engine_version="t")
    assert check_certificate(made).accepted
    found: dict[str, Any] = json.loads(made)["header"]
    return found


def test_what_is_decided_in_time_is_shown_in_the_grace_after_it() -> None:
    assert decided(f"many({ROWS})", 10.4).verdict.value == "PROVED"
    assert decided("none(?a)", 10.4).verdict.value == "DISPROVED"


def test_a_verdict_that_is_not_shown_in_the_grace_is_not_given_out() -> None:
    for question in (f"many({ROWS})", "none(?a)"):
        late = decided(question, 10.6)
        assert late.verdict.value == "UNRESOLVED"
        assert late.limit == (
            "the time limit of 10 seconds was reached before the goal was shown; "
            "`seconds` of `limits` in constat.yaml raises it"
        )
        assert header(late)["verdict"] == "UNRESOLVED"


@pytest.mark.laws
def test_a_better_proof_has_no_grace_and_the_first_one_stands() -> None:
    for takes, search in ((0.0, "exhausted"), (10.4, "stopped")):
        found = decided("some(1)", takes, exhaust=True)
        assert (found.verdict.value, str(found.confidence)) == ("PROVED_UNDER", "0.9")
        assert header(found)["search"] == search
    assert decided(f"many({ROWS})", 10.4, ranking=Ranking.HEIGHT).verdict.value == "PROVED"


def test_what_is_shown_may_be_looked_at_for_as_long_as_anybody_wants() -> None:
    decision = decided(f"many({ROWS})", 10.4)
    clock = decision.reading.clock
    clock.check()
    assert clock.left == float("inf")


@dataclass
class Ticking:
    """A clock that stands still until it is told; then each look at it takes so long."""

    step: float = 0.0
    time: float = 0.0

    def __call__(self) -> float:
        self.time += self.step
        return self.time


def test_what_is_tried_for_a_goal_that_fails_takes_a_moment_and_no_more() -> None:
    engine, analysed, ticking = LazyEngine(), program(COUNTED), Ticking()
    limits = Limits(seconds=SECONDS, now=ticking, where="constat.yaml").begun()
    rows: list[Any] = [(n, n + 1) for n in range(9_000)]
    tables = {"e": Table(rows)}
    found = decide(engine, analysed, goal("none(?a)", analysed), tables, limits)
    (whole,) = proof_tree(found).attempts
    assert (whole.state, whole.tried) == ("failed", 9_000)
    refuted = refute(engine, found, tables, limits)
    assert refuted.left == 0
    assert refuted.lacking[0].state == "absent"
    ticking.step = 1.0
    assert [one.state for one in proof_tree(found).attempts] in ([], ["not tried"])
    late = refute(engine, found, tables, limits)
    assert late.left == 0  # the time is not up yet
    ticking.time = SECONDS
    late = refute(engine, found, tables, limits)
    assert late.left == 1
    assert late.lacking[0].state == "not tried"


class Counting(list[float]):
    """Seconds of a clock; once it runs, each look at it takes one."""

    def __call__(self) -> float:
        self[0] += self[1]
        return self[0]


def test_a_certificate_that_takes_too_long_to_write_leaves_the_goal_open() -> None:
    analysed, clock = program(COUNTED), Counting([0.0, 0.0])
    limits = Limits(seconds=SECONDS, now=clock, where="constat.yaml")
    tables = {"e": Table([(n, n + 1) for n in range(9_900)])}
    asked = goal("none(?a)", analysed)
    for running, verdict in ((0.0, Verdict.DISPROVED), (SECONDS, Verdict.UNRESOLVED)):
        clock[1] = 0.0
        decision = decide(LazyEngine(), analysed, asked, tables, limits)
        assert decision.verdict is Verdict.DISPROVED
        clock[1] = running
        result = result_of(decision, analysed, "2026-01-01T00:00:00.000000Z")
        assert result.verdict is verdict
        assert check_certificate(result.certificate).accepted
        told = "`seconds` of `limits` in constat.yaml raises it" in result.decision.limit
        assert told is (verdict is Verdict.UNRESOLVED)
        # What is given out stays readable, however much time goes by.
        clock[1] = SECONDS
        assert result.altered(goal="again").certificate == result.certificate


TAKEN_ONE_BY_ONE = """
.decl e(a: number, b: number)
.input e(source="t", query="q")
.decl f(a: number)
.input f(source="t", query="q")
.decl many(n: number)
many(?n) :- ?n = count : { e(_a, ?b), !f(?b) }.
.decl none()
none() :- e(?a, ?b), ?a > ?b.
"""


@pytest.mark.faults
def test_the_clock_is_looked_at_while_literals_are_taken_one_by_one() -> None:
    # Whatever goes over the rows of a proof looks at the clock at least every few thousand of them.
    analysed, rows = program(TAKEN_ONE_BY_ONE), 30 * ROWS
    tables = {"e": Table([(n, n + 1) for n in range(rows)]), "f": Table([(-1,)])}
    for question, apart in ((f"many({rows})", 200), ("none()", 1_500)):
        clock, engine = Counting([0.0, 0.0]), Slow(0.0)
        limits = Limits(seconds=10.0**9, now=clock, where="constat.yaml").begun()
        asked = goal(question, analysed)
        outcome = engine.evaluate(analysed, asked, tables, limits)
        clock[:] = [0.0, 1.0]
        Proof(hard_reading(outcome, limits.running()), asked).show((), bounded=True)
        assert clock[0] > rows / apart
