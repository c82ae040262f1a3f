"""Build the example's database of orders: the same rows on every machine.

In: nothing, or the address of a database of PostgreSQL. Out: `data/orders.sqlite` beside this file,
or a table `orders` in that database. Example: `python make_data.py postgresql://me@localhost/shop`.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

CUSTOMERS: Final = 6
EACH: Final = 40
FIRST_DAY: Final = date(2024, 10, 1)
APART: Final = timedelta(days=11)
SCHEMA: Final = """
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer TEXT NOT NULL,
    day TEXT NOT NULL,
    amount TEXT NOT NULL
);
CREATE INDEX orders_of_customer ON orders (customer);
"""


IN_POSTGRESQL: Final = """
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer TEXT NOT NULL,
    day DATE NOT NULL,
    amount NUMERIC(10, 2) NOT NULL
);
CREATE INDEX orders_of_customer ON orders (customer);
"""


def rows(customers: int = CUSTOMERS) -> Iterator[tuple[int, str, str, str]]:
    """Give the orders of so many customers."""
    for customer in range(1, customers + 1):
        for number in range(EACH):
            yield (
                customer * EACH + number,
                f"C{customer:03}",
                (FIRST_DAY + number * APART).isoformat(),
                f"{500 + (customer * 37 + number * 91) % 600}.{number % 100:02}",
            )


def fill(address: str, customers: int = CUSTOMERS) -> None:
    """Write the orders into a database of PostgreSQL that has no such table yet."""
    import psycopg  # noqa: PLC0415  who has SQLite needs no driver

    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(IN_POSTGRESQL)
        with cursor.copy("COPY orders FROM STDIN") as copy:
            for row in rows(customers):
                copy.write_row(row)
        cursor.execute("ANALYZE orders")


def build(path: Path, customers: int = CUSTOMERS) -> None:
    """Write the orders of so many customers; the file is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows(customers))
    unfinished.replace(path)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fill(sys.argv[1])
    else:
        build(Path(__file__).parent / "data" / "orders.sqlite")
