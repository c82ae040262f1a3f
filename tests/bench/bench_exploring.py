"""How long exploring takes: a plan over many sales, again, after a change, and by hand.

Then a chain of four steps over a million sales in a Parquet file, of which two keep a million rows.

    python -m tests.bench.bench_exploring

Out: a table for `README.md`. The answers are compared with SQL on the same file. Invariant: no
model is asked; the plan is written by hand.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Final

import duckdb

from constat import Session
from tests.bench.measuring import Timing, once
from tests.explore.planned import plan, step
from tests.explore.worlds import TODAY, make_regions, oracle

SALES: Final = 200_000
PLAN: Final = (
    step(
        "of_year(id: number, region: symbol, product: symbol, amount: Decimal)",
        rules="""
of_year(?i, ?r, ?p, ?a) :- period("2024", ?f, ?l), sale(?i, ?r, ?p, ?d, ?a), ?d >= ?f, ?d <= ?l.
""",
    ),
    step(
        "totals(region: symbol, product: symbol, revenue: Decimal)",
        rules="""
totals(?r, ?p, ?t) :- of_year(_, ?r, ?p, _), ?t = sum ?a : { of_year(_i, ?r, ?p, ?a) }.
""",
    ),
    step(
        "best(region: symbol, product: symbol, revenue: Decimal)",
        rank={"of": "totals", "by": ["revenue desc"], "within": ["region"], "top": 1},
    ),
)
INDEPENDENT: Final = """
SELECT region, product, t FROM (SELECT *, row_number() OVER (PARTITION BY region ORDER BY t DESC) n
FROM (SELECT region, product, sum(amount) AS t FROM sales WHERE year(day) = 2024 GROUP BY ALL))
WHERE n = 1 ORDER BY region
"""


MANY: Final = 1_000_000
_MANY_RULES: Final = """
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once
/// One sale.
.decl sale(id: number, region: symbol, product: symbol, day: Date, amount: Decimal)
.input sale(source = "sales", query = "SELECT id, region, product, day, amount FROM sales")
"""
_MANY_SALES: Final = """
SELECT i AS id, ['North', 'South', 'East', 'West'][i * 7919 % 4 + 1] AS region,
    'p' || (i * 104729 % 5000) AS product, DATE '2023-01-01' + CAST(i * 31 % 730 AS INTEGER) AS day,
    CAST((i * 7907 % 89500 + 500) / 100 AS DECIMAL(12, 2)) AS amount
FROM range(1, $1) t(i)
"""
CHAIN: Final = (
    step(
        "kept(id: number, region: symbol, product: symbol, day: Date, amount: Decimal)",
        rules="kept(?i, ?r, ?p, ?d, ?a) :- sale(?i, ?r, ?p, ?d, ?a), ?a >= 1.00.",
    ),
    step(
        "priced(id: number, region: symbol, product: symbol, amount: Decimal)",
        sql="SELECT id, region, product, amount * 1.2 AS amount FROM kept"
        " WHERE day >= DATE '2023-01-01'",
    ),
    step(
        "totals(region: symbol, product: symbol, revenue: Decimal)",
        rules="totals(?r, ?p, ?t) :- priced(_, ?r, ?p, _),"
        " ?t = sum ?a : { priced(_i, ?r, ?p, ?a) }.",
    ),
    step(
        "best(region: symbol, product: symbol, revenue: Decimal)",
        rank={"of": "totals", "by": ["revenue desc"], "within": ["region"], "top": 3},
    ),
)
_BY_HAND: Final = """
SELECT region, product, t FROM (SELECT *, rank() OVER (PARTITION BY region ORDER BY t DESC) n FROM (
SELECT region, product, sum(amount * 1.2) AS t FROM read_parquet($1) WHERE amount >= 1
GROUP BY ALL)) WHERE n <= 3 ORDER BY region, t, product
"""


def make_many(folder: Path) -> Path:
    """Make a project whose sales lie in a Parquet file."""
    folder.mkdir()
    with duckdb.connect() as connection:
        connection.sql(_MANY_SALES, params=[MANY + 1]).write_parquet(str(folder / "sales.parquet"))
    (folder / "sales.dl").write_text(_MANY_RULES)
    (folder / "constat.yaml").write_text(
        "project: many\nrules: [sales.dl]\n"
        "databases: {sales: {files: {sales: sales.parquet}}}\n"
        "limits: {seconds: 600, query_seconds: 600, query_rows: 3000000}\n"
    )
    return folder


def many(folder: Path) -> tuple[tuple[str, Timing], ...]:
    """Measure the chain over a million sales."""
    project = make_many(folder)
    with Session(project) as session:
        first = once(lambda: session.solve("best?", plan=plan(*CHAIN), today=TODAY))
        rows = session.resume().rows
        small = step("of_one(id: number)", rules='of_one(?i) :- kept(?i, "North", "p1", _, _).')
        follow = once(lambda: session.follow_up("p1?", plan=plan(small)))
    with duckdb.connect() as connection:
        path = str(project / "sales.parquet")
        expected = connection.execute(_BY_HAND, [path]).fetchall()
        by_hand = once(lambda: connection.execute(_BY_HAND, [path]).fetchall())
    assert sorted(rows) == sorted((r, p, Decimal(t).normalize()) for r, p, t in expected)
    return (
        (f"four steps over {MANY:,} sales in Parquet, two of which keep {MANY:,} rows", first),
        (f"a follow-up that reads one of the kept tables of {MANY:,} rows", follow),
        ("the answer alone, by hand in DuckDB", by_hand),
    )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        project = make_regions(Path(folder) / "regions", SALES)
        limits = "limits: {seconds: 600, query_seconds: 600, query_rows: 3000000}\n"
        (project / "constat.yaml").write_text((project / "constat.yaml").read_text() + limits)
        with Session(project) as session:
            first = once(lambda: session.solve("best?", plan=plan(*PLAN), today=TODAY))
            again = once(session.resume)
            small = step("of_one(region: symbol)", rules='of_one(?r) :- best(?r, "pen", _).')
            follow = once(lambda: session.follow_up("pens?", plan=plan(small)))
            found = [tuple(row) for row in session.get_state().tables if row["name"] == "best"]
            assert found
            rows = session.solve("best?", plan=plan(*PLAN), today=TODAY).rows
        expected = oracle(project / "sales.sqlite").execute(INDEPENDENT).fetchall()
        assert sorted(rows) == [(r, p, Decimal(t).normalize()) for r, p, t in expected]
        with closing(sqlite3.connect(project / "sales.sqlite")) as connection:
            query = "SELECT region, product, sum(amount) FROM sales WHERE day LIKE '2024%'"
            by_hand = once(lambda: connection.execute(f"{query} GROUP BY 1, 2").fetchall())
        large = many(Path(folder) / "many")
    sys.stdout.write("| what | once | processor |\n|---|---:|---:|\n")
    for what, took in (
        (f"three steps over {SALES:,} sales in SQLite, half of them kept as a table", first),
        ("the same again, nothing changed", again),
        ("a follow-up that reads the last step", follow),
        ("the sums alone, by hand in SQLite, in floats", by_hand),
        *large,
    ):
        sys.stdout.write(f"| {what} | {took.clock:.2f} s | {took.processor:.2f} s |\n")


if __name__ == "__main__":
    main()
