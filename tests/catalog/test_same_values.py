"""A value is read as the same one, or refused, wherever it is stored (semantics 24 to 28)."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.catalog import ReadBounds, guard, open_connection, read_cell
from constat.logic import Kind, Value
from constat.project import load_project

if TYPE_CHECKING:
    from pathlib import Path

    from constat.catalog import Connection

Outcome = Value | None
"""The value, or `None` where it is refused."""
BOUNDS = ReadBounds(20, 100_000)
QUERY = "SELECT n, x FROM t"
CONFIGURATION = """
databases:
  sqlite: "sqlite:///t.sqlite"
  duckdb: "duckdb:///t.duckdb"
  parquet: {files: {t: t.parquet}}
  csv: {files: {t: t.csv}}
  jsonl: {files: {t: t.jsonl}}
"""

INTEGERS = st.one_of(
    st.integers(-(2**66), 2**66),
    st.sampled_from([2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 0]),
)
DECIMALS = st.one_of(
    st.decimals(-(10**27), 10**27, places=10, allow_nan=False),
    st.decimals(-1000, 1000, places=2, allow_nan=False),
)
FLOATS = st.one_of(
    st.floats(), st.floats(width=32), st.sampled_from([0.1, -0.0, 1e300, 5e-324, 2.0**53])
)
DATES = st.one_of(st.dates().map(str), st.sampled_from(["0001-01-01", "9999-12-31"]))
ZONES = st.sampled_from([timezone(timedelta(minutes=minutes)) for minutes in (0, 60, -330, 845)])
FIRST, LAST = datetime(2, 1, 1), datetime(9998, 12, 30)  # noqa: DTZ001  drawn with and without zones
MOMENTS = st.one_of(st.datetimes(FIRST, LAST), st.datetimes(FIRST, LAST, timezones=ZONES))
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from(["", " ", "NA", "null", "00123", '"', ",", "a\nb", "a\rb", "\r\n", "\\", "#"]),
)


def write(folder: Path, native: str, cells: list[Any], texts: list[str], *, quoted: bool) -> None:
    """Store cells in columns of the native type, and the texts where there are only texts."""
    for path in folder.iterdir():
        path.unlink()
    (folder / "constat.yaml").write_text(CONFIGURATION)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE s (n BIGINT, x VARCHAR)")
        with connection.appender("s") as appender:
            appender.append_rows([(n, None if x is None else str(x)) for n, x in enumerate(cells)])
        connection.execute(f"CREATE TABLE t AS SELECT n, CAST(x AS {native}) AS x FROM s")
        # Parquet has no integer of 128 bits; DuckDB would write a float.
        stored = "DECIMAL(38, 0)" if native == "HUGEINT" else native
        connection.execute(
            f"COPY (SELECT n, CAST(x AS {stored}) AS x FROM t) TO '{folder}/t.parquet'"
        )
    lite = sqlite3.connect(folder / "t.sqlite")
    lite.execute("PRAGMA synchronous = OFF")
    lite.execute("CREATE TABLE t (n INTEGER, x)")
    own = native == "DOUBLE"
    lite.executemany("INSERT INTO t VALUES (?, ?)", enumerate(cells if own else texts))
    lite.commit()
    lite.close()
    lines = [f"{n},{_field(text)}" for n, text in enumerate(texts)]
    (folder / "t.csv").write_bytes("\n".join(["n,x", *lines, ""]).encode())
    spelled = [json.dumps(text) if quoted else text for text in texts]
    rows = [f'{{"n": {n}, "x": {text}}}\n' for n, text in enumerate(spelled)]
    (folder / "t.jsonl").write_bytes("".join(rows).encode())


def _field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def outcomes(folder: Path, kind: Kind) -> dict[str, list[Outcome]]:
    project = load_project(folder)
    found = {}
    for name, database in project.databases.items():
        connection = open_connection(database, project.folder, 5)
        try:
            cells = stored(connection)
        finally:
            connection.release()
            connection.close()
        found[name] = [outcome(cells[number], kind) for number in sorted(cells)]
    return found


def stored(connection: Connection) -> dict[int, Any]:
    connection.begin()
    guarded = guard(QUERY, connection.dialect)
    connection.columns(guarded.text)
    question = connection.whole(guarded, 2)
    return {int(str(n)): x for batch in connection.read(question, BOUNDS) for n, x in batch}


def outcome(cell: Any, kind: Kind) -> Outcome:  # noqa: ANN401  whatever a driver gives
    try:
        return read_cell(cell, kind)
    except ValueError:
        return None


def agree(folder: Path, kind: Kind) -> list[Outcome]:
    found = outcomes(folder, kind)
    first = found["sqlite"]
    for name, values in found.items():
        assert values == first, name
        assert [type(value) for value in values] == [type(value) for value in first], name
    return first


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("same")


few = settings(max_examples=max(1, settings().max_examples // 20))


@few
@given(cells=st.lists(INTEGERS, min_size=1, max_size=40))
@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL])
def test_integers(folder: Path, kind: Kind, cells: list[int]) -> None:
    write(folder, "HUGEINT", cells, [str(cell) for cell in cells], quoted=False)
    low, high = {
        Kind.NUMBER: (-(2**63), 2**63 - 1),
        Kind.UNSIGNED: (0, 2**64 - 1),
        Kind.DECIMAL: (-(10**38), 10**38),
    }[kind]
    assert agree(folder, kind) == [cell if low <= cell <= high else None for cell in cells]


@few
@given(cells=st.lists(DECIMALS, min_size=1, max_size=40))
def test_decimals(folder: Path, cells: list[Decimal]) -> None:
    write(folder, "DECIMAL(38, 10)", cells, [f"{cell:f}" for cell in cells], quoted=False)
    assert agree(folder, Kind.DECIMAL) == cells


@few
@given(cells=st.lists(FLOATS, min_size=1, max_size=40))
def test_floats(folder: Path, cells: list[float]) -> None:
    write(folder, "DOUBLE", cells, [repr(cell) for cell in cells], quoted=True)
    finite = [cell if abs(cell) < float("inf") else None for cell in cells]
    assert agree(folder, Kind.FLOAT) == finite


@few
@given(cells=st.lists(DATES, min_size=1, max_size=40))
def test_dates(folder: Path, cells: list[str]) -> None:
    texts = [*cells, "infinity", "-infinity"]
    write(folder, "DATE", texts, texts, quoted=True)
    assert agree(folder, Kind.DATE) == [*cells, None, None]


@few
@given(cells=st.lists(MOMENTS, min_size=1, max_size=40))
@pytest.mark.parametrize("native", ["TIMESTAMPTZ", "TIMESTAMP_NS"])
def test_moments(folder: Path, native: str, cells: list[datetime]) -> None:
    if native == "TIMESTAMP_NS":
        # Nanoseconds reach from 1677 to 2262, and know no zones.
        cells = [cell.replace(year=1700 + cell.year % 500, tzinfo=None) for cell in cells]
    texts = [*(cell.isoformat(" ") for cell in cells), "infinity"]
    write(folder, native, texts, texts, quoted=True)
    expected = [
        (cell.replace(tzinfo=UTC) if cell.tzinfo is None else cell.astimezone(UTC)).strftime(
            "%Y-%m-%dT%H:%M:%S.%fZ"
        )
        for cell in cells
    ]
    assert agree(folder, Kind.TIMESTAMP) == [*(one.rjust(27, "0") for one in expected), None]


@few
@given(cells=st.lists(st.booleans(), min_size=1, max_size=10))
def test_truth_values(folder: Path, cells: list[bool]) -> None:
    texts = [str(cell).lower() for cell in cells]
    write(folder, "BOOLEAN", cells, texts, quoted=False)
    assert agree(folder, Kind.BOOL) == texts


@few
@given(cells=st.lists(TEXTS, min_size=1, max_size=40))
@pytest.mark.parametrize("kind", [Kind.SYMBOL, Kind.NUMBER, Kind.DECIMAL, Kind.DATE])
def test_texts(folder: Path, kind: Kind, cells: list[str]) -> None:
    write(folder, "VARCHAR", cells, cells, quoted=True)
    values = agree(folder, kind)
    if kind is Kind.SYMBOL:
        assert values == [None if "\0" in cell else cell for cell in cells]


def test_null_is_refused_everywhere(folder: Path) -> None:
    write(folder, "VARCHAR", [None, "a"], ["null", '"a"'], quoted=False)
    (folder / "t.csv").write_text("n,x\n0,\n1,a\n")
    lite = sqlite3.connect(folder / "t.sqlite")
    lite.execute("UPDATE t SET x = CASE n WHEN 1 THEN 'a' END")
    lite.commit()
    lite.close()
    assert agree(folder, Kind.SYMBOL) == [None, "a"]
