"""The figure for unknown values: Chinook as `constat init` leaves it, and goals written before.

Who reads no column that may be NULL has an answer, always. Who does has none that any completion
of the database contradicts: a NULL under `maybe` is some value or stays, under `none` it stays.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pytest

from constat import Session
from constat.evaluation import Verdict
from constat.logic import Aggregate, Atom, Negative, Positive, is_wildcard, null_policies
from constat.session.starting import start
from constat.syntax import parse_goal
from tests.examples.nullable_goals import READ, UNREAD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.logic import Literal, Program
    from tests.examples.nullable_goals import NullableGoal

pytestmark = pytest.mark.data

COMPLETIONS: Final = 25
DECIDED: Final = {Verdict.PROVED: 1, Verdict.DISPROVED: 0}
SHARE_OF_READING: Final = 28
"""How many of the goals that read such columns are decided; fewer means that something was lost."""


def reads_nulls(program: Program, goal: Atom) -> bool:
    """Whether the goal, or a rule below it, writes more than `_` where there may be NULL."""
    seen: set[str] = set()
    waiting = [goal]
    while waiting:
        atom = waiting.pop()
        policies = null_policies(program.predicates[atom.predicate])
        pairs = zip(atom.terms, policies, strict=True)
        if any(policy is not None and not is_wildcard(term) for term, policy in pairs):
            return True
        if atom.predicate not in seen:
            seen.add(atom.predicate)
            for rule in program.rules_for(atom.predicate):
                waiting += atoms(rule.body)
    return False


def atoms(body: tuple[Literal, ...]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Aggregate):
            yield from atoms(literal.body)
        elif isinstance(literal, Positive | Negative):
            yield literal.atom


@pytest.fixture(scope="module")
def project(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chinook with the declarations that `init` drafted, as they stand, and rules beside them."""
    if not (data_folder / "chinook.sqlite").is_file():
        pytest.skip("the Chinook database is not in the folder of public databases")
    folder = tmp_path_factory.mktemp("chinook")
    shutil.copy(data_folder / "chinook.sqlite", folder)
    start("chinook.sqlite", folder, folder)
    goals = dict.fromkeys((one.declared, one.rules) for one in (*UNREAD, *READ) if one.declared)
    lines = ['.pragma "constat" "0.1"', '.include "sources.dl"', ".once"]
    lines += [f".decl {declared}\n{rules}" for declared, rules in goals]
    (folder / "rules" / "questions.dl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as one:
        yield one


@pytest.fixture(scope="module")
def completed(project: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The database with what is NULL filled: each cell with a value of its column, or not."""
    folder = tmp_path_factory.mktemp("completions")
    found = []
    for number in range(COMPLETIONS):
        path = folder / f"{number}.sqlite"
        shutil.copy(project / "chinook.sqlite", path)
        complete(path, random.Random(number), often=number / (COMPLETIONS - 1))
        found.append(path)
    return found


def complete(path: Path, dice: random.Random, *, often: float) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in (
            ("Customer", ("Company", "State", "PostalCode", "Phone", "Fax")),
            ("Invoice", ("BillingState", "BillingPostalCode")),
            ("Track", ("Composer",)),
        ):
            for column in columns:
                read = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"
                values = [*sorted(one for (one,) in connection.execute(read)), "BW", "Desmond"]
                holes = connection.execute(f"SELECT rowid FROM {table} WHERE {column} IS NULL")
                filled = [
                    (dice.choice(values[:3] + values[-2:] + values), row)
                    for (row,) in holes.fetchall()
                    if dice.random() < often
                ]
                connection.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", filled)


def holds(path: Path, goal: NullableGoal) -> int:
    with closing(sqlite3.connect(path)) as connection:
        ((found,),) = connection.execute(goal.sql).fetchall() or [(0,)]
    return int(found or 0)


def test_there_are_enough_goals_and_they_are_where_they_belong(session: Session) -> None:
    assert len(UNREAD) + len(READ) >= 60
    assert min(len(UNREAD), len(READ)) >= 30
    program = session.program.program
    reading = [
        [one.goal for one in goals if reads_nulls(program, parse_goal(one.goal, program))]
        for goals in (UNREAD, READ)
    ]
    assert reading[0] == []
    # A column without NULL in any row is drafted without `maybe`, and goals on it are decided.
    assert len(reading[1]) >= 20
    for one in READ:
        if one.goal not in reading[1]:
            assert session.prove(one.goal).verdict in DECIDED, one.goal


@pytest.mark.parametrize("goal", UNREAD, ids=lambda one: one.goal)
def test_a_goal_that_reads_no_such_column_is_decided(
    session: Session, project: Path, goal: NullableGoal
) -> None:
    result = session.prove(goal.goal)
    assert DECIDED.get(result.verdict) == holds(project / "chinook.sqlite", goal)


@pytest.mark.parametrize("goal", READ, ids=lambda one: one.goal)
def test_no_completion_contradicts_what_is_decided(
    session: Session, completed: list[Path], goal: NullableGoal
) -> None:
    result = session.prove(goal.goal)
    if result.verdict in DECIDED:
        said = {holds(path, goal) for path in completed}
        assert said == {DECIDED[result.verdict]}
    else:
        assert result.verdict is Verdict.UNRESOLVED


def test_most_goals_that_read_such_columns_are_decided(session: Session) -> None:
    verdicts = [session.prove(one.goal).verdict for one in READ]
    assert sum(one in DECIDED for one in verdicts) >= SHARE_OF_READING
