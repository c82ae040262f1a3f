"""Explorations are kept for good: whole, beside each other, and found by the beginning of an id."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.store.explored import ANSWERED, FAILED, ExploredStore, NewQuestion
from constat.store.tables import DataStore
from tests.explore.worlds import TODAY, make_regions

NEW: Final = NewQuestion("Which?", 1, TODAY, "steps: []", "ada")


def code(caught: pytest.ExceptionInfo[ConstatError]) -> str:
    return caught.value.diagnostics[0].code


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    store = ExploredStore(tmp_path / "state")
    assert store.list() == ()
    assert not (tmp_path / "state").exists()
    begun = store.begin("Which?")
    assert store.ask(begun.identity, NEW) == 1
    store.plan(begun.identity, 1, "steps: [1]", "edited")
    store.conclude(begun.identity, 1, FAILED, {"step": 1})
    store.conclude(begun.identity, 1, ANSWERED, {"rows": 3})
    assert store.ask(begun.identity, NEW) == 2
    [found] = ExploredStore(tmp_path / "state").list()
    first, second = found.questions
    assert (first.status, first.answer, first.asked_by) == (ANSWERED, '{"rows": 3}', "ada")
    assert [one.why for one in first.plans] == ["proposed", "edited"]
    assert (first.plan, second.plan, second.status) == ("steps: [1]", "steps: []", "planned")
    assert store.get(begun.identity[:4]) == store.get("") == found


def test_what_a_run_left_that_died_as_it_began_goes_with_the_next_one(tmp_path: Path) -> None:
    store, runs = ExploredStore(tmp_path), tmp_path / "explored_runs"
    begun = store.begin("Which?")
    store.ask(begun.identity, NEW)
    runs.mkdir()
    # It was killed before its question was said to run.
    (runs / f"{begun.identity}-1-0f0f0f0f").touch()
    with store.running(begun.identity, 1):
        (held,) = runs.iterdir()
        with store.running(begun.identity, 1):
            assert held in runs.iterdir()
            assert len(list(runs.iterdir())) == 2
    assert list(runs.iterdir()) == []


@pytest.mark.parametrize("prefix", ["", "abc", "zzzz", "%", "x\x1b[2J"])
def test_what_is_not_there_is_said(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(ConstatError) as caught:
        ExploredStore(tmp_path).get(prefix)
    assert code(caught) == "C0899"
    assert caught.value.diagnostics[0].message.isprintable()


def test_a_file_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    store = ExploredStore(tmp_path)
    store.path.write_text("no database at all, but a text that is long enough")
    before = store.path.read_bytes()
    for act in (store.list, lambda: store.begin("x")):
        with pytest.raises(ConstatError) as caught:
            act()
        assert code(caught) == "C0900"
    assert store.path.read_bytes() == before
    store.path.unlink()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(ConstatError):
        store.begin("x")


def test_two_programs_may_ask_at_once(tmp_path: Path) -> None:
    begun = ExploredStore(tmp_path).begin("Which?")
    with ThreadPoolExecutor(4) as pool:
        numbers = list(
            pool.map(lambda _: ExploredStore(tmp_path).ask(begun.identity, NEW), range(8))
        )
    assert sorted(numbers) == list(range(1, 9))


def test_a_text_that_is_none_is_refused(tmp_path: Path) -> None:
    for text in ("\0", "\ud800", "x" * (5 << 20)):
        with pytest.raises(ConstatError) as caught:
            ExploredStore(tmp_path).begin(text)
        assert code(caught) == "C0900"


_PROGRAM: Final = """
import sys
from constat import Session
from constat.explore.events import StepFinished
from tests.explore.planned import plan
from tests.store.test_explored import STEPS

def tell(event):
    if isinstance(event, StepFinished) and event.how == "computed":
        print(event.step, flush=True)

with Session(sys.argv[1]) as session:
    # Killed between the two, an exploration has no question yet.
    if any(one.questions for one in session.history):
        session.resume(observe=tell)
    else:
        session.solve("Which?", plan=plan(*STEPS), observe=tell)
print("done", flush=True)
"""
_ROUNDS: Final = 60
STEPS: Final = [
    {
        "name": f"t{n}",
        "goal": "one more",
        "outputs": [f"t{n}(region: symbol, n: number)"],
        "rules": f"t{n}(?r, {n}) :- {'sale(_, ?r, _, _, _)' if n == 1 else f't{n - 1}(?r, _)'}.",
    }
    for n in range(1, 9)
]


@pytest.mark.slow
@pytest.mark.parametrize("address", ["sqlite:///tables.sqlite", "duckdb:///tables.duckdb"])
def test_no_finished_step_is_lost_by_a_kill(tmp_path: Path, address: str) -> None:
    project = make_regions(tmp_path / "regions")
    with (project / "constat.yaml").open("a") as file:
        file.write(f'explore: {{store: "{address}"}}\n')
    chance = random.Random(7)
    root = Path(__file__).resolve().parents[2]
    finished: set[str] = set()
    for round_ in range(_ROUNDS):
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(project)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        # Every other program ends at a moment that has nothing to do with its steps.
        anytime = threading.Timer(chance.uniform(0.2, 1.5), process.kill)
        if round_ % 2 and round_ < _ROUNDS - 10:
            anytime.start()
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                # A step that was told to be finished is never run again.
                assert line.strip() not in finished, finished
                finished.add(line.strip())
                if line.strip() != "done":
                    time.sleep(0.003 * (round_ % 7))
                    process.send_signal(signal.SIGKILL)
        anytime.cancel()
        if "done" in finished:
            break
    # A step that was kept and killed before it could be told is not told later either.
    assert "done" in finished
    with Session(project) as session:
        [found] = [one for one in session.history if one.questions]
        assert found.questions[0].status == ANSWERED
        store = DataStore(session.project.state, found.identity, address=address)
        tables = store.tables(history=True)
        assert {one.name for one in tables} == {f"t{n}" for n in range(1, 9)}
        assert len(session.resume().rows) == 4
