"""Build the two databases: orders of the shop in SQLite, parcels of the warehouse in DuckDB."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

DATA = Path(__file__).resolve().parent / "data"
ORDERS = [
    (1, "lamp", "49.90", "2026-02-01"),
    (2, "mug", "12.50", "2026-02-03"),
    (3, "gift card", "50.00", "2026-02-03"),
    (4, "chair", "180.00", "2026-02-10"),
    (5, "desk", "320.00", "2026-02-12"),
]
PARCELS = [
    (901, 1, "2026-02-20", "sound"),
    (902, 2, "2026-03-30", "sound"),
    (903, 3, "2026-02-10", "sound"),
    (904, 4, "2026-02-28", "broken"),
]


def build(folder: Path) -> None:
    """Write both files anew."""
    folder.mkdir(exist_ok=True)
    for name in ("shop.sqlite", "warehouse.duckdb"):
        (folder / name).unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
        shop.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, article TEXT NOT NULL,"
            " price DECIMAL(8, 2) NOT NULL, sent_on TEXT NOT NULL)"
        )
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ORDERS)
    with duckdb.connect(str(folder / "warehouse.duckdb")) as warehouse:
        warehouse.execute(
            "CREATE TABLE parcels (parcel INTEGER PRIMARY KEY, order_id INTEGER NOT NULL,"
            " arrived DATE NOT NULL, state VARCHAR NOT NULL)"
        )
        warehouse.executemany("INSERT INTO parcels VALUES (?, ?, ?, ?)", PARCELS)


if __name__ == "__main__":
    build(DATA)
    print("written: data/shop.sqlite, data/warehouse.duckdb")
