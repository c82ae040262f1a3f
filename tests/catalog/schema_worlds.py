"""Databases and projects for the tests of the catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import duckdb

from constat import Session
from constat.catalog.schema import SchemaManager
from constat.project import load_project
from constat.session.data_checks import check_data
from constat.store.catalog import CatalogIndex

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

HARD: Final = (
    *('";drop', ";drop", "a b", "Größe", "select", "x'y", "1st", "a.b", "`tick`", "%s", "%"),
    *(":p", "?", "{q}", "--", "/*", "back\\slash", "日本", "@[says]", "ORDER"),
)
"""Names of columns that a careless query would not read, or would run."""
HARD_TABLE: Final = 'odd; "table" -- '.strip()


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


def definition(quote: str, columns: str = "VARCHAR(20)", more: str = "") -> list[str]:
    """Write the table of hard names, and one row: in each column how many columns are before it."""
    table, *names = (quote + name.replace(quote, 2 * quote) + quote for name in (HARD_TABLE, *HARD))
    listed = ", ".join(f"{name} {columns}" for name in names)
    values = ", ".join(f"'v{place}'" for place in range(len(names)))
    return [f"CREATE TABLE {table} ({listed}){more}", f"INSERT INTO {table} VALUES ({values})"]


def goes_all_the_way(folder: Path, databases: str, table: str = HARD_TABLE) -> None:
    """Show, search, check, sample, draft and query a table of hard names."""
    expected = [f"v{place}" for place in range(len(HARD))]
    catalog = managed(folder, databases)
    found = catalog.table(table)
    assert [one.name for one in found.columns] == list(HARD)
    assert found.problems == ()
    assert any(hit.name.endswith(".a b") for hit in catalog.search("a b", ("column",), 50).hits)
    assert catalog.check(table).findings == ()
    shown = catalog.sample(table, allowed=True)
    assert [(one.column, one.values) for one in shown] == [
        (name, ((value, 1),)) for name, value in zip(HARD, expected, strict=True)
    ]
    catalog.close()
    with Session(folder) as session:
        drafted = session.draft_tables([table])
    (folder / "drafted.dl").write_text(drafted.text, encoding="utf-8")
    (folder / "constat.yaml").write_text(f"{databases}\nrules: [drafted.dl]\n", encoding="utf-8")
    (predicate,) = drafted.predicates
    variables = ", ".join(f"?{one.name}" for one in predicate.columns)
    with Session(folder) as session:
        (row,) = session.query(f"{predicate.name}({variables})")
        assert [str(value) for value in row.values] == expected
        # Each value is pushed into the query as a parameter of its column.
        bound = ", ".join(f'"{value}"' for value in expected)
        assert session.prove(f"{predicate.name}({bound})").verdict.value == "PROVED"


OURS = ("q", "given", "g", "t", "u", "r", "rows", "value", "number", "c0")
"""Names that queries around those of users have, or had."""


def called_as_ours(text: str = "TEXT") -> list[str]:
    """Write tables that are called as what is written around a query, each with a NULL."""
    return [
        statement
        for name in OURS
        for statement in (
            f"CREATE TABLE {name} (c0 INTEGER PRIMARY KEY, {name}2 {text}, v0 INTEGER NOT NULL)",
            f"INSERT INTO {name} VALUES (1, 'a', 10), (2, NULL, 20)",
        )
    ]


def all_are_asked(folder: Path, databases: str) -> None:
    """Draft, query, prove by key, add up and check tables that are called as ours."""
    (folder / "constat.yaml").write_text(databases, encoding="utf-8")
    with Session(folder) as session:
        drafted = session.draft_tables(list(OURS))
    assert len(drafted.predicates) == len(OURS)
    totals = "\n".join(
        f".decl total_{one.name}(n: number)\n"
        f"total_{one.name}(?n) :- ?n = sum ?v : {{ {one.name}(_k, _, ?v) }}."
        for one in drafted.predicates
    )
    (folder / "drafted.dl").write_text(f"{drafted.text}\n{totals}\n", encoding="utf-8")
    (folder / "constat.yaml").write_text(f"{databases}\nrules: [drafted.dl]\n", encoding="utf-8")
    with Session(folder) as session:
        for one in drafted.predicates:
            assert len(session.query(f"{one.name}(?k, _, ?v)")) == 2
            assert session.prove(f'{one.name}(1, "a", 10)').verdict.value == "PROVED"
            assert session.prove(f"total_{one.name}(30)").verdict.value == "PROVED"
        found = check_data(session, (), 5)
        assert len(found) == len(OURS)
        assert {one.verdict.value for one in found} == {"PROVED"}
