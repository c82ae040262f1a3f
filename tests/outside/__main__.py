"""Print the figures of the first hour: `make outside`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.outside import databases, measure


def main(chosen: list[str]) -> int:
    """Measure each database that is there; end with 1 where a goal came out wrong."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        found = {"chinook": databases.chinook(), "flights": databases.flights(root)}
        wrong = 0
        for name, database in found.items():
            if chosen and name not in chosen:
                continue
            if database is None:
                print(f"{name}: not measured, the data is not there")  # noqa: T201  a report
                continue
            wrong += _measured(name, database, root, database)
            if name == "flights":
                duck = databases.in_duckdb(database, root)
                wrong += _measured(name, duck, root, database)
    return min(wrong, 1)


def _measured(name: str, database: Path, root: Path, counted: Path) -> int:
    """Measure the goals about a database; SQL counts in `counted`, an SQLite file of the same."""
    kind = database.suffix.removeprefix(".")
    folder = root / f"{name}-{kind}"
    folder.mkdir()
    seconds = measure.begin(database, folder)
    listed = measure.goals(name)
    outcomes = [measure.ask(folder, counted, one) for one in listed]
    for line in measure.table(f"{name} ({kind})", outcomes):
        print(line)  # noqa: T201  a report
    own = next(one for one in listed if not one.many and ("sum" in one.rules or name != "chinook"))
    commands, waited = measure.first_hour(database, root / f"{name}-{kind}-hour", own)
    print(  # noqa: T201  a report
        f"  init {seconds:.1f} s; first own checked proof: {commands} commands, {waited:.1f} s"
    )
    return sum(one.decided and not one.right for one in outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
