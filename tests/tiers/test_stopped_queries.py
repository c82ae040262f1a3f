"""Queries that would take for ever, or more than there is, end; what they left open is bounded."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

import duckdb
import pytest

from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

WATCHDOG: Final = 100
MOST_MEMORY: Final = 3 << 20
"""KiB, of which a query may have most."""
_LETTERS: Final = "'" + "a" * 100 + "'"


def grown(times: int) -> str:
    """Give an expression whose text has 100 letters, and each time 100 times as many."""
    text = _LETTERS
    for _ in range(times):
        text = f"replace({text}, 'a', {_LETTERS})"
    return text


QUADRATIC: Final = f"length(replace(replace({grown(2)}, 'a', 'aaaaa'), {grown(2)} || 'b', 'x'))"
NUMBERS: Final = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s{})"
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
    # What gives too much may be settled by what came: a row says nothing against the goal.
    assert process.returncode == 4, shown
    assert "[C05" in shown
    # What one function of DuckDB takes for its result, DuckDB's own limit does not count.
    assert used.ru_maxrss < MOST_MEMORY or kind == "duckdb"


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
