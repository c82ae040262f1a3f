"""Build the example's database: a bank's accounts and payments, the same rows on every machine.

In: nothing.  Out: `data/bank.sqlite` beside this file, or the path given as the only argument;
`--customers N` makes it larger.  Invariant: the rows depend on the seed and the number alone; the
file appears complete or not at all.

    python examples/laundering/make_data.py
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

SEED: Final = 5324
CUSTOMERS: Final = 300
FIRST_DAY: Final = date(2026, 1, 1)
DAYS: Final = 180
COUNTRIES: Final = ("Austria", "Belgium", "Portugal", "Freedonia", "Ruritania")

# SQLite has no decimal type; amounts are kept as text so that they are exact.
SCHEMA: Final = """
CREATE TABLE customers (
    id TEXT PRIMARY KEY NOT NULL, country TEXT, identified TEXT, exposed_as TEXT, enhanced TEXT
);
CREATE TABLE accounts (id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL);
CREATE TABLE deposits (
    id TEXT PRIMARY KEY NOT NULL, account_id TEXT NOT NULL, depositor TEXT NOT NULL,
    amount TEXT NOT NULL, day TEXT NOT NULL
);
CREATE INDEX deposits_of_accounts ON deposits (account_id);
CREATE TABLE transfers (
    id TEXT PRIMARY KEY NOT NULL, from_id TEXT NOT NULL, to_id TEXT NOT NULL,
    amount TEXT NOT NULL, day TEXT NOT NULL
);
CREATE INDEX transfers_from ON transfers (from_id);
CREATE INDEX transfers_to ON transfers (to_id);
CREATE TABLE cash_reports (customer_id TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE clearances (
    customer_id TEXT NOT NULL, reason TEXT NOT NULL, cleared_by TEXT NOT NULL, day TEXT NOT NULL
);
CREATE TABLE suspicion_reports (customer_id TEXT NOT NULL, day TEXT NOT NULL);
"""

Row = tuple[object, ...]

# These customers are part of the documentation; their rows are not left to chance.
TOLD: Final[dict[str, tuple[Row, ...]]] = {
    "customers": (
        ("Marlowe", "Belgium", "2019-05-06", None, None),
        ("Orwell", "Portugal", "2021-01-11", None, None),
        ("Nemo Ltd", "Austria", "2020-02-02", None, None),
        ("Hook Ltd", "Freedonia", "2020-02-02", None, "2025-09-01"),
        ("Silver Ltd", "Austria", None, None, None),
        ("Vane", "Belgium", "2022-10-10", None, None),
        ("Dorrit", None, "2018-08-08", None, None),
        ("Jarndyce", "Austria", "2015-03-03", "member of parliament", "2024-07-01"),
        ("Rudge", "Portugal", "2016-06-06", None, None),
    ),
    "accounts": (
        ("M-1", "Marlowe"),
        ("M-2", "Marlowe"),
        ("O-1", "Orwell"),
        ("N-1", "Nemo Ltd"),
        ("N-2", "Nemo Ltd"),
        ("H-1", "Hook Ltd"),
        ("S-1", "Silver Ltd"),
        ("V-1", "Vane"),
        ("D-1", "Dorrit"),
        ("J-1", "Jarndyce"),
        ("R-1", "Rudge"),
    ),
    "deposits": (
        # Four deposits in a week, on two accounts: none of them above 10,000, together 34,700.
        ("C-M1", "M-1", "Marlowe", "9500.00", "2026-03-02"),
        ("C-M2", "M-2", "Marlowe", "8900.00", "2026-03-03"),
        ("C-M3", "M-1", "a nephew", "9800.00", "2026-03-05"),
        ("C-M4", "M-2", "Marlowe", "6500.00", "2026-03-08"),
        # Two deposits of one day are more than 10,000 together.
        ("C-O1", "O-1", "Orwell", "6000.00", "2026-05-04"),
        ("C-O2", "O-1", "Orwell", "4000.50", "2026-05-04"),
        # The takings of a market stall, which somebody has looked into.
        ("C-R1", "R-1", "Rudge", "4100.00", "2026-04-03"),
        ("C-R2", "R-1", "Rudge", "3900.00", "2026-04-04"),
        ("C-R3", "R-1", "Rudge", "4500.00", "2026-04-05"),
    ),
    "transfers": (
        # Nemo > Hook > Silver > Nemo's other account: 96 % of the money is back after five days.
        ("T-N1", "N-1", "H-1", "250000.00", "2026-02-10"),
        ("T-N2", "H-1", "S-1", "245000.00", "2026-02-12"),
        ("T-N3", "S-1", "N-2", "240000.00", "2026-02-15"),
        # What Vane gets from two sides is gone within two days.
        ("T-V1", "J-1", "V-1", "30000.00", "2026-06-01"),
        ("T-V2", "O-1", "V-1", "20000.00", "2026-06-01"),
        ("T-V3", "V-1", "D-1", "49000.00", "2026-06-03"),
    ),
    "cash_reports": (),
    "clearances": (("Rudge", "structuring", "K. Fuchs", "2026-04-20"),),
    "suspicion_reports": (),
}


def some_day(chance: random.Random, most: int = DAYS) -> str:
    """Give a day of the half-year, from its first on."""
    return (FIRST_DAY + timedelta(days=chance.randrange(most))).isoformat()


def money(chance: random.Random, middle: float) -> str:
    """Give an amount: most are small, a few are large."""
    return f"{chance.lognormvariate(0, 0.9) * middle:.2f}"


def customers(chance: random.Random, count: int) -> list[Row]:
    """Give customers: some were never identified, some have no country, some are exposed."""
    rows: list[Row] = []
    for number in range(1, count + 1):
        country = None if chance.random() < 0.03 else chance.choices(COUNTRIES, (9, 9, 9, 1, 1))[0]
        seen = None if chance.random() < 0.02 else f"20{chance.randint(10, 25)}-04-01"
        role = "mayor" if chance.random() < 0.02 else None
        enhanced = f"202{chance.randint(2, 5)}-06-30" if chance.random() < 0.3 else None
        rows.append((f"K{number:05d}", country, seen, role, enhanced))
    return rows


def payments(chance: random.Random, count: int) -> dict[str, list[Row]]:
    """Give what the accounts of the made-up customers get and give."""
    rows: dict[str, list[Row]] = {"deposits": [], "transfers": [], "cash_reports": []}
    for number in range(1, count * 5 + 1):
        account = chance.randint(1, count)
        by = f"person {chance.randint(1, count)}" if chance.random() < 0.2 else f"K{account:05d}"
        row = (f"C{number:06d}", f"A{account:05d}", by, money(chance, 2_000), some_day(chance))
        rows["deposits"].append(row)
        if chance.random() < 0.05:
            rows["cash_reports"].append((f"K{account:05d}", row[-1]))
    for number in range(1, count * 12 + 1):
        giver, taker = chance.randint(1, count), chance.randint(1, count)
        amount, day = money(chance, 1_500), some_day(chance)
        rows["transfers"].append(
            (f"T{number:06d}", f"A{giver:05d}", f"A{taker:05d}", amount, day),
        )
    return rows


def build(path: Path, customers_made: int = CUSTOMERS) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    tables = {name: list(rows) for name, rows in TOLD.items()}
    made = customers(chance, customers_made)
    tables["customers"] += made
    tables["accounts"] += [(f"A{str(row[0])[1:]}", row[0]) for row in made]
    for name, rows in payments(chance, customers_made).items():
        tables[name] += rows
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            for name, rows in tables.items():
                for row in rows:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {name} VALUES ({marks})", row)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    beside = Path(__file__).resolve().parent / "data" / "bank.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--customers", type=int, default=CUSTOMERS, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.customers)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
