"""Build the example's database: a corporate register, the same rows on every machine.

In: nothing.  Out: `data/register.sqlite` beside this file, or the path given as the only argument.
Invariant: the rows depend on the seed alone; the file appears complete or not at all.

    python examples/ownership/make_data.py
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

SEED: Final = 34
COMPANIES: Final = 180
PERSONS: Final = 60
MOST_HOLDERS: Final = 4
FROM_COMPANY: Final = 0.7
WITHOUT_VOTES: Final = 0.1

SCHEMA: Final = """
CREATE TABLE parties (
    id TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('company', 'person'))
);
-- SQLite has no decimal type; percentages are kept as text so that they are exact.
CREATE TABLE holdings (
    holder_id TEXT NOT NULL REFERENCES parties (id),
    company_id TEXT NOT NULL REFERENCES parties (id),
    class TEXT NOT NULL,
    capital TEXT NOT NULL,
    votes TEXT NOT NULL,
    PRIMARY KEY (holder_id, company_id, class)
);
CREATE INDEX holders_of_company ON holdings (company_id);
CREATE TABLE board_rights (holder_id TEXT NOT NULL, company_id TEXT NOT NULL);
CREATE TABLE contracts (
    holder_id TEXT NOT NULL, company_id TEXT NOT NULL, title TEXT NOT NULL, ended_on TEXT
);
CREATE TABLE proceedings (company_id TEXT NOT NULL, ended_on TEXT);
CREATE TABLE listings (company_id TEXT NOT NULL);
CREATE TABLE officials (person_id TEXT NOT NULL, company_id TEXT NOT NULL, left_on TEXT);
CREATE TABLE sanctions (party_id TEXT NOT NULL, list TEXT NOT NULL, lifted_on TEXT);
"""

# These parties are part of the documentation; their rows are not left to chance.
TOLD_PERSONS: Final = ("Novak", "Okafor", "Petit")
TOLD_COMPANIES: Final = (
    *("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse"),
    *("Hazel", "Ivy", "Juniper", "Larch", "Maple", "Nettle"),
)
TOLD_HOLDINGS: Final = (
    # Novak > Alder > Birch > Cedar; 45 % is enough where Cedar holds 12 % of itself.
    ("Novak", "Alder", "ordinary", "75", "75"),
    ("Okafor", "Alder", "ordinary", "25", "25"),
    ("Alder", "Birch", "ordinary", "40", "30"),
    ("Alder", "Birch", "founders", "5", "25"),
    ("Birch", "Cedar", "ordinary", "45", "45"),
    ("Cedar", "Cedar", "ordinary", "12", "12"),
    # Two halves: nobody controls Dogwood by votes.
    ("Birch", "Dogwood", "ordinary", "50", "50"),
    ("Petit", "Dogwood", "ordinary", "50", "50"),
    # Elm is under administration: the chain from Cedar to Fir breaks there.
    ("Cedar", "Elm", "ordinary", "100", "100"),
    ("Elm", "Fir", "ordinary", "100", "100"),
    # A ring: Hazel, Ivy and Juniper hold each other.
    ("Hazel", "Ivy", "ordinary", "60", "60"),
    ("Ivy", "Juniper", "ordinary", "70", "70"),
    ("Juniper", "Hazel", "ordinary", "80", "80"),
    # Stakes along a chain are multiplied: 67.5 % for Novak, 22.5 % for Okafor.
    ("Alder", "Maple", "ordinary", "90", "90"),
    # Birch has 30 % itself and 26 % through Cedar: control that no chain shows.
    ("Birch", "Nettle", "ordinary", "30", "30"),
    ("Cedar", "Nettle", "ordinary", "26", "26"),
    ("Okafor", "Nettle", "ordinary", "44", "44"),
    # Nobody has more than a quarter of Larch.
    ("Novak", "Larch", "ordinary", "25", "25"),
    ("Okafor", "Larch", "ordinary", "25", "25"),
    ("Petit", "Larch", "ordinary", "25", "25"),
)
TOLD_BOARD_RIGHTS: Final = (("Okafor", "Dogwood"),)
TOLD_CONTRACTS: Final = (
    ("Fir", "Gorse", "the profit transfer agreement of 2022-04-01", None),
    ("Alder", "Larch", "the management agreement of 2015-01-01", "2020-12-31"),
)
TOLD_PROCEEDINGS: Final = (("Elm", None), ("Birch", "2019-08-31"))
TOLD_OFFICIALS: Final = (
    ("Okafor", "Larch", None),
    ("Petit", "Larch", "2023-12-31"),
    ("Novak", "Alder", None),
)

# Okafor and Petit hold a quarter of Larch each, and Petit half of Dogwood.
TOLD_SANCTIONS: Final = (
    ("Okafor", "SDN", None),
    ("Petit", "SDN", None),
    ("Novak", "SDN", "2024-05-31"),
)

Holding = tuple[str, str, str, str, str]


def persons_of(companies: int) -> int:
    """Give how many persons there are beside so many companies."""
    return companies * PERSONS // COMPANIES


def parties(most: int) -> list[tuple[str, str]]:
    """Give persons and companies; those of the documentation have names, the others numbers."""
    persons = [*TOLD_PERSONS, *(f"P{number:03d}" for number in range(1, persons_of(most) + 1))]
    companies = [*TOLD_COMPANIES, *(f"E{number:03d}" for number in range(1, most + 1))]
    return [(one, "person") for one in persons] + [(one, "company") for one in companies]


def holdings(chance: random.Random, most: int) -> list[Holding]:
    """Give holdings: each company's stakes add up to at most the whole; some run in circles."""
    rows: list[Holding] = list(TOLD_HOLDINGS)
    for number in range(1, most + 1):
        company, left = f"E{number:03d}", 10_000
        holders: set[str] = set()
        for _ in range(chance.randint(1, MOST_HOLDERS)):
            holder = _holder(chance, most)
            if holder == company or holder in holders:
                continue
            holders.add(holder)
            part = chance.randint(left // 4, left)
            left -= part
            votes = 0 if chance.random() < WITHOUT_VOTES else part
            rows.append((holder, company, "ordinary", percent(part), percent(votes)))
    return rows


def sanctions(most: int) -> list[tuple[str, str, str | None]]:
    """Give who is on a list of sanctions; a chance of its own leaves the other rows as they are."""
    chance = random.Random(SEED)
    persons, companies = persons_of(most), most
    rows: list[tuple[str, str, str | None]] = list(TOLD_SANCTIONS)
    rows += [(f"P{one:03d}", "SDN", None) for one in chance.sample(range(1, persons), persons // 8)]
    listed = chance.sample(range(1, companies), companies // 30)
    return rows + [(f"E{one:03d}", "SDN", None) for one in listed]


def _holder(chance: random.Random, most: int) -> str:
    if chance.random() < FROM_COMPANY:
        return f"E{chance.randint(1, most):03d}"
    return f"P{chance.randint(1, persons_of(most)):03d}"


def percent(hundredths: int) -> str:
    """Write a percentage given in hundredths."""
    return f"{hundredths // 100}.{hundredths % 100:02d}"


def build(path: Path, companies: int = COMPANIES) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            fill = connection.executemany
            fill("INSERT INTO parties VALUES (?, ?)", parties(companies))
            fill("INSERT INTO holdings VALUES (?, ?, ?, ?, ?)", holdings(chance, companies))
            fill("INSERT INTO board_rights VALUES (?, ?)", TOLD_BOARD_RIGHTS)
            fill("INSERT INTO contracts VALUES (?, ?, ?, ?)", TOLD_CONTRACTS)
            fill("INSERT INTO proceedings VALUES (?, ?)", TOLD_PROCEEDINGS)
            fill("INSERT INTO listings VALUES (?)", [("E001",), ("E002",)])
            fill("INSERT INTO officials VALUES (?, ?, ?)", TOLD_OFFICIALS)
            fill("INSERT INTO sanctions VALUES (?, ?, ?)", sanctions(companies))
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    chosen = sys.argv[1:2] or [str(Path(__file__).resolve().parent / "data" / "register.sqlite")]
    build(Path(chosen[0]))
    print(f"wrote {Path(chosen[0]).name}")


if __name__ == "__main__":
    main()
