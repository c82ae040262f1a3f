"""All evaluations of one question share its limit of time, and its queries what is left of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from constat.engine import LazyEngine
from constat.evaluation import Clock
from constat.session import Session
from constat.session.resting import resting
from constat.tiers.building import Connections

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.evaluation import Limits, Outcome

RULES = """
.pragma "constat" "0.1"
.decl loan(id: number, patient: symbol, remark: symbol)
.input loan(source = main, query = "SELECT id, patient, remark FROM loans")
.decl owes(patient: symbol)
owes(?p) :- loan(_, ?p, _).
"""
SECONDS = 60.0


@dataclass
class Slow:
    """An engine for which each evaluation takes some seconds of a time that nobody waits for."""

    seconds: float
    at: float = 1_000.0
    limits: list[Limits] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def now(self) -> float:
        return self.at

    def evaluate(self, *given: Any, **how: Any) -> Outcome:  # noqa: ANN401  handed through
        self.limits.append(given[3])
        self.outcomes.append(LazyEngine().evaluate(*given, **how))
        self.at += self.seconds
        return self.outcomes[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as base:
        base.execute("CREATE TABLE loans(id INTEGER, patient TEXT, remark TEXT)")
        base.execute("INSERT INTO loans VALUES (1, 'P1', 'a'), (2, 'P2', 'b')")
        base.commit()
    (tmp_path / "constat.yaml").write_text(
        'project: c\nrules: [r.dl]\ndatabases: {main: {uri: "sqlite:///c.sqlite"}}\n'
        f"limits: {{seconds: {SECONDS}}}\n"
    )
    (tmp_path / "r.dl").write_text(RULES)
    return tmp_path


def asked(
    folder: Path, seconds: float, ask: Callable[[Session], Any], patch: pytest.MonkeyPatch
) -> tuple[Slow, list[float]]:
    """Ask while evaluations are slow; gives the engine, and how long queries might take."""
    engine, bounds = Slow(seconds), []
    start = Connections.start

    def started(connections: Connections, seconds: float) -> None:
        bounds.append(seconds)
        start(connections, seconds)

    patch.setattr("constat.session.session.moment", engine.now)
    patch.setattr(Connections, "start", started)
    with Session(folder) as session:
        session.facts.add("loan(9, P9, told)", author="al")
        patch.setattr(session, "_engine", engine)
        ask(session)
    return engine, bounds


def test_a_goal_that_is_evaluated_anew_has_what_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = iter([True, False])

    def proved_beside_a_writer(session: Session) -> None:
        tiers = session._opened()
        monkeypatch.setattr(session, "_tiers", replace(tiers, changed=lambda: next(changed)))
        session.prove("owes(P1)")

    engine, bounds = asked(folder, 0.5, proved_beside_a_writer, monkeypatch)
    first, second = engine.limits
    assert first.clock is second.clock
    assert bounds == [SECONDS, SECONDS - 0.5]


@pytest.mark.parametrize(
    "ask",
    [
        lambda one: one.what_if("owes(P1)", add=["loan(7, P7, x)"]),
        lambda one: one.missing_facts("owes(P3)", abducible={"loan": "1"}),
        lambda one: one.why_not("owes(P3)"),
        lambda one: one.query("owes(?p)"),
    ],
)
def test_all_evaluations_of_a_question_share_one_clock(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Session], Any]
) -> None:
    engine, bounds = asked(folder, 1, ask, monkeypatch)
    untils = {(one.clock or one.running()).until for one in engine.limits}
    # What supposes may be allowed less than the whole, and never more.
    assert max(untils) == 1_000.0 + SECONDS
    assert bounds[0] == SECONDS
    assert all(one <= SECONDS for one in bounds)


def test_what_answers_rest_on_ends_with_the_time_and_names_every_assumption(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Slow(0)
    with Session(folder) as session:
        session.facts.add("loan(9, P9, told)", author="al")
        monkeypatch.setattr(session, "_engine", engine)
        (row,) = [one for one in session.query("owes(?p)").weak if one == ("P9",)]
    fact = ("owes", row)
    late = Clock(0.0, "the time is up")
    (outcome,) = engine.outcomes
    whole = resting(outcome, (), (fact,), whole=False)
    cut = resting(outcome, (), (fact,), whole=False, clock=late)
    assert whole.notes[fact].confidence is not None
    assert cut.notes == {fact: type(whole.notes[fact])(None, whole.assumptions)}
