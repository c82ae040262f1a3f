"""Queries of a step: checked and run outside, typed, and nothing of the connection comes in."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.catalog import QueryMistakeError, Spelled, SqliteConnection, guard
from constat.explore.sandbox import Code, ErrorKind
from constat.explore.sandbox.databases import Reader, table_of_cells, with_literals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.explore.sandbox import Sandbox


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SqliteConnection]:
    path = tmp_path / "shop-with-a-password.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, customer TEXT, amount REAL)")
        rows = [(1, "C001", 10.5), (2, "C001", None), (3, "O'Hara", 4.0)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
    connection.close()
    found = SqliteConnection(path, wait_seconds=1)
    yield found
    found.close()


def test_a_query_with_parameters_gives_a_typed_table(shop: SqliteConnection) -> None:
    read = Reader(lambda: shop, 100)
    found = read("SELECT id, amount FROM orders WHERE customer = ? AND id < ?", ["C001", 9], 5)
    assert (found.names, found.kinds) == (("id", "amount"), ("number", "float"))
    assert list(found.iterate()) == [(1, 10.5), (2, None)]
    assert list(read("SELECT id FROM orders WHERE customer = ?", ["O'Hara"], 5).iterate()) == [(3,)]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM orders",
        "SELECT id FROM orders; DROP TABLE orders",
        "SELECT load_extension('x')",
        "SELECT printf('%99999d', id) FROM orders",
        "PRAGMA table_info(orders)",
        "ATTACH 'x' AS y",
        "SELECT id FROM orders WHERE customer = ?",
        "SELECT 'open",
    ],
)
def test_what_is_no_single_reading_select_is_refused(shop: SqliteConnection, query: str) -> None:
    with pytest.raises(QueryMistakeError):
        Reader(lambda: shop, 100)(query, [], 5)


@given(value=st.text(max_size=20) | st.integers(-(1 << 63), (1 << 63) - 1))
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "mysql"])
def test_a_parameter_stays_one_value(dialect: str, value: str | int) -> None:
    """Whatever a parameter holds, the query with it has the words that it had without."""
    written = with_literals("SELECT a FROM t WHERE b = ? AND c = '?'", [value], dialect)
    try:
        guarded = guard(written, dialect)
    except QueryMistakeError as problem:
        assert problem.code == "C0516"  # noqa: PT017  a control character is refused as everywhere
        assert isinstance(value, str)
        assert not value.isprintable()
        return
    assert guarded.tables == {"t"}
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(written, read=dialect)
    found = next(one for one in tree.find_all(exp.EQ) if one.this.name == "b").expression
    if isinstance(value, str):
        assert (found.is_string, found.name) == (True, value)
    else:
        assert int(found.sql()) == value


def test_cells_get_the_one_kind_that_all_of_them_have() -> None:
    day, moment = date(2024, 1, 2), datetime(2024, 1, 2, 3, tzinfo=UTC)
    rows: list[Any] = [
        (1, 1, True, Decimal("1.50"), day, moment, Spelled("2024-01-02"), None, 1 << 63),
        (2, 2.5, False, 2, day, None, Spelled("2024-01-03"), None, 0),
    ]
    found = table_of_cells([*"abcdefghi"], rows)
    assert found.kinds == (
        *("number", "float", "Bool", "Decimal", "Date", "Timestamp", "Date", "symbol", "unsigned"),
    )
    assert next(iter(found.iterate()))[3:6] == (
        Decimal("1.5"), "2024-01-02", "2024-01-02T03:00:00.000000Z",
    )  # fmt: skip


@pytest.mark.parametrize("cells", [[1, "a"], [b"x"], [float("nan")], [1.5, Decimal(1)]])
def test_a_column_of_several_kinds_says_so(cells: list[object]) -> None:
    with pytest.raises(QueryMistakeError, match="`mixed`"):
        table_of_cells(["mixed"], [(cell,) for cell in cells])  # type: ignore[misc]  # also wrong ones


def test_columns_of_one_name_are_told_apart() -> None:
    assert table_of_cells(["a", "a", "\x1b"], [(1, 2, 3)]).names == ("a", "a_2", "column")


def test_a_step_gets_rows_and_nothing_of_the_connection(
    shop: SqliteConnection, steps: Sandbox
) -> None:
    code = """
frame = db.sql("SELECT customer, count(*) AS n FROM orders GROUP BY customer ORDER BY customer")
store.put("counted", frame)
store.put("known", repr(db) + str(vars(db)) + str(dir(db)))
"""
    steps._sources["shop"] = Reader(lambda: shop, 100)
    run = steps.run(Code(code, databases=("shop",)))
    refused = steps.run(Code("db.sql('DELETE FROM orders')", databases=("shop",)))
    assert run.error is None, run.error.traceback
    assert list(run.tables["counted"].iterate()) == [("C001", 2), ("O'Hara", 1)]
    assert "password" not in repr(run)
    assert refused.error is not None
    assert refused.error.kind is ErrorKind.QUERY
    assert refused.queries[0].error
