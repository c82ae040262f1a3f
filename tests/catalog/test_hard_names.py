"""Names that need quoting, very wide tables: read whole and asked right, whatever the source."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import duckdb
import openpyxl
import pytest

from tests.catalog.schema_worlds import (
    HARD,
    all_are_asked,
    called_as_ours,
    definition,
    duckdb_file,
    goes_all_the_way,
    managed,
    sqlite_file,
)

if TYPE_CHECKING:
    from pathlib import Path

VALUES = [f"v{place}" for place in range(len(HARD))]
WIDE = [f"column_{number}" for number in range(1_500)]


def written(path: Path, header: list[str], row: list[str]) -> None:
    """Write one row into a file of the kind that its name says."""
    match path.suffix:
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, row])
        case ".json":
            path.write_text(json.dumps([dict(zip(header, row, strict=True))]), encoding="utf-8")
        case ".jsonl":
            path.write_text(json.dumps(dict(zip(header, row, strict=True))), encoding="utf-8")
        case ".parquet":
            names = (name.replace('"', '""') for name in header)
            listed = ", ".join(
                f"'{value}' AS \"{name}\"" for name, value in zip(names, row, strict=True)
            )
            with duckdb.connect() as connection:
                connection.execute(f"COPY (SELECT {listed}) TO '{path}'")
        case _:
            book = openpyxl.Workbook()
            book.active.append(header)
            book.active.append(row)
            book.save(path)


def test_sqlite_is_asked_for_hard_names(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ";".join(definition('"', "TEXT")))
    goes_all_the_way(tmp_path, 'databases: {sales: "sqlite:///shop.sqlite"}')


def test_duckdb_is_asked_for_hard_names(tmp_path: Path) -> None:
    duckdb_file(tmp_path / "shop.duckdb", *definition('"'))
    goes_all_the_way(tmp_path, 'databases: {sales: "duckdb:///shop.duckdb"}')


def test_tables_of_sqlite_are_called_as_ours(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "shop.sqlite", ";".join(called_as_ours()))
    all_are_asked(tmp_path, 'databases: {sales: "sqlite:///shop.sqlite"}')


@pytest.mark.laws
def test_tables_of_duckdb_are_called_as_ours(tmp_path: Path) -> None:
    duckdb_file(tmp_path / "shop.duckdb", *called_as_ours())
    all_are_asked(tmp_path, 'databases: {sales: "duckdb:///shop.duckdb"}')


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "parquet", "xlsx"])
def test_files_are_asked_for_hard_names(tmp_path: Path, kind: str) -> None:
    written(tmp_path / f"odd; file.{kind}", list(HARD), VALUES)
    text = f'databases: {{f: {{files: {{odd: "odd; file.{kind}"}}}}}}'
    goes_all_the_way(tmp_path, text, "odd")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["duckdb", "csv", "jsonl", "parquet", "xlsx"])
def test_a_table_of_1500_columns_is_read_whole(tmp_path: Path, kind: str) -> None:
    row = ["1"] * len(WIDE)
    if kind == "duckdb":
        listed = ", ".join(f"{name} INTEGER" for name in WIDE)
        duckdb_file(tmp_path / "w.duckdb", f"CREATE TABLE wide ({listed})")
        text = 'databases: {f: "duckdb:///w.duckdb"}'
    else:
        written(tmp_path / f"wide.{kind}", WIDE, row)
        text = f"databases: {{f: {{files: {{wide: wide.{kind}}}}}}}"
    catalog = managed(tmp_path, text)
    assert [one.name for one in catalog.table("wide").columns] == WIDE
    (hit, *_) = catalog.search("column 1499", ("column",)).hits
    assert hit.name == "f.wide.column_1499"
    catalog.close()
