"""Build the example's database: a clinic that screens for two trials, the same rows everywhere.

In: nothing.  Out: `data/clinic.sqlite` beside this file, or the path given as the only argument;
`--patients N` makes it larger.  Invariant: the rows depend on the seed and the number alone; the
file appears complete or not at all.

    python examples/screening/make_data.py
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

SEED: Final = 9361
PATIENTS: Final = 300
END: Final = "9999-12-31"
ALWAYS: Final = 99_999

SCHEMA: Final = """
CREATE TABLE trials (id TEXT PRIMARY KEY NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL);
CREATE TABLE criteria (
    id TEXT PRIMARY KEY NOT NULL, trial_id TEXT NOT NULL, side TEXT NOT NULL,
    first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE ages (criterion_id TEXT PRIMARY KEY NOT NULL, least INTEGER, most INTEGER);
CREATE TABLE findings_asked (criterion_id TEXT PRIMARY KEY NOT NULL, value_set TEXT, days INTEGER);
CREATE TABLE values_asked (
    criterion_id TEXT PRIMARY KEY NOT NULL, test TEXT, least TEXT, most TEXT, days INTEGER
);
CREATE TABLE values_by_drugs (
    criterion_id TEXT PRIMARY KEY NOT NULL, test TEXT, value_set TEXT, days INTEGER
);
CREATE TABLE ranges (
    criterion_id TEXT NOT NULL, drugs INTEGER NOT NULL, least TEXT, most TEXT,
    PRIMARY KEY (criterion_id, drugs)
);
CREATE TABLE parts (criterion_id TEXT NOT NULL, part_id TEXT NOT NULL);
CREATE TABLE codes (code TEXT NOT NULL, parent TEXT NOT NULL);
CREATE TABLE sets (name TEXT NOT NULL, code TEXT NOT NULL, has INTEGER NOT NULL);
CREATE TABLE units (
    test TEXT NOT NULL, unit TEXT NOT NULL, factor TEXT NOT NULL, PRIMARY KEY (test, unit)
);
CREATE TABLE patients (id TEXT PRIMARY KEY NOT NULL, born TEXT);
CREATE TABLE screenings (
    patient_id TEXT NOT NULL, trial_id TEXT NOT NULL, day TEXT NOT NULL,
    PRIMARY KEY (patient_id, trial_id)
);
CREATE TABLE findings (patient_id TEXT NOT NULL, code TEXT NOT NULL, day TEXT NOT NULL);
CREATE INDEX findings_of_patients ON findings (patient_id);
CREATE TABLE histories (patient_id TEXT NOT NULL, value_set TEXT NOT NULL, day TEXT NOT NULL);
CREATE TABLE measurements (
    patient_id TEXT NOT NULL, test TEXT NOT NULL, day TEXT NOT NULL, value TEXT,
    unit TEXT NOT NULL, PRIMARY KEY (patient_id, test, day)
);
CREATE TABLE drugs (
    patient_id TEXT NOT NULL, code TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL
);
CREATE TABLE consents (
    patient_id TEXT NOT NULL, trial_id TEXT NOT NULL, day TEXT NOT NULL, withdrawn TEXT
);
"""

Row = tuple[object, ...]
Tables = dict[str, list[Row]]

SBP, STANDING, GFR, RATIO, RISK = "8480-6", "8460-8", "98979-8", "14959-1", "framingham"
"""LOINC codes of blood pressure, kidney function and urine albumin, and a score of ten years."""

PROTOCOL: Final[Tables] = {
    "trials": [("PRESS", "2024-01-01", "2026-12-31"), ("KIDNEY", "2025-01-01", "2026-12-31")],
    "criteria": [
        ("P-I1", "PRESS", "inclusion", "2024-01-01", END),
        ("P-I2", "PRESS", "inclusion", "2024-01-01", END),
        ("P-I3", "PRESS", "inclusion", "2024-01-01", END),
        *((f"P-R{number}", "PRESS", "part", "2024-01-01", END) for number in range(1, 5)),
        *((f"P-E{number}", "PRESS", "exclusion", "2024-01-01", END) for number in range(1, 10)),
        # Amendment 1 lets younger persons in.
        ("K-I1", "KIDNEY", "inclusion", "2025-01-01", "2026-03-31"),
        ("K-I1b", "KIDNEY", "inclusion", "2026-04-01", END),
        ("K-I2", "KIDNEY", "inclusion", "2025-01-01", END),
        ("K-E1", "KIDNEY", "exclusion", "2025-01-01", END),
        ("K-E2", "KIDNEY", "exclusion", "2025-01-01", END),
    ],
    "ages": [("P-I1", 50, 150), ("P-R4", 75, 150), ("K-I1", 50, 150), ("K-I1b", 18, 150)],
    "findings_asked": [
        ("P-R1", "cardiovascular disease", ALWAYS),
        ("P-E1", "diabetes", ALWAYS),
        ("P-E2", "stroke", ALWAYS),
        ("P-E3", "polycystic kidney", ALWAYS),
        ("P-E4", "acute coronary event", 91),
        ("P-E5", "heart failure", 183),
        ("P-E6", "malignancy", 730),
        ("K-E1", "polycystic kidney", ALWAYS),
        ("K-E2", "acute coronary event", 91),
    ],
    "values_asked": [
        ("P-R2", GFR, "20", "59.99", 183),
        ("P-R3", RISK, "15", "100", 365),
        ("P-E7", GFR, "0", "19.99", 183),
        ("P-E8", RATIO, "600", "100000", 183),
        ("P-E9", STANDING, "0", "109.99", 30),
        ("K-I2", GFR, "20", "44.99", 91),
    ],
    "values_by_drugs": [("P-I2", SBP, "antihypertensives", 30)],
    "ranges": [
        ("P-I2", 0, "130", "180"),
        ("P-I2", 1, "130", "180"),
        ("P-I2", 2, "130", "170"),
        ("P-I2", 3, "130", "160"),
        ("P-I2", 4, "130", "150"),
    ],
    "parts": [("P-I3", f"P-R{number}") for number in range(1, 5)],
    "sets": [
        *(("cardiovascular disease", code, 1) for code in ("I20-I25", "I70", "I73")),
        ("diabetes", "E08-E13", 1),
        ("stroke", "I60-I69", 1),
        ("polycystic kidney", "Q61", 1),
        ("acute coronary event", "I20.0", 1),
        ("acute coronary event", "I21", 1),
        ("heart failure", "I50", 1),
        ("malignancy", "C00-C97", 1),
        ("malignancy", "C44", 0),
        *(("antihypertensives", code, 1) for code in ("C02", "C03", "C07", "C08", "C09")),
    ],
    "units": [
        (SBP, "mm[Hg]", "1"),
        (STANDING, "mm[Hg]", "1"),
        (GFR, "mL/min/{1.73_m2}", "1"),
        (RATIO, "mg/g", "1"),
        # Creatinine has 113.12 g a mole.
        (RATIO, "mg/mmol", "8.84"),
        (RISK, "%", "1"),
    ],
}
CHAPTERS: Final = {
    "I20-I25": ("I20", "I21", "I22", "I24", "I25"),
    "E08-E13": ("E08", "E09", "E10", "E11", "E13"),
    "I60-I69": ("I60", "I61", "I63", "I64", "I69"),
    "C00-C97": ("C18", "C34", "C44", "C50", "C61"),
}
OTHERS: Final = ("I50", "I70", "I73", "Q61", "M10", "J45", "I10")
DRUGS: Final = ("C03AA03", "C07AB02", "C08CA01", "C09AA05", "C09CA01", "C10AA05", "A10BA02")
SETS: Final = tuple(dict.fromkeys(str(row[1]) for row in PROTOCOL["findings_asked"]))
USUAL: Final = ((SBP, 30), (STANDING, 30), (GFR, 180), (RATIO, 180), (RISK, 360))

# These persons are part of the documentation; their rows are not left to chance.
TOLD_DAY: Final = "2026-05-04"
TOLD_PATIENTS: Final = (
    ("Ada", "1950-01-01"),
    ("Ben", "1950-01-01"),
    ("Cora", "1950-01-01"),
    ("Dan", "1985-01-01"),
    ("Eve", None),
    ("Finn", "1950-01-01"),
)


def codes() -> list[Row]:
    """Give what is a kind of what: chapters, categories, and ten codes below each."""
    above = [(code, chapter) for chapter, found in CHAPTERS.items() for code in found]
    every = [code for code, _ in above] + list(OTHERS)
    below = [(f"{code}.{number}", code) for code in every for number in range(10)]
    drugs = [
        (code[:length], code[: length - (1 if length > 3 else 2)])
        for code in DRUGS
        for length in (5, 4)
    ]
    return [*above, *below, *((code, code[:5]) for code in DRUGS), *sorted(set(drugs))]


def told() -> Tables:
    """Give the rows of those who stand in the documentation."""
    rows: Tables = {name: [] for name in ("findings", "histories", "measurements", "drugs")}
    rows["patients"] = list(TOLD_PATIENTS)
    rows["screenings"] = [(name, "PRESS", TOLD_DAY) for name, _ in TOLD_PATIENTS]
    rows["screenings"] += [("Dan", "KIDNEY", TOLD_DAY)]
    rows["consents"] = [(name, "PRESS", "2026-05-01", None) for name, _ in TOLD_PATIENTS]
    for name, _ in TOLD_PATIENTS:
        asked = [one for one in SETS if (name, one) != ("Cora", "stroke")]
        rows["histories"] += [(name, one, "2026-05-01") for one in asked]
        rows["measurements"] += [
            (name, SBP, "2026-05-01", "175", "mm[Hg]"),
            (name, STANDING, "2026-05-01", "140", "mm[Hg]"),
            (name, GFR, "2026-03-01", "40", "mL/min/{1.73_m2}"),
            (name, RISK, "2026-03-01", "12", "%"),
        ]
        ratio = "70" if name == "Finn" else "3"
        if name != "Ben":
            rows["measurements"].append((name, RATIO, "2026-02-01", ratio, "mg/mmol"))
    rows["drugs"] = [("Eve", code, "2020-01-01", END) for code in ("C03AA03", "C07AB02")]
    rows["findings"] = [("Dan", "C44.3", "2026-01-01")]
    return rows


def some_day(chance: random.Random, last: date, days: int) -> str:
    """Give a day of so many before another one, or a few after."""
    return (last - timedelta(days=chance.randrange(-5, days))).isoformat()


def patient(chance: random.Random, number: int, rows: Tables, told_codes: list[str]) -> None:
    """Add somebody who is screened, and what the records hold."""
    name = f"P{number:05d}"
    born = date(1935, 1, 1) + timedelta(days=chance.randrange(18_000))
    rows["patients"].append((name, None if chance.random() < 0.02 else born.isoformat()))
    day = date(2025, 7, 1) + timedelta(days=chance.randrange(400))
    trial = "PRESS" if chance.random() < 0.7 else "KIDNEY"
    rows["screenings"].append((name, trial, day.isoformat()))
    if chance.random() < 0.9:
        gone = some_day(chance, day, 20) if chance.random() < 0.1 else None
        rows["consents"].append((name, trial, some_day(chance, day, 30), gone))
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        code = chance.choice(told_codes)
        days = chance.choice((60, 300, 3_000))
        rows["findings"].append((name, code, some_day(chance, day, days)))
    for one in SETS:
        if chance.random() < 0.94:
            rows["histories"].append((name, one, some_day(chance, day, 200)))
    for code in DRUGS:
        if chance.random() < 0.25:
            first = day - timedelta(days=chance.randrange(5, 900))
            last = some_day(chance, day, 100) if chance.random() < 0.2 else END
            rows["drugs"].append((name, code, first.isoformat(), last))
    for test, days in USUAL:
        measured(chance, rows, (name, test), (day, days))


def measured(
    chance: random.Random, rows: Tables, what: tuple[str, str], when: tuple[date, int]
) -> None:
    """Add one or two values of a test, some of them old, lost, or in another unit."""
    name, test = what
    day, days = when
    low, high, unit = {
        SBP: (120, 185, "mm[Hg]"),
        STANDING: (100, 180, "mm[Hg]"),
        GFR: (15, 100, "mL/min/{1.73_m2}"),
        RATIO: (5, 700, "mg/g"),
        RISK: (2, 40, "%"),
    }[test]
    times = {some_day(chance, day, days) for _ in range(chance.choice((1, 1, 2)))}
    if chance.random() < 0.05:
        times = {(day - timedelta(days=days * 3)).isoformat()}
    for one in sorted(times):
        value: str | None = str(chance.randrange(low, high))
        other = test == RATIO and chance.random() < 0.3
        if chance.random() < 0.02:
            value = None
        elif other:
            value = str(chance.randrange(1, 80))
        rows["measurements"].append((name, test, one, value, "mg/mmol" if other else unit))


def build(path: Path, patients: int = PATIENTS) -> None:
    """Write the database; an older file is replaced in one step."""
    chance = random.Random(SEED)
    rows = {**{name: list(found) for name, found in PROTOCOL.items()}, **told(), "codes": codes()}
    known = sorted({str(code) for code, parent in rows["codes"] if "." in str(code) and parent})
    for number in range(1, patients + 1):
        patient(chance, number, rows, known)
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
    beside = Path(__file__).resolve().parent / "data" / "clinic.sqlite"
    parser = argparse.ArgumentParser(description="Build the example's database.")
    parser.add_argument("path", type=Path, nargs="?", default=beside)
    parser.add_argument("--patients", type=int, default=PATIENTS, help="how many are made up")
    chosen = parser.parse_args()
    build(chosen.path, chosen.patients)
    print(f"wrote {chosen.path.name}")


if __name__ == "__main__":
    main()
