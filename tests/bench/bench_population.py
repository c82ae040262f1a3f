"""What a folder about everybody costs: proving, writing, and checking it.

Customers, their orders and a list of blocked ones lie in SQLite; a customer is a member by the sum
of the orders or by a column, unless blocked. Run `python -m tests.bench.bench_population MEMBERS`.
"""

from __future__ import annotations

import argparse
import random
import resource
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from constat import Session
from constat.check.population import check_population
from constat.session.options import PopulationOptions

# Of so many customers 786 are members.
CUSTOMERS = 1_000
MEMBERS = 786
CONFIGURATION = """
project: shop
rules: [rules.dl]
databases: {shop: {uri: "sqlite:///shop.sqlite"}}
facts: {threshold: 900}
limits: {seconds: 3600, query_seconds: 3600, query_rows: 10000000, rows: 1000000000}
"""
RULES = """
.pragma "constat" "0.1"
.decl customer(c: symbol, tier: symbol)
.input customer(source="shop", query="SELECT id, tier FROM customers")
.decl placed(c: symbol, o: number, amount: number)
.input placed(source="shop", query="SELECT customer_id, id, amount FROM orders")
.decl blocked(c: symbol)
.input blocked(source="shop", query="SELECT customer_id FROM blocked")
.decl threshold(t: number)
.decl revenue(c: symbol, total: number)
@[id = "REVENUE"]
revenue(?c, ?t) :- customer(?c, _), ?t = sum ?a : { placed(?c, _, ?a) }.
.decl is_vip(c: symbol)
@[id = "BY_REVENUE"]
is_vip(?c) :- revenue(?c, ?t), threshold(?l), ?t > ?l, !blocked(?c).
@[id = "BY_TIER"]
is_vip(?c) :- customer(?c, "gold"), !blocked(?c).
"""


def make(folder: Path, customers: int) -> None:
    """Write a project with so many customers, and three times as many orders."""
    chance = random.Random(7)
    (folder / "constat.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    with closing(sqlite3.connect(folder / "shop.sqlite")) as link, link:
        link.execute("CREATE TABLE customers (id TEXT PRIMARY KEY NOT NULL, tier TEXT NOT NULL)")
        link.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL,"
            " amount INTEGER NOT NULL)"
        )
        link.execute("CREATE TABLE blocked (customer_id TEXT PRIMARY KEY NOT NULL)")
        names = [f"C{number:07d}" for number in range(customers)]
        tiers = ((name, "plain" if place % 3 else "gold") for place, name in enumerate(names))
        link.executemany("INSERT INTO customers VALUES (?, ?)", tiers)
        orders = (
            (number, names[chance.randrange(customers)], chance.randrange(1, 1_000))
            for number in range(3 * customers)
        )
        link.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
        link.executemany("INSERT INTO blocked VALUES (?)", ((name,) for name in names[::101]))


def main() -> int:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("members", type=int, nargs="?", default=100_000)
    members = parser.parse_args().members
    with TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, members * CUSTOMERS // MEMBERS)
        begun, used = time.monotonic(), time.process_time()
        with Session(folder) as session:
            written = session.population("is_vip(?c)", folder / "out", PopulationOptions(10))
        proved, used_for_proving = time.monotonic() - begun, time.process_time() - used
        size = sum(one.stat().st_size for one in (folder / "out").rglob("*") if one.is_file())
        begun, used = time.monotonic(), time.process_time()
        found = check_population(folder / "out")
        checked, used_for_checking = time.monotonic() - begun, time.process_time() - used
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(
        f"{found.counts['PROVED']:,} members, {written.nodes:,} nodes, {size / 1e6:.0f} MB:"
        f" written in {proved:.0f} s ({used_for_proving:.0f} s of processor time), checked in"
        f" {checked:.0f} s ({used_for_checking:.0f} s), {most / 1e6:.1f} GB at most\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
