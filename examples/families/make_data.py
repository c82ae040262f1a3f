"""Build the example's database: families and their claims, the same rows on every machine.

In: nothing.  Out: `data/families.sqlite` beside this file, or the path given as the only argument;
`--families N` makes it larger.  Invariant: the rows depend on the seed and the number alone; the
file appears complete or not at all.

    python examples/families/make_data.py
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

SEED: Final = 1975
FAMILIES: Final = 250
END: Final = "9999-12-31"
FIRST_DAY: Final = date(2019, 4, 6)
YEARS: Final = range(2019, 2026)

SCHEMA: Final = """
CREATE TABLE children (id TEXT PRIMARY KEY NOT NULL, born TEXT);
CREATE TABLE homes (
    child_id TEXT NOT NULL, person_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE payments (
    child_id TEXT NOT NULL, person_id TEXT NOT NULL, weekly TEXT NOT NULL,
    first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE courses (child_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE care (child_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE stays (person_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE controls (person_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE claims (
    id TEXT PRIMARY KEY NOT NULL, person_id TEXT NOT NULL, child_id TEXT NOT NULL, day TEXT NOT NULL
);
CREATE INDEX claims_of_persons ON claims (person_id);
CREATE TABLE choices (
    child_id TEXT NOT NULL, person_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE unpaid (person_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE couples (
    one_id TEXT NOT NULL, other_id TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE incomes (
    person_id TEXT NOT NULL, year INTEGER NOT NULL, amount TEXT, PRIMARY KEY (person_id, year)
);
CREATE TABLE weeks (monday TEXT PRIMARY KEY NOT NULL, year INTEGER NOT NULL);
"""

Row = tuple[object, ...]
Tables = dict[str, list[Row]]

# These families are part of the documentation; their rows are not left to chance.
TOLD: Final[Tables] = {
    "children": [
        ("Amy", "2010-06-01"),
        ("Bea", "2013-09-20"),
        ("Cal", "2012-02-02"),
        ("Dot", "2006-11-11"),
        ("Eli", "2016-03-03"),
        ("Fox", None),
    ],
    "homes": [
        ("Amy", "Ann", "2010-06-01", END),
        ("Bea", "Ann", "2013-09-20", END),
        ("Cal", "Carol", "2012-02-02", END),
        ("Cal", "Colin", "2022-01-01", END),
        ("Dot", "Dana", "2006-11-11", END),
        ("Eli", "Edda", "2016-03-03", END),
        ("Fox", "Fay", "2019-01-01", END),
    ],
    "payments": [("Amy", "Andrew", "30.00", "2023-01-01", END)],
    "courses": [("Dot", "2022-09-01", "2025-06-30")],
    "care": [("Eli", "2025-01-06", END)],
    "stays": [
        (one, "2000-01-01", END)
        for one in ("Ann", "Andrew", "Carol", "Colin", "Dana", "Edda", "Fay")
    ],
    "controls": [],
    "claims": [
        ("K-A1", "Ann", "Amy", "2010-07-01"),
        ("K-A2", "Ann", "Bea", "2013-10-01"),
        ("K-A3", "Andrew", "Amy", "2023-02-01"),
        ("K-C1", "Carol", "Cal", "2012-03-01"),
        ("K-C2", "Colin", "Cal", "2024-05-01"),
        ("K-D1", "Dana", "Dot", "2007-01-01"),
        ("K-E1", "Edda", "Eli", "2016-04-01"),
        ("K-F1", "Fay", "Fox", "2019-02-01"),
    ],
    "choices": [("Cal", "Carol", "2025-01-01", END)],
    "unpaid": [],
    "couples": [("Ann", "Bob", "2009-01-01", END)],
    "incomes": [
        *(("Ann", year, "30000.00") for year in YEARS),
        *(("Bob", year, "70000.00") for year in (2022, 2023, 2024)),
        ("Bob", 2025, None),
        *(("Dana", year, "62345.00") for year in YEARS),
    ],
}


def some_day(chance: random.Random, first: date = FIRST_DAY, last: date = date(2026, 4, 5)) -> date:
    """Give a day between two days."""
    return first + timedelta(days=chance.randrange(max(1, (last - first).days)))


def period(chance: random.Random, first: date, share: float) -> tuple[str, str]:
    """Give a period from about a day on; so large a share of them ends."""
    begin = some_day(chance, first, first + timedelta(days=60))
    end = begin + timedelta(days=chance.randrange(20, 900))
    return begin.isoformat(), end.isoformat() if chance.random() < share else END


def pounds(pence: int) -> str:
    """Write an amount as the office does."""
    return f"{pence // 100}.{pence % 100:02d}"


def family(chance: random.Random, number: int, rows: Tables) -> None:
    """Add a family of one or two grown-ups and one to four children."""
    parents = [f"P{number:05d}{letter}" for letter in "ab"[: 2 if chance.random() < 0.7 else 1]]
    for person in parents:
        rows["stays"].append((person, *period(chance, date(2010, 1, 1), 0.05)))
        if chance.random() < 0.04:
            rows["controls"].append((person, *period(chance, some_day(chance), 0.5)))
        if chance.random() < 0.05:
            rows["unpaid"].append((person, *period(chance, some_day(chance), 0.6)))
        pence = chance.randrange(1_500_000, 9_500_000)
        for year in YEARS:
            pence += chance.randrange(-100_000, 300_000)
            amount = None if chance.random() < 0.02 else pounds(pence)
            rows["incomes"].append((person, year, amount))
    if len(parents) == 2:
        rows["couples"].append((*parents, *period(chance, date(2008, 1, 1), 0.1)))
    for place in range(chance.choice((1, 1, 2, 2, 2, 3, 4))):
        child = f"C{number:05d}-{place}"
        born = date(2001, 1, 1) + timedelta(days=chance.randrange(9_000))
        rows["children"].append((child, None if chance.random() < 0.01 else born.isoformat()))
        about(chance, rows, parents, (child, born))


def about(chance: random.Random, rows: Tables, parents: list[str], what: tuple[str, date]) -> None:
    """Add where a child lives, who pays and claims for it, and what it does."""
    child, born = what
    begun = max(born, date(2018, 1, 1))
    home = chance.choice(parents)
    rows["homes"].append((child, home, born.isoformat(), END))
    other = next((one for one in parents if one != home), None)
    if other is not None and chance.random() < 0.5:
        rows["homes"].append((child, other, *period(chance, begun, 0.3)))
    elif other is not None and chance.random() < 0.5:
        weekly = pounds(chance.randrange(1_500, 4_000))
        rows["payments"].append((child, other, weekly, *period(chance, begun, 0.3)))
    for one in parents:
        if chance.random() < (0.95 if one == home else 0.25):
            made = begun + timedelta(days=chance.randrange(0, 400))
            label = f"K{len(rows['claims']):06d}"
            rows["claims"].append((label, one, child, made.isoformat()))
    if other is not None and chance.random() < 0.4:
        rows["choices"].append((child, chance.choice(parents), *period(chance, begun, 0.3)))
    if chance.random() < 0.6:
        start = born + timedelta(days=chance.randrange(15 * 365, 20 * 365))
        finish = start + timedelta(days=chance.randrange(200, 1_400))
        rows["courses"].append((child, start.isoformat(), finish.isoformat()))
    if chance.random() < 0.03:
        rows["care"].append((child, *period(chance, some_day(chance), 0.7)))


def weeks() -> list[Row]:
    """Give each Monday of the tax years, which begin on 6 April."""
    monday = date(2019, 4, 8)
    found: list[Row] = []
    while monday < date(2026, 4, 6):
        year = monday.year - ((monday.month, monday.day) < (4, 6))
        found.append((monday.isoformat(), year))
        monday += timedelta(days=7)
    return found


def build(path: Path, families: int = FAMILIES) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    rows = {name: list(told) for name, told in TOLD.items()}
    for number in range(1, families + 1):
        family(chance, number, rows)
    rows["weeks"] = weeks()
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            for name, found in rows.items():
                for row in found:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {name} VALUES ({marks})", row)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    beside = Path(__file__).resolve().parent / "data" / "families.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--families", type=int, default=FAMILIES, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.families)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
