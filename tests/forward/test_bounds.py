"""Bounds, faults and interruptions: a clean end, said plainly, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.evaluation import ResourceError, Resources, StageFinished
from constat.forward import Options, Rows, evaluate
from constat.plan.forward import Strategy
from constat.session.answers import Settled
from constat.syntax import parse_goal
from tests.cli.running import run
from tests.language.worlds_of_text import program
from tests.session.querying import make_project

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = """
.decl e(a: number)
.input e
.decl small(a: number)
small(?a) :- e(?a), ?a < 3.
.decl pair(a: number, b: number, c: number)
pair(?a, ?b, ?c) :- small(_), e(?a), e(?b), e(?c).
"""
COUNTING = """
.decl e(a: number)
.input e
.decl n(a: number)
n(?a) :- e(?a).
n(?a + 1) :- n(?a), ?a < 100000000.
"""
MANY = Rows([(n,) for n in range(3_000)])


def stopped(
    text: str, goal: str, resources: Resources, *, strategy: Strategy | None = None
) -> ResourceError:
    found = program(text)
    events: list[object] = []
    options = Options(resources, strategy=strategy)
    with pytest.raises(ResourceError) as caught:
        evaluate(found, [parse_goal(goal, found.program)], {"e": MANY}, options, events.append)
    finished = [one for one in events if isinstance(one, StageFinished)]
    assert caught.value.__notes__[0].startswith(f"{len(finished)} of ")
    return caught.value


def test_a_cross_product_ends_at_the_memory_limit() -> None:
    resources = Resources(seconds=60, memory=64 << 20, threads=1)
    assert "memory" in str(stopped(PAIRS, "pair(?a, ?b, ?c)", resources))


def test_a_cross_product_ends_when_the_disk_is_full(tmp_path: Path) -> None:
    resources = Resources(
        seconds=60, memory=64 << 20, threads=1, scratch=tmp_path, scratch_bytes=4 << 20
    )
    told = str(stopped(PAIRS, "pair(?a, ?b, ?c)", resources))
    assert "disk" in told or "memory" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "strategy", [Strategy.LOOP, Strategy.CTE, Strategy.RUNS, Strategy.BITMAP, Strategy.REFERENCE]
)
def test_a_recursion_without_an_end_ends_at_the_time_limit(strategy: Strategy) -> None:
    resources = Resources(seconds=0.4, memory=512 << 20, threads=1)
    stopped(COUNTING, "n(?a)", resources, strategy=strategy)


def test_rounds_are_bounded() -> None:
    resources = Resources(seconds=60, memory=512 << 20, rounds=20, threads=1)
    stopped(COUNTING, "n(?a)", resources, strategy=Strategy.LOOP)


def test_rows_are_bounded() -> None:
    resources = Resources(seconds=60, memory=512 << 20, rows=2_000, threads=1)
    stopped(COUNTING, "n(?a)", resources, strategy=Strategy.REFERENCE)


def test_rows_of_a_stage_are_bounded_whoever_computes_it() -> None:
    text = ".decl e(a: number)\n.input e\n.decl p(a: number)\np(?a + 1) :- e(?a).\n"
    resources = Resources(seconds=60, memory=512 << 20, rows=2_000, threads=1)
    assert "rows" in str(stopped(text, "p(?a)", resources))


@pytest.fixture
def crossing(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project")
    rules = folder / "rules.dl"
    text = rules.read_text(encoding="utf-8")
    count = ", ".join(f"thing(?n{i}, _, _, _, _, _, _, _), pair(?p{i}, _)" for i in range(12))
    names = ", ".join(f"n{i}: symbol, p{i}: symbol" for i in range(12))
    head = ", ".join(f"?n{i}, ?p{i}" for i in range(12))
    rules.write_text(f"{text}.decl huge({names})\nhuge({head}) :- {count}.\n", encoding="utf-8")
    with (folder / "constat.yaml").open("a", encoding="utf-8") as config:
        config.write("limits:\n  seconds: 1\n")
    return folder


def test_a_query_that_is_too_large_is_open_with_the_reason(crossing: Path) -> None:
    with Session(crossing) as session:
        variables = ", ".join(f"?v{i}" for i in range(24))
        answers = session.query(f"huge({variables})", engine="forward")
        assert (answers.settled, answers.exit_code, len(answers)) == (Settled.OPEN, 4, 0)
        assert "C0660" in answers.stopped
        assert "stages were finished" in answers.reasons[0].reason
        assert len(session.query("reach(?a, ?b)", engine="forward")) > 0
        assert session.prove("reach(a, d)").exit_code == 0


def test_what_is_too_large_is_not_kept(crossing: Path) -> None:
    ran = run("materialize", "huge", "--project", crossing)
    assert (ran.code, "C0671" in ran.err, "C0660" in ran.err) == (2, True, True)
    assert run("materialize", "reach", "--project", crossing).code == 0


SCRIPT = """
    import sys
    from constat.cli import main
    from constat.cli import progress
    from constat.evaluation import StageFinished
    import contextlib

    @contextlib.contextmanager
    def watching():
        def tell(event):
            print(type(event).__name__, flush=True, file=sys.stderr)
        yield tell

    import constat.cli.query as query
    query.watching = watching
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.faults
def test_ctrl_c_ends_it_with_what_was_finished(crossing: Path, tmp_path: Path) -> None:
    (crossing / "constat.yaml").write_text(
        (crossing / "constat.yaml")
        .read_text(encoding="utf-8")
        .replace("seconds: 1", "seconds: 60"),
        encoding="utf-8",
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = ", ".join(f"?v{i}" for i in range(24))
    words = ("query", f"reach(?v0, ?x), huge({variables})", "--engine", "forward")
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *words, "--project", str(crossing)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
        text=True,
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if line.strip() == "StageFinished":
                break
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "stages were finished" in err
    assert list(scratch.iterdir()) == []
    with Session(crossing) as session:
        assert session.prove("reach(a, d)").exit_code == 0


@pytest.mark.faults
def test_killed_it_leaves_the_state_usable(crossing: Path, tmp_path: Path) -> None:
    variables = ", ".join(f"?v{i}" for i in range(24))
    words = ("query", f"huge({variables})", "--engine", "forward", "--project", str(crossing))
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), *words],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    ) as child:
        assert child.stderr is not None
        child.stderr.readline()
        child.kill()
    with Session(crossing) as session:
        assert session.prove("reach(a, d)").exit_code == 0
        assert session.materialized.keep("reach").result.rows > 0


def test_a_bound_of_one_evaluation_does_not_reach_into_the_next() -> None:
    found = program(COUNTING)
    goal = parse_goal("n(5)", found.program)
    quick = Resources(seconds=0.5, memory=256 << 20, threads=1)
    stopped(COUNTING, "n(?a)", quick)
    bounded = program(COUNTING.replace("100000000", "10"))
    with evaluate(bounded, [goal], {"e": MANY}, Options(replace(quick, seconds=60))) as results:
        assert results.count(0) == 1
