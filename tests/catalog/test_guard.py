"""Only one SELECT over tables gets through, whatever is written around it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

import pytest

from constat.catalog import (
    Output,
    QueryMistakeError,
    Question,
    ReadBounds,
    SourceFailureError,
    SqliteConnection,
    guard,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOSTILE: Final = (
    "",
    " ",
    ";",
    "-- nothing",
    "/* nothing",
    "INSERT INTO t VALUES (1)",
    "UPDATE t SET a = 1",
    "DELETE FROM t",
    "DROP TABLE t",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT 1",
    "ALTER TABLE t ADD COLUMN b",
    "REPLACE INTO t VALUES (1)",
    "TRUNCATE TABLE t",
    "VACUUM INTO 'copy.db'",
    "ATTACH DATABASE 'other.db' AS other",
    "DETACH DATABASE other",
    "PRAGMA writable_schema = 1",
    "PRAGMA table_info(t)",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT s",
    "EXPLAIN SELECT a FROM t",
    "ANALYZE",
    "REINDEX",
    "SELECT a FROM t; DELETE FROM t",
    "SELECT a FROM t; SELECT a FROM t",
    "SELECT a FROM t;; DROP TABLE t",
    "SELECT a FROM t) SELECT a FROM q; --",
    "SELECT a FROM t) UNION SELECT name FROM sqlite_master --",
    "a FROM t",
    "SELECT a FROM t WHERE a = ?",
    "SELECT a FROM t WHERE a = :x",
    "SELECT a FROM t WHERE a = @x",
    "SELECT a FROM t WHERE a = $x",
    "SELECT load_extension('evil')",
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('x', 'y')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('x')",
    "SELECT random() FROM t",
    "SELECT randomblob(1000000000) FROM t",
    "SELECT zeroblob(1000000000) FROM t",
    "SELECT sqlite_version()",
    "SELECT last_insert_rowid()",
    "SELECT changes()",
    "SELECT pg_sleep(10)",
    "SELECT sleep(10)",
    "SELECT nextval('s')",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('t')",
    "SELECT * FROM json_each('[1]')",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT * FROM read_csv('x.csv')",
    "SELECT * FROM 'x.csv'",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_schema",
    "SELECT * FROM sqlite_temp_master",
    "SELECT * FROM temp.t",
    "SELECT * FROM other.t",
    "SELECT * FROM a.b.t",
    "SELECT a INTO x FROM t",
    "SELECT a FROM t FOR UPDATE",
    "SELECT a FROM t WHERE a REGEXP '(a+)+$'",
    "SELECT a FROM t WHERE t MATCH 'x'",
    "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM x",
    "CALL p()",
    "EXEC p",
    "SET x = 1",
    "COPY t TO 'x'",
    "LOAD DATA INFILE 'x' INTO TABLE t",
    "GRANT ALL ON t TO public",
    "SHOW TABLES",
    "DESCRIBE t",
    "USE other",
    "SELECT a FROM t WHERE a = 'x\0y'",
    "SELECT a FROM t WHERE a = '\ud800'",
    "SELECT '" + "x" * 70_000 + "'",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT " + "NOT " * 5_000 + "1",
    "SELECT " + "- " * 9_000 + "1",
    "SELECT " + "~" * 9_000 + "1",
    "SELECT " + "CASE WHEN 1 THEN " * 3_000 + "1" + " END" * 3_000,
    "SELECT a FROM t WHERE " + "a IN (SELECT a FROM t WHERE " * 2_000 + "1" + ")" * 2_000,
    "SELECT 1 " + "UNION SELECT 1 " * 6_000,
    "SELECT a FROM t WHERE 1 " + "AND 1 " * 9_000,
)

HARMLESS: Final = (
    "SELECT a FROM t",
    "select a from t;",
    "SELECT a FROM t -- the end",
    "SELECT a FROM t /* the end */ ;\n",
    "SELECT a AS x, b + 1 FROM t AS u WHERE a IS NOT NULL AND b BETWEEN 1 AND 2",
    "SELECT a, sum(b) FROM t GROUP BY a HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 5 OFFSET 1",
    "SELECT a FROM t UNION ALL SELECT a FROM u",
    "WITH x AS (SELECT a FROM t) SELECT a FROM x",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
    "SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END, CAST(b AS TEXT), a || b FROM t",
    "SELECT t.a FROM t JOIN u ON t.a = u.a LEFT JOIN u AS v USING (a)",
    "SELECT a FROM t WHERE b IN (SELECT b FROM u) OR EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
    "SELECT strftime('%Y', b), date(b), substr(a, 1, 2), coalesce(b, 0), ifnull(a, 'x') FROM t",
    "SELECT row_number() OVER (PARTITION BY a ORDER BY b), lag(b) OVER (ORDER BY a) FROM t",
    "SELECT DISTINCT \"a\", [b] FROM main.t WHERE a LIKE 'x%' OR a GLOB 'y*' COLLATE NOCASE",
    "SELECT json_extract(a, '$.x'), a ->> '$.y' FROM t",
    "SELECT ';', '--', '/*', 'it''s' FROM t",
)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[SqliteConnection]:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t (a TEXT, b NUMERIC); CREATE TABLE u (a TEXT, b NUMERIC)"
    )
    connection.execute("INSERT INTO t VALUES ('{}', 1)")
    connection.commit()
    connection.close()
    found = SqliteConnection(path, wait_seconds=1)
    yield found
    found.close()


def runs(source: SqliteConnection, query: str) -> None:
    """Do with a query what the tier does; raises when any line of defence holds."""
    guarded = guard(query, "sqlite")
    source.begin()
    if not guarded.tables <= source.tables().keys():
        raise QueryMistakeError("an unknown table")
    source.columns(guarded.text)
    list(source.read(Question(guarded.text), ReadBounds(5, 1_000)))


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: query[:40])
def test_a_hostile_query_is_refused(source: SqliteConnection, query: str) -> None:
    with pytest.raises(QueryMistakeError) as caught:
        runs(source, query)
    assert len(caught.value.reason) < 250
    assert "xxxx" not in caught.value.reason


def test_there_are_enough_hostile_queries() -> None:
    assert len(set(HOSTILE)) >= 60


@pytest.mark.parametrize("query", HARMLESS, ids=lambda query: query[:40])
def test_a_harmless_query_runs(source: SqliteConnection, query: str) -> None:
    runs(source, query)


def test_the_text_stands_verbatim_without_what_closes_it() -> None:
    query = "SELECT  a ,b\nFROM t -- why\n;; "
    assert guard(query, "sqlite").text == "SELECT  a ,b\nFROM t"


def test_tables_are_named_without_common_table_expressions() -> None:
    guarded = guard("WITH x AS (SELECT a FROM T) SELECT x.a FROM x, u AS v", "sqlite")
    assert guarded.tables == {"t", "u"}


@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("SELECT a FROM t WHERE EXISTS (WITH t AS (SELECT 1) SELECT 2 FROM t)", {"t"}),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", {"t"}),
        ("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i FROM t) SELECT i FROM t", set()),
        ("WITH x AS (SELECT 1), y AS (SELECT 2 FROM x) SELECT 3 FROM y", set()),
        ("WITH x AS (SELECT 1) SELECT 2 WHERE EXISTS (SELECT 3 FROM x)", set()),
        ("WITH x AS (SELECT 1) SELECT a FROM main.x", {"x"}),
        ("WITH x AS (SELECT 1) SELECT a FROM sales.x", {"sales.x"}),
    ],
)
def test_a_common_name_is_one_only_where_it_is_known(query: str, tables: set[str]) -> None:
    assert guard(query, "duckdb").tables == tables


@pytest.mark.parametrize(
    ("query", "outputs"),
    [
        ("SELECT a FROM t", (Output(("t",), "a"),)),
        ("SELECT u.A AS x, b FROM t, u", (Output(("u",), "a"), Output(("t", "u"), "b"))),
        ("SELECT v.a FROM t AS v", (Output(("t",), "a"),)),
        ("SELECT a + 1, sum(a), 'a', (SELECT a FROM u) FROM t", (None, None, None, None)),
        ("SELECT a FROM (SELECT b AS a FROM t)", (None,)),
        ("SELECT a, t.b FROM t, (SELECT 1 AS a)", (None, Output(("t",), "b"))),
        ("WITH t AS (SELECT 1 AS a) SELECT t.a, a FROM t", (None, None)),
        ("SELECT a FROM t UNION SELECT a FROM u", None),
        ("SELECT * FROM t", None),
        ("SELECT a, t.* FROM t", None),
        ("SELECT a COLLATE NOCASE, +a FROM t", (None, Output(("t",), "a"))),
    ],
)
def test_an_output_is_a_column_only_where_that_is_sure(
    query: str, outputs: tuple[Output | None, ...] | None
) -> None:
    assert guard(query, "sqlite").outputs == outputs


def test_the_database_itself_refuses_what_the_parser_would_let_through(
    source: SqliteConnection,
) -> None:
    # The second line alone: nothing of this has been guarded.
    source.begin()
    source.tables()
    for query in (
        "SELECT random()",
        "SELECT * FROM pragma_table_info('t')",
        "DELETE FROM t",
        "ATTACH 'x' AS y",
        "PRAGMA user_version",
        "CREATE TEMP TABLE x (a)",
        "SELECT load_extension('x')",
    ):
        with pytest.raises((QueryMistakeError, SourceFailureError)):
            list(source.read(Question(query), ReadBounds(5, 10)))


def test_a_view_may_use_functions_that_a_query_may_not(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE VIEW v AS SELECT sqlite_version() AS a")
    connection.close()
    source = SqliteConnection(path, wait_seconds=1)
    runs(source, "SELECT a FROM v")
    source.close()


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("replace(replace(a, '-', ''), ' ', '_')", False),
        ("replace(replace(a, 'a', b), 'b', a)", False),
        (f"replace(replace({'x' * 100!r}, 'x', {'x' * 100!r}), 'x', {'x' * 100!r})", False),
        (f"replace(replace(replace(a, 'x', b), 'x', {'x' * 100!r}), 'x', b)", True),
        (
            f"concat('n', replace(upper(replace(replace(a, 'x', b), 'x', b)), 'x', {'ab' * 9!r}))",
            True,
        ),
        ("replace(a, 'x', concat(replace(replace(a, 'x', b), 'x', b), 'x'))", True),
    ],
)
def test_replacing_within_replacing_is_bounded_where_nothing_ends_it(
    text: str, *, refused: bool
) -> None:
    query = f"SELECT {text} AS c FROM t"
    for dialect in ("postgres", "duckdb", "sqlite"):
        guard(query, dialect)
    if not refused:
        guard(query, "mysql")
        return
    with pytest.raises(QueryMistakeError, match="`replace` within `replace`"):
        guard(query, "mysql")
