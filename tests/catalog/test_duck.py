"""DuckDB files: what is read, what is refused, who may write meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from constat.catalog import (
    Connection,
    QueryMistakeError,
    Question,
    ReadBounds,
    SourceFailureError,
    guard,
    open_connection,
    read_cell,
)
from constat.logic import Kind
from constat.project import Database, Expanded
from tests.tiers.building import Setting, configured, declare, open_rows, reasons, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.logic import Predicate

pytestmark = pytest.mark.sampled(3)

BOUNDS = ReadBounds(20, 100_000)
SCRIPT = """
    CREATE TABLE t (a VARCHAR, b BIGINT);
    INSERT INTO t VALUES ('C001', 1), ('c001', 2);
    CREATE TABLE u (a VARCHAR, b BIGINT, d DATE, j JSON);
    CREATE SCHEMA sales;
    CREATE TABLE sales.orders (id BIGINT);
    INSERT INTO sales.orders VALUES (7);
    CREATE VIEW v AS SELECT a FROM t;
    CREATE SEQUENCE s;
"""


def fill(path: Path, script: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(script)
    return path


def opened(path: Path) -> Connection:
    return open_connection(Database("d", "sql", Expanded(f"duckdb:///{path}")), path.parent, 5)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("shop") / "shop.duckdb", SCRIPT)


@pytest.fixture
def source(shop: Path) -> Iterator[Connection]:
    found = opened(shop)
    yield found
    found.close()


def run(source: Connection, query: str) -> list[tuple[Any, ...]]:
    """Do with a query what the tier does; raises when any line of defence holds."""
    guarded = guard(query, "duckdb")
    source.begin()
    if not guarded.tables <= source.tables().keys():
        raise QueryMistakeError("an unknown table")
    width = len(source.columns(guarded.text))
    question = source.whole(guarded, width)
    return [row for batch in source.read(question, BOUNDS) for row in batch]


def settle(folder: Path, script: str, *predicates: Predicate) -> Setting:
    fill(folder / "shop.duckdb", script)
    return configured(folder, 'databases: {sales: "duckdb:///shop.duckdb"}', *predicates)


# Three lines of defence.

HOSTILE = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT * FROM 'x.parquet'",
    "FROM glob('*')",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('/etc/passwd')",
    "FROM parquet_metadata('x')",
    "FROM sniff_csv('x')",
    "FROM duckdb_settings()",
    "FROM duckdb_secrets()",
    "FROM duckdb_tables",
    "FROM sqlite_master",
    "FROM pragma_database_list",
    "FROM range(1000000000)",
    "FROM generate_series(1, 10)",
    "FROM query('SELECT 1')",
    "FROM query_table('t')",
    "FROM information_schema.tables",
    "FROM pg_catalog.pg_class",
    "FROM pg_class",
    "FROM other.main.t",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT nextval('s')",
    "SELECT currval('s')",
    "SELECT random()",
    "SELECT setseed(0.5)",
    "SELECT uuid()",
    "SELECT gen_random_uuid()",
    "SELECT version()",
    "SELECT current_database()",
    "SELECT current_query()",
    "SELECT txid_current()",
    "SELECT getvariable('x')",
    "SELECT write_log('x')",
    "SELECT pg_sleep(10)",
    "SELECT list_transform([1], x -> x + 1)",
    "SELECT unnest([1, 2, 3])",
    "SELECT COLUMNS('a') FROM t",
    "SELECT repeat('x', 1000000000)",
    "SELECT lpad('x', 1000000000, 'y')",
    "SELECT rpad(a, b, 'y') FROM t",
    "SELECT printf('%1000000000d', 1)",
    "SELECT printf('%*d', 1000000000, 1)",
    "SELECT format('{:1000000000}', a) FROM t",
    "SELECT printf('%' || '1000000000d', 1)",
    "SELECT a FROM t USING SAMPLE 10",
    "SELECT a FROM t TABLESAMPLE 10%",
    "SELECT a FROM t WHERE b = $1",
    "SELECT a FROM t WHERE b = $x",
    "SELECT a FROM t WHERE b = ?",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "SET memory_limit = '100GB'",
    "RESET memory_limit",
    "SET VARIABLE x = 1",
    "ATTACH 'x.db'",
    "DETACH shop",
    "USE sales",
    "COPY t TO 'x.csv'",
    "COPY (SELECT 1) TO 'x.csv'",
    "COPY t FROM 'x.csv'",
    "EXPORT DATABASE 'x'",
    "IMPORT DATABASE 'x'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP MACRO f(x) AS x",
    "CREATE SECRET x (TYPE s3)",
    "INSERT INTO t VALUES ('x', 1)",
    "UPDATE t SET b = 1",
    "DELETE FROM t",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
    "TRUNCATE t",
    "DROP TABLE t",
    "ALTER TABLE t ADD COLUMN x INT",
    "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
    "WITH x AS (INSERT INTO t VALUES ('x', 1) RETURNING a) SELECT a FROM x",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "EXPLAIN ANALYZE SELECT 1",
    "DESCRIBE t",
    "SUMMARIZE t",
    "SHOW TABLES",
    "PIVOT t ON a USING sum(b)",
    "SELECT a FROM t; SELECT a FROM t",
    "SELECT a FROM t) SELECT a FROM q; --",
    # The name of a common table expression hides no table elsewhere.
    'SELECT a FROM t, "x.csv" WHERE EXISTS (WITH "x.csv" AS (SELECT 1) SELECT 2)',
    'WITH "x.csv" AS (SELECT * FROM "x.csv") SELECT * FROM "x.csv"',
)

HARMLESS = (
    "SELECT a FROM t",
    "FROM t",
    "FROM t SELECT a WHERE b > 1",
    "SELECT * EXCLUDE (b) FROM t",
    "SELECT a, sum(b) FROM t GROUP BY ALL ORDER BY ALL",
    "SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1",
    "SELECT a FROM t WHERE a ILIKE 'c%' AND a NOT LIKE 'x' AND a SIMILAR TO 'C.*'",
    "SELECT date_trunc('month', d), extract(year FROM d), strftime(d, '%Y'), year(d) FROM u",
    "SELECT d + INTERVAL 1 DAY, date_diff('day', d, DATE '2026-01-01'), d::TIMESTAMP FROM u",
    "SELECT CAST(a AS VARCHAR), b::DECIMAL(18, 2), TRY_CAST(a AS INTEGER), b // 2, b % 2 FROM t",
    "SELECT sum(b) FILTER (WHERE b > 1), count(DISTINCT a), max_by(a, b), median(b) FROM t",
    "SELECT lag(b) OVER w, rank() OVER w FROM t WINDOW w AS (PARTITION BY a ORDER BY b)",
    "SELECT regexp_extract(a, '[0-9]+'), split_part(a, '0', 1), left(a, 1), lpad(a, 9, '0') FROM t",
    "SELECT printf('%05d', b), format('{:>20}', a), rpad(a, 999, ' ') FROM t",
    "SELECT concat_ws('-', a, b), a || b, coalesce(a, 'x'), if(b > 1, a, 'y') FROM t",
    "SELECT j->>'$.x', json_extract_string(j, '$.y') FROM u",
    "SELECT id FROM sales.orders",
    "SELECT o.id FROM sales.orders AS o JOIN t ON o.id = t.b",
    "SELECT a FROM main.t",
    "SELECT a FROM v",
    "SELECT a FROM t SEMI JOIN u USING (a)",
    "SELECT t.a FROM t ASOF JOIN u ON t.a = u.a AND t.b >= u.b",
    "SELECT a, b FROM t UNION BY NAME SELECT b, a FROM u",
    "SELECT a FROM t EXCEPT ALL SELECT a FROM u",
    "SELECT b FROM t WHERE b >= ALL (SELECT b FROM u) OR b = ANY (SELECT b FROM u)",
    "SELECT t.a, x.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a = t.a) AS x",
    "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT i FROM r",
    "WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT a FROM y",
    "SELECT a, grouping(a) FROM t GROUP BY ROLLUP (a)",
    "SELECT a FROM (VALUES ('x'), ('y')) AS z(a)",
    "TABLE t",
)


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: query[:40])
def test_a_hostile_query_is_refused(source: Connection, query: str) -> None:
    with pytest.raises(QueryMistakeError) as caught:
        run(source, query)
    assert len(caught.value.reason) < 250


@pytest.mark.parametrize("query", HARMLESS, ids=lambda query: query[:40])
def test_a_harmless_query_runs(source: Connection, query: str) -> None:
    run(source, query)


def test_the_database_itself_refuses_what_the_parser_would_let_through(source: Connection) -> None:
    # The second and third line alone: nothing of this has been guarded.
    source.begin()
    for query in (
        "DELETE FROM t",
        "SELECT a FROM t; DELETE FROM t",
        "PRAGMA database_list",
        "SET threads = 1",
        "COPY t TO 'x.csv'",
        "CREATE TEMP TABLE x (a INT)",
        "SELECT a FROM t WHERE a = $x",
    ):
        with pytest.raises(QueryMistakeError) as caught:
            source.columns(query)
        assert caught.value.code == "C0516"
    for query in (
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "INSERT INTO t VALUES ('x', 3)",
        "SET memory_limit = '100GB'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "ATTACH 'other.db'",
        "COPY t TO 'x.csv'",
        "INSTALL httpfs",
    ):
        with pytest.raises((QueryMistakeError, SourceFailureError)):
            list(source.read(Question(query), ReadBounds(5, 10)))
    assert run(source, "SELECT count(*) FROM t") == [(2,)]


def test_a_view_that_reads_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    view = f"CREATE VIEW w AS SELECT * FROM read_csv('{tmp_path}/x.csv')"
    source = opened(fill(tmp_path / "shop.duckdb", view))
    with pytest.raises((QueryMistakeError, SourceFailureError)) as caught:
        run(source, "SELECT a FROM w")
    assert str(tmp_path) not in str(caught.value)
    source.close()


# Types.


@pytest.mark.parametrize(
    ("written", "kind", "value"),
    [
        ("12::TINYINT", Kind.NUMBER, 12),
        ("12::UHUGEINT", Kind.UNSIGNED, 12),
        ("170141183460469231731687303715884105727::HUGEINT", Kind.NUMBER, None),
        ("18446744073709551615::UBIGINT", Kind.UNSIGNED, 2**64 - 1),
        ("18446744073709551615::UBIGINT", Kind.NUMBER, None),
        ("12.00::DECIMAL(5, 2)", Kind.NUMBER, 12),
        ("12.50::DECIMAL(5, 2)", Kind.NUMBER, None),
        ("0.1::DECIMAL(5, 2)", Kind.FLOAT, 0.1),
        ("0.12345678901234567890::DECIMAL(38, 20)", Kind.FLOAT, None),
        ("'99999999999999999999999999999999999999'::DECIMAL(38, 0)", Kind.DECIMAL,
         Decimal("9" * 38)),
        ("0.1::FLOAT", Kind.FLOAT, 0.10000000149011612),
        ("0.1::FLOAT", Kind.DECIMAL, Decimal("0.1")),
        ("16777217::FLOAT", Kind.NUMBER, 16777216),
        ("0.1::DOUBLE", Kind.DECIMAL, Decimal("0.1")),
        ("'nan'::DOUBLE", Kind.FLOAT, None),
        ("'-inf'::FLOAT", Kind.DECIMAL, None),
        ("1/0", Kind.FLOAT, None),
        ("DATE '2026-01-31'", Kind.DATE, "2026-01-31"),
        ("DATE '9999-12-31'", Kind.DATE, "9999-12-31"),
        ("'infinity'::DATE", Kind.DATE, None),
        ("DATE '9999-12-31' + 1", Kind.DATE, None),
        ("'0044-03-15 (BC)'::DATE", Kind.DATE, None),
        ("DATE '2026-01-31'", Kind.SYMBOL, None),
        ("DATE '2026-01-31'", Kind.TIMESTAMP, None),
        ("TIMESTAMP '2026-01-31 00:00:00'", Kind.DATE, "2026-01-31"),
        ("TIMESTAMP '2026-01-31 10:00:00.5'", Kind.TIMESTAMP, "2026-01-31T10:00:00.500000Z"),
        ("TIMESTAMPTZ '2026-01-31 10:00:00+02'", Kind.TIMESTAMP, "2026-01-31T08:00:00.000000Z"),
        ("'infinity'::TIMESTAMPTZ", Kind.TIMESTAMP, None),
        ("TIMESTAMP_NS '2026-01-31 10:00:00.000001'", Kind.TIMESTAMP,
         "2026-01-31T10:00:00.000001Z"),
        ("TIMESTAMP_NS '2026-01-31 10:00:00.000000001'", Kind.TIMESTAMP, None),
        ("TIMESTAMP_S '2026-01-31 10:00:00'", Kind.TIMESTAMP, "2026-01-31T10:00:00.000000Z"),
        ("true", Kind.BOOL, "true"),
        ("false", Kind.BOOL, "false"),
        ("true", Kind.NUMBER, None),
        ("true", Kind.SYMBOL, None),
        ("1", Kind.BOOL, "true"),
        ("'true'", Kind.BOOL, "true"),
        ("'x'::BLOB", Kind.SYMBOL, None),
        ("'x'::ENUM ('x', 'y')", Kind.SYMBOL, "x"),
        ("'AB0D1F9A-0000-4000-8000-000000000001'::UUID", Kind.SYMBOL,
         "ab0d1f9a-0000-4000-8000-000000000001"),
        ("99999999999999999999999999999999999999999", Kind.NUMBER, None),
        ("NULL", Kind.SYMBOL, None),
    ],
)  # fmt: skip
def test_a_value_is_read_exactly_or_refused(
    source: Connection, written: str, kind: Kind, value: object
) -> None:
    source.begin()
    # Types are written in ways that a guarded query may not use; they come from tables.
    query = f"SELECT {written} AS x"
    guarded = guard("SELECT a FROM t", "duckdb")
    object.__setattr__(guarded, "text", query)
    source.columns(query)
    ((row,),) = source.read(source.whole(guarded, 1), BOUNDS)
    if value is None:
        with pytest.raises(ValueError):
            read_cell(row[0], kind)
    else:
        found = read_cell(row[0], kind)
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("[1, 2]", "INTEGER[]"),
        ("{'a': 1}", "STRUCT"),
        ("MAP {'a': 1}", "MAP"),
        ("[1, 2]::INTEGER[2]", "INTEGER[2]"),
        ("TIME '10:00:00'", "TIME"),
        ("INTERVAL 1 DAY", "INTERVAL"),
        ("'101'::BIT", "BIT"),
        ("'{}'::JSON", "JSON"),
        ("1::VARIANT", "VARIANT"),
    ],
)
def test_a_type_that_no_kind_holds_is_a_mistake_of_the_query(
    source: Connection, written: str, name: str
) -> None:
    source.begin()
    with pytest.raises(QueryMistakeError, match="column 2 is of type") as caught:
        source.columns(f"SELECT 1, {written}")
    assert caught.value.code == "C0540"
    assert name in caught.value.reason
    assert "CAST" in caught.value.help


def test_times_do_not_depend_on_where_the_machine_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    path = fill(tmp_path / "shop.duckdb", SCRIPT)
    sources = [opened(path), opened(path)]
    try:
        query = "SELECT CAST(TIMESTAMPTZ '2026-01-31 23:30:00+00' AS DATE) AS x"
        # The second one shares the first one's DuckDB.
        assert [run(source, query) for source in sources] == [[("2026-01-31",)]] * 2
    finally:
        for source in sources:
            source.close()
        monkeypatch.undo()
        time.tzset()


# Keys.

STORED = (
    ("TINYINT", "number", [1, 12, 300]),
    ("UBIGINT", "unsigned", [1, 2**63 - 1]),
    ("HUGEINT", "number", [12, 2**63 - 1, -5]),
    ("DECIMAL(4, 2)", "number", [12, 2**63 - 1]),
    ("DECIMAL(38, 19)", "number", [12, 2**63 - 1]),
    ("DOUBLE", "number", [12, 2**53 + 1]),
    ("FLOAT", "number", [12, 2**24 + 1]),
    ("VARCHAR", "symbol", ["12", "x"]),
    ("VARCHAR COLLATE NOCASE", "symbol", ["12", "X"]),
    ("ENUM ('12', 'x', 'y')", "symbol", ["12", "none"]),
)


@pytest.mark.parametrize(("stored", "kind", "keys"), STORED)
@pytest.mark.parametrize("wide", [False, True])
def test_keys_are_sent_where_the_source_compares_them(
    tmp_path: Path, stored: str, kind: str, keys: list[Any], *, wide: bool
) -> None:
    script = f"""
        CREATE TABLE t (x {stored}, y VARCHAR);
        INSERT INTO t VALUES ('12', 'a'), ('12', 'b'), (NULL, 'c');
    """
    predicate = declare(f"p(x: {kind}, y: symbol)", "SELECT x, y FROM t")
    found = settle(tmp_path, script, predicate)
    twelve = "12" if kind == "symbol" else 12
    if wide:
        answer = found.ask("p", (0, 1), *[(key, "a") for key in keys], (keys[0], "zzz"))
        assert answer.answered == {*((key, "a") for key in keys), (keys[0], "zzz")}
        expected = {(twelve, "a")} if twelve in keys else set()
    else:
        answer = found.ask("p", (0,), *[(key,) for key in keys])
        assert answer.answered == {(key,) for key in keys}
        expected = {(twelve, "a"), (twelve, "b")} if twelve in keys else set()
    assert rows(answer) == expected
    assert "WHERE" in found.queries[0].query
    # One that is NULL may be any of the keys.
    assert any(row[1] == "c" for row in open_rows(answer)) == (not wide)


def test_the_key_of_an_identifier_is_compared_as_text(tmp_path: Path) -> None:
    uuid = "ab0d1f9a-0000-4000-8000-000000000001"
    script = f"CREATE TABLE t (x UUID); INSERT INTO t VALUES ('{uuid}')"
    found = settle(tmp_path, script, declare("p(x: symbol)", "SELECT x FROM t"))
    answer = found.ask("p", (0,), (uuid,), ("no identifier",), (uuid.upper(),))
    assert rows(answer) == {(uuid,)}
    assert len(answer.answered) == 3
    assert "WHERE CAST(c0 AS TEXT) IN (?, ?, ?)" in found.queries[0].query


@pytest.mark.parametrize("stored", ["DECIMAL(38, 20)", "VARCHAR", "BOOLEAN", "DATE"])
def test_other_columns_are_filtered_here(tmp_path: Path, stored: str) -> None:
    found = settle(
        tmp_path, f"CREATE TABLE t (x {stored})", declare("p(x: number)", "SELECT x FROM t")
    )
    assert found.ask("p", (0,), (2**63 - 1,)).answered == {(2**63 - 1,)}
    assert "WHERE" not in found.queries[0].query


# Who reads and writes at the same time.

WRITER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO t VALUES ('new', 9)")
print("open", flush=True)
sys.stdin.read()
"""


def test_a_writer_is_waited_for_and_not_kept_waiting(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    predicate = declare("p(a: symbol, b: number)", "SELECT a, b FROM t")
    found = settle(tmp_path, SCRIPT, predicate)
    assert len(rows(found.ask("p"))) == 2
    # While a state is read nobody writes it.
    writer = subprocess.run(
        [sys.executable, "-c", WRITER, str(path)], capture_output=True, input=b"", check=False
    )
    assert b"lock" in writer.stderr
    found.tiers.release()
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        answer = found.ask("p", (1,), (9,))
        assert answer.answered == frozenset()
        assert "another program has it open for writing" in reasons(answer)
        other.communicate(b"")
    found.tiers.release()
    answer = found.ask("p", (1,), (9,))
    assert rows(answer) == {("new", 9)}


def test_this_programs_own_writer_is_named(tmp_path: Path) -> None:
    found = settle(tmp_path, SCRIPT, declare("p(a: symbol)", "SELECT a FROM t"))
    with duckdb.connect(str(tmp_path / "shop.duckdb")):
        assert "this program has it open for writing" in reasons(found.ask("p"))
    found.tiers.release()
    assert rows(found.ask("p")) == {("C001",), ("c001",)}


def test_two_connections_of_one_program_read_at_once(tmp_path: Path) -> None:
    path = fill(tmp_path / "shop.duckdb", SCRIPT)
    first, second = opened(path), opened(path)
    assert run(first, "SELECT count(*) FROM t") == run(second, "SELECT count(*) FROM t")
    assert first.snapshot == second.snapshot
    first.close()
    assert run(second, "SELECT count(*) FROM t") == [(2,)]
    with pytest.raises((QueryMistakeError, SourceFailureError)):
        list(second.read(Question("SET lock_configuration = false"), BOUNDS))
    second.close()


def test_what_a_writer_that_broke_down_has_left_is_read(tmp_path: Path) -> None:
    path = fill(tmp_path / "shop.duckdb", SCRIPT)
    source = opened(path)
    before = (run(source, "SELECT count(*) FROM t"), source.snapshot)
    source.release()
    script = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO t VALUES ('new', 9)")
os._exit(1)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert path.with_name("shop.duckdb.wal").exists()
    kept = {one: one.read_bytes() for one in tmp_path.iterdir()}
    assert run(source, "SELECT count(*) FROM t") == [(3,)]
    assert source.snapshot not in {before[1], None}
    source.close()
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == kept


def test_a_damaged_file_is_told_without_its_path(tmp_path: Path) -> None:
    path = fill(tmp_path / "shop.duckdb", "CREATE TABLE t AS SELECT i AS a FROM range(90000) r(i)")
    content = bytearray(path.read_bytes())
    for start in (12, 4_100, 12_400):
        damaged = bytearray(content)
        damaged[start : start + 200] = b"\xff" * 200
        if start == 12_400:
            damaged[12_288:] = b"\xff" * (len(content) - 12_288)
        path.write_bytes(damaged)
        source = opened(path)
        with pytest.raises(SourceFailureError) as caught:
            run(source, "SELECT a FROM t")
        assert str(tmp_path) not in str(caught.value)
        source.close()


# Errors while a query runs.


def test_a_value_that_cannot_be_converted_is_not_shown(tmp_path: Path) -> None:
    script = "CREATE TABLE t AS SELECT 'geheim' AS a"
    found = settle(tmp_path, script, declare("p(a: number)", "SELECT a::INTEGER FROM t"))
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert "C0544" in reasons(answer)
    assert "geheim" not in reasons(answer)


def test_after_an_error_the_same_state_is_read_on(source: Connection) -> None:
    with pytest.raises(SourceFailureError):
        run(source, "SELECT a::INTEGER FROM t")
    assert run(source, "SELECT count(*) FROM t") == [(2,)]
    assert not source.begin()


def test_rows_that_came_before_an_interruption_are_kept(source: Connection) -> None:
    source.begin()
    endless = "SELECT i FROM range(100000000000) AS r(i)"
    batches = source.read(Question(endless), ReadBounds(0.3, 10**12))
    got = len(next(batches))
    with pytest.raises(SourceFailureError, match="did not finish within"):
        deque(batches, maxlen=0)
    assert got > 0


def test_memory_and_threads_have_a_bound(source: Connection) -> None:
    source.begin()
    text = "SELECT current_setting('memory_limit'), current_setting('threads')"
    ((row,),) = source.read(Question(text), BOUNDS)
    assert row[0] == "1.8 GiB"
    assert 1 <= int(str(row[1])) <= 4


@pytest.mark.parametrize("streaming", [False, True])
def test_control_c_stops_a_query(source: Connection, *, streaming: bool) -> None:
    source.begin()
    text = "SELECT i FROM range(100000000000) AS r(i)"
    if not streaming:
        text = f"SELECT count(*) FROM ({text}) AS a, range(1000) AS b WHERE a.i::VARCHAR = 'x'"
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        deque(source.read(Question(text), ReadBounds(60, 10**12)), maxlen=0)
    timer.join()
    assert run(source, "SELECT count(*) FROM t") == [(2,)]
