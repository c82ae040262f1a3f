"""Databases and projects for the tests of the catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb

from constat.catalog.schema import SchemaManager
from constat.project import load_project
from constat.store.catalog_index import CatalogIndex

if TYPE_CHECKING:
    from pathlib import Path

SHOP = """
CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT NOT NULL, tier TEXT);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers, day TEXT, amount REAL,
    UNIQUE (customer_id, day)
);
CREATE TABLE order_lines (order_id INTEGER, line INTEGER, note BLOB, PRIMARY KEY (order_id, line));
CREATE VIEW large AS SELECT id, amount FROM orders WHERE amount > 100;
INSERT INTO customers VALUES
    ('C001', 'Ada', 'gold'), ('C002', 'Bob', NULL), ('C003', 'Eve', 'gold');
INSERT INTO orders VALUES
    (1, 'C001', '2025-01-01', 10.5), (2, 'C001', '2025-01-02', 200), (3, 'C002', NULL, 7.25);
INSERT INTO order_lines VALUES (1, 1, x'00ff'), (2, 1, NULL);
"""


def sqlite_file(path: Path, script: str = SHOP) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        # One transaction, and no waiting for the disk: a test needs neither.
        connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script}; COMMIT;")
    return path


def duckdb_file(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def managed(
    folder: Path, text: str = 'databases: {sales: "sqlite:///shop.sqlite"}', *, kept: bool = False
) -> SchemaManager:
    """Give the catalog of a project with that configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    index = CatalogIndex(folder / "catalog.sqlite" if kept else None)
    return SchemaManager(load_project(folder), index)


def shop(folder: Path, more: str = "") -> SchemaManager:
    sqlite_file(folder / "shop.sqlite")
    return managed(folder, 'databases: {sales: "sqlite:///shop.sqlite"}\n' + more)
