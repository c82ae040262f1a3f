"""One answer in bulk for each library of rules, over a large copy of its example.

    python -m tests.bench.bench_libraries [EXAMPLE ...]

In: names of examples, or none for all.  Out: a table: rows of the sources, answers by verdict, and
seconds by the clock and of processors, what is counted again included.
"""

from __future__ import annotations

import runpy
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
from tests.examples.projects import copy_example, database_of


@dataclass(frozen=True, slots=True)
class World:
    """An example's library, how its generator makes much of it, and what is asked."""

    library: str
    size: dict[str, int]
    goals: tuple[str, ...]


WORLDS: Final = {
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
        project = copy_example(name, world.library, Path(folder))
        build = runpy.run_path(str(project / "make_data.py"))["build"]
        build(database_of(project), **world.size)
        rows = rows_of(database_of(project))
        for goal in world.goals:
            found: list[object] = []

            def asked(goal: str = goal, found: list[object] = found) -> None:
                with Session(project) as session:
                    found.append(session.query(goal, engine="forward"))

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
