"""Build the example's database: a shop's records of persons, the same rows on every machine.

In: nothing.  Out: `data/privacy.sqlite` beside this file, or the path given as the only argument;
`--persons N` makes it larger.  Invariant: the rows depend on the seed and the number alone; the
file appears complete or not at all.

    python examples/privacy/make_data.py
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

SEED: Final = 679
PERSONS: Final = 400
FIRST_DAY: Final = date(2016, 1, 1)
DAYS: Final = 3_800

SCHEMA: Final = """
CREATE TABLE activities (id TEXT PRIMARY KEY NOT NULL, purpose TEXT NOT NULL, years INTEGER);
CREATE TABLE bases (
    activity_id TEXT NOT NULL, basis TEXT NOT NULL, document TEXT,
    PRIMARY KEY (activity_id, basis)
);
CREATE TABLE persons (id TEXT PRIMARY KEY NOT NULL, born TEXT);
CREATE TABLE records (
    id TEXT PRIMARY KEY NOT NULL, person_id TEXT NOT NULL, category TEXT NOT NULL,
    activity_id TEXT NOT NULL, collected TEXT NOT NULL
);
CREATE INDEX records_of_persons ON records (person_id);
CREATE TABLE consents (
    person_id TEXT NOT NULL, purpose TEXT NOT NULL, given TEXT NOT NULL, how TEXT NOT NULL,
    withdrawn TEXT
);
CREATE TABLE parental_consents (person_id TEXT NOT NULL, purpose TEXT NOT NULL);
CREATE TABLE contracts (
    id TEXT PRIMARY KEY NOT NULL, person_id TEXT NOT NULL, activity_id TEXT NOT NULL, settled TEXT
);
CREATE TABLE objections (
    person_id TEXT NOT NULL, activity_id TEXT NOT NULL, day TEXT NOT NULL, overridden_by TEXT
);
CREATE TABLE purposes_ended (
    person_id TEXT NOT NULL, activity_id TEXT NOT NULL, day TEXT NOT NULL
);
CREATE TABLE holds (
    matter TEXT NOT NULL, person_id TEXT NOT NULL, day TEXT NOT NULL, lifted TEXT
);
CREATE TABLE requests (
    id TEXT PRIMARY KEY NOT NULL, person_id TEXT NOT NULL, day TEXT NOT NULL,
    extended TEXT, answered TEXT
);
CREATE TABLE transfers (
    id TEXT PRIMARY KEY NOT NULL, activity_id TEXT NOT NULL, recipient TEXT NOT NULL,
    country TEXT NOT NULL
);
CREATE TABLE safeguards (recipient TEXT NOT NULL, instrument TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE assessments (recipient TEXT NOT NULL, country TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE certificates (recipient TEXT NOT NULL, decision TEXT NOT NULL, last TEXT NOT NULL);
"""

ACTIVITIES: Final = (
    ("orders", "delivery of goods", 3),
    ("letters", "news by mail", 1),
    ("offers", "direct marketing", 0),
    ("doors", "security of buildings", 1),
    ("wages", "payroll", 3),
    ("fitting", "adjusting hearing aids", 3),
    ("club", "an online club", 1),
)
BASES: Final = (
    ("orders", "contract", None),
    ("letters", "consent", None),
    ("offers", "legitimate interests", "balancing test 2024-7"),
    ("doors", "legitimate interests", "balancing test 2023-2"),
    ("wages", "legal obligation", "the acts on wage tax and social insurance"),
    ("fitting", "contract", None),
    ("fitting", "consent", None),
    ("club", "consent", None),
)
RECIPIENTS: Final = (
    ("Fjordmail", "Norway"),
    ("Sakura Print", "Japan"),
    ("Beacon Cloud", "United States"),
    ("Harbor Ads", "United States"),
    ("Andes Support", "Chile"),
    ("Pampas Data", "Argentina"),
    ("Ganges Desk", "India"),
)

# These persons are part of the documentation; their rows are not left to chance.
TOLD_PERSONS: Final = (
    ("Ada", "1980-02-03"),
    ("Bruno", "1975-05-05"),
    ("Carla", "2012-08-09"),
    ("Dora", None),
    ("Emil", "1990-10-10"),
    ("Frida", "1968-12-01"),
)
TOLD_RECORDS: Final = (
    ("A1", "Ada", "address", "letters", "2021-03-01"),
    ("A2", "Ada", "invoice", "orders", "2021-03-01"),
    ("A3", "Ada", "hearing test", "fitting", "2025-03-01"),
    ("B1", "Bruno", "address", "orders", "2019-04-04"),
    ("B2", "Bruno", "invoice", "orders", "2015-04-04"),
    ("C1", "Carla", "address", "club", "2025-09-01"),
    ("D1", "Dora", "address", "club", "2025-09-01"),
    ("E1", "Emil", "address", "offers", "2024-01-01"),
    ("E2", "Emil", "door log", "doors", "2026-01-01"),
    ("F1", "Frida", "hearing test", "fitting", "2025-06-01"),
)
TOLD_CONSENTS: Final = (
    ("Ada", "news by mail", "2021-03-01", "by action", "2026-05-20"),
    ("Ada", "adjusting hearing aids", "2025-03-01", "explicit", None),
    ("Carla", "an online club", "2025-09-01", "by action", None),
    ("Dora", "an online club", "2025-09-01", "by action", None),
)
TOLD_CONTRACTS: Final = (
    ("K-A", "Ada", "orders", "2021-04-01"),
    ("K-A2", "Ada", "fitting", None),
    ("K-B", "Bruno", "orders", "2019-05-01"),
    ("K-F", "Frida", "fitting", None),
)
TOLD_OBJECTIONS: Final = (
    ("Emil", "offers", "2026-06-01", "the plan for the summer"),
    ("Emil", "doors", "2026-06-01", "the burglary of 2026-05-14"),
)
TOLD_ENDED: Final = (
    ("Ada", "orders", "2021-04-01"),
    ("Bruno", "orders", "2019-05-01"),
)
TOLD_HOLDS: Final = (("Bruno against the shop", "Bruno", "2025-11-01", None),)
TOLD_REQUESTS: Final = (
    ("Q-Ada", "Ada", "2026-06-01", None, None),
    ("Q-Bruno", "Bruno", "2026-05-01", None, None),
    ("Q-Emil", "Emil", "2026-05-02", "2026-05-20", None),
)

Row = tuple[object, ...]


def some_day(chance: random.Random, after: date = FIRST_DAY) -> date:
    """Give a day from `after` on, in the ten years that the example has."""
    return after + timedelta(days=chance.randrange(max(1, DAYS - (after - FIRST_DAY).days)))


def maybe(chance: random.Random, share: float, after: date) -> str | None:
    """Give a day after another one, or none."""
    return some_day(chance, after).isoformat() if chance.random() < share else None


def people(chance: random.Random, count: int) -> dict[str, list[Row]]:
    """Give the rows of tables about persons who are left to chance."""
    rows: dict[str, list[Row]] = {name: [] for name in TOLD}
    for number in range(1, count + 1):
        person = f"P{number:05d}"
        born = FIRST_DAY - timedelta(days=chance.randrange(1_000, 25_000))
        rows["persons"].append((person, None if chance.random() < 0.05 else born.isoformat()))
        for place, (activity, purpose, _) in enumerate(ACTIVITIES):
            if chance.random() < 0.35:
                label = f"{number:05d}-{place}"
                about(chance, rows, person, (activity, purpose, label))
        if chance.random() < 0.03:
            day = some_day(chance)
            matter = f"matter {number}"
            rows["holds"].append((matter, person, day.isoformat(), maybe(chance, 0.4, day)))
        if chance.random() < 0.06:
            day = date(2026, 4, 1) + timedelta(days=chance.randrange(90))
            extended = (day + timedelta(days=25)).isoformat() if chance.random() < 0.2 else None
            answered = maybe(chance, 0.5, day)
            rows["requests"].append((f"Q{number:05d}", person, day.isoformat(), extended, answered))
    return rows


def about(
    chance: random.Random, rows: dict[str, list[Row]], person: str, what: tuple[str, str, str]
) -> None:
    """Add what one activity has of one person: one to three records and what allows them."""
    activity, purpose, label = what
    day = some_day(chance)
    categories = {"fitting": ("hearing test", "address"), "orders": ("invoice", "address")}
    for number in range(chance.randint(1, 3)):
        category = chance.choice(categories.get(activity, ("address", "name")))
        record = f"R{label}-{number}"
        rows["records"].append((record, person, category, activity, day.isoformat()))
    if activity in {"letters", "club", "fitting"} and chance.random() < 0.9:
        how = chance.choice(("explicit", "by action"))
        rows["consents"].append(
            (person, purpose, day.isoformat(), how, maybe(chance, 0.25, day)),
        )
        if chance.random() < 0.1:
            rows["parental_consents"].append((person, purpose))
    if activity in {"orders", "fitting"}:
        contract = f"K{label}"
        rows["contracts"].append((contract, person, activity, maybe(chance, 0.6, day)))
    if activity in {"offers", "doors"} and chance.random() < 0.15:
        grounds = "a decision of the board" if chance.random() < 0.3 else None
        rows["objections"].append(
            (person, activity, some_day(chance, day).isoformat(), grounds),
        )
    if chance.random() < 0.5:
        rows["purposes_ended"].append((person, activity, some_day(chance, day).isoformat()))


TOLD: Final[dict[str, tuple[Row, ...]]] = {
    "persons": TOLD_PERSONS,
    "records": TOLD_RECORDS,
    "consents": TOLD_CONSENTS,
    "parental_consents": (),
    "contracts": TOLD_CONTRACTS,
    "objections": TOLD_OBJECTIONS,
    "purposes_ended": TOLD_ENDED,
    "holds": TOLD_HOLDS,
    "requests": TOLD_REQUESTS,
}
FIXED: Final[dict[str, tuple[Row, ...]]] = {
    "activities": ACTIVITIES,
    "bases": BASES,
    "safeguards": (
        ("Andes Support", "standard contractual clauses", "2023-01-10"),
        ("Pampas Data", "standard contractual clauses", "2023-01-10"),
        ("Ganges Desk", "standard contractual clauses", "2022-06-01"),
        ("Harbor Ads", "standard contractual clauses", "2021-10-01"),
    ),
    "assessments": (
        ("Andes Support", "Chile", "2023-02-01"),
        ("Ganges Desk", "Sri Lanka", "2022-07-01"),
    ),
    "certificates": (
        ("Beacon Cloud", "2023/1795", "2027-03-31"),
        ("Harbor Ads", "2016/1250", "2027-03-31"),
    ),
}


def transfers(chance: random.Random) -> list[Row]:
    """Give each recipient a transfer of its own, and forty more."""
    told = [(f"T{number}", "orders", *one) for number, one in enumerate(RECIPIENTS, 1)]
    names = [activity for activity, _, _ in ACTIVITIES]
    more = [
        (f"T{number}", chance.choice(names), *chance.choice(RECIPIENTS))
        for number in range(len(RECIPIENTS) + 1, 48)
    ]
    return [*told, *more]


def build(path: Path, persons: int = PERSONS) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    tables = {name: [*TOLD[name], *rows] for name, rows in people(chance, persons).items()}
    tables |= {name: list(rows) for name, rows in FIXED.items()}
    tables["transfers"] = transfers(chance)
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
    beside = Path(__file__).resolve().parent / "data" / "privacy.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--persons", type=int, default=PERSONS, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.persons)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
