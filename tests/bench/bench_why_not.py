"""Why a ground goal does not hold, over millions of orders: the time of an explanation.

In: a number of orders. Out: the median and the 95th percentile of `why_not` in a warm session, over
absent goals of four sorts: too little revenue, a blocked customer, nobody of that name, and a
conclusion two rules deep. Example: `python -m tests.bench.bench_why_not 10000000`.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.evaluation import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

GOALS: Final = 200
ORDERS_EACH: Final = 10
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
big(?c) :- revenue(?c, ?s), ?s > 1000000.
big(?c) :- customer(?c, "gold").
.decl is_vip(customer: number)
is_vip(?c) :- big(?c), !blocked(?c).
.decl served_first(customer: number)
served_first(?c) :- is_vip(?c), customer(?c, _).
"""


def make_project(folder: Path, orders: int) -> Path:
    """Make a project with so many orders in an indexed SQLite file."""
    customers = orders // ORDERS_EACH
    (folder / "rules.dl").write_text(_RULES, encoding="utf-8")
    path = folder / "shop.sqlite"
    text = f"project: orders\nrules: [rules.dl]\ndatabases:\n  shop: {{uri: 'sqlite:///{path}'}}\n"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    with sqlite3.connect(path) as writing:
        writing.execute("PRAGMA synchronous = OFF")
        writing.execute("CREATE TABLE orders (id INTEGER, c INTEGER, amt INTEGER)")
        writing.execute("CREATE TABLE customer (c INTEGER, tier TEXT)")
        writing.execute("CREATE TABLE blocked (c INTEGER)")
        rows = ((one, one % customers, one % 997) for one in range(orders))
        writing.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        tiers = ((one, "gold" if one % 10 == 3 else "silver") for one in range(customers))
        writing.executemany("INSERT INTO customer VALUES (?, ?)", tiers)
        writing.executemany(
            "INSERT INTO blocked VALUES (?)", ((one,) for one in range(3, customers, 10))
        )
        writing.execute("CREATE INDEX orders_c ON orders (c, id, amt)")
        writing.execute("CREATE INDEX customer_c ON customer (c, tier)")
        writing.execute("CREATE INDEX blocked_c ON blocked (c)")
    return folder


def goals(customers: int) -> Iterator[str]:
    """Yield absent goals of four sorts, spread over the customers."""
    for number in range(GOALS // 4):
        one = (number * 7_919 * 10) % customers
        yield f"is_vip({one})"
        yield f"is_vip({one + 3})"
        yield f"is_vip({customers + number})"
        yield f"served_first({one + 1})"


def measure(folder: Path, orders: int) -> list[tuple[float, float]]:
    """Explain each goal once; give seconds by the clock and of the processor."""
    project = make_project(folder, orders)
    found = []
    with Session(project) as session:
        session.why_not("is_vip(5)")
        for goal in goals(orders // ORDERS_EACH):
            clock, processor = time.perf_counter(), time.process_time()
            explained = session.why_not(goal)
            found.append((time.perf_counter() - clock, time.process_time() - processor))
            assert explained.verdict is Verdict.DISPROVED, goal
            assert explained.refutation is not None
            assert all(one.attempts or one.sources for one in explained.refutation.lacking)
    return found


def main(orders: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name), orders)
    for place, what in enumerate(("by the clock", "of the processor")):
        times = sorted(one[place] * 1_000 for one in found)
        late = times[len(times) * 95 // 100]
        middle = statistics.median(times)
        figures = f"median {middle:.1f} ms, 95 % in {late:.1f} ms"
        sys.stdout.write(f"{orders:,} orders, {what}: {figures}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
