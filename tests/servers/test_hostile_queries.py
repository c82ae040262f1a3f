"""Queries that would take a server, or this process, for ever end, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

import pytest

from constat.catalog import Question, ReadBounds, SourceFailureError
from constat.catalog.connection import QueryMistakeError
from constat.catalog.guard import guard
from tests.servers import hostile
from tests.servers.building import opened, read
from tests.servers.hostile import comes_to_rest, running
from tests.tiers.test_stopped_queries import NUMBERS, grown

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase

WATCHDOG: Final = 100
HOSTILE: Final = {
    "endless": NUMBERS.format("") + " SELECT n, n + 1 FROM s WHERE n < 0",
    "joins": NUMBERS.format(" WHERE n < 999") + " SELECT 1, count(*) FROM s a, s b, s c, s d",
    "many rows": NUMBERS.format("") + " SELECT n, n + 1 FROM s",
    "long rows": NUMBERS.format("") + f" SELECT n, length(concat({grown(2)}, n)) FROM s",
}
REFUSED: Final = {
    "sleep": "SELECT 1, sleep(100)",
    "pg_sleep": "SELECT 1, pg_sleep(100)",
    "repeat": "SELECT 1, length(repeat('a', 1000000000))",
    "generate_series": "SELECT 1, count(*) FROM generate_series(1, 1000000) a",
}


def project(folder: Path, source: ServedDatabase, query: str, seconds: int = 2) -> list[str]:
    (folder / "r.dl").write_text(
        f'.decl b(i: number, n: number)\n.input b(source="s", query="{query}", distinct="true")\n'
        ".decl c(n: number)\nc(?n) :- b(1, ?n), ?n < 0.\n"
    )
    (folder / "constat.yaml").write_text(
        f"project: p\nrules: [r.dl]\ndatabases: {{s: {{uri: '{source.uri}'}}}}\n"
        f"limits: {{query_seconds: {seconds}, query_rows: 20000, seconds: 200}}\n"
    )
    return [sys.executable, "-m", "constat", "prove", "c(-1)", "--project", str(folder)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_query_ends_at_its_limit_on_the_server_too(
    source: ServedDatabase, tmp_path: Path, name: str
) -> None:
    words = project(tmp_path, source, HOSTILE[name])
    ran = subprocess.run(words, capture_output=True, check=False, timeout=WATCHDOG)
    assert ran.returncode == 4, ran.stderr.decode()
    assert b"[C052" in ran.stdout
    assert comes_to_rest(source)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_what_waits_or_multiplies_is_refused(dialect: str, name: str) -> None:
    with pytest.raises(QueryMistakeError) as caught:
        guard(REFUSED[name], dialect)
    assert caught.value.code == "C0516"


def test_ctrl_c_ends_the_command_and_the_query_on_the_server(
    source: ServedDatabase, tmp_path: Path
) -> None:
    words = project(tmp_path, source, HOSTILE["joins"], seconds=100)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    watchdog = threading.Timer(WATCHDOG, process.kill)
    watchdog.start()
    try:
        while not running(source) and process.poll() is None:
            time.sleep(0.02)
        # What prepares a query is over as soon as it is seen.
        time.sleep(1)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate()
        assert process.returncode == 130, said
        # Far less than the query was given: it has been told to end.
        assert comes_to_rest(source)
    finally:
        watchdog.cancel()
        process.kill()


def test_hostile_queries_put_together_at_random_end(source: ServedDatabase) -> None:
    assert hostile.run(source, 6, seed=3).total() >= 6


def test_long_values_are_counted_and_not_collected(
    source: ServedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.catalog.server_reading._MOST_LETTERS", 4_000_000)
    source.run("CREATE TABLE t (filling TEXT)")
    source.insert("t", [("x" * 5_000,)] * 2_000)
    connection = opened(source)
    connection.begin()
    batches = connection.read(Question("SELECT filling FROM t"), ReadBounds(60, 10_000))
    with pytest.raises(SourceFailureError, match="more memory"):
        next(batches)
    connection.close()
    assert comes_to_rest(source)


@pytest.mark.skipif(sys.platform != "linux", reason="no bound elsewhere")
def test_what_one_batch_takes_is_bounded(
    postgresql: ServedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.catalog.server_reading._ROOM", 64 << 20)
    connection = opened(postgresql)
    connection.begin()
    huge = f"SELECT replace({grown(3)}, 'a', 'aaa')"
    with pytest.raises(SourceFailureError, match=r"memory|lost"):
        read(connection, Question(huge), ReadBounds(60, 10))
    connection.close()
    assert comes_to_rest(postgresql)


CUT: Final = {
    "decimal": "SELECT CAST(99999.5 AS DECIMAL(3, 1))",
    "number": "SELECT CAST(1e30 AS SIGNED)",
    "text": "SELECT lpad('a', 999999999, 'b')",
}


@pytest.mark.parametrize("name", CUT)
def test_what_mariadb_cuts_short_with_a_warning_is_an_error(
    mariadb: ServedDatabase, name: str
) -> None:
    connection = opened(mariadb)
    connection.begin()
    with pytest.raises(QueryMistakeError, match="cut"):
        read(connection, Question(CUT[name]))
    # The state is read on.
    assert read(connection, Question("SELECT 42")) == [(42,)]
    connection.close()


def test_mariadb_follows_a_recursion_to_its_end(mariadb: ServedDatabase) -> None:
    connection = opened(mariadb)
    connection.begin()
    counted = NUMBERS.format(" WHERE n < 5000") + " SELECT count(*) FROM s"
    assert read(connection, Question(counted)) == [(5_000,)]
    connection.close()
