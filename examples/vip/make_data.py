"""Build the example's database: a small shop, the same bytes of content on every machine.

In: nothing.  Out: `data/shop.sqlite` beside this file, or the path given as the only argument.
Invariant: the rows depend on the seed alone; the file appears complete or not at all.

    python examples/vip/make_data.py
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

SEED: Final = 20250111
CUSTOMERS: Final = 600
ORDERS: Final = 6_000
HOLDINGS: Final = 40
FIRST_DAY: Final = date(2024, 1, 1)
DAYS: Final = 640
CLOSED: Final = 0.05
LIFTED: Final = 0.4
CHAINED: Final = 0.7

SCHEMA: Final = """
CREATE TABLE customers (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, country TEXT NOT NULL);
-- SQLite has no decimal type; amounts are kept as text so that every cent is exact.
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (id),
    ordered_on TEXT NOT NULL,
    amount TEXT NOT NULL
);
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE TABLE accounts (
    customer_id TEXT NOT NULL REFERENCES customers (id),
    tier TEXT NOT NULL,
    closed_on TEXT
);
CREATE INDEX accounts_of_customer ON accounts (customer_id);
CREATE TABLE blocked_customers (
    customer_id TEXT NOT NULL REFERENCES customers (id),
    reason TEXT NOT NULL,
    lifted_on TEXT
);
CREATE TABLE ownership (
    owner_id TEXT NOT NULL REFERENCES customers (id),
    owned_id TEXT NOT NULL REFERENCES customers (id),
    share TEXT NOT NULL,
    PRIMARY KEY (owner_id, owned_id)
);
CREATE INDEX owners_of_company ON ownership (owned_id);
"""

# These customers are part of the documentation; their rows are not left to chance.
TOLD_ORDERS: Final = (
    ("C001", "2024-11-30", "9999.99"),
    ("C001", "2025-01-01", "60000.00"),
    ("C001", "2025-03-17", "49999.95"),
    ("C001", "2025-06-02", "40000.05"),
    ("C002", "2025-02-11", "49979.90"),
    ("C002", "2025-05-05", "50020.10"),
    ("C003", "2025-04-09", "310.25"),
    ("C004", "2025-02-20", "250000.00"),
    ("C005", "2024-06-30", "81000.00"),
    ("C020", "2025-01-15", "120000.00"),
)
TOLD_ACCOUNTS: Final = (
    ("C001", "silver", None),
    ("C002", "silver", None),
    ("C003", "gold", None),
    ("C004", "gold", None),
    ("C005", "gold", None),
    ("C006", "gold", "2024-12-31"),
    ("C020", "silver", None),
)
TOLD_BLOCKED: Final = (
    ("C004", "unpaid invoices", None),
    ("C003", "address check", "2025-03-01"),
)
TOLD_OWNERSHIP: Final = (
    ("H001", "C001", "80"),
    ("C001", "C030", "51"),
    ("C030", "C031", "75.5"),
    ("C031", "C032", "100"),
    ("C032", "C030", "20"),
    ("C001", "C033", "50"),
)
TOLD: Final = 40
"""Customers up to this number get no rows by chance."""


def name(number: int) -> str:
    """Give the customer number."""
    return f"C{number:03d}"


def cents(amount: int) -> str:
    """Write an amount given in cents."""
    return f"{amount // 100}.{amount % 100:02d}"


def customers(chance: random.Random, made: int) -> list[tuple[str, str, str]]:
    """Give customers, and the holding companies that own some of them."""
    countries = ("AT", "BE", "DE", "ES", "FR", "IE", "IT", "NL", "PL", "PT")
    rows = [
        (name(number), f"Customer {number}", chance.choice(countries))
        for number in range(1, made + 1)
    ]
    rows += [
        (f"H{number:03d}", f"Holding {number}", chance.choice(countries))
        for number in range(1, HOLDINGS + 1)
    ]
    return rows


def orders(chance: random.Random, buyers: int, made: int) -> list[tuple[int, str, str, str]]:
    """Give orders; a few customers buy much more than the others."""
    rows = [(number, *told) for number, told in enumerate(TOLD_ORDERS, start=1)]
    for number in range(len(rows) + 1, made + 1):
        buyer = chance.randint(TOLD + 1, buyers)
        most = 4_000_000 if buyer % 25 == 0 else 400_000
        day = FIRST_DAY + timedelta(days=chance.randrange(DAYS))
        rows.append((number, name(buyer), day.isoformat(), cents(chance.randint(500, most))))
    return [(number, buyer, day, amount) for number, buyer, day, amount in rows]


def accounts(chance: random.Random, made: int) -> list[tuple[str, str, str | None]]:
    """Give accounts; some were closed."""
    rows: list[tuple[str, str, str | None]] = list(TOLD_ACCOUNTS)
    for number in range(TOLD + 1, made + 1):
        tier = chance.choices(("basic", "silver", "gold"), (70, 25, 5))[0]
        closed = "2025-06-30" if chance.random() < CLOSED else None
        rows.append((name(number), tier, closed))
    return rows


def blocked(chance: random.Random) -> list[tuple[str, str, str | None]]:
    """Give who is blocked, or was."""
    rows: list[tuple[str, str, str | None]] = list(TOLD_BLOCKED)
    for number in sorted(chance.sample(range(TOLD + 1, CUSTOMERS + 1), 25)):
        lifted = "2025-09-01" if chance.random() < LIFTED else None
        rows.append((name(number), "unpaid invoices", lifted))
    return rows


def ownership(chance: random.Random) -> list[tuple[str, str, str]]:
    """Give shares: chains of companies, and one circle of companies that hold each other."""
    rows = list(TOLD_OWNERSHIP)
    for number in range(2, HOLDINGS + 1):
        owner = f"H{number:03d}"
        for owned in sorted(chance.sample(range(TOLD + 1, CUSTOMERS + 1), 5)):
            rows.append((owner, name(owned), str(chance.randint(10, 100))))
            owner = name(owned) if chance.random() < CHAINED else owner
    rows += [("C034", "C035", "60"), ("C035", "C036", "70"), ("C036", "C034", "80")]
    unique = {(owner, owned): (owner, owned, share) for owner, owned, share in rows}
    return [row for row in unique.values() if row[0] != row[1]]


def build(path: Path, customers_made: int = CUSTOMERS, orders_made: int = ORDERS) -> None:
    """Write the database; an older file is replaced in one step. Large ones are for measuring."""
    chance = random.Random(SEED)
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            fill = connection.executemany
            fill("INSERT INTO customers VALUES (?, ?, ?)", customers(chance, customers_made))
            rows = orders(chance, customers_made, orders_made)
            fill("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
            fill("INSERT INTO accounts VALUES (?, ?, ?)", accounts(chance, customers_made))
            fill("INSERT INTO blocked_customers VALUES (?, ?, ?)", blocked(chance))
            fill("INSERT INTO ownership VALUES (?, ?, ?)", ownership(chance))
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    chosen = sys.argv[1:2] or [str(Path(__file__).resolve().parent / "data" / "shop.sqlite")]
    build(Path(chosen[0]))
    print(f"wrote {Path(chosen[0]).name}")


if __name__ == "__main__":
    main()
