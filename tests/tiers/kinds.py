"""The same tables in every kind of source, for behaviours that do not depend on the driver."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import duckdb

from tests.tiers.building import Setting, configured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from constat.logic import Predicate

Cell = int | str | Decimal | None


@dataclass(frozen=True)
class Table:
    """A table: the type of each column (`integer`, `text`, `decimal`), and its rows."""

    columns: Mapping[str, str]
    rows: Sequence[tuple[Cell, ...]]


Tables = dict[str, Table]
_SQLITE: Final = {"integer": "INTEGER", "text": "TEXT", "decimal": "NUMERIC"}
_DUCKDB: Final = {"integer": "BIGINT", "text": "VARCHAR", "decimal": "DECIMAL(38, 10)"}


def write_sqlite(folder: Path, tables: Tables) -> str:
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    for name, table in tables.items():
        columns = ", ".join(f"{column} {_SQLITE[kind]}" for column, kind in table.columns.items())
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(table.columns))
        plain = [
            tuple(float(cell) if isinstance(cell, Decimal) else cell for cell in row)
            for row in table.rows
        ]
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", plain)
    connection.commit()
    connection.close()
    return 'uri: "sqlite:///shop.sqlite"'


def create(connection: duckdb.DuckDBPyConnection, tables: Tables) -> None:
    for name, table in tables.items():
        columns = ", ".join(f"{column} {_DUCKDB[kind]}" for column, kind in table.columns.items())
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        with connection.appender(name) as appender:
            appender.append_rows(table.rows)


def write_duckdb(folder: Path, tables: Tables) -> str:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        create(connection, tables)
    return 'uri: "duckdb:///shop.duckdb"'


def write_parquet(folder: Path, tables: Tables) -> str:
    with duckdb.connect() as connection:
        create(connection, tables)
        for name in tables:
            connection.execute(f"COPY {name} TO '{folder / name}.parquet' (FORMAT parquet)")
    return listed(tables, "parquet")


def write_csv(folder: Path, tables: Tables) -> str:
    for name, table in tables.items():
        lines = [",".join(table.columns)]
        lines += [",".join(_field(cell) for cell in row) for row in table.rows]
        (folder / f"{name}.csv").write_bytes(("\n".join(lines) + "\n").encode())
    return listed(tables, "csv")


def write_lines(folder: Path, tables: Tables) -> str:
    for name, table in tables.items():
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        lines = [
            "{" + ", ".join(f"{json.dumps(k)}: {_json(v)}" for k, v in row.items()) + "}\n"
            for row in rows
        ]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return listed(tables, "jsonl")


def listed(tables: Tables, ending: str) -> str:
    return "files: {" + ", ".join(f"{name}: {name}.{ending}" for name in tables) + "}"


def _field(cell: Cell) -> str:
    if cell is None:
        return ""
    text = str(cell)
    plain = text and not set(text) & set(',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def _json(cell: Cell) -> str:
    return str(cell) if isinstance(cell, Decimal) else json.dumps(cell)


WRITERS: Final[dict[str, Callable[[Path, Tables], str]]] = {
    "sqlite": write_sqlite,
    "duckdb": write_duckdb,
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_lines,
}
KINDS: Final = tuple(WRITERS)
TYPED: Final = ("sqlite", "duckdb", "parquet")
FILES: Final = ("parquet", "csv", "jsonl")


def source(
    folder: Path, kind: str, tables: Tables, *predicates: Predicate, extra: str = ""
) -> Setting:
    """Write the tables and a project whose database `sales` has them, and build the tiers."""
    told = WRITERS[kind](folder, tables)
    return configured(folder, f"databases: {{sales: {{{told}{extra}}}}}\n", *predicates)
