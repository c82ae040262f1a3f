"""Keys that are sent to SQLite find exactly what filtering here finds, however rows are stored."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog.connection import read_cell
from constat.catalog.sqlite import LOOKS, NO_VALUES
from constat.logic import OPEN, Kind
from tests.tiers.building import Setting, declare, open_rows, rows, setting

if TYPE_CHECKING:
    from pathlib import Path

    from constat.evaluation import Opening
    from constat.logic import Row

TYPES = (
    "INTEGER", "INT UNSIGNED", "TEXT", "VARCHAR(10)", "NUMERIC", "DECIMAL(10,2)", "REAL", "BLOB",
    "", "ANY", "BOOLEAN", "DATETIME", "STRING", "FLOATING POINT",
)  # fmt: skip
COLLATIONS = ("", "COLLATE BINARY", "COLLATE NOCASE", "COLLATE RTRIM")
SELECTS = (
    "SELECT a, b FROM t",
    "SELECT t.a, u.b FROM t AS u JOIN t ON t.rowid = u.rowid",
    "SELECT +a, b || '' FROM t",
    "SELECT a, b FROM t UNION SELECT a, b FROM t",
    "SELECT a, b FROM t UNION ALL SELECT a, b FROM s",
    "SELECT a, b FROM s UNION ALL SELECT a, b FROM t",
    "SELECT DISTINCT a, b FROM t",
    "SELECT a, b FROM v",
    "SELECT x, y FROM (SELECT a AS x, b AS y FROM t)",
    "WITH w AS (SELECT a, b FROM t) SELECT w.a, w.b FROM w",
    "SELECT CAST(a AS TEXT), b FROM t",
    "SELECT a, max(b) FROM t GROUP BY a",
    "SELECT * FROM t",
    "SELECT a, b FROM t LIMIT 1000",
)
TEXTS = (
    "1", "01", "012", "12", "-0", "+1", " 1", "1 ", "1.0", "1e0", "0x1", "a", "A", "a ", "é", "É",
    "", "C001", "c001", "9223372036854775807", "9223372036854775808", "1\t", "12.5", "NULL", "'",
    '"', "\\", "a\nb", "%", "💥",
)  # fmt: skip
CELLS = st.one_of(
    # The ways to store what the key 12 means, often enough to be met in every run.
    st.sampled_from((12, "12", "012", 12.0, "a", "A", None)),
    st.none(),
    st.integers(-3, 12),
    st.sampled_from(TEXTS),
    st.sampled_from((1.0, 12.0, 0.5, -0.0, 1e300, 9.3e18, 9223372036854774784.0)),
    st.sampled_from((2**63 - 1, -(2**63), 2**53, 2**53 + 1)),
    st.sampled_from((b"1", b"a", b"")),
)
TABLES = st.lists(st.tuples(CELLS, CELLS), min_size=3, max_size=12)


def build(
    folder: Path, query: str, kinds: tuple[str, str], types: tuple[str, str], cells: list[Any]
) -> Setting:
    """Write a table with those cells, and declare `p` over it."""
    policy = {"distinct": "true"}
    signature = f"(a: {kinds[0]}, b: {kinds[1]})"
    found = setting(
        folder,
        declare("p" + signature, query, parameters=policy),
        script=f"""
            CREATE TABLE t (a {types[0]}, b {types[1]});
            CREATE TABLE s (a INTEGER, b TEXT);
            CREATE VIEW v AS SELECT a, b FROM t;
            CREATE INDEX i ON t (a); CREATE INDEX j ON t (b, a);
            INSERT INTO s VALUES (1, 'a'), (12, '12'), ('x', 'C001'), ('012', '012');
        """,
    )
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    connection.executemany("INSERT INTO t VALUES (?, ?)", cells)
    connection.commit()
    connection.close()
    return found


def agree(found: Setting, columns: tuple[int, ...], keys: list[Row]) -> None:
    """Compare keyed demands on fresh tiers with the whole relation, filtered by key."""
    asked = found.ask("p", columns, *keys)
    assert asked.answered == set(keys), asked.openings
    assert all("WHERE" in one.query for one in found.queries)
    got, got_open = rows(asked), open_rows(asked)
    whole = found.ask("p")
    assert "WHERE" not in found.queries[-1].query
    wanted = {row for row in rows(whole) if tuple(row[c] for c in columns) in set(keys)}
    assert got == wanted
    # A cell that is NULL or no value of its column may equal each key.
    for opening in whole.openings:
        if any(may_be(opening, columns, key) for key in keys):
            assert opening.row in got_open


def may_be(opening: Opening, columns: tuple[int, ...], key: Row) -> bool:
    return all(
        slot == value or slot is OPEN
        for column, value in zip(columns, key, strict=True)
        for slot in (opening.row[column],)
    )


ODD: tuple[object, ...] = (
    *TEXTS, 12, 12.0, 0.5, -0.0, 1e300, 9.3e18, float("inf"), 9223372036854774784.0,
    float(2**63), float(-(2**63)), 2**63 - 1, -(2**63), -5, -5.0, b"1", b"a", b"", "12\0a", "a\0",
    "9" * 18, "9" * 19, "\t12", "Inf", "1_000", "\u0663", "12\xa0", "-12", "+5", "--5", "5-",
    "0" * 20 + "12", str(2**64 - 1), str(2**64),
)  # fmt: skip


@pytest.mark.parametrize("kind", NO_VALUES)
@pytest.mark.parametrize("declared", TYPES)
def test_a_cell_that_is_no_value_is_looked_for_and_comes(declared: str, kind: Kind) -> None:
    for collation in COLLATIONS:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f"CREATE TABLE t (a {declared} {collation})")
            connection.executemany("INSERT INTO t VALUES (?)", [(one,) for one in ODD])
            conditions = [f"({one[kind].format('a')})" for one in (NO_VALUES, LOOKS)]
            found = connection.execute(f"SELECT a, {', '.join(conditions)} FROM t").fetchall()
        for cell, *told in found:
            try:
                read_cell(cell, kind)
            except ValueError:
                assert told == [1, 1], cell


@settings(max_examples=settings().max_examples * 3)
@given(
    cells=TABLES,
    query=st.sampled_from(SELECTS),
    types=st.tuples(*[st.tuples(st.sampled_from(TYPES), st.sampled_from(COLLATIONS))] * 2),
    few=st.booleans(),
    columns=st.sampled_from([(0,), (1,), (0, 1)]),
    kinds=st.tuples(*[st.sampled_from(["number", "unsigned", "symbol"])] * 2),
)
def test_pushing_keys_finds_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[Any],
    query: str,
    types: tuple[tuple[str, str], tuple[str, str]],
    few: bool,  # noqa: FBT001  drawn by hypothesis
    columns: tuple[int, ...],
    kinds: tuple[str, str],
) -> None:
    declared = (" ".join(types[0]), " ".join(types[1]))
    folder = tmp_path_factory.mktemp("shop")
    found = build(folder, query, kinds, declared, cells)
    texts: list[Any] = [
        "1",
        "01",
        "012",
        "12",
        "a",
        "A",
        "a ",
        "C001",
        "c001",
        "1.0",
        "'",
        "💥",
        "",
    ]
    numbers: list[Any] = [0, 1, 12, 2**53, 2**53 + 1, 2**63 - 1]
    pools = [texts if kinds[column] == "symbol" else numbers for column in columns]
    keys: list[Row] = [(value,) for value in pools[0]]
    if len(columns) > 1:
        keys = [(one, other) for one in pools[0] for other in pools[1]]
    try:
        agree(found, columns, keys[:1] if few else keys)
    finally:
        found.tiers.close()


@pytest.mark.parametrize(
    ("column", "stored", "kind", "key"),
    [
        ("x TEXT", "'012'", "number", 12),
        ("x", "'12'", "number", 12),
        ("x BLOB", "12", "number", 12),
        ("x REAL", "12", "number", 12),
        ("x INTEGER", "'012'", "number", 12),
        ("x ANY", "'12'", "number", 12),
        ("x TEXT COLLATE NOCASE", "'C001'", "symbol", "C001"),
        ("x", "'C001'", "symbol", "C001"),
        ("x NUMERIC", "'C001'", "symbol", "C001"),
    ],
)
@pytest.mark.parametrize("keys", [1, 3])
def test_the_traps_of_stored_types(
    tmp_path: Path, column: str, stored: str, kind: str, key: int | str, keys: int
) -> None:
    for query in ("SELECT x FROM t", "SELECT +x FROM t", "SELECT x FROM t UNION SELECT 7 WHERE 0"):
        folder = tmp_path / str(abs(hash(query)))
        folder.mkdir()
        script = f"CREATE TABLE t ({column}); INSERT INTO t VALUES ({stored})"
        found = setting(folder, declare(f"p(x: {kind})", query), script=script)
        others = [
            (key,),
            (5,) if kind == "number" else ("z",),
            (6,) if kind == "number" else ("y",),
        ]
        assert rows(found.ask("p", (0,), *others[:keys])) == {(key,)}
        assert "WHERE" in found.queries[0].query
        found.tiers.close()


def test_a_row_of_another_case_is_filtered_out_here(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (x TEXT COLLATE NOCASE, y); INSERT INTO t VALUES ('c001', 1), ('C001', 2)"
    )
    found = setting(
        tmp_path, declare("p(x: symbol, y: number)", "SELECT x, y FROM t"), script=script
    )
    answer = found.ask("p", (0,), ("C001",))
    assert rows(answer) == {("C001", 2)}
    # The evidence speaks of all that the source gave.
    assert answer.portions[0].evidence.row_count == 2


def test_other_kinds_are_filtered_here(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (x NUMERIC, d TEXT); INSERT INTO t VALUES (10.5, '2009-01-01 00:00:00')"
    )
    from decimal import Decimal

    found = setting(
        tmp_path, declare("p(x: Decimal, d: Date)", "SELECT x, d FROM t"), script=script
    )
    ten = Decimal("10.5")
    assert rows(found.ask("p", (0, 1), (ten, "2009-01-01"))) == {(ten, "2009-01-01")}
    assert "WHERE" not in found.queries[0].query


def test_ten_thousand_keys_take_a_handful_of_queries(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    script = f"CREATE TABLE t (a TEXT, b INT); INSERT INTO t {numbers} SELECT 'C' || i, i FROM n"
    found = setting(
        tmp_path, declare("p(a: symbol, b: number)", "SELECT a, b FROM t"), script=script
    )
    keys = [(f"C{number}",) for number in range(1, 10_001)]
    answer = found.ask("p", (0,), *keys)
    assert len(rows(answer)) == 10_000
    assert answer.answered == set(keys)
    assert len(found.queries) <= 4


def test_values_never_become_text_of_a_query(tmp_path: Path) -> None:
    hostile = [
        "' OR 1=1 --", "'); DROP TABLE t; --", '"', "]", "\\", "%", "?", "$[0]", "\x01", "\n", "/*",
        "{}", "[]", "null", "💥", "\u2028", "1 UNION SELECT x FROM t", "x' COLLATE NOCASE --",
    ]  # fmt: skip
    script = "CREATE TABLE t (x TEXT, y TEXT); INSERT INTO t VALUES ('secret', 'a')"
    found = setting(
        tmp_path, declare("p(x: symbol, y: symbol)", "SELECT x, y FROM t"), script=script
    )
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(text, text) for text in hostile])
    connection.commit()
    connection.close()
    for text in hostile:
        assert rows(found.ask("p", (0,), (text,))) == {(text, text)}
        assert rows(found.ask("p", (0, 1), (text, text), (text, "a"))) == {(text, text)}
        assert rows(found.ask("p", (1,), (text,), ("zzz",))) == {(text, text)}
    assert not [one for one in found.queries if "DROP" in one.query or "1=1" in one.query]
