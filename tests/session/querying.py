"""A small project with every kind of value, over an SQLite database made by the test."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RULES = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"

.decl thing(name: symbol, n: number, u: unsigned, f: float, d: Decimal, day: Date,
            at: Timestamp, ok: Bool)
.input thing(source = "db", query = "SELECT name, n, u, f, d, day, at, ok FROM thing")
.decl pair(a: symbol, b: symbol)
.input pair(source = "db", query = "SELECT a, b FROM pair")
.decl reach(a: symbol, b: symbol)
reach(?a, ?b) :- pair(?a, ?b).
reach(?a, ?c) :- reach(?a, ?b), pair(?b, ?c).
.decl ratio(name: symbol, r: number)
@[floor]
ratio(?name, 10 / ?n) :- thing(?name, ?n, _, _, _, _, _, _).
.decl listed(x: symbol)
.decl query(x: symbol)
query(?x) :- pair(?x, _).
"""

Thing = tuple[str, int, str, float, str, str, str, str]
PAIRS = (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e"))
THINGS: tuple[Thing, ...] = (
    ("plain", 2, "7", 0.1, "10.50", "2025-01-31", "2025-01-31T10:00:00.000001Z", "true"),
    ("big", 2**63 - 1, str(2**64 - 1), -1e300, "0." + "0" * 10 + "1", "0001-01-01",
     "0001-01-01T00:00:00.000000Z", "false"),
    ("low", -(2**63), "0", 5e-324, "-99999999999999999999999999", "9999-12-31",
     "9999-12-31T23:59:59.999999Z", "true"),
    ("=cmd|' /C calc'!A0", 0, "1", 1.0, "0", "2024-02-29", "2024-02-29T00:00:00Z", "false"),
    ('quote"comma,\nline\r\tend', 10, "2", 2.5, "1", "2024-02-29", "2024-02-29T00:00:00Z", "true"),
    ("日本語 ü e\u0301 \u202e x", 9, "3", 3.25, "100", "2024-02-29", "2024-02-29T00:00:00Z",
     "true"),
    ("", 11, "4", 4.0, "1000", "2024-02-29", "2024-02-29T00:00:00Z", "true"),
)  # fmt: skip


def make_project(folder: Path, things: Sequence[Thing] = THINGS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "db.sqlite")) as connection, connection:
        connection.execute(
            "CREATE TABLE thing "
            "(name TEXT, n INTEGER, u TEXT, f REAL, d TEXT, day TEXT, at TEXT, ok TEXT)"
        )
        connection.executemany("INSERT INTO thing VALUES (?,?,?,?,?,?,?,?)", things)
        connection.execute("CREATE TABLE pair (a TEXT, b TEXT)")
        connection.executemany("INSERT INTO pair VALUES (?, ?)", PAIRS)
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    (folder / "constat.yaml").write_text(
        "project: things\nrules: [rules.dl]\ndatabases:\n  db:\n    uri: sqlite:///db.sqlite\n",
        encoding="utf-8",
    )
    return folder
