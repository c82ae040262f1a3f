"""Databases and projects for the tests of the catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import duckdb

from constat import Session
from constat.catalog.schema import SchemaManager
from constat.logic import Kind, format_value
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


def called_as_ours(text: str = "TEXT", quote: str = "") -> list[str]:
    """Write tables that are called as what is written around a query, each with a NULL."""
    return [
        statement
        for name in OURS
        for called in (f"{quote}{name}{quote}",)
        for statement in (
            f"CREATE TABLE {called} (c0 INTEGER PRIMARY KEY, {name}2 {text}, v0 INTEGER NOT NULL)",
            f"INSERT INTO {called} VALUES (1, 'a', 10), (2, NULL, 20)",
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


STORED: dict[str, tuple[Kind, list[str], list[str]]] = {
    "en": (
        Kind.DECIMAL,
        ["1,234.50", "12.00", "-3,000,000.25", "999.99"],
        ["1234.5", "12", "-3000000.25", "999.99"],
    ),
    "mixed": (
        Kind.DECIMAL,
        ["1,234.5", "1234.25", "7", "0.125"],
        ["1234.5", "1234.25", "7", "0.125"],
    ),
    "de": (Kind.DECIMAL, ["1.234,50", "12,00", "3,25", "-9,75"], ["1234.5", "12", "3.25", "-9.75"]),
    "small": (Kind.DECIMAL, ["1,5", "12,25", "3,75", "9,5"], ["1.5", "12.25", "3.75", "9.5"]),
    "swiss": (
        Kind.DECIMAL,
        ["1'234.50", "12.25", "3.50", "9.75"],
        ["1234.5", "12.25", "3.5", "9.75"],
    ),
    "eur": (
        Kind.DECIMAL,
        ["\u20ac 1,234.50", "\u20ac 3.00", "\u20ac -12.75", "\u20ac 0.99"],
        ["1234.5", "3", "-12.75", "0.99"],
    ),
    "pct": (Kind.DECIMAL, ["12 %", "3.5 %", "40 %", "7 %"], ["12", "3.5", "40", "7"]),
    "us_day": (
        Kind.DATE,
        ["1/15/2024", "12/31/2023", "2/3/2022", "11/5/2021"],
        ["2024-01-15", "2023-12-31", "2022-02-03", "2021-11-05"],
    ),
    "de_day": (
        Kind.DATE,
        ["15.01.2024", "31.12.2023", "03.02.2022", "05.11.2021"],
        ["2024-01-15", "2023-12-31", "2022-02-03", "2021-11-05"],
    ),
    "moment": (
        Kind.TIMESTAMP,
        ["15.01.2024 10:30", "31.12.2023 00:00", "03.02.2022 23:59", "05.11.2021 07:05"],
        [
            "2024-01-15T10:30:00.000000Z",
            "2023-12-31T00:00:00.000000Z",
            "2022-02-03T23:59:00.000000Z",
            "2021-11-05T07:05:00.000000Z",
        ],
    ),
    "digits": (
        Kind.DATE,
        ["20240115", "20231231", "20220203", "20211105"],
        ["2024-01-15", "2023-12-31", "2022-02-03", "2021-11-05"],
    ),
}
"""Columns of texts: the kind they have to get, what is stored, and the values that this is."""
_OPEN = ["01/02/2024", "03/04/2024", "05/06/2024", "07/08/2024"]
_WRONG = {
    "en": "1,23",
    "mixed": "1,2345",
    "de": "1.5",
    "small": "1.50",
    "swiss": "1'23.50",
    "eur": "3.00",
    "pct": "7",
    "us_day": "31/31/2024",
    "de_day": "1-2-2024",
    "moment": "15.01.2024 25:30",
    "digits": "20241301",
}


def stored_otherwise(text: str = "TEXT") -> list[str]:
    """Write a table of them; its fifth row is NULL in each."""
    listed = ", ".join(f"{name} {text}" for name in STORED)
    rows = [[one[1][place] for one in STORED.values()] + [_OPEN[place]] for place in range(4)]
    lines = [
        f"({place + 1}, " + ", ".join(map(_quoted, row)) + ")" for place, row in enumerate(rows)
    ]
    lines.append("(5, " + ", ".join("NULL" for _ in (*STORED, "either")) + ")")
    return [
        f"CREATE TABLE odd (id INTEGER PRIMARY KEY, {listed}, either {text})",
        f"INSERT INTO odd VALUES {', '.join(lines)}",
    ]


def wrong_row() -> str:
    """Write a sixth row: for each column what is no value, or a number of another country."""
    return f"INSERT INTO odd VALUES (6, {', '.join(_quoted(_WRONG[one]) for one in STORED)}, NULL)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def drafted_otherwise(folder: Path, databases: str) -> None:
    """Draft the table: each column gets its kind, and what nothing decides is said."""
    (folder / "constat.yaml").write_text(databases, encoding="utf-8")
    with Session(folder) as session:
        drafted = session.draft_tables(["odd"])
    (predicate,) = drafted.predicates
    kinds = {one.name: one.kind for one in predicate.columns}
    wanted = {name: one[0] for name, one in STORED.items()}
    assert kinds == {"id": Kind.NUMBER, **wanted, "either": Kind.SYMBOL}
    assert "CHECK: `either` means other values in other countries" in drafted.text
    (folder / "drafted.dl").write_text(drafted.text, encoding="utf-8")
    (folder / "constat.yaml").write_text(f"{databases}\nrules: [drafted.dl]\n", encoding="utf-8")


def all_are_read(folder: Path) -> None:
    """Each cell is its value; NULL is none that is known, nor is what no such text is."""
    with Session(folder) as session:
        for name, (kind, _, values) in STORED.items():
            found = session.query(f"odd(id = ?id, {name} = ?x)").sure
            shown = {number: format_value(cell, kind) for number, cell in found}
            assert shown == dict(enumerate(values, 1)), name
