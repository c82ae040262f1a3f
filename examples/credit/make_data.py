"""Build the example's database: a lender's applications, the same rows on every machine.

In: nothing.  Out: `data/lender.sqlite` beside this file, or the path given as the only argument;
`--applications N` makes it larger.  Invariant: the rows depend on the seed and the number alone;
the file appears complete or not at all.

    python examples/credit/make_data.py
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

SEED: Final = 1002
APPLICATIONS: Final = 500
END: Final = "9999-12-31"
TODAY: Final = date(2026, 6, 30)

SCHEMA: Final = """
CREATE TABLE cards (
    id TEXT PRIMARY KEY NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    approve INTEGER NOT NULL, refer INTEGER NOT NULL
);
CREATE TABLE bands (
    card_id TEXT NOT NULL, name TEXT NOT NULL, low TEXT NOT NULL, high TEXT NOT NULL,
    points INTEGER NOT NULL
);
CREATE TABLE categories (
    card_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, points INTEGER NOT NULL,
    PRIMARY KEY (card_id, name, value)
);
CREATE TABLE averages (
    card_id TEXT NOT NULL, name TEXT NOT NULL, points TEXT NOT NULL, PRIMARY KEY (card_id, name)
);
CREATE TABLE reasons (name TEXT PRIMARY KEY NOT NULL, code TEXT NOT NULL, words TEXT NOT NULL);
CREATE TABLE applicants (id TEXT PRIMARY KEY NOT NULL, born TEXT, identified INTEGER NOT NULL);
CREATE TABLE bankruptcies (applicant_id TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE applications (
    id TEXT PRIMARY KEY NOT NULL, applicant_id TEXT NOT NULL, day TEXT NOT NULL
);
CREATE TABLE figures (
    application_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT, PRIMARY KEY (application_id, name)
);
CREATE TABLE traits (
    application_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT, PRIMARY KEY (application_id, name)
);
CREATE TABLE decisions (
    application_id TEXT PRIMARY KEY NOT NULL, action TEXT NOT NULL, day TEXT NOT NULL, sent TEXT
);
CREATE TABLE stated (application_id TEXT NOT NULL, code TEXT NOT NULL);
"""

Row = tuple[object, ...]
Tables = dict[str, list[Row]]

FIGURES: Final = {
    "income": (("0", 5), ("2000", 25), ("3000", 40), ("4500", 55)),
    "debt ratio": (("0", 50), ("0.2", 40), ("0.35", 20), ("0.5", 0)),
    "credit lines": (("0", 10), ("1", 30), ("6", 15)),
    "late payments": (("0", 60), ("1", 30), ("3", 0)),
    "months at residence": (("0", 5), ("12", 15), ("60", 25)),
    "inquiries": (("0", 30), ("3", 15), ("6", 0)),
}
TRAITS: Final = {
    "home": (("owner", 30), ("tenant", 15), ("other", 5)),
    "employment": (("permanent", 35), ("fixed term", 20), ("self-employed", 20), ("none", 0)),
}
TOP: Final = "1000000"
AVERAGES: Final = (
    *(("income", "45.5"), ("debt ratio", "38"), ("credit lines", "25.5"), ("late payments", "52")),
    *(("months at residence", "18"), ("inquiries", "25"), ("home", "22.5"), ("employment", "30")),
)
REASONS: Final = (
    ("income", "R01", "income insufficient for the amount of credit requested"),
    ("debt ratio", "R02", "excessive obligations in relation to income"),
    ("credit lines", "R03", "number of accounts"),
    ("late payments", "R04", "delinquent past or present credit obligations with others"),
    ("months at residence", "R05", "length of residence"),
    ("home", "R05", "length of residence"),
    ("inquiries", "R06", "number of recent inquiries on the credit report"),
    ("employment", "R07", "temporary or irregular employment"),
    ("too young", "R10", "too young to make a contract"),
    ("not identified", "R11", "unable to verify identity"),
    ("bankruptcy", "R12", "bankruptcy"),
)

# These applications are part of the documentation; their rows are not left to chance.
TOLD_FIGURES: Final = (
    "income",
    "debt ratio",
    "credit lines",
    "late payments",
    "months at residence",
    "inquiries",
)
TOLD: Final = (
    ("A1", "Ann", ("5200", "0.15", "3", "0", "80", "1"), ("owner", "permanent")),
    ("A2", "Ben", ("1900", "0.55", "3", "4", "6", "7"), ("tenant", "fixed term")),
    ("A3", "Cem", ("3400", "0.36", "2", "3", "30", "2"), ("tenant", "permanent")),
    ("A4", "Dia", ("5200", "0.15", "3", "0", "80", "1"), ("owner", "permanent")),
    ("A5", "Eva", (None, "0.15", "3", "0", "80", "1"), ("owner", "permanent")),
    ("A6", "Fay", ("5200", "0.15", "3", "0", "80", "1"), ("owner", "permanent")),
    ("A7", "Gil", (None, "0.7", "0", "4", "6", "7"), ("other", "none")),
)
TOLD_BANKRUPT: Final = (("Dia", "2020-02-02"), ("Fay", "2012-02-02"))
TOLD_DECISIONS: Final = (
    ("A1", "approved", "2026-05-10", None),
    ("A2", "declined", "2026-05-10", "2026-05-20"),
    ("A4", "declined", "2026-05-10", None),
    ("A7", "declined", "2026-05-10", "2026-05-20"),
)
TOLD_STATED: Final = (("A2", "R01"), ("A2", "R02"), ("A2", "R04"), ("A2", "R07"))


def cards() -> Tables:
    """Give two versions of the scorecard, and one that uses what it must not."""
    rows: Tables = {name: [] for name in ("cards", "bands", "categories", "averages")}
    for card, first, last, more in (
        ("2025", "2025-01-01", "2025-12-31", 0),
        ("2026", "2026-01-01", END, 5),
        ("pilot", "2026-01-01", END, 0),
    ):
        rows["cards"].append((card, first, last, 190 + more, 160 + more))
        for name, steps in FIGURES.items():
            ends = [low for low, _ in steps[1:]] + [TOP]
            rows["bands"] += [
                (card, name, low, high, points)
                for (low, points), high in zip(steps, ends, strict=True)
            ]
        for name, values in TRAITS.items():
            rows["categories"] += [(card, name, value, points) for value, points in values]
        rows["averages"] += [(card, *one) for one in AVERAGES]
    rows["categories"] += [("pilot", "marital status", "married", 10)]
    return rows


def told(rows: Tables) -> None:
    """Add the applications that stand in the documentation."""
    for application, name, figures, traits in TOLD:
        rows["applicants"].append((name, "1980-05-05", 1))
        rows["applications"].append((application, name, "2026-05-01"))
        pairs = zip(TOLD_FIGURES, figures, strict=True)
        rows["figures"] += [(application, *one) for one in pairs]
        rows["traits"] += [(application, *one) for one in zip(TRAITS, traits, strict=True)]
    rows["bankruptcies"] += TOLD_BANKRUPT
    rows["decisions"] += TOLD_DECISIONS
    rows["stated"] += TOLD_STATED


def application(chance: random.Random, number: int, rows: Tables) -> None:
    """Add an application, what it says, and often a decision."""
    name, person = f"B{number:05d}", f"P{number:05d}"
    day = date(2025, 3, 1) + timedelta(days=chance.randrange(480))
    born = day - timedelta(days=chance.randrange(6_300, 25_000))
    known = None if chance.random() < 0.01 else born.isoformat()
    rows["applicants"].append((person, known, int(chance.random() < 0.96)))
    rows["applications"].append((name, person, day.isoformat()))
    if chance.random() < 0.06:
        ago = timedelta(days=chance.randrange(-30, 5_500))
        rows["bankruptcies"].append((person, (day - ago).isoformat()))
    figures = {
        "income": str(chance.randrange(1_200, 7_000)),
        "debt ratio": f"{chance.randrange(0, 80) / 100:.2f}",
        "credit lines": str(chance.randrange(0, 9)),
        "late payments": str(chance.choice((0, 0, 0, 0, 1, 2, 4))),
        "months at residence": str(chance.randrange(0, 150)),
        "inquiries": str(chance.choice((0, 0, 1, 2, 4, 8))),
    }
    for one, value in figures.items():
        if chance.random() < 0.99:
            rows["figures"].append((name, one, None if chance.random() < 0.01 else value))
    for one, values in TRAITS.items():
        rows["traits"].append((name, one, chance.choice(values)[0]))
    if chance.random() < 0.7:
        action = chance.choice(("approved", "declined"))
        sent = None
        if action == "declined" and chance.random() < 0.85:
            sent = (day + timedelta(days=chance.randrange(5, 36))).isoformat()
            codes = chance.sample(
                sorted({code for _, code, _ in REASONS[:8]}), chance.randint(1, 4)
            )
            rows["stated"] += [(name, code) for code in sorted(codes)]
        rows["decisions"].append((name, action, (day + timedelta(days=4)).isoformat(), sent))


def build(path: Path, applications: int = APPLICATIONS) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    names = (
        "applicants",
        "applications",
        "bankruptcies",
        "figures",
        "traits",
        "decisions",
        "stated",
    )
    rows: Tables = {**cards(), **{name: [] for name in names}, "reasons": list(REASONS)}
    told(rows)
    for number in range(1, applications + 1):
        application(chance, number, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    growing = path.with_name(f"{path.name}.{os.getpid()}.new")
    growing.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(growing)) as connection, connection:
            connection.executescript(SCHEMA)
            for name, found in rows.items():
                marks = ", ".join("?" * len(found[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", found)
        growing.replace(path)
    finally:
        growing.unlink(missing_ok=True)


def main() -> None:
    """Build where the argument says, or beside this file."""
    beside = Path(__file__).resolve().parent / "data" / "lender.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument(
        "--applications", type=int, default=APPLICATIONS, help="how many are made up"
    )
    chosen = parser.parse_args()
    build(chosen.path, chosen.applications)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
