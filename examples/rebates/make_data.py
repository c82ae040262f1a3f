"""Build the example's database of orders: the same rows on every machine.

In: nothing. Out: `data/orders.sqlite` beside this file. Example: `python make_data.py`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

CUSTOMERS: Final = 5
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


def build(path: Path, customers: int = CUSTOMERS) -> None:
    """Write the orders of so many customers; the file is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            (
                (
                    customer * EACH + number,
                    f"C{customer:03}",
                    (FIRST_DAY + number * APART).isoformat(),
                    f"{500 + (customer * 37 + number * 91) % 600}.{number % 100:02}",
                )
                for customer in range(1, customers + 1)
                for number in range(EACH)
            ),
        )
    unfinished.replace(path)


if __name__ == "__main__":
    build(Path(__file__).parent / "data" / "orders.sqlite")
