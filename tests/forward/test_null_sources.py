"""Tables with NULLs, of a database that hands out streams and of one that is read row by row."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import duckdb
import pytest

from constat import Session
from constat.catalog import sqlite
from constat.forward import inputs
from constat.session.answers import Settled

if TYPE_CHECKING:
    from pathlib import Path


ROWS = ((1, "north", 10), (2, None, 20), (3, None, None), (4, "south", 40), (5, "north", None))
RULES = """
.pragma "constat" "0.1"
.include "constat/prelude.dl"
{attributes}
.decl orders(o: number, @[null = {null}] region: symbol, @[null = {null}] v: number)
.input orders(source = "shop", query = "SELECT {columns} FROM orders")
.decl known(o: number)
known(?o) :- orders(?o, _, _).
.decl in_north(o: number)
in_north(?o) :- orders(?o, "north", _).
.decl valued(o: number, v: number)
valued(?o, ?v) :- orders(?o, _, ?v).
.decl without(o: number)
without(?o) :- known(?o), !valued(?o, _).
.decl many(n: number)
many(?n) :- ?n = count : {{ orders(_o, _, _) }}.
.decl total(s: number)
total(?s) :- ?s = sum ?v : {{ orders(_, _, ?v) }}.
.decl highest(o: number)
highest(?m) :- ?m = max ?o : {{ orders(?o, _, _) }}.
"""


@pytest.fixture(params=["sqlite", "sqlite by columns", "duckdb"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found, _, by_columns = str(request.param).partition(" ")
    if by_columns:
        monkeypatch.setattr(sqlite, "FEW", -1)
    return found


def project(
    folder: Path,
    kind: str,
    null: str,
    rows: tuple[tuple[object, ...], ...] = ROWS,
    *,
    key: bool = False,
    columns: str = "o, region, v",
) -> Path:
    make, insert = "CREATE TABLE orders (o BIGINT, region TEXT, v BIGINT)", "(?, ?, ?)"
    path = folder / "shop.db"
    if kind == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute(make)
            connection.executemany(f"INSERT INTO orders VALUES {insert}", rows)
        connection.close()
    else:
        with duckdb.connect(str(path)) as database:
            database.execute(make)
            database.executemany(f"INSERT INTO orders VALUES {insert}", rows)
    (folder / "constat.yaml").write_text(
        f"project: nulls\nrules: [rules.dl]\ndatabases:\n  shop:\n    uri: {kind}:///shop.db\n"
    )
    attributes = "@[key = o]" if key else ""
    text = RULES.format(null=null, attributes=attributes, columns=columns)
    (folder / "rules.dl").write_text(text)
    return folder


def answer(folder: Path, query: str) -> tuple[Settled, list[tuple[object, ...]], int, bool]:
    """Give how a query is settled, its certain rows, how many open ones, whether in bulk."""
    with Session(folder) as session:
        found = session.query(query, engine="forward")
        sure = [row.values for row in found if row.verdict.value in {"COMPUTED", "PROVED"}]
        weak = found.open_shapes + len(list(found)) - len(sure)
        return found.settled, sorted(sure), weak, found.in_bulk


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("null", ["none", "maybe", "unknown"])
def test_what_reads_no_null_column_is_settled(
    tmp_path: Path, kind: str, null: str, *, key: bool
) -> None:
    folder = project(tmp_path, kind, null, key=key)
    sure = Settled.FOR_CERTAIN
    assert answer(folder, "known(?o)") == (sure, [(1,), (2,), (3,), (4,), (5,)], 0, True)
    assert answer(folder, "many(?n)") == (sure, [(5,)], 0, True)
    assert answer(folder, "highest(?o)") == (sure, [(5,)], 0, True)


@pytest.mark.sampled(3, "laws")
def test_what_reads_one_is_decided_under_none(tmp_path: Path, kind: str) -> None:
    folder = project(tmp_path, kind, "none")
    sure = Settled.FOR_CERTAIN
    assert answer(folder, "in_north(?o)") == (sure, [(1,), (5,)], 0, True)
    assert answer(folder, "valued(?o, ?v)") == (sure, [(1, 10), (2, 20), (4, 40)], 0, True)
    assert answer(folder, "without(?o)") == (sure, [(3,), (5,)], 0, True)
    assert answer(folder, "total(?s)") == (sure, [(70,)], 0, True)


@pytest.mark.sampled(3, "laws")
def test_what_reads_one_is_open_under_maybe(tmp_path: Path, kind: str) -> None:
    folder = project(tmp_path, kind, "maybe")
    assert answer(folder, "in_north(?o)") == (Settled.OPEN, [(1,), (5,)], 2, True)
    assert answer(folder, "valued(?o, ?v)") == (Settled.OPEN, [(1, 10), (2, 20), (4, 40)], 2, True)
    assert answer(folder, "without(?o)") == (Settled.OPEN, [], 2, True)
    assert answer(folder, "total(?s)") == (Settled.OPEN, [], 1, True)


@pytest.mark.sampled(3, "laws")
def test_rows_that_may_be_one_are_not_counted(tmp_path: Path, kind: str) -> None:
    apart = ((1, "north", 10), (1, "south", 10), (1, None, 20))
    alike = ((1, "north", 10), (1, None, 10))
    for rows, count in ((apart, [(3,)]), (alike, [])):
        (tmp_path / str(len(count))).mkdir()
        folder = project(tmp_path / str(len(count)), kind, "maybe", rows)
        assert answer(folder, "many(?n)")[1:] == (count, 1 - len(count), True)
    none = tmp_path / "none"
    none.mkdir()
    assert answer(project(none, kind, "none", alike), "many(?n)")[1:] == ([(2,)], 0, True)


@pytest.mark.sampled(3, "laws")
def test_what_is_open_names_the_rows_with_a_null(tmp_path: Path, kind: str) -> None:
    with Session(project(tmp_path, kind, "maybe")) as session:
        found = session.query("total(?s)", engine="forward").reasons
    assert {(one.predicate, one.reason, one.count) for one in found} == {
        ("orders", "v is NULL in shop", 2),
    }


def test_a_stream_stays_one_whatever_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed: list[str] = []
    load = inputs.Streamed.load

    def loading(self: inputs.Streamed, database: object, name: str) -> None:
        streamed.append(name)
        load(self, database, name)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(inputs.Streamed, "load", loading)
    folder = project(tmp_path, "duckdb", "maybe", key=True)
    assert answer(folder, "total(?s)")[0] is Settled.OPEN
    assert streamed == ["orders.unread.region.counted"]
