"""A driver that is not known by name: SQLite through SQLAlchemy shows what all of them get."""

from __future__ import annotations

import sqlite3
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.engine import Inspector
from sqlalchemy.exc import NoSuchModuleError, OperationalError

from constat.catalog import QueryMistakeError, Question, ReadBounds, SourceFailureError, guard
from constat.catalog.drivers import connect
from constat.catalog.schema.introspection import look_at
from constat.project import Database, Expanded, load_project
from tests.catalog.schema_worlds import managed, sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.catalog import Connection, RawRow
    from constat.catalog.schema import DatabaseSummary
    from constat.catalog.schema.introspection import Look

BOUNDS = ReadBounds(10, 100_000)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Connection]:
    path = tmp_path / "a shop #1.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE T (a TEXT, b INTEGER NOT NULL); INSERT INTO t VALUES ('x', 1), (x'ff', 2);"
        "CREATE VIEW v AS SELECT a FROM t; INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 3)"
    )
    connection.close()
    uri = f"sqlite+pysqlite:///{str(path).replace('#', '%23')}"
    found = connect(Database("sales", "sql", Expanded(uri)), 1)
    yield found
    found.close()


def read(source: Connection, query: str, bounds: ReadBounds = BOUNDS) -> list[RawRow]:
    return [row for batch in source.read(Question(query), bounds) for row in batch]


def test_it_is_read_whole_and_has_no_state_with_a_name(source: Connection) -> None:
    assert source.begin()
    assert source.snapshot is None
    guarded = guard("SELECT a, b FROM t WHERE a <> '%s ? :x'", source.dialect)
    assert source.columns(guarded.text) == ("a", "b")
    assert read(source, source.whole(guarded, 2).text) == [("x", 1), (b"\xff", 2), ("\udcff", 3)]
    source.release()
    assert source.begin()


def test_its_tables_and_views_are_known(source: Connection) -> None:
    source.begin()
    assert set(source.tables()) == {"t", "v"}
    assert [(one.name, one.never_null) for one in source.tables()["t"].columns] == [
        ("a", False),
        ("b", True),
    ]


@pytest.mark.parametrize(
    "query", ["DELETE FROM t", "CREATE TABLE u (a)", "COMMIT; DELETE FROM t", "DROP TABLE t"]
)
def test_nothing_is_written(source: Connection, query: str) -> None:
    source.begin()
    with pytest.raises((QueryMistakeError, SourceFailureError)):
        read(source, query)
    source.release()
    source.begin()
    assert read(source, "SELECT count(*) FROM t") == [(3,)]


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "nothing.sqlite"
    with pytest.raises(SourceFailureError):
        connect(Database("sales", "sql", Expanded(f"sqlite+pysqlite:///{path}")), 1)
    assert not path.exists()


def test_mistakes_and_bounds(source: Connection) -> None:
    source.begin()
    with pytest.raises(QueryMistakeError, match="no such column: zz"):
        source.columns("SELECT zz FROM t")
    with pytest.raises(SourceFailureError, match="more than 10 rows"):
        read(source, ENDLESS, ReadBounds(10, 10))
    with pytest.raises(SourceFailureError, match=r"did not finish within 0\.1 s"):
        read(source, f"{ENDLESS} WHERE i < 0", ReadBounds(0.1, 10))
    timer = threading.Timer(0.1, source.cancel)
    timer.start()
    with pytest.raises(SourceFailureError, match="it was cancelled"):
        read(source, f"{ENDLESS} WHERE i < 0")
    timer.join()
    assert read(source, "SELECT count(*) FROM t") == [(3,)]


# What its inspector tells of tables, and what becomes of what it cannot tell.


def looked(folder: Path) -> DatabaseSummary:
    (found,) = managed(
        folder, f'databases: {{o: "sqlite+pysqlite:///{folder}/o.sqlite"}}'
    ).databases()
    return found


def test_what_a_dialect_cannot_tell_is_said_and_spoils_nothing_else(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (x TEXT); CREATE TABLE gone (y TEXT);"
        "CREATE VIEW bad AS SELECT y FROM gone;"
        "CREATE TABLE odd (g NONSENSE(7), n); PRAGMA legacy_alter_table = ON; DROP TABLE gone;"
    )
    sqlite_file(tmp_path / "o.sqlite", script)
    catalog = managed(tmp_path, f'databases: {{o: "sqlite+pysqlite:///{tmp_path}/o.sqlite"}}')
    assert catalog.databases()[0].problems == ("the dialect does not tell comments",)
    assert [one.label for one in catalog.tables()] == ["bad", "odd", "t"]
    assert catalog.table("bad").problems == ("its columns are not known (OperationalError)",)
    assert [one.name for one in catalog.table("t").columns] == ["x"]
    assert [one.declared for one in catalog.table("odd").columns] == ["NUMERIC(7)", ""]


@pytest.mark.parametrize(
    ("method", "problem", "said"),
    [
        (
            "get_columns",
            OperationalError("q", {}, sqlite3.OperationalError("interrupted")),
            "stopped the query",
        ),
        (
            "get_table_names",
            OperationalError("q", {}, sqlite3.OperationalError("x://u:p@h")),
            "driver",
        ),
        ("get_table_names", NoSuchModuleError("x://u:p@h"), "SQLAlchemy says: NoSuchModuleError"),
    ],
)
def test_a_look_that_fails_is_a_failure_and_no_source_without_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, problem: Exception, said: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise problem

    sqlite_file(tmp_path / "o.sqlite", "CREATE TABLE t (x TEXT)")
    monkeypatch.setattr(Inspector, method, fails)
    found = looked(tmp_path)
    assert said in found.failure
    assert "u:p" not in found.failure


def test_a_look_whose_time_is_up_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = OperationalError("q", {}, sqlite3.OperationalError("a word of some driver"))

    def slow(*_: object, **__: object) -> None:
        time.sleep(0.02)
        raise told

    sqlite_file(tmp_path / "o.sqlite", "CREATE TABLE t (x TEXT)")
    assert looked(tmp_path).failure == ""
    monkeypatch.setattr(Inspector, "get_columns", slow)
    assert looked(tmp_path).failure == ""
    found = look_at_for(tmp_path, 0.01)
    assert found.schema is None
    assert "driver says" in found.failure


def look_at_for(folder: Path, seconds: float) -> Look:
    """Look for so long and no longer."""
    project = load_project(folder)
    short = replace(project, catalog=replace(project.catalog, seconds=seconds))
    return look_at(project.databases["o"], short, "")
