"""Ask the goals on projects as `constat init` leaves them, and hold the answers against SQL.

`python -m tests.outside` prints the figures. A goal is *decided* when its verdict, or the set of
its rows, is settled; *right* when that is what SQL says. One that is marked `unknown` rests on a
NULL: it is right when it stays open, and what is certain of it is in SQL's answer.

A project has 60 seconds for a goal, by the clock. Here they are counted in processor time, so that
what else the machine does decides nothing: a goal may take longer by the clock, and is open where
it took more of a processor.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

import yaml

from constat import Session
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.project.loading import load_project
from constat.project.settings import Project
from constat.session.answers import Computed, Settled

HERE: Final = Path(__file__).parent
HEADER: Final = '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n'
LIMIT: Final = 60.0
"""How many seconds of a processor a goal has: what a project gives it by the clock."""
CERTAIN: Final = frozenset({Verdict.PROVED, Computed.CERTAIN})
VERDICTS: Final = {"PROVED": True, "DISPROVED": False}

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: rules beside the draft, what is asked, and SQL for what should come out."""

    name: str
    rules: str
    asked: str
    many: bool
    sql: str
    unknown: bool
    blind: bool
    places: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a goal, in seconds by the clock and of a processor.

    `mistake` is the first line of an error.
    """

    goal: Goal
    decided: bool
    right: bool
    seconds: float
    mistake: str = ""
    processor: float = 0.0


def goals(name: str) -> list[Goal]:
    """Read the goals about a database."""
    return [_goal(one) for one in yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8"))]


def _goal(written: Mapping[str, object]) -> Goal:
    many = "query" in written
    places = written.get("places")
    return Goal(
        name=str(written["name"]),
        rules=str(written.get("rules", "")),
        asked=str(written["query" if many else "prove"]),
        many=many,
        sql=str(written["sql"]),
        unknown="unknown" in written,
        blind=bool(written.get("blind", False)),
        places=None if places is None else int(str(places)),
    )


def begin(address: str, folder: Path) -> float:
    """Begin a project with a database, by the command; return the seconds it took.

    The address is that of a server, or a file, which is copied into the folder.
    """
    started = time.perf_counter()
    _begin(address, folder)
    return time.perf_counter() - started


def _begin(address: str, folder: Path) -> None:
    if "://" not in address:
        copied = folder / Path(address).name
        if not copied.exists():
            shutil.copy(address, copied)
        run(folder, "init", copied.name)
        return
    said = run(folder, "init", address)
    # What it says has to be done before the next command.
    (variable,) = re.findall(r"write `(\w+)=...` into", said)
    password = unquote(urlsplit(address).password or "")
    (folder / ".env").write_text(f"{variable}={password}\n", encoding="utf-8")


def run(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command of Constat in a folder; raise `AssertionError` where it ends otherwise."""
    command = [sys.executable, "-m", "constat", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        message = f"constat {' '.join(arguments)} ended with {done.returncode}: {done.stderr}"
        raise AssertionError(message)
    return done.stdout


def ask(folder: Path, database: Path, goal: Goal) -> Outcome:
    """Ask one goal, with its rules in a file of their own."""
    own = folder / "rules" / "own.dl"
    own.write_text(HEADER + goal.rules, encoding="utf-8")
    expected = expected_rows(database, goal)
    began, began_processor = time.perf_counter(), time.process_time()
    decided, certain, mistake = False, set[Row](), ""
    try:
        with Session(_patient(folder)) as session:
            decided, certain = _rows(session, goal) if goal.many else _verdict(session, goal)
    except ConstatError as error:
        mistake = str(error.diagnostics[0].message)
    finally:
        own.unlink()
    seconds = time.perf_counter() - began
    processor = time.process_time() - began_processor
    decided = decided and processor <= LIMIT
    right = certain <= expected and not decided if goal.unknown else decided and certain == expected
    return Outcome(goal, decided, right and not mistake, seconds, mistake, processor)


def _patient(folder: Path) -> Project:
    """Read a project, and let a goal take as long by the clock as a busy machine needs."""
    project = load_project(folder)
    return replace(project, limits=replace(project.limits, seconds=1800.0, query_seconds=1800.0))


def _verdict(session: Session, goal: Goal) -> tuple[bool, set[Row]]:
    label = session.prove(goal.asked).verdict.label
    return label in VERDICTS, {()} if VERDICTS.get(label) else set()


def _rows(session: Session, goal: Goal) -> tuple[bool, set[Row]]:
    answers = session.query(goal.asked)
    return answers.settled is Settled.FOR_CERTAIN, {
        _plain(row.values, goal) for row in answers.rows if row.verdict in CERTAIN
    }


def expected_rows(database: Path, goal: Goal) -> set[Row]:
    """Run the SQL. Of a goal that is proved, one empty row says that it holds."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        found = connection.execute(goal.sql).fetchall()
    if not goal.many:
        return {()} if found and found[0][0] else set()
    return {_plain(row, goal) for row in found}


def _plain(row: Row, goal: Goal) -> Row:
    return tuple(_cell(cell, goal.places) for cell in row)


def _cell(cell: object, places: int | None) -> object:
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        number = Decimal(str(cell))
        return number if places is None else round(number, places)
    return str(cell)


def first_hour(address: str, folder: Path, goal: Goal) -> tuple[int, float]:
    """Go from an empty folder to an own rule whose proof the checker accepts by its sources.

    Gives how many commands that took, and the seconds in which somebody waits for them.
    """
    folder.mkdir()
    commands: list[tuple[str, ...]] = [
        ("rules", "check"),
        ("rules", "test"),
        ("prove", goal.asked, "--certificate", "own.json"),
        ("verify", "own.json", "--source"),
    ]
    started = time.perf_counter()
    _begin(address, folder)
    (folder / "rules" / "own.dl").write_text(HEADER + goal.rules, encoding="utf-8")
    for command in commands:
        run(folder, *command)
    return 1 + len(commands), time.perf_counter() - started


def table(name: str, outcomes: list[Outcome]) -> Iterator[str]:
    """Write the figures of one database, and each goal that did not come out."""
    total = len(outcomes)
    decided = sum(one.decided for one in outcomes)
    right = sum(one.right for one in outcomes)
    blind = [one for one in outcomes if one.goal.blind]
    rest = sum(one.goal.unknown for one in outcomes)
    slowest = max(outcomes, key=lambda one: one.processor)
    yield (
        f"{name}: {total} goals, {rest} rest on a NULL, {decided} decided, {right} right;"
        f" of {len(blind)} written blind"
        f" {sum(one.right for one in blind)}; errors {sum(bool(one.mistake) for one in outcomes)};"
        f" lines of the draft edited: 0; "
        f" {sum(one.processor for one in outcomes):.0f} s of a processor,"
        f" slowest {slowest.processor:.1f} s ({slowest.goal.name})"
    )
    for one in outcomes:
        if not one.right:
            why = one.mistake or ("another answer" if one.decided else "open")
            yield f"  {one.goal.name}: {why} ({one.processor:.1f} s)"
