"""Small projects to explore: sales by region over two years, and a shop of sixty customers.

In: a folder. Out: the folder of a project. Invariant: the same data on each machine.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from typing import TYPE_CHECKING

import duckdb

from tests.examples.projects import copy_example
from tests.examples.shop import copy_shop

if TYPE_CHECKING:
    from pathlib import Path

TODAY = "2024-12-15"
_CONFIGURATION = """
project: regions
rules: [sales.dl]
databases:
  sales: {uri: "sqlite:///sales.sqlite"}
"""
_RULES = """
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once
/// One sale.
.decl sale(id: number, region: symbol, product: symbol, day: Date, amount: Decimal)
.input sale(source = "sales", query = "SELECT id, region, product, day, amount FROM sales")
/// Which category a product is of.
.decl product(product: symbol, category: symbol)
.input product(source = "sales", query = "SELECT id, category FROM products")
/// Who looks after a region. Nobody says that nobody else does.
.decl keeper(region: symbol, person: symbol)
"""
_TABLES = """
CREATE TABLE sales (
    id INTEGER PRIMARY KEY, region TEXT NOT NULL, product TEXT NOT NULL, day TEXT NOT NULL,
    amount TEXT NOT NULL
);
CREATE TABLE products (id TEXT PRIMARY KEY NOT NULL, category TEXT NOT NULL, weight REAL);
"""
_REGIONS = ("North", "South", "East", "West")
_PRODUCTS = (("pen", "paper"), ("book", "paper"), ("lamp", "home"), ("desk", "home"))


def make_regions(folder: Path, sales: int = 240) -> Path:
    """Make a project with sales from 2023-01-01 to 2024-12-30."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "constat.yaml").write_text(_CONFIGURATION)
    (folder / "sales.dl").write_text(_RULES)
    chance = random.Random(7)
    first = date(2023, 1, 1)
    rows = [
        (
            number,
            chance.choice(_REGIONS[: 4 if number % 3 else 3]),
            chance.choice(_PRODUCTS)[0],
            (first + timedelta(days=chance.randrange(730))).isoformat(),
            f"{chance.randrange(500, 90_000) / 100:.2f}",
        )
        for number in range(1, sales + 1)
    ]
    with closing(sqlite3.connect(folder / "sales.sqlite")) as connection:
        connection.executescript(_TABLES)
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", rows)
        products = [(name, category, 0.5) for name, category in _PRODUCTS]
        connection.executemany("INSERT INTO products VALUES (?, ?, ?)", products)
        connection.commit()
    return folder


def make_small_shop(folder: Path, database: Path) -> Path:
    """Make the example's project with the first sixty customers only."""
    project = copy_shop(folder, database)
    with closing(sqlite3.connect(project / "data" / "shop.sqlite")) as connection:
        kept = "SELECT id FROM customers WHERE id <= 'C060'"
        for table, column in (("orders", "customer_id"), ("accounts", "customer_id")):
            connection.execute(f"DELETE FROM {table} WHERE {column} NOT IN ({kept})")
        connection.execute(f"DELETE FROM blocked_customers WHERE customer_id NOT IN ({kept})")
        connection.execute(
            f"DELETE FROM ownership WHERE owner_id NOT IN ({kept}) OR owned_id NOT IN ({kept})"
        )
        connection.execute("DELETE FROM customers WHERE id > 'C060'")
        connection.commit()
    return project


def make_example(world: str, folder: Path) -> Path:
    """Make the project of the example `access` or `ownership`, with its database."""
    libraries = {"access": "access-control", "ownership": "ownership-control"}
    return copy_example(world, libraries[world], folder)


def oracle(database: Path) -> duckdb.DuckDBPyConnection:
    """Give the raw tables of a SQLite file in DuckDB, amounts as exact decimals, days as dates."""
    found = duckdb.connect(":memory:", config={"threads": 1})
    with closing(sqlite3.connect(database)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in tables.fetchall():
            cursor = connection.execute(f"SELECT * FROM {name}")
            columns = [one[0] for one in cursor.description]
            cells = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(columns)
            listed = ", ".join(
                f"CAST(unnest(?::VARCHAR[]) AS {_type(one)}) AS {one}" for one in columns
            )
            texts = [[None if one is None else str(one) for one in column] for column in cells]
            found.execute(f"CREATE TABLE {name} AS SELECT {listed}", texts)
    return found


def _type(column: str) -> str:
    if column in {"amount", "share", "capital", "votes"}:
        return "DECIMAL(18, 4)"
    if column in {"day", "ordered_on", "last_login", "first_day", "last_day"}:
        return "DATE"
    return "VARCHAR"
