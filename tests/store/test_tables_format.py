"""Tables as bytes, as data frames and as Parquet: nothing changes on the way, nothing is run."""

from __future__ import annotations

import contextlib
import hashlib
import struct
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.store.table_columns import read_parquet, write_parquet
from constat.store.table_forms import Table, TableError, decode, encode, table_of
from constat.store.tables_frames import from_frame, to_frame
from tests.store.table_values import tables

if TYPE_CHECKING:
    from pathlib import Path


@given(table=tables())
def test_a_table_is_read_as_it_was_written(table: Table) -> None:
    assert decode(encode(table)) == table
    assert table.sha256 == hashlib.sha256(encode(table)).hexdigest()
    again = table_of(
        list(zip(table.names, table.kinds, strict=True)),
        [table.values(place) for place in range(len(table.columns))],
    )
    assert again == table


@given(table=tables())
def test_a_frame_holds_what_the_table_holds(table: Table) -> None:
    back = from_frame(to_frame(table))
    found = [list(back.iterate()), back.names]
    assert found == [list(table.iterate()), table.names]


@settings(max_examples=6)
@given(table=tables(most_rows=30))
def test_parquet_holds_what_the_table_holds(
    tmp_path_factory: pytest.TempPathFactory, table: Table
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    target = folder / "t.parquet"
    write_parquet(table, target, table.sha256)
    columns = list(zip(table.names, table.kinds, strict=True))
    assert read_parquet(target, columns, table.sha256) == table
    assert [path.name for path in folder.iterdir()] == ["t.parquet"]


@given(table=tables(), place=st.integers(0, 1 << 20), change=st.integers(1, 255))
def test_damaged_bytes_are_another_table_or_none(table: Table, place: int, change: int) -> None:
    content = bytearray(encode(table))
    content[place % len(content)] ^= change
    try:
        found = decode(bytes(content))
    except TableError:
        return
    assert encode(found) == bytes(content)
    assert len(list(found.iterate())) == found.rows


@given(content=st.binary(max_size=60), rows=st.integers(-1, 1 << 63), length=st.integers(0, 99))
def test_bytes_from_outside_are_read_within_bounds(content: bytes, rows: int, length: int) -> None:
    header = b'{"columns":[["a","symbol",true]],"rows":%d}' % rows
    for text in (
        content,
        b"CNSTTAB1" + struct.pack("<I", length) + content,
        b"CNSTTAB1" + struct.pack("<I", len(header)) + header + content,
    ):
        with contextlib.suppress(TableError):
            assert encode(decode(text)) == text


def test_cells_that_are_not_of_the_kind_are_refused() -> None:
    bad = [
        ("number", 1.5), ("number", True), ("number", 1 << 63), ("unsigned", -1), ("symbol", 1),
        ("Bool", "yes"), ("Date", "2024-13-01"), ("Timestamp", "x"), ("Decimal", 1.5),
        ("Decimal", Decimal("1e99")), ("float", float("inf")), ("symbol", "\ud800"), ("json", 1),
    ]  # fmt: skip
    for kind, value in bad:
        with pytest.raises(TableError):
            table_of([("a", kind)], [[value]])


@pytest.mark.parametrize("names", [["a", "a"], [""], ["\x1b"], ["x" * 201]])
def test_names_that_are_none_are_refused(names: list[str]) -> None:
    with pytest.raises(TableError):
        table_of([(name, "number") for name in names], [[1] for _ in names])


def test_frames_as_models_make_them_become_tables() -> None:
    frame = pd.DataFrame({"region": ["N", "S", "N"], "amount": [1.0, 2.0, np.nan], "n": [1, 2, 3]})
    grouped = from_frame(frame.groupby("region").agg(total=("amount", "sum"), k=("n", "count")))
    assert list(grouped.iterate()) == [("N", 1.0, 2), ("S", 2.0, 1)]
    assert grouped.kinds == ("symbol", "float", "number")
    wide = from_frame(frame.pivot_table(index="region", values=["n"], aggfunc=["sum", "max"]))
    assert wide.names == ("region", "sum_n", "max_n")
    filtered = from_frame(frame[frame["n"] > 1].sort_values("n", ascending=False))
    assert filtered.names == ("region", "amount", "n")
    when = pd.to_datetime(pd.Series(["2024-01-01 10:00", None]))
    assert from_frame(when.to_frame("at")).values(0) == ["2024-01-01T10:00:00.000000Z", None]
    zoned = when.dt.tz_localize("Europe/Berlin").to_frame("at")
    assert from_frame(zoned).values(0)[0] == "2024-01-01T09:00:00.000000Z"
    quarters = pd.Series(pd.PeriodIndex(["2024Q4"], freq="Q")).to_frame("q")
    assert from_frame(quarters).values(0) == ["2024Q4"]
    kinds = from_frame(pd.Series(["a", "b", "a"], dtype="category").to_frame("c"))
    assert kinds.values(0) == ["a", "b", "a"]


@pytest.mark.parametrize(
    "column",
    [[1, "a"], [object()], [[1]], [np.inf], [pd.Timedelta(1)], [b"x"], [1j], ["\ud800"]],
    ids=["mixed", "object", "list", "infinity", "duration", "bytes", "complex", "surrogate"],
)
def test_a_column_that_no_table_has_is_named(column: list[object]) -> None:
    with pytest.raises(TableError, match="column `odd`"):
        from_frame(pd.DataFrame({"odd": pd.Series(column)}))


def test_columns_that_only_case_tells_apart_stay_apart_in_parquet(tmp_path: Path) -> None:
    table = table_of([("a", "number"), ("A", "symbol")], [[1], ["x"]])
    target = tmp_path / "t.parquet"
    write_parquet(table, target, table.sha256)
    columns = list(zip(table.names, table.kinds, strict=True))
    assert read_parquet(target, columns, table.sha256) == table


def test_a_changed_file_is_an_error_and_is_written_anew(tmp_path: Path) -> None:
    table = table_of([("a", "number")], [[1, 2]])
    other = table_of([("a", "number")], [[1, 3]])
    path, second = tmp_path / "t.parquet", tmp_path / "other.parquet"
    write_parquet(table, path, table.sha256)
    columns = [("a", "number")]
    write_parquet(other, second, other.sha256)
    second.replace(path)
    with pytest.raises(TableError, match="another content"):
        read_parquet(path, columns, table.sha256)
    path.write_bytes(b"PAR1")
    with pytest.raises(TableError, match="damaged"):
        read_parquet(path, columns, table.sha256)
    write_parquet(table, path, table.sha256)
    assert read_parquet(path, columns, table.sha256) == table
    path.unlink()
    with pytest.raises(TableError, match="missing"):
        read_parquet(path, columns, table.sha256)
