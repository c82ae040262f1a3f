"""Goals and queries on a database that no one here wrote; each is held against plain SQL."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from constat import Session, Verdict
from tests.examples.chinook_goals import GOALS, JAZZ, QUERIES, Goal, Query

HERE = Path(__file__).resolve().parent / "chinook"

Rows = set[tuple[object, ...]]


@pytest.fixture(scope="module")
def chinook(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (data_folder / "chinook.sqlite").is_file():
        pytest.skip("the Chinook database is not in the folder of public databases")
    folder = tmp_path_factory.mktemp("chinook") / "project"
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns(".constat"))
    return folder


@pytest.fixture(scope="module")
def session(chinook: Path) -> Iterator[Session]:
    with Session(chinook) as opened:
        yield opened


@pytest.fixture(scope="module")
def database(data_folder: Path) -> Path:
    return data_folder / "chinook.sqlite"


def sql(database: Path, query: str) -> list[tuple[object, ...]]:
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(query).fetchall()


# Every second one by default: each asks the same relations for other keys.
@pytest.mark.parametrize(
    "asked",
    [pytest.param(one, marks=pytest.mark.slow) if at % 2 else one for at, one in enumerate(GOALS)],
    ids=[one.goal for one in GOALS],
)
def test_a_goal_has_the_verdict_that_plain_sql_has(
    chinook: Path, database: Path, asked: Goal
) -> None:
    assert sql(database, asked.query) == [(asked.truth,)]
    with Session(chinook) as session:
        result = session.prove(asked.goal)
    with Session(chinook) as reader:
        leaves = reader.verify_source(result.certificate)
    assert result.verdict is asked.verdict
    report = leaves.report
    assert (report.accepted, report.verdict, report.reason) == (True, asked.verdict.value, None)
    assert leaves.drift == ()


def in_cents(row: tuple[object, ...], place: int) -> tuple[object, ...]:
    amount = row[place]
    assert isinstance(amount, Decimal)
    return (*row[:place], int(amount * 100), *row[place + 1 :])


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.query)
def test_the_answers_of_a_query_are_those_of_plain_sql(
    session: Session, database: Path, asked: Query
) -> None:
    answers = session.query(asked.query)
    found: Rows = {row.values for row in answers.rows.only([Verdict.PROVED])}
    if asked.cents:
        names = [column.name for column in answers.columns]
        assert all(amount == round(amount, 2) for amount in amounts(found, names, asked.cents))
        found = {in_cents(row, names.index(asked.cents)) for row in found}
    assert found == set(sql(database, asked.oracle))
    assert found


def amounts(rows: Rows, names: list[str], column: str) -> Iterator[Decimal]:
    for row in rows:
        amount = row[names.index(column)]
        assert isinstance(amount, Decimal)
        yield amount


def test_goals_and_queries_are_many_and_of_all_verdicts() -> None:
    assert len(GOALS) >= 20
    assert len(QUERIES) >= 8
    assert {goal.verdict for goal in GOALS} == set(Verdict)


def test_who_likes_jazz_is_the_drafts_word(session: Session, database: Path) -> None:
    fans = sql(database, f"SELECT CustomerId FROM ({JAZZ}) WHERE tracks >= 3")
    rows = session.query("likes_jazz(?c)").rows
    assert {row.values for row in rows} == set(fans)
    assert {row.verdict for row in rows} == {Verdict.PROVED_UNDER}
    for (customer,) in fans[:3]:
        result = session.prove(f"likes_jazz({customer})")
        assert result.verdict is Verdict.PROVED_UNDER
        assert [one.kind for one in result.assumptions] == ["rule"]


def test_a_missing_composer_is_a_gap_with_a_goal_to_ask(session: Session) -> None:
    assert session.prove("written_by(63, ?who)").missing == ("composer(63, ?composer)",)


def test_a_stated_fact_decides_what_no_source_knows(chinook: Path, tmp_path: Path) -> None:
    copied = tmp_path / "project"
    shutil.copytree(chinook, copied, ignore=shutil.ignore_patterns(".constat"))
    with Session(copied) as session:
        assert session.prove("may_get_mail(6)").verdict is Verdict.UNRESOLVED
        session.facts.add("opted_out(6)", author="ann")
        assert session.prove("may_get_mail(6)").verdict is Verdict.DISPROVED_UNDER


@pytest.mark.parametrize("query", ["loyal(?c)", "lapsed(?c)", "unsold_genre(?name)"])
def test_each_row_of_a_query_is_proved_by_the_goal_that_it_names(
    session: Session, query: str
) -> None:
    for row in session.query(query):
        (goal,) = row.goals
        result = session.prove(goal)
        assert result.verdict is row.verdict
        assert session.verify(result.certificate).accepted
