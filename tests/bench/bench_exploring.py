"""How long exploring takes: a plan over many sales, again, after a change, and by hand.

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

from constat import Session
from tests.bench.measuring import once
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
    sys.stdout.write("| what | once | processor |\n|---|---:|---:|\n")
    for what, took in (
        (f"three steps over {SALES:,} sales in SQLite, half of them kept as a table", first),
        ("the same again, nothing changed", again),
        ("a follow-up that reads the last step", follow),
        ("the sums alone, by hand in SQLite, in floats", by_hand),
    ):
        sys.stdout.write(f"| {what} | {took.clock:.2f} s | {took.processor:.2f} s |\n")


if __name__ == "__main__":
    main()
