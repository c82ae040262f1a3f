"""The child can always be ended, and nothing is left of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constat.evaluation import Limits
from constat.logic import Kind
from constat.pydatalog import PyDatalogEngine
from constat.pydatalog.answering import NoAnswerError, Worker
from constat.pydatalog.translation import Clause, Premise, Question
from constat.pydatalog.wire import read_answer, write_question
from tests.architecture.sources import ROOT
from tests.pydatalog.asking import ask, declared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORY = 1 << 30
PATIENCE = 20.0

# Positive Datalog over one fact, as pyDatalog itself takes it: it never ends (0.17.4 and 0.22.4).
# p1 of Y if p3 of Y, p1 of Z and p2 of X; p2 of Y if p1 and p3; p3 of Y if e of Z and 2, p2 of Y.
HANGING = Question(
    constants=((Kind.NUMBER, 2),),
    arities=(2, 1, 1, 1),
    facts={0: ((0, 0),)},
    clauses=(
        Clause(Premise(1, ("y",)), (Premise(3, ("y",)), Premise(1, ("z",)), Premise(2, ("x",)))),
        Clause(Premise(2, ("y",)), (Premise(1, ("y",)), Premise(3, ("y",)))),
        Clause(Premise(3, ("y",)), (Premise(0, ("z", 0)), Premise(2, ("y",)))),
    ),
    goal=Premise(1, ("x",)),
    kinds=(Kind.NUMBER,),
)
SMALL = Question(
    constants=((Kind.NUMBER, 2),),
    arities=(1,),
    facts={0: ((0,),)},
    clauses=(),
    goal=Premise(0, ("x",)),
    kinds=(Kind.NUMBER,),
)
SAME_RULES = declared(
    {"e": "a: number, b: number", "p1": "a: number", "p2": "a: number", "p3": "a: number"}, "e"
) + ("p1(?y) :- p3(?y), p1(_z), p2(_x).\np2(?y) :- p1(?y), p3(?y).\np3(?y) :- e(_z, 2), p2(?y).\n")
ENDLESS = declared({"n": "x: number"}) + "n(0).\nn(?y) :- n(?x), ?y = ?x + 1.\n"


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker(MEMORY) as found:
        yield found


def alive(pid: int) -> bool:
    """Tell whether a process is there, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_question_is_answered(worker: Worker) -> None:
    reply = worker.exchange(write_question(SMALL), PATIENCE)
    assert read_answer(reply, SMALL.kinds) == frozenset({(2,)})


def test_the_program_that_never_ends_is_stopped(worker: Worker) -> None:
    worker.exchange(write_question(SMALL), PATIENCE)
    pid = worker.pid
    assert pid is not None
    with pytest.raises(NoAnswerError, match=r"time limit was reached after 0\.5 seconds"):
        worker.exchange(write_question(HANGING), 0.5)
    assert not alive(pid), "no zombie stays"
    assert worker.pid is None


def test_after_a_stop_the_next_question_is_answered(worker: Worker) -> None:
    with pytest.raises(NoAnswerError):
        worker.exchange(write_question(HANGING), 0.5)
    reply = worker.exchange(write_question(SMALL), PATIENCE)
    assert read_answer(reply, SMALL.kinds) == frozenset({(2,)})


def test_the_same_rules_are_translated_so_that_they_end(engine: PyDatalogEngine) -> None:
    found = ask(engine, SAME_RULES, "p1(?x)", ["e(2, 2)"])
    assert (found.stopped, found.rows) == ("", frozenset())


@pytest.mark.parametrize("goal", ["path(0, ?y)", "path(0, 7)", "path(?x, ?y)"])
def test_right_recursion_over_a_circle_ends(engine: PyDatalogEngine, goal: str) -> None:
    rules = declared({"edge": "a: number, b: number", "path": "a: number, b: number"}, "edge") + (
        "path(?x, ?y) :- edge(?x, ?y).\npath(?x, ?y) :- edge(?x, ?z), path(?z, ?y).\n"
    )
    found = ask(engine, rules, goal, [f"edge({n}, {(n + 1) % 9})" for n in range(9)])
    assert len(found.rows) == {"path(0, ?y)": 9, "path(0, 7)": 1, "path(?x, ?y)": 81}[goal]


def test_recursion_without_end_is_no_answer(engine: PyDatalogEngine) -> None:
    found = ask(engine, ENDLESS, "n(-1)", limits=Limits(seconds=0.7))
    assert found.holds is None
    assert found.stopped.startswith("the time limit was reached")


@pytest.mark.faults
def test_a_run_that_takes_too_much_memory_is_no_answer() -> None:
    with PyDatalogEngine(memory=96 << 20) as small:
        found = ask(small, ENDLESS, "n(-1)", limits=Limits(seconds=60.0))
    # Where memory ends is chance: in pyDatalog, in our reply, or, rarely, where Python drops the
    # error and tries again until the time is over.
    assert found.holds is None
    ends = (
        "memory limit of 96 MiB",
        "ended without an answer",
        "time limit was reached after 60.0",
    )
    assert any(end in found.stopped for end in ends)


def test_a_child_that_is_killed_is_no_answer(worker: Worker) -> None:
    worker.exchange(write_question(SMALL), PATIENCE)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(NoAnswerError, match="signal 9"):
        worker.exchange(write_question(SMALL), PATIENCE)


def test_an_answer_that_is_too_large_is_no_answer() -> None:
    with Worker(MEMORY, largest_reply=10) as worker, pytest.raises(NoAnswerError, match="larger"):
        worker.exchange(write_question(SMALL), PATIENCE)


def test_without_time_nothing_is_started(worker: Worker) -> None:
    with pytest.raises(NoAnswerError, match="before pyDatalog"):
        worker.exchange(write_question(SMALL), 0.0)
    assert worker.pid is None


def test_closing_ends_the_child_and_its_group() -> None:
    worker = Worker(MEMORY)
    worker.exchange(write_question(SMALL), PATIENCE)
    pid = worker.pid
    assert pid is not None
    assert os.getpgid(pid) == pid, "a group of its own"
    worker.close()
    worker.close()
    assert not alive(pid)


def test_a_large_question_and_a_large_answer_cross_the_pipe(worker: Worker) -> None:
    count = 20_000
    question = Question(
        constants=tuple((Kind.NUMBER, number) for number in range(count)),
        arities=(1,),
        facts={0: tuple((number,) for number in range(count))},
        clauses=(),
        goal=Premise(0, ("x",)),
        kinds=(Kind.NUMBER,),
    )
    found = read_answer(worker.exchange(write_question(question), 60.0), question.kinds)
    assert found == frozenset((number,) for number in range(count))


def test_the_child_has_nothing_of_our_environment(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = Path("/proc/self/environ")
    if not environment.exists():
        pytest.skip("this system does not show the environment of a process")
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    worker.exchange(write_question(SMALL), PATIENCE)
    told = Path(f"/proc/{worker.pid}/environ").read_bytes()
    assert told.startswith(b"PYTHONPATH=")
    assert told.count(b"\0") == 1
    assert b"hunter2" not in told


def test_the_child_does_not_take_modules_from_the_folder_somebody_stands_in(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyDatalog.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    reply = worker.exchange(write_question(SMALL), PATIENCE)
    assert read_answer(reply, SMALL.kinds) == frozenset({(2,)})


PARENT = """
import sys
from constat.pydatalog.answering import NoAnswerError, Worker
from tests.pydatalog.test_process import HANGING, MEMORY, SMALL, write_question
with Worker(MEMORY) as worker:
    worker.exchange(write_question(SMALL), 20.0)
    print(worker.pid, flush=True)
    worker.exchange(write_question(HANGING), 300.0)
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """Give a process that waits for a child which never answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield process
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def child_of(parent: subprocess.Popen[str]) -> int:
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    return pid


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the child ends at its own limit")
def test_the_child_ends_when_its_parent_is_killed(
    parent: subprocess.Popen[str], number: signal.Signals
) -> None:
    pid = child_of(parent)
    parent.send_signal(number)
    parent.wait(PATIENCE)
    assert wait_until(lambda: not running(pid))


def test_ctrl_c_ends_the_child(parent: subprocess.Popen[str]) -> None:
    pid = child_of(parent)
    parent.send_signal(signal.SIGINT)
    parent.wait(PATIENCE)
    assert not running(pid), "the parent itself has waited for it"


def running(pid: int) -> bool:
    """Tell whether a process of another parent runs; a zombie that nobody has fetched does not."""
    with contextlib.suppress(FileNotFoundError):
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        return state not in {"Z", "X"}
    return alive(pid) and not Path("/proc/self").exists()


def test_the_kernel_ends_a_child_whose_parent_forgot_it() -> None:
    # The child's own clock, without any parent that watches: SIGALRM is not for Python to catch.
    first = "from constat.diagnostics.interruption import bind_time"
    program = f"{first}\nbind_time(-1.9)\nwhile True: pass\n"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=PATIENCE, check=False)
    assert ran.returncode == -signal.SIGALRM
