"""Print the figures of the first hour: `make outside`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import yaml

from tests.outside import databases, measure
from tests.servers import keeper
from tests.servers.leasing import leased


def main(chosen: list[str]) -> int:
    """Measure each database that is there; end with 1 where a goal came out wrong.

    Names of databases and kinds of sources choose among them: `chinook postgresql`.
    """
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        found = {"chinook": databases.chinook(), "flights": databases.flights(root)}
        wrong = 0
        for name, database in found.items():
            if {*chosen} & {*found} and name not in chosen:
                continue
            if database is None:
                print(f"{name}: not measured, the data is not there")  # noqa: T201  a report
                continue
            wrong += sum(
                _measured(name, kind, database, root)
                for kind in ("sqlite", "duckdb", "postgresql")
                if not {*chosen} - {*found} or kind in chosen
            )
    _tell_questions()
    return min(wrong, 1)


def _measured(name: str, kind: str, database: Path, root: Path) -> int:
    """Measure a database as a kind of source; SQL counts in the SQLite file of the same."""
    if kind == "sqlite":
        return _asked(name, kind, str(database), root, database)
    if kind == "duckdb":
        return _asked(name, kind, str(databases.in_duckdb(database, root)), root, database)
    if reason := keeper.missing(kind):
        print(f"{name} ({kind}): not measured, {reason}")  # noqa: T201  a report
        return 0
    with leased(kind, root / "servers") as server, server.fresh() as served:
        databases.in_postgresql(database, served)
        return _asked(name, kind, served.uri, root, database)


def _asked(name: str, kind: str, address: str, root: Path, counted: Path) -> int:
    folder = root / f"{name}-{kind}"
    folder.mkdir()
    seconds = measure.begin(address, folder)
    listed = measure.goals(name)
    outcomes = [measure.ask(folder, counted, one) for one in listed]
    for line in measure.table(f"{name} ({kind})", outcomes):
        print(line)  # noqa: T201  a report
    own = next(one for one in listed if not one.many and ("sum" in one.rules or name != "chinook"))
    commands, waited = measure.first_hour(address, root / f"{name}-{kind}-hour", own)
    print(  # noqa: T201  a report
        f"  init {seconds:.1f} s; first own checked proof: {commands} commands, {waited:.1f} s",
        flush=True,
    )
    return sum(one.decided and not one.right for one in outcomes)


def _tell_questions() -> None:
    """Say how many questions wait for a model: what drafts their goals is none of ours."""
    asked = yaml.safe_load((measure.HERE / "questions.yaml").read_text("utf-8"))
    count = sum(map(len, asked.values()))
    print(f"questions: {count} written, not measured: no model is configured here")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
