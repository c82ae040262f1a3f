"""Build the example's database: grants, applications and papers, the same on every machine.

In: nothing.  Out: `data/office.sqlite` beside this file, or the path given as the only argument.
Invariant: the rows depend on the seed alone; the file appears complete or not at all.

    python examples/grants/make_data.py
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

SEED: Final = 47
PERSONS: Final = 120
KNOWN: Final = 0.85

SCHEMA: Final = """
-- A record and a condition tree, as the types of types.dl are written.
CREATE TABLE programmes (
    id TEXT PRIMARY KEY NOT NULL, period TEXT NOT NULL, condition TEXT NOT NULL
);
CREATE TABLE applications (person TEXT NOT NULL, programme TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE births (person TEXT PRIMARY KEY NOT NULL, day TEXT NOT NULL);
-- SQLite has no decimal type; amounts are kept as text so that they are exact.
CREATE TABLE figures (
    person TEXT NOT NULL, what TEXT NOT NULL, amount TEXT NOT NULL, PRIMARY KEY (person, what)
);
CREATE TABLE traits (
    person TEXT NOT NULL, what TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (person, what)
);
"""

WINTER: Final = '["2025-10-01", "2026-02-28"]'
PROGRAMMES: Final = (
    (
        "heating",
        WINTER,
        '$Both($AtMost("income", 18000), $Either($AtLeast("age", 65), $Is("home", "family")))',
    ),
    (
        "transit",
        '["2026-01-01", "2026-12-31"]',
        '$Both($AtMost("age", 26), $Not($Is("work", "employed")))',
    ),
    (
        "studio",
        WINTER,
        (
            '$Both($Is("work", "artist"), $Both($AtMost("income", 30000), '
            '$Not($AtLeast("wealth", 50000))))'
        ),
    ),
)

# These persons are part of the documentation; their rows are not left to chance.
TOLD_APPLICATIONS: Final = (
    ("anna", "heating", "2025-12-10"),
    ("boris", "heating", "2025-12-11"),
    ("chen", "heating", "2025-12-12"),
    ("dora", "heating", "2026-03-05"),
    ("emil", "transit", "2026-02-01"),
    ("fatma", "transit", "2026-02-02"),
    ("goran", "studio", "2026-01-15"),
)
TOLD_BIRTHS: Final = (
    ("anna", "1958-04-02"),
    ("boris", "1950-09-30"),
    ("chen", "1985-06-17"),
    ("dora", "1951-01-01"),
    ("emil", "2003-05-05"),
    ("fatma", "2001-11-23"),
    ("goran", "1979-02-14"),
)
TOLD_FIGURES: Final = (
    ("anna", "income", "17400"),
    ("boris", "income", "18500"),
    ("chen", "income", "15000"),
    ("dora", "income", "9000"),
    ("goran", "income", "21000.50"),
)
TOLD_TRAITS: Final = (
    ("emil", "work", "student"),
    ("fatma", "work", "employed"),
    ("goran", "work", "artist"),
)


def main() -> None:
    """Build the database where the first argument says, else beside this file."""
    target = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "data/office.sqlite"
    build(target)


def build(target: Path) -> None:
    """Write all rows to a new file and put it in place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with closing(sqlite3.connect(partial)) as connection, connection:
        connection.executescript(SCHEMA)
        _fill(connection)
    partial.replace(target)


def _fill(connection: sqlite3.Connection) -> None:
    chance = random.Random(SEED)
    add = connection.executemany
    add("INSERT INTO programmes VALUES (?, ?, ?)", PROGRAMMES)
    persons = [f"P{number:03}" for number in range(1, PERSONS + 1)]
    applications = [
        (one, chance.choice(PROGRAMMES)[0], f"2026-{chance.randint(1, 3):02}-15") for one in persons
    ]
    add("INSERT INTO applications VALUES (?, ?, ?)", [*TOLD_APPLICATIONS, *applications])
    births = [(one, f"{chance.randint(1940, 2007)}-07-01") for one in persons]
    add("INSERT INTO births VALUES (?, ?)", [*TOLD_BIRTHS, *births])
    figures = [
        (one, what, str(chance.randrange(0, most, 250)))
        for one in persons
        for what, most in (("income", 40_000), ("wealth", 90_000))
        if chance.random() < KNOWN
    ]
    add("INSERT INTO figures VALUES (?, ?, ?)", [*TOLD_FIGURES, *figures])
    traits = [
        (one, what, chance.choice(values))
        for one in persons
        for what, values in (
            ("work", ("student", "employed", "artist")),
            ("home", ("family", "single")),
        )
        if chance.random() < KNOWN
    ]
    add("INSERT INTO traits VALUES (?, ?, ?)", [*TOLD_TRAITS, *traits])


if __name__ == "__main__":
    main()
