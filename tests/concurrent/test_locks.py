"""No file that a database library may have open is opened and closed beside it."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from constat.catalog import ReadBounds, SourceFailureError, SqliteConnection
from constat.catalog.connection import Question
from constat.catalog.duck import DuckConnection
from constat.store import state_file
from tests.concurrent.rounds import ROOT
from tests.concurrent.worlds import make

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults

BOUNDS: Final = ReadBounds(300, 1_000)
TOTAL: Final = Question("SELECT sum(amount) FROM orders")
# Each command is run in this order over one project, so that later ones find the files of earlier.
COMMANDS: Final = (
    "prove is_vip(C001)",
    "prove is_vip(C001) --keep --log",
    "prove is_vip(C001) --as-of 2026-11-22",
    "query is_vip(?c) --engine forward",
    "facts add regular_threshold(10) --by ann",
    "facts list",
    "materialize is_vip(?c)",
    "materialize --list",
    "query is_vip(?c) --materialized",
    "catalog refresh",
    "catalog search revenue",
    "cache stats",
    "recorded",
    "history",
    "memory stats",
    "log list",
    "stale",
    "doctor",
)


def test_no_command_opens_a_database_file_itself(shop: Path) -> None:
    opened, worked = [], 0
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "tests.concurrent.watched", *command.split(), "--project", shop],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        worked += done.returncode in {0, 4}
        opened += [done.stderr] * ("OPENED" in done.stderr)
    assert not opened, opened[0]
    assert worked == len(COMMANDS)


def test_beginning_a_project_asks_the_libraries_what_a_file_is(tmp_path: Path) -> None:
    opened = []
    for kind in ("delete", "duckdb"):
        world = make(kind, tmp_path / kind)
        plain = world.folder / "plain"
        (world.folder / f"shop.{kind if kind == 'duckdb' else 'sqlite'}").rename(plain)
        words = ["init", str(plain), "--directory", str(tmp_path / f"new-{kind}")]
        done = subprocess.run(
            [sys.executable, "-m", "tests.concurrent.watched", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        opened += [done.stderr] * ("OPENED" in done.stderr)
        written = (tmp_path / f"new-{kind}" / "constat.yaml").read_text()
        assert f"{'duckdb' if kind == 'duckdb' else 'sqlite'}:///" in written
    assert not opened


def test_a_file_is_made_private_once_and_then_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    state_file.make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"content")
    path.chmod(0o640)
    state_file.make_private(path)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"content", 0o640)


def _write(path: Path, statement: str) -> None:
    """Write from another process, which fails where this one still holds its lock."""
    library = "duckdb" if path.suffix == ".duckdb" else "sqlite3"
    script = (
        f"import {library} as library, sys\n"
        "connection = library.connect(sys.argv[1])\n"
        "connection.execute(sys.argv[2])\n"
        "connection.commit()\nconnection.close()\n"
    )
    subprocess.run([sys.executable, "-c", script, path, statement], check=True)


@pytest.mark.parametrize("kind", ["delete", "duckdb"])
def test_a_writer_whom_a_broken_lock_lets_in_is_a_failure(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("shop.duckdb" if kind == "duckdb" else "shop.sqlite")
    make(kind, tmp_path)
    source = DuckConnection(path) if kind == "duckdb" else SqliteConnection(path, wait_seconds=1)
    source.begin()
    assert list(source.read(TOTAL, BOUNDS)) == [[(11,)]]
    path.read_bytes()  # what this module is about: it drops the lock
    _write(path, "UPDATE orders SET amount = 1000 WHERE id = 2")
    with pytest.raises(SourceFailureError) as caught:
        list(source.read(TOTAL, BOUNDS))
    assert caught.value.code == "C0542"
    source.release()
    source.begin()
    assert list(source.read(TOTAL, BOUNDS)) == [[(1010,)]]
    source.close()


def test_two_sessions_of_one_process_keep_each_others_locks(tmp_path: Path) -> None:
    make("delete", tmp_path)
    path = tmp_path / "shop.sqlite"
    reader, other = (SqliteConnection(path, wait_seconds=1) for _ in range(2))
    reader.begin()
    other.begin()
    assert other.snapshot == reader.snapshot
    other.release()
    other.close()
    with (
        closing(sqlite3.connect(path, timeout=0.1, isolation_level=None)) as writer,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        writer.execute("DELETE FROM orders")
    assert list(reader.read(TOTAL, BOUNDS)) == [[(11,)]]
    reader.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_that_was_built_anew_is_another_state(tmp_path: Path, mode: str) -> None:
    names = []
    path = tmp_path / "shop" / "shop.sqlite"
    for number in range(3):
        make("delete", path.parent)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            # The same commits, pages and tables; other rows.
            connection.execute("UPDATE orders SET amount = ? WHERE id = 2", (number,))
            connection.commit()
        with closing(SqliteConnection(path, wait_seconds=1)) as source:
            source.begin()
            names.append(source.snapshot)
            source.release()
            assert not source.begin()
            assert source.snapshot == names[-1]
        path.parent.rename(tmp_path / f"old-{number}")
    assert len(set(names)) == 3


@pytest.mark.parametrize("statement", ["BEGIN EXCLUSIVE", "PRAGMA locking_mode = EXCLUSIVE"])
def test_a_locked_file_is_a_failure_and_never_no_rows(tmp_path: Path, statement: str) -> None:
    make("delete", tmp_path)
    path = tmp_path / "shop.sqlite"
    source = SqliteConnection(path, wait_seconds=0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute(statement)
        writer.execute("DELETE FROM orders")
        with pytest.raises(SourceFailureError, match="locked"):
            source.begin()
        if writer.in_transaction:
            writer.execute("ROLLBACK")
    assert source.begin()
    assert sum(len(batch) for batch in source.read(TOTAL, BOUNDS)) == 1
    source.close()
