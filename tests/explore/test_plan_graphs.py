"""Plans of every shape: the answer is what the steps mean, and no end of a run is hidden."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.explore.events import TableCreated
from constat.explore.sandbox import Level, unavailable
from constat.session import exploring
from constat.store.explored import ExploredStore
from tests.cli.running import run
from tests.explore.plan_graphs import ORDERS, Graph, random_graph
from tests.explore.planned import plan, step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFINED: Final = not (unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL))
CONFIGURATION: Final = """
project: orders
rules: [orders.dl]
databases:
  sales: {uri: "sqlite:///sales.sqlite"}
"""
RULES: Final = """
.pragma "constat" "0.1"
.decl orders(a: number, b: number)
.input orders(source = "sales", query = "SELECT id, amount FROM orders")
"""
BASE: Final = step("base(a: number)", source="sales", sql="SELECT id FROM orders")
COUNT: Final = step("n(n: number)", inputs=["base"], sql="SELECT count(*) FROM base")
FAN: Final = step("fan(a: number)", inputs=["base", "n"], sql="SELECT a FROM base, n WHERE a < n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    folder.mkdir()
    (folder / "constat.yaml").write_text(CONFIGURATION)
    (folder / "orders.dl").write_text(RULES)
    with closing(sqlite3.connect(folder / "sales.sqlite")) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER NOT NULL, amount INTEGER NOT NULL)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", sorted(ORDERS))
        connection.commit()
    return folder


@pytest.fixture
def orders(project: Path) -> Iterator[Session]:
    with Session(project) as session:
        yield session


def status(session: Session) -> str:
    return session.history[-1].questions[-1].status


def answer_of(graph: Graph) -> list[tuple[int, int]]:
    return sorted(graph.rows[graph.steps[-1]["outputs"][0].partition("(")[0]])


@pytest.mark.sampled(24, "laws")
@pytest.mark.parametrize("seed", range(60))
def test_any_graph_of_steps_gives_what_its_steps_mean(orders: Session, seed: int) -> None:
    graph = random_graph(seed, code=CONFINED and seed % 4 == 0)
    explored = orders.solve("what?", plan=plan(*graph.steps), certify=True)
    assert sorted(explored.rows) == answer_of(graph)
    report = check_certificate(explored.certificate)
    assert (report.accepted, report.exit_code) == (True, explored.exit_code), explored.proof.why
    assert status(orders) == "answered"
    # There is one verdict: where nothing is assumed it is PROVED, and else it says so.
    assert (explored.verdict is Verdict.PROVED) == (explored.assumptions == ())
    assert orders.resume().proof.identity == explored.proof.identity


FAILING: Final = (
    {"inputs": ["orders"], "sql": "SELECT a, CAST('x' || b AS BIGINT) FROM orders"},
    {"source": "sales", "sql": "SELECT id, abs(-9223372036854775807 - 1) FROM orders"},
    {"inputs": ["orders"], "python": "print('got so far')\nraise KeyError('here')"},
)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("work", FAILING, ids=["select", "source", "code"])
@pytest.mark.parametrize("place", range(3))
def test_a_step_that_fails_anywhere_ends_the_run_and_says_so(
    orders: Session, work: dict[str, Any], place: int
) -> None:
    if "python" in work and not CONFINED:
        pytest.skip("nothing here keeps code in")
    graph = random_graph(place, code=False, steps=3)
    broken = step("broken(a: number, b: number)", **work)
    last = step("last(a: number)", rules="last(?a) :- broken(?a, _), everything(?a, _).")
    steps = [*graph.steps[:place], broken, *graph.steps[place:], last]
    with pytest.raises(ConstatError) as caught:
        orders.solve("what?", plan=plan(*steps, answer="last"))
    assert caught.value.exit_code in {2, 4}
    assert status(orders) == "failed"
    if [one.code for one in caught.value.diagnostics] == ["C0897"]:
        [attempt] = orders.get_step(place + 1).attempts
        assert attempt.error
        assert attempt.output == ("got so far\n" if "python" in work else "")


def test_what_cannot_be_computed_leaves_the_answer_open(orders: Session) -> None:
    text = "broken(?a, ?c) :- orders(?a, ?b), ?c = ?b * 9223372036854775807."
    broken = step("broken(a: number, b: number)", rules=text)
    last = step("last(a: number)", rules="last(?a) :- broken(?a, _), orders(?a, _).")
    explored = orders.solve("what?", plan=plan(broken, last))
    assert (explored.exit_code, status(orders)) == (4, "answered")
    assert explored.verdict in {Verdict.UNRESOLVED, None}


# ---------------------------------------------------------------------------- proofs that fail


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("name", ["proof_program", "build_certificate", "check_certificate"])
@pytest.mark.parametrize("mistake", [KeyError("base"), RecursionError(), MemoryError()], ids=repr)
def test_whatever_ends_a_proof_the_answer_is_given_as_not_checked(
    orders: Session, name: str, mistake: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise mistake

    with monkeypatch.context() as broken:
        broken.setattr(exploring, name, fail)
        answers = [
            orders.solve("what?", plan=plan(BASE, COUNT, FAN), certify=certify)
            for certify in (False, True)
        ]
        for explored in answers:
            assert len(explored.rows) == 6
            assert (explored.verdict, explored.exit_code) == (None, 4)
            assert type(mistake).__name__ in explored.proof.why
            assert status(orders) == "answered"
    # The proof is a step of its own, which can be tried again.
    again = orders.resume()
    assert "computed" not in {one.how for one in again.steps}
    assert (again.verdict, again.rows) == (Verdict.PROVED_UNDER, answers[0].rows)


def test_the_commands_give_an_answer_whose_proof_failed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("base")

    file, certificate = tmp_path / "plan.json", tmp_path / "answer.json"
    file.write_text(json.dumps({"question": "what?", "steps": [BASE, COUNT, FAN]}))
    words = ("solve", "--plan", file, "--certificate", certificate, "--project", project)
    with monkeypatch.context() as broken:
        broken.setattr(exploring, "proof_program", fail)
        ran = run(*words, "--events", "none")
        told = run(*words, "--format", "json", "--events", "none")
    assert ran.code == 4
    assert "computed, not checked: the proof ended with an internal error (KeyError)" in ran.out
    assert "C0950" in ran.err
    assert not certificate.exists()
    assert (told.code, told.json["verdict"], told.json["exit_code"], len(told.json["rows"])) == (
        *(4, "COMPUTED_NOT_CHECKED", 4, 6),
    )
    ran = run("resume", "--certificate", certificate, "--project", project, "--events", "none")
    assert (ran.code, "PROVED UNDER assumptions\n" in ran.out) == (3, True)
    assert check_certificate(certificate.read_bytes()).accepted


def test_a_proof_of_other_rows_is_never_given_with_an_answer(
    orders: Session, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows have changed and could not be proved: the certificate of the earlier ones stays."""
    first = orders.solve("what?", plan=plan(BASE))
    assert first.verdict is Verdict.PROVED
    with closing(sqlite3.connect(project / "sales.sqlite")) as connection:
        connection.execute("INSERT INTO orders VALUES (8, 80)")
        connection.commit()
    with monkeypatch.context() as broken:
        broken.setattr(exploring, "proof_program", lambda *_: None)
        changed = orders.resume()
        assert (len(changed.rows), changed.verdict) == (8, None)
        assert orders.resume().verdict is None
    proved = orders.resume()
    assert (proved.verdict, len(proved.rows)) == (Verdict.PROVED, 8)


def test_what_a_step_read_is_attested_and_not_what_is_there_now(
    orders: Session, project: Path
) -> None:
    def write(event: object) -> None:
        if isinstance(event, TableCreated):
            with closing(sqlite3.connect(project / "sales.sqlite")) as connection:
                connection.execute("INSERT INTO orders VALUES (9, 90)")
                connection.commit()

    total = step("total(t: number)", inputs=["orders"], sql="SELECT sum(b) FROM orders")
    explored = orders.solve("what?", plan=plan(total), observe=write, certify=True)
    assert explored.rows == ((180,),)
    assert explored.verdict is None
    assert "has other rows now than step `total` read" in explored.proof.why


def test_an_order_of_rows_is_no_assumption(orders: Session, project: Path) -> None:
    with closing(sqlite3.connect(project / "sales.sqlite")) as connection:
        rows = [(number, number % 7) for number in range(10, 400)]
        connection.executemany("INSERT INTO orders VALUES (?, ?)", rows)
        connection.commit()
    ranked = step("r(b: number, a: number)", rank={"of": "orders", "by": ["b desc", "a"]})
    selected = step("s(b: number, a: number)", inputs=["r"], sql="SELECT * FROM r ORDER BY a")
    plans = plan(ranked), plan(ranked, selected)
    answers = [orders.solve("in order?", plan=one, certify=True) for one in plans]
    for explored in answers:
        assert (explored.verdict, explored.assumptions) == (Verdict.PROVED, ())
        assert b'"SUB_PLAN"' not in explored.certificate
    assert [one[1] for one in answers[1].rows[:3]] == [1, 2, 3]
    # A cell that is cast, or a row that is left out, is more than an order.
    for text in ("SELECT a, b + 0 FROM orders", "SELECT a, b FROM orders ORDER BY b, a LIMIT 500"):
        other = step("t(a: number, b: number)", inputs=["orders"], sql=text)
        explored = orders.solve("and now?", plan=plan(other), certify=True)
        assert explored.verdict is Verdict.PROVED_UNDER


# ------------------------------------------------------------------------------- ends of a run


class StopError(Exception):
    pass


@pytest.mark.faults
@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("ending", [StopError, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_was_ended_is_never_said_to_run(
    orders: Session, ending: type[BaseException], seed: int
) -> None:
    graph = random_graph(seed + 100, code=False)
    events = random.Random(seed).randrange(1, 12)

    def stop(_: object) -> None:
        nonlocal events
        assert status(orders) in {"running", "answered"}
        events -= 1
        if not events:
            raise ending

    with pytest.raises(ending):
        orders.solve("what?", plan=plan(*graph.steps), observe=stop)
    stopped = "failed" if issubclass(ending, Exception) else "interrupted"
    assert status(orders) == stopped
    assert sorted(orders.resume().rows) == answer_of(graph)
    assert status(orders) == "answered"


def test_an_answer_that_stands_is_not_lost_where_its_proof_is_interrupted(
    orders: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(exploring.Proofs, "prove", stop)
        with pytest.raises(KeyboardInterrupt):
            orders.solve("what?", plan=plan(BASE))
    [question] = orders.history[-1].questions
    assert (question.status, json.loads(question.answer)["rows"]) == ("answered", 7)
    assert orders.resume().verdict is Verdict.PROVED


DYING: Final = """
import os, signal, sys, time
from constat import Session
from tests.explore.planned import plan, step

def stop(event):
    if type(event).__name__ == "StepStarted":
        print("started", flush=True)
        time.sleep(60)

with Session(sys.argv[1]) as session:
    session.solve("what?", plan=plan(
        step("base(a: number)", source="sales", sql="SELECT id FROM orders")), observe=stop)
"""


@pytest.mark.faults
@pytest.mark.sampled(2, "faults")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_whose_program_died_is_recognised_by_the_next_command(
    orders: Session, project: Path, number: int
) -> None:
    command = [sys.executable, "-c", DYING, str(project)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"started\n"
        assert status(orders) == "running"
        os.kill(child.pid, number)
    assert status(orders) == "interrupted"
    told = run("history", "--format", "json", "--project", project).json["explorations"]
    assert told[-1]["questions"][-1]["status"] == "interrupted"
    # What the dead run has left is collected.
    assert list((orders.project.state / "explored_runs").iterdir()) == []
    assert len(orders.resume().rows) == 7


def test_two_runs_of_one_question_do_not_wait_for_each_other(orders: Session) -> None:
    orders.solve("what?", plan=plan(BASE))
    store = ExploredStore(orders.project.state)
    identity = orders.history[-1].identity
    with store.running(identity, 1):
        with store.running(identity, 1):
            assert status(orders) == "running"
        started = time.monotonic()
        assert status(orders) == "running"
    assert status(orders) == "interrupted"
    assert started


# ---------------------------------------------------------------------------------- what ran


@pytest.mark.skipif(not CONFINED, reason="nothing here keeps code in")
def test_text_output_and_error_of_each_try_can_be_seen(orders: Session, project: Path) -> None:
    text = (
        "import warnings\nprint('on stdout')\nwarnings.warn('on stderr')\n"
        "f = pd.read_sql('SELECT id FROM orders', db)\nstore.put('made', f.rename(columns={}))"
    )
    made = step("made(a: number)", name="making", source="sales", python=text)
    with pytest.raises(ConstatError):
        orders.solve("what?", plan=plan(made))
    [failed] = orders.get_step(1).attempts
    assert failed.text == text
    assert all(one in failed.output for one in ("on stdout\n", "UserWarning: on stderr"))
    assert failed.queries == ("sales: SELECT id FROM orders",)
    assert "no column `a`" in failed.error
    mended = made | {"python": text.replace("{}", "{'id': 'a'}")}
    orders.plans.edit(plan(mended))
    assert len(orders.resume().rows) == 7
    seen = orders.get_step(1)
    assert (seen.name, seen.work, seen.source, seen.question) == ("making", "python", "sales", 1)
    assert [bool(one.error) for one in seen.attempts] == [True, False]
    assert "on stdout" in seen.attempts[1].output
    assert [one["rows"] for one in seen.tables] == [7]
    ran = run("history", "last", "--step", "1", "--project", project)
    for shown in (
        "    print('on stdout')",
        "UserWarning: on stderr",
        "no column `a`",
        "table made: 7 rows",
    ):
        assert shown in ran.out
    told = run("history", "last", "--step", "1", "--format", "json", "--project", project).json
    assert [one["output"] for one in told["step"]["attempts"]] == [
        one.output for one in seen.attempts
    ]
    assert run("history", "last", "--step", "2", "--project", project).code == 2
