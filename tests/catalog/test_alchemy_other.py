"""A driver that is not known by name: SQLite through SQLAlchemy shows what all of them get."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from constat.catalog import QueryMistakeError, Question, ReadBounds, SourceFailureError, guard
from constat.catalog.alchemy import connect
from constat.project import Database, Expanded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.catalog import Connection, RawRow

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
