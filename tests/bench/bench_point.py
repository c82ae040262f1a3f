"""One ground goal over five million orders (workload W6), in each kind of source.

In: a folder with the workload's Parquet files. Out: figures of new processes and of a warm
session. The project asks `is_vip(11)`: a sum over one customer's orders, a tier, a block list.
"""

from __future__ import annotations

import shutil
import sqlite3
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

import duckdb

from constat import Session
from tests.bench.measuring import Figure, figure, process, several

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROUNDS: Final = 7
WARM_ROUNDS: Final = 30
GOAL: Final = "is_vip(11)"

_RULES: Final = """.pragma "constat" "0.1"
.decl orders(id: number, customer: number, amount: number)
.input orders(source = "shop", query = "SELECT id, c, amt FROM orders")
.decl customer(customer: number, tier: symbol)
.input customer(source = "shop", query = "SELECT c, tier FROM customer")
.decl blocked(customer: number)
.input blocked(source = "shop", query = "SELECT c FROM blocked")
.decl revenue(customer: number, total: number)
revenue(?c, ?s) :- customer(?c, _), ?s = sum ?a : { orders(_id, ?c, ?a) }.
.decl big(customer: number)
big(?c) :- revenue(?c, ?s), ?s > 200000.
big(?c) :- customer(?c, "gold").
.decl is_vip(customer: number)
is_vip(?c) :- big(?c), !blocked(?c).
"""
_TABLES: Final = {
    "orders": {"id": "INTEGER", "c": "INTEGER", "amt": "INTEGER"},
    "customer": {"c": "INTEGER", "tier": "TEXT"},
    "blocked": {"c": "INTEGER"},
}


def projects(inputs: Path, folder: Path) -> Iterator[tuple[str, Path, float]]:
    """Yield the kinds of source, each with its project and the goal for a new process."""
    yield "SQLite, indexed", _project(folder / "sqlite", _sqlite(inputs, folder)), 0.15
    yield "DuckDB, sorted", _project(folder / "duckdb", _duckdb(inputs, folder)), 0.35
    listed = ", ".join(f"{name}: {name}.parquet" for name in _TABLES)
    project = _project(folder / "parquet", f"files: {{{listed}}}")
    for name in _TABLES:
        shutil.copy(inputs / f"{name}.parquet", project)
    yield "Parquet, in no order", project, 0.35


def measure(inputs: Path, folder: Path, bytecode: Path) -> list[Figure]:
    """Time the goal in new processes and in a session, for each kind of source."""
    folder.mkdir()
    figures = []
    for name, project, most in projects(inputs, folder):
        command = ("prove", GOAL, "--project", str(project))
        cold = several(partial(process, bytecode, *command, code=5), ROUNDS)
        figures.append(figure(f"5 M orders, {name}: `constat prove`, new process", cold, most))
        with Session(project) as session:
            # Each time another customer: what a session remembers of one helps nobody else.
            customers = count(1_000)
            warm = several(lambda: session.prove(f"is_vip({next(customers)})"), WARM_ROUNDS)  # noqa: B023
        figures.append(figure(f"5 M orders, {name}: warm", warm, 0.002, milliseconds=True))
    return figures


def _project(folder: Path, database: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "rules.dl").write_text(_RULES, encoding="utf-8")
    text = f"project: orders\nrules: [rules.dl]\ndatabases:\n  shop:\n    {database}\n"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return folder


def _sqlite(inputs: Path, folder: Path) -> str:
    path = folder / "shop.sqlite"
    with duckdb.connect() as reading, sqlite3.connect(path) as writing:
        for name, columns in _TABLES.items():
            declared = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            marks = ", ".join("?" * len(columns))
            writing.execute(f"CREATE TABLE {name} ({declared})")
            found = reading.execute(f"SELECT {', '.join(columns)} FROM '{inputs / name}.parquet'")
            while rows := found.fetchmany(100_000):
                writing.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
            rest = [column for column in columns if column != "c"]
            writing.execute(f"CREATE INDEX {name}_c ON {name} ({', '.join(['c', *rest])})")
    return f"uri: sqlite:///{path}"


def _duckdb(inputs: Path, folder: Path) -> str:
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name, columns in _TABLES.items():
            # Sorted by what goals ask for: DuckDB then skips all but a few row groups.
            query = f"SELECT {', '.join(columns)} FROM '{inputs / name}.parquet' ORDER BY c"
            connection.execute(f"CREATE TABLE {name} AS {query}")
    return f"uri: duckdb:///{path}"
