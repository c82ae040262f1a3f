"""Rows of SQLite that are read by columns: the same as cell by cell, or nothing."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from constat.catalog import guard, sqlite
from constat.catalog.connection import Whole
from constat.catalog.row_streams import RowStreams
from constat.evaluation import Demand
from constat.logic import Kind
from constat.project import load_project
from constat.tiers.building import Connections
from constat.tiers.database import DatabaseTier
from tests.proof.asking import analysed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.catalog.connection import Stream
    from constat.evaluation import Readable
    from constat.logic import Predicate

RULES = """
{key}
.decl sold(
  k: number, @[null = {null}] c: symbol, @[null = {null}] d: Decimal, @[null = {null}] t: Date
)
.input sold(source = "shop", query = "SELECT k, c, d, t FROM sold"{distinct})
.decl found(k: number)
found(?k) :- sold(?k, _, _, _).
"""
KEYS = st.sampled_from([0, 1, 2, 3, 1.0, 2**63 - 1, None, "x"])
TEXTS = st.sampled_from(["a", "b", "é", "e\u0301", None, 1, b"b"])
DECIMALS = st.sampled_from([0.1, -0.0, 0, 10.5, "7.25", 1e30, "0.0000000000001", None, "x"])
DATES = st.sampled_from(["2024-01-31", "2024-01-31 00:00:00", "2024-02-30", None, 5])
ROWS = st.lists(st.tuples(KEYS, TEXTS, DECIMALS, DATES), max_size=6)
PLAIN = [(1, "a", 0.1, "2024-01-31"), (2, "a", 7, "2024-01-31 00:00:00"), (3, "b", None, None)]


def tier(folder: Path, rows: Sequence[tuple[object, ...]]) -> DatabaseTier:
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE sold (k, c, d, t)")
        connection.executemany("INSERT INTO sold VALUES (?, ?, ?, ?)", rows)
    connection.close()
    configured = "project: p\ndatabases:\n  shop:\n    uri: sqlite:///shop.db\n"
    (folder / "constat.yaml").write_text(configured)
    return DatabaseTier(Connections(load_project(folder)), lambda _: None)


def sold(null: str = "maybe", key: str = "", distinct: str = "") -> Predicate:
    text = RULES.format(null=null, key=key, distinct=distinct)
    return analysed(text).program.predicates["sold"]


def streamed(source: DatabaseTier, predicate: Predicate) -> Readable | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "FEW", -1)
        return source.as_relation(predicate, 1_000)


def rows_of(readable: Readable) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        return database.from_arrow(readable.stream()).fetchall()


@pytest.mark.laws
@settings(deadline=None, max_examples=150)
@given(
    ROWS,
    st.sampled_from(["maybe", "unknown", "none", "skip", "error"]),
    st.sampled_from(["", "@[key = k]"]),
    st.sampled_from(["", ', distinct = "true"']),
)
@example(PLAIN, "maybe", "", "")
@example(PLAIN, "none", "@[key = k]", "")
@example([*PLAIN, (3, "a", 1, "2024-01-31")], "maybe", "@[key = k]", "")
@example([*PLAIN, PLAIN[0]], "maybe", "", ', distinct = "true"')
def test_rows_are_those_that_are_read_cell_by_cell(
    rows: list[tuple[object, ...]], null: str, key: str, distinct: str
) -> None:
    predicate = sold(null, key, distinct)
    with tempfile.TemporaryDirectory() as folder:
        source = tier(Path(folder), rows)
        readable = streamed(source, predicate)
        if readable is not None:
            whole = rows_of(readable)
            answer = source.answer(Demand(predicate, (), ((),)))
            told = {row for portion in answer.portions for row in portion.rows}
            assert answer.openings == readable.openings
            assert set(whole) | set(readable.nulls) == told
            # Who loads a row that comes twice counts fewer.
            assert len(whole) == readable.rows
        source._connections.close()


def test_plain_rows_are_read_by_columns(tmp_path: Path) -> None:
    source = tier(tmp_path, PLAIN)
    readable = streamed(source, sold())
    assert readable is not None
    assert readable.rows == 2
    assert len(readable.nulls) == 1
    assert [repr(row) for row in rows_of(readable)] == [
        "(1, 'a', Decimal('0.100000000000'), '2024-01-31')",
        "(2, 'a', Decimal('7.000000000000'), '2024-01-31')",
    ]


@pytest.mark.parametrize(
    "row",
    [(4, b"b", 1, "2024-01-31"), (4, "a", "x", "2024-01-31"), (4, "a", 1e30, "2024-01-31")],
)
def test_a_cell_that_no_column_holds_leaves_all_to_reading_cell_by_cell(
    tmp_path: Path, row: tuple[object, ...]
) -> None:
    assert streamed(tier(tmp_path, [*PLAIN, row]), sold()) is None


@pytest.mark.parametrize("again", [(1, "b", 2, "2024-01-31"), (1, None, 2, "2024-01-31")])
def test_a_key_that_comes_twice_leaves_all_to_reading_cell_by_cell(
    tmp_path: Path, again: tuple[object, ...]
) -> None:
    source = tier(tmp_path, [*PLAIN, again])
    assert streamed(source, sold(key="@[key = k]")) is None
    assert streamed(source, sold()) is not None


def test_few_rows_open_no_second_database(tmp_path: Path) -> None:
    assert tier(tmp_path, PLAIN).as_relation(sold(), 1_000) is None


def test_what_was_read_is_gone_and_only_an_empty_database_stays() -> None:
    streams = RowStreams()

    def read(rows: int) -> Stream | None:
        whole = Whole(
            guard("SELECT a FROM t", "sqlite"),
            (Kind.NUMBER,),
            ("error",),
            False,
            (),
        )
        return streams.stream(whole, "SELECT a FROM t", lambda: [[(n,) for n in range(rows)]], 10)

    opened = []
    for rows in (3, 5, 200_000, 4):
        found = read(rows)
        assert found is not None
        assert found.rows == rows
        opened.append(streams._opened())
        streams.forget()
    few, again, many, last = opened
    assert few is again
    assert many is few
    assert last is not many
    assert last.own("SELECT count(*) FROM duckdb_tables()") == [(0,)]
    streams.close()
