"""One answer in bulk for each library of rules, over a large copy of its example.

    python -m tests.bench.bench_libraries [EXAMPLE ...]

In: names of examples, or none for all.  Out: a table: rows of the sources, answers by verdict, and
seconds by the clock and of processors, what is counted again included.
"""

from __future__ import annotations

import csv
import random
import runpy
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from constat import Session
from tests.bench.measuring import once
from tests.examples.projects import ROOT, copy_example, database_of


@dataclass(frozen=True, slots=True)
class World:
    """An example's library, how its generator makes much of it, and what is asked."""

    library: str
    size: dict[str, int]
    goals: tuple[str, ...]


WORLDS: Final = {
    "vip": World(
        "customer-value",
        {"customers_made": 20_000, "orders_made": 200_000},
        (
            "is_vip(?customer)",
            "in_vip_group(?customer)",
            "churn_risk(?customer)",
            "credit_limit(?customer, ?limit)",
        ),
    ),
    "lending": World("lending", {"applications": 30_000}, ("approved(?application)",)),
    "access": World(
        "access-control",
        {"accounts_made": 3_000},
        ("permitted(?user, ?operation, ?object)", "open_breach(?user, ?constraint)"),
    ),
    "ownership": World(
        "ownership-control",
        {"companies": 2_000},
        (
            "controls(?controller, ?company)",
            "beneficial_owner(?person, ?company)",
            "blocked_by_owners(?company, ?list)",
        ),
    ),
    "privacy": World(
        "data-protection",
        {"persons": 40_000},
        ("lawful(?record)", "deletion_due(?record)", "must_erase(?request, ?record)"),
    ),
    "laundering": World(
        "anti-money-laundering",
        {"customers_made": 10_000},
        (
            "structuring(?customer, ?first, ?number, ?total)",
            "circular(?customer, ?first, ?last)",
            "open_alert(?customer, ?reason)",
        ),
    ),
    "parts": World(
        "supply-chain",
        {"products": 5_000},
        (
            "originating(?item)",
            "to_be_told(?customer, ?lot, ?hazard)",
            "diligence_missing(?item, ?supplier, ?risk)",
        ),
    ),
    "credit": World(
        "credit-decision",
        {"applications": 20_000},
        ("declined(?application)", "principal_reason(?application, ?rank, ?code, ?words)"),
    ),
    "families": World(
        "tax-benefit",
        {"families": 3_000},
        ("paid(?person, 2025-06-02, ?weekly)",),
    ),
    "screening": World(
        "clinical-eligibility",
        {"patients": 10_000},
        ("eligible(?patient, ?trial)",),
    ),
    "software": World(
        "software-supply-chain",
        {"products": 2_000},
        ("vulnerable(?product, ?component, ?advisory)", "licence_problem(?product, ?component)"),
    ),
}


def write_lending(project: Path, applications: int) -> int:
    """Write the files of a lender's desk, which has no generator; give the number of rows."""
    chance = random.Random(27)
    rows: dict[str, list[tuple[object, ...]]] = {
        "applicants": [("id", "income", "employed_since", "score")],
        "applications": [("id", "applicant", "amount", "months")],
        "loans": [("id", "applicant", "monthly")],
        "missed": [("applicant", "day")],
    }
    for number in range(applications):
        person = f"Q{number}"
        since = f"{chance.randint(2010, 2025)}-06-01"
        rows["applicants"].append(
            (person, chance.randint(1200, 5000), since, chance.randint(400, 800))
        )
        rows["applications"].append((f"B{number}", person, chance.randint(1000, 20_000), 48))
        for loan in range(chance.randint(0, 2)):
            rows["loans"].append((f"M{number}-{loan}", person, chance.randint(50, 500)))
        if chance.random() < 0.1:
            rows["missed"].append((person, "2025-06-30"))
    (project / "data").mkdir()
    for name, table in rows.items():
        with (project / "data" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(table)
    return sum(len(table) - 1 for table in rows.values())


def write_world(name: str, folder: Path) -> tuple[Path, int]:
    """Copy an example and make it large; give its project and the number of its rows."""
    world = WORLDS[name]
    if name == "lending":
        shutil.copytree(ROOT / "rules" / name, folder / "rules" / name)
        project = folder / "examples" / name
        shutil.copytree(
            ROOT / "examples" / name, project, ignore=shutil.ignore_patterns("data", ".constat")
        )
        return project, write_lending(project, **world.size)
    project = copy_example(name, world.library, folder)
    build = runpy.run_path(str(project / "make_data.py"))["build"]
    build(database_of(project), **world.size)
    return project, rows_of(database_of(project))


def rows_of(database: Path) -> int:
    """Count the rows of all tables."""
    with closing(sqlite3.connect(database)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchone() for (name,) in names
        ]
    return sum(count for (count,) in counts)


def measure(name: str) -> list[str]:
    """Give the lines of the table for one example."""
    world = WORLDS[name]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        project, rows = write_world(name, Path(folder))
        for goal in world.goals:
            found: list[object] = []

            def asked(goal: str = goal, found: list[object] = found) -> None:
                with Session(project) as session:
                    found.append(session.query(goal, engine="forward").checked())

            took = once(asked)
            counts = Counter(row.verdict.value for row in found[0])  # type: ignore[attr-defined]  # answers of a query
            told = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(counts.items()))
            lines.append(
                f"| {name} | {rows:,} | `{goal}` | {told} | "
                f"{took.clock:.1f} s ({took.processor:.1f}) |"
            )
    return lines


def main(names: list[str]) -> None:
    """Print the table."""
    say = sys.stdout.write
    say("| example | rows | goal | answers | clock (processor) |\n")
    say("|---|---:|---|---|---:|\n")
    for name in names or WORLDS:
        for line in measure(name):
            say(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
