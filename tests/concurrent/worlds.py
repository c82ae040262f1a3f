"""A shop whose one customer is rich and blocked, or poor and free: somebody changes him all day.

In every committed state both or neither holds, so `torn` is false; it takes rows of two states to
prove it. A file has no commits: there each write leaves `torn_up` false, and only that is asked.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase

SQLITE: Final = ("delete", "wal", "truncate", "persist", "memory")
FILES: Final = ("csv", "csv-in-place", "jsonl", "parquet")
POSTGRESQL: Final = ("postgresql", "postgresql-truncate", "postgresql-swap")
MARIADB: Final = ("mariadb", "mariadb-swap", "mariadb-plain", "mariadb-myisam")
MANY: Final = "two-sources"
KINDS: Final = (*SQLITE, "duckdb", *FILES, MANY)
SERVED: Final = (*POSTGRESQL, *MARIADB)
# Written less often: while a file is being written, or all tables made anew, there is no state.
SLOW: Final = frozenset(
    {*FILES, "postgresql-truncate", "postgresql-swap", "mariadb-swap", "mariadb-plain"}
)
# Two programs that do this at once would mix what they write.
ALONE: Final = frozenset({*FILES, "mariadb-swap", "mariadb-plain"})
# Here a verdict may be of no state at all, and has to say so.
SAYS_SO: Final = frozenset({MANY, "mariadb-myisam"})

RULES: Final = """
.pragma "constat" "0.1"
.decl customer(c: symbol)
.input customer(source = "shop", query = "SELECT c FROM customers")
.decl placed(c: symbol, id: number, amount: number)
.input placed(source = "shop", query = "SELECT c, id, amount FROM orders")
.decl blocked(c: symbol)
.input blocked(source = "{other}", query = "SELECT c FROM blocked")
.decl total(c: symbol, amount: number)
total(?c, ?t) :- customer(?c), ?t = sum ?a : {{ placed(?c, _id, ?a) }}.
.decl torn_up(c: symbol)
torn_up(?c) :- total(?c, ?t), ?t > 100, !blocked(?c).
.decl torn(c: symbol)
torn(?c) :- torn_up(?c).
torn(?c) :- blocked(?c), total(?c, ?t), ?t <= 100.
"""
TABLES: Final = (
    "CREATE TABLE customers (c VARCHAR(9))",
    "CREATE TABLE orders (c VARCHAR(9), id INTEGER, amount INTEGER)",
    "CREATE TABLE blocked (c VARCHAR(9))",
    "INSERT INTO customers VALUES ('C1')",
    "INSERT INTO orders VALUES ('C1', 1, 10), ('C1', 2, 1)",
)
FILE_ROWS: Final[Mapping[str, Mapping[str, Sequence[object]]]] = {
    "customers": {"c": ["C1"]},
    "orders": {"c": ["C1", "C1"], "id": [1, 2], "amount": [10, 1]},
    "blocked": {"c": ["C0"]},
}


@dataclass(frozen=True)
class World:
    """A project folder, where its data lie, and what is never true there."""

    kind: str
    folder: Path
    place: str

    @property
    def goal(self) -> str:
        return "torn_up" if self.kind in FILES else "torn"


def make(kind: str, folder: Path, address: str = "", *, place: str = "") -> World:
    """Write a project; a server's database has its tables already (see `TABLES`).

    Who reads has the account of the `address`, and who writes that of the `place`, if there is one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ending = kind.partition("-")[0]
    if address:
        databases, place = f'{{shop: {{uri: "{address}"}}}}', place or address
    elif kind in FILES:
        listed = ", ".join(f"{name}: {name}.{ending}" for name in FILE_ROWS)
        databases, place = f"{{shop: {{type: files, files: {{{listed}}}}}}}", str(folder)
        for name, columns in FILE_ROWS.items():
            path = folder / f"{name}.{ending}"
            write_file(path, columns)
    elif kind == "duckdb":
        import duckdb

        path = folder / "shop.duckdb"
        databases, place = "{shop: 'duckdb:///shop.duckdb'}", str(path)
        with duckdb.connect(str(path)) as duck:
            for statement in TABLES:
                duck.execute(statement)
    else:
        databases = "{shop: 'sqlite:///shop.sqlite', other: 'sqlite:///other.sqlite'}"
        place = str(folder / "shop.sqlite")
        for name in ("shop", "other"):
            connection = sqlite3.connect(folder / f"{name}.sqlite")
            connection.executescript(";".join(TABLES))
            connection.close()
    other = "other" if kind == MANY else "shop"
    (folder / "shop.dl").write_text(RULES.format(other=other))
    (folder / "constat.yaml").write_text(
        f"project: shop\nrules: [shop.dl]\ndatabases: {databases}\n"
    )
    return World(kind, folder, place)


def tables(kind: str) -> list[str]:
    """Give the statements that make the tables of a server."""
    ending = " ENGINE = MyISAM" if kind == "mariadb-myisam" else ""
    return [f"{one}{ending * one.startswith('CREATE')}" for one in TABLES]


def reader_of(kind: str, database: ServedDatabase) -> str:
    """Give the address for who reads; `mariadb-plain` has an account that may do nothing else."""
    if kind != "mariadb-plain":
        return database.uri
    database.run(f"GRANT SELECT ON {database.name}.* TO plain@'127.0.0.1' IDENTIFIED BY 'word'")
    return database.server.uri(database.name, "plain", "word")


def write_file(path: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """Write a table as a file of the kind that its name says."""
    rows = list(zip(*columns.values(), strict=True))
    match path.suffix:
        case ".csv":
            lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        case ".jsonl":
            lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        case _:
            import duckdb

            listed = ", ".join(str(row) if len(row) > 1 else f"('{row[0]}')" for row in rows)
            query = f"SELECT * FROM (VALUES {listed}) AS t({', '.join(columns)})"
            with duckdb.connect() as duck:
                duck.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
            return
    path.write_text("\n".join(lines) + "\n")
