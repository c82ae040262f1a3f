"""Build the example's database: products, parts and lots, the same rows on every machine.

In: nothing.  Out: `data/parts.sqlite` beside this file, or the path given as the only argument;
`--products N` makes it larger.  Invariant: the rows depend on the seed and the number alone; the
file appears complete or not at all.

    python examples/parts/make_data.py
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

SEED: Final = 178
PRODUCTS: Final = 60
LEVELS: Final = ("product", "assembly", "part", "material")
FIRST_DAY: Final = date(2025, 1, 1)
COUNTRIES: Final = ("Norway", "France", "Japan", "Chile", "Ruritania")
RISKS: Final = ("child labour", "conflict minerals", "working hours", "deforestation")

# SQLite has no decimal type; amounts are kept as text so that they are exact.
SCHEMA: Final = """
CREATE TABLE items (
    id TEXT PRIMARY KEY NOT NULL, amount TEXT NOT NULL, origin TEXT, bought INTEGER NOT NULL,
    most_foreign TEXT, claimed INTEGER NOT NULL
);
CREATE TABLE bill (
    item_id TEXT NOT NULL, component_id TEXT NOT NULL, quantity TEXT NOT NULL,
    PRIMARY KEY (item_id, component_id)
);
CREATE TABLE lots (id TEXT PRIMARY KEY NOT NULL, item_id TEXT NOT NULL);
CREATE TABLE uses (lot_id TEXT NOT NULL, made_id TEXT NOT NULL);
CREATE INDEX uses_of ON uses (lot_id);
CREATE INDEX uses_in ON uses (made_id);
CREATE TABLE deliveries (lot_id TEXT NOT NULL, supplier TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE shipments (lot_id TEXT NOT NULL, customer TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE hazards (lot_id TEXT NOT NULL, hazard TEXT NOT NULL);
CREATE TABLE notices (lot_id TEXT NOT NULL, customer TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE sources (item_id TEXT NOT NULL, supplier TEXT NOT NULL);
CREATE TABLE risks (supplier TEXT NOT NULL, risk TEXT NOT NULL);
CREATE TABLE audits (supplier TEXT NOT NULL, risk TEXT NOT NULL, day TEXT NOT NULL);
"""

Row = tuple[object, ...]

# These items and lots are part of the documentation; their rows are not left to chance.
TOLD: Final[dict[str, tuple[Row, ...]]] = {
    "items": (
        ("city bike", "400.00", None, 0, "0.45", 1),
        ("cargo bike", "900.00", None, 0, "0.45", 1),
        ("kids bike", "150.00", None, 0, "0.45", 1),
        ("frame", "150.00", None, 0, "0.50", 0),
        ("motor", "390.00", "Japan", 1, None, 0),
        ("tube", "12.00", "Norway", 1, None, 0),
        ("paint", "9.00", "Chile", 1, None, 0),
        ("gears", "110.00", "Chile", 1, None, 0),
        ("saddle", "35.00", "France", 1, None, 0),
        ("small gears", "68.00", None, 1, None, 0),
    ),
    "bill": (
        ("frame", "tube", "6"),
        ("frame", "paint", "2.5"),
        ("city bike", "frame", "1"),
        ("city bike", "gears", "1"),
        ("city bike", "saddle", "1"),
        ("cargo bike", "frame", "1"),
        ("cargo bike", "motor", "1"),
        ("cargo bike", "gears", "1"),
        ("kids bike", "small gears", "1"),
        ("kids bike", "saddle", "1"),
    ),
    "lots": (
        ("TU-7", "tube"),
        ("TU-8", "tube"),
        ("FR-3", "frame"),
        ("FR-4", "frame"),
        ("CB-1", "city bike"),
        ("CB-2", "city bike"),
        ("PA-1", "paint"),
    ),
    "uses": (
        ("TU-7", "FR-3"),
        ("TU-8", "FR-4"),
        ("PA-1", "FR-3"),
        ("FR-3", "CB-1"),
        ("FR-4", "CB-2"),
    ),
    "deliveries": (
        ("TU-7", "Nordrør", "2025-03-01"),
        ("TU-8", "Nordrør", "2025-03-15"),
    ),
    "shipments": (
        ("CB-1", "Radhaus", "2025-05-05"),
        ("CB-1", "Velo Sud", "2025-05-06"),
        ("CB-2", "Radhaus", "2025-05-20"),
    ),
    "hazards": (("TU-7", "cracks at the weld"),),
    "notices": (("CB-1", "Velo Sud", "2025-06-10"),),
    "sources": (
        ("motor", "Kaze Motors"),
        ("gears", "Andes Gears"),
        ("tube", "Nordrør"),
    ),
    "risks": (
        ("Kaze Motors", "conflict minerals"),
        ("Andes Gears", "working hours"),
    ),
    "audits": (
        ("Kaze Motors", "conflict minerals", "2025-02-01"),
        ("Andes Gears", "working hours", "2022-05-01"),
    ),
}


def name(level: int, number: int) -> str:
    """Name a made-up item."""
    return f"{LEVELS[level]} {number:04d}"


def count_at(level: int, products: int) -> int:
    """Say how many items a level has."""
    return products * (1, 2, 4, 2)[level]


def items(chance: random.Random, products: int) -> dict[str, list[Row]]:
    """Give items of four levels; each takes some of the level below, materials are bought."""
    rows: dict[str, list[Row]] = {"items": [], "bill": [], "sources": []}
    worth: dict[str, float] = {}
    for level in reversed(range(len(LEVELS))):
        for number in range(1, count_at(level, products) + 1):
            item = name(level, number)
            bought = level == len(LEVELS) - 1 or (level > 0 and chance.random() < 0.2)
            cost = float(chance.randint(5, 50))
            if not bought:
                cost = 0
                below = count_at(level + 1, products)
                for part in chance.sample(range(1, below + 1), chance.randint(2, 4)):
                    quantity = chance.randint(1, 3)
                    rows["bill"].append((item, name(level + 1, part), str(quantity)))
                    cost += quantity * worth[name(level + 1, part)]
                cost = round(cost * chance.uniform(1.2, 1.9), 2)
            worth[item] = cost
            origin = chance.choice(COUNTRIES) if bought and chance.random() < 0.97 else None
            claimed = int(level == 0 and chance.random() < 0.5)
            share = None if bought else "0.45"
            rows["items"].append((item, f"{cost:.2f}", origin, int(bought), share, claimed))
            if bought:
                rows["sources"].append((item, f"supplier {chance.randint(1, products)}"))
    return rows


def lots(chance: random.Random, products: int, bill: list[Row]) -> dict[str, list[Row]]:
    """Give three lots of each item; each lot of what is made takes one lot of each component."""
    rows: dict[str, list[Row]] = {
        one: [] for one in ("lots", "uses", "deliveries", "shipments", "hazards", "notices")
    }
    components: dict[object, list[object]] = {}
    for item, component, _ in bill:
        components.setdefault(item, []).append(component)
    for level in range(len(LEVELS)):
        for number in range(1, count_at(level, products) + 1):
            item = name(level, number)
            for batch in "abc":
                lot = f"{item} {batch}"
                day = (FIRST_DAY + timedelta(days=chance.randrange(365))).isoformat()
                rows["lots"].append((lot, item))
                for component in components.get(item, []):
                    rows["uses"].append((f"{component} {chance.choice('abc')}", lot))
                if item not in components and chance.random() < 0.98:
                    supplier = f"supplier {chance.randint(1, products)}"
                    rows["deliveries"].append((lot, supplier, day))
                if chance.random() < 0.004:
                    rows["hazards"].append((lot, "found in a test"))
                for _ in range(chance.randint(1, 3) if level == 0 else 0):
                    customer = f"customer {chance.randint(1, products)}"
                    rows["shipments"].append((lot, customer, day))
                    if chance.random() < 0.5:
                        rows["notices"].append((lot, customer, "2026-02-01"))
    return rows


def suppliers(chance: random.Random, products: int) -> dict[str, list[Row]]:
    """Give risks of some suppliers, and audits of some of these."""
    rows: dict[str, list[Row]] = {"risks": [], "audits": []}
    for number in range(1, products + 1):
        if chance.random() < 0.2:
            supplier, risk = f"supplier {number}", chance.choice(RISKS)
            rows["risks"].append((supplier, risk))
            if chance.random() < 0.6:
                rows["audits"].append((supplier, risk, f"20{chance.randint(20, 25)}-06-30"))
    return rows


def build(path: Path, products: int = PRODUCTS) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    tables = {table: list(rows) for table, rows in TOLD.items()}
    made = items(chance, products)
    for part in (made, lots(chance, products, made["bill"]), suppliers(chance, products)):
        for table, rows in part.items():
            tables[table] += rows
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            for table, rows in tables.items():
                for row in rows:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    beside = Path(__file__).resolve().parent / "data" / "parts.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--products", type=int, default=PRODUCTS, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.products)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
