"""Queries that would take for ever, or more than there is, end; what they left open is bounded."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import duckdb
import pytest

from constat.catalog import Question, ReadBounds, SourceFailureError, SqliteConnection
from constat.catalog.duck import DuckConnection
from constat.catalog.duck_session import DuckSession
from constat.catalog.interruptible import PATIENCE, Heap, StuckError, Worker
from constat.check import check_certificate
from constat.project import load_project
from constat.tiers.building import Connections
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults

WATCHDOG: Final = 600
MOST_TRIES: Final = 100
MOST_MEMORY: Final = 3 << 20
"""KiB, of which a query may have most."""
_LETTERS: Final = "'" + "a" * 100 + "'"


def grown(times: int) -> str:
    """Give an expression whose text has 100 letters, and each time 100 times as many."""
    text = _LETTERS
    for _ in range(times):
        text = f"replace({text}, 'a', {_LETTERS})"
    return text


WIDE: Final = grown(2)
QUADRATIC: Final = f"length(replace(replace({grown(2)}, 'a', 'aaaaa'), {grown(2)} || 'b', 'x'))"
NUMBERS: Final = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s{})"
DOUBLED: Final = f"SELECT 1, {_LETTERS} UNION ALL SELECT n + 1, x || x FROM s"
HOSTILE: Final = {
    "quadratic": ("sqlite", f"SELECT 1, {QUADRATIC}"),
    "nested": ("sqlite", f"SELECT 1, length({grown(4)})"),
    "endless": ("sqlite", NUMBERS.format("") + " SELECT n, n FROM s WHERE n < 0"),
    "joins": (
        "sqlite",
        NUMBERS.format(" LIMIT 9999") + " SELECT 1, count(*) FROM s a, s b, s c, s d",
    ),
    "joined": (
        "sqlite",
        NUMBERS.format("") + f" SELECT 1, length(group_concat({grown(1)})) FROM s",
    ),
    "many rows": ("sqlite", NUMBERS.format("") + " SELECT n, n FROM s"),
    "in duckdb": ("duckdb", f"SELECT 1, length(replace({grown(3)}, 'a', {_LETTERS}))"),
    "rows of duckdb": ("duckdb", NUMBERS.format("") + " SELECT n, n FROM s"),
    "pattern in duckdb": ("duckdb", f"SELECT 1, length(regexp_replace({WIDE}, 'a', {WIDE}, 'g'))"),
    "concatenation in duckdb": (
        "duckdb",
        f"WITH RECURSIVE s(n, x) AS ({DOUBLED}) SELECT n, length(x) FROM s",
    ),
    "aggregate in duckdb": (
        "duckdb",
        NUMBERS.format("") + f" SELECT 1, length(string_agg({grown(1)}, '')) FROM s",
    ),
    "long rows of duckdb": (
        "duckdb",
        NUMBERS.format(" WHERE n < 9999") + f" SELECT n, length({WIDE} || n) FROM s"
        f" WHERE {WIDE} || n <> 'b'",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_query_of_any_kind_ends_at_its_limit(tmp_path: Path, name: str) -> None:
    kind, query = HOSTILE[name]
    (sqlite3 if kind == "sqlite" else duckdb).connect(str(tmp_path / "s.db")).close()
    (tmp_path / "r.dl").write_text(
        f'.decl b(i: number, n: number)\n.input b(source="s", query="{query}", distinct="true")\n'
        ".decl c(n: number)\nc(?n) :- b(1, ?n), ?n < 0.\n"
    )
    (tmp_path / "constat.yaml").write_text(
        f"project: p\nrules: [r.dl]\ndatabases: {{s: {{uri: '{kind}:///s.db'}}}}\n"
        "limits: {query_seconds: 2, query_rows: 100000, seconds: 20}\n"
    )
    words = [sys.executable, "-m", "constat", "prove", "c(-1)", "--project", str(tmp_path)]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said)
        watchdog = threading.Timer(WATCHDOG, os.kill, (process.pid, signal.SIGKILL))
        watchdog.start()
        _, status, used = os.wait4(process.pid, 0)
        watchdog.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    shown = (tmp_path / "said").read_text()
    assert "leaked" not in shown  # what a library says of objects that are still used
    # What gives too much may be settled by what came: a row says nothing against the goal.
    assert process.returncode == 4, shown
    assert "[C05" in shown
    assert used.ru_maxrss < MOST_MEMORY


@pytest.mark.parametrize("name", ["quadratic", "pattern in duckdb"])
def test_a_process_ends_with_what_it_left_behind_and_loses_nothing(
    tmp_path: Path, name: str
) -> None:
    kind, query = HOSTILE[name]
    (sqlite3 if kind == "sqlite" else duckdb).connect(str(tmp_path / "s.db")).close()
    (tmp_path / "r.dl").write_text(
        f'.decl b(i: number, n: number)\n.input b(source="s", query="{query}")\n'
        ".decl c(n: number)\nc(?n) :- b(1, ?n), ?n < 0.\n"
    )
    (tmp_path / "constat.yaml").write_text(
        f"project: p\nrules: [r.dl]\ndatabases: {{s: {{uri: '{kind}:///s.db'}}}}\n"
        "limits: {seconds: 1}\n"
    )
    scratch, certificate = tmp_path / "scratch", tmp_path / "c.json"
    scratch.mkdir()
    words = ["prove", "c(-1)", "--certificate", str(certificate), "--project", str(tmp_path)]
    ran = subprocess.run(
        [sys.executable, "-m", "constat", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert (ran.returncode, ran.stderr) == (4, f"certificate written to {certificate}\n")
    assert "UNRESOLVED: c(-1)" in ran.stdout
    assert "the time limit of 1 seconds was reached; `seconds` of `limits` in" in ran.stdout
    assert check_certificate(certificate.read_bytes()).accepted
    assert list(scratch.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="no bound elsewhere")
def test_what_a_function_makes_in_duckdb_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.catalog.duck_session._HEAP", 32 << 20)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    duckdb.connect(str(tmp_path / "s.db")).close()
    session = DuckSession(tmp_path / "s.db")
    long = Question(f"SELECT length({grown(4)})")
    with pytest.raises(SourceFailureError, match="needs more memory"):
        list(session.read(long, ReadBounds(60, 10)))
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    # Another query has what it needs.
    assert list(session.read(Question("SELECT 42"), ReadBounds(60, 10))) == [[(42,)]]
    session.close()


@pytest.mark.skipif(sys.platform != "linux", reason="no bound elsewhere")
def test_the_bound_comes_back_that_work_in_another_thread_took_away() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    worker = Worker(lambda: None, heap=Heap(64 << 20))

    def work() -> bool:
        Heap(1 << 30).end()
        while resource.getrlimit(resource.RLIMIT_DATA) == before:
            time.sleep(0.01)
        return True

    assert worker.run(work, 60)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    worker.close()


def test_what_is_computed_before_a_query_runs_says_what_helps(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "s.db")).close()
    session = DuckSession(tmp_path / "s.db")
    with (
        patch("constat.catalog.duck_session._SECONDS_TO_PREPARE", 0.2),
        pytest.raises(SourceFailureError, match=r"preparing it did not end .*: shorten the query"),
    ):
        session.columns(f"SELECT length({grown(3)}), length({grown(3)} || 'b')")
    session.close()


@pytest.mark.parametrize("kind", ["sqlite3", "duckdb"])
def test_behind_a_query_that_was_left_the_rest_fails_and_writers_come_in_when_it_ends(
    tmp_path: Path, kind: str
) -> None:
    path, gate, reached = tmp_path / "s.db", threading.Event(), threading.Event()
    _write(kind, path, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    source = SqliteConnection(path, wait_seconds=1) if kind == "sqlite3" else DuckConnection(path)
    source.begin()
    question = Question(f"SELECT {_waiting(source, gate, reached)}(a) FROM t")
    seconds = 0.1
    while not reached.is_set():
        # On a busy machine the time may be up before the query waits; then it ends, and is no case.
        with pytest.raises(SourceFailureError) as caught:
            list(source.read(question, ReadBounds(seconds, 10)))
        assert caught.value.code == "C0521"
        seconds *= 4
    with pytest.raises(SourceFailureError, match="an earlier query did not end"):
        source.begin()
    source.release()
    source.close()
    with pytest.raises(subprocess.CalledProcessError):
        _write(kind, path, "DELETE FROM t")
    gate.set()
    for tries in count():
        with suppress(subprocess.CalledProcessError):
            _write(kind, path, "DELETE FROM t")
            break
        assert tries < MOST_TRIES


def _waiting(
    source: SqliteConnection | DuckConnection, gate: threading.Event, reached: threading.Event
) -> str:
    """Give a function that nothing ends while it waits, and that says when it does."""

    def wait(value: int) -> int:
        reached.set()
        gate.wait(WATCHDOG)
        return value

    if isinstance(source, SqliteConnection):
        source._connection.create_function("upper", 1, wait)
        return "upper"
    assert source._session is not None
    source._session._connection.create_function("waiting", wait, ["INTEGER"], "INTEGER")
    return "waiting"


def _write(library: str, path: Path, *statements: str) -> None:
    """Write from another process, which fails where this one still holds its lock."""
    script = (
        f"import {library} as library, sys\n"
        "connection = library.connect(sys.argv[1])\n"
        "for statement in sys.argv[2:]:\n    connection.execute(statement)\n"
        "connection.commit()\nconnection.close()\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, path, *statements], check=True, stderr=subprocess.DEVNULL
    )


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    """Give a project with a table of 30,000 rows, of which a query may give 20,000."""
    with sqlite3.connect(tmp_path / "s.db") as link:
        link.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)")
        link.executemany("INSERT INTO t VALUES (?, ?)", [(n, n % 7) for n in range(30_000)])
    link.close()
    (tmp_path / "r.dl").write_text(
        '.decl t(id: number, v: number) @[key = "id"]\n'
        '.input t(source="s", query="SELECT id, v FROM t")\n'
        ".decl n(c: number)\nn(?c) :- ?c = count : { t(_i, ?v), ?v > 5 }.\n"
        ".decl some(v: number)\nsome(?v) :- t(_, ?v).\n"
    )
    (tmp_path / "constat.yaml").write_text(
        "project: p\nrules: [r.dl]\ndatabases: {s: {uri: 'sqlite:///s.db'}}\n"
        "limits: {query_rows: 20000}\n"
    )
    return tmp_path


def test_after_a_pass_that_failed_few_keys_are_asked_and_the_key_of_the_limit_is_named(
    keyed: Path,
) -> None:
    ran = run("prove", "n(3)", "--trace-calls", "--project", keyed)
    assert ran.code == 4
    assert "it gives more than 20000 rows [C0522]; `query_rows` of `limits` in constat.yaml" in (
        ran.out
    )
    assert "t by everything: 1 key, 2,000 rows, 1 open, 1 unanswered" in ran.out
    assert ran.out.count("\n") < 30


def test_a_row_that_came_before_the_limit_proves_what_needs_it_alone(keyed: Path) -> None:
    assert run("prove", "some(3)", "--project", keyed).code == 0


def test_the_message_of_a_limit_names_the_key_that_raises_it(keyed: Path) -> None:
    (keyed / "constat.yaml").write_text(
        "project: p\nrules: [r.dl]\ndatabases: {s: {uri: 'sqlite:///s.db', rows: 40000}}\n"
        "limits: {rows: 100}\n"
    )
    ran = run("prove", "n(3)", "--project", keyed)
    assert "more than 100 rows; `rows` of `limits` in constat.yaml raises it" in ran.out


def test_a_limit_of_one_database_is_named_as_its_own(keyed: Path) -> None:
    text = (keyed / "constat.yaml").read_text()
    (keyed / "constat.yaml").write_text(text.replace("s.db'", "s.db', rows: 100"))
    ran = run("prove", "n(3)", "--project", keyed)
    assert "`rows` of `databases: {s: ...}` in constat.yaml allows more" in ran.out


def test_what_takes_the_last_of_a_goals_time_is_soon_left_behind(keyed: Path) -> None:
    connections = Connections(load_project(keyed))
    connections.start(1_000)
    assert connections.bounds("s").patience == PATIENCE
    connections.start(5)
    assert connections.bounds("s").patience == 0.4
    connections.start(30.5)
    assert 0.4 < connections.bounds("s").patience < 1
    connections.close()


def test_what_does_not_end_in_the_patience_there_is_is_left_behind() -> None:
    gate, worker = threading.Event(), Worker(lambda: None)
    worker.patience = 0.01
    with pytest.raises(StuckError):
        worker.run(partial(gate.wait, WATCHDOG), 0.01)
    assert worker.stuck
    gate.set()
    worker.close()
