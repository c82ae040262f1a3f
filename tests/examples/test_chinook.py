"""Goals on a database that no one here wrote; each verdict is held against plain SQL."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from constat import Session, Verdict

HERE = Path(__file__).resolve().parent / "chinook"

# The oracle counts cents as integers: it shares neither decimals nor rules with the project.
SPENT = "SELECT SUM(CAST(ROUND(Total * 100) AS INTEGER)) FROM Invoice WHERE CustomerId = {}"
LINE = """
WITH RECURSIVE below (id) AS (
    SELECT EmployeeId FROM Employee WHERE ReportsTo = {0}
    UNION SELECT e.EmployeeId FROM Employee e JOIN below ON e.ReportsTo = below.id
) SELECT EXISTS (SELECT 1 FROM below WHERE id = {1})
"""
UNSOLD = """
SELECT NOT EXISTS (
    SELECT 1 FROM InvoiceLine JOIN Track USING (TrackId) JOIN Genre USING (GenreId)
    WHERE Genre.Name = '{0}'
) AND EXISTS (SELECT 1 FROM Genre WHERE Name = '{0}')
"""
ALBUM = """
SELECT EXISTS (SELECT 1 FROM Track WHERE AlbumId = {1})
AND EXISTS (SELECT 1 FROM PlaylistTrack WHERE PlaylistId = {0})
AND NOT EXISTS (
    SELECT TrackId FROM Track WHERE AlbumId = {1}
    EXCEPT SELECT TrackId FROM PlaylistTrack WHERE PlaylistId = {0}
)
"""
ANSWERS = """
SELECT {0} IN (
    SELECT rep.EmployeeId FROM Customer c JOIN Employee rep ON rep.EmployeeId = c.SupportRepId
    WHERE c.CustomerId = {1}
    UNION SELECT boss.EmployeeId FROM Customer c
    JOIN Employee rep ON rep.EmployeeId = c.SupportRepId
    JOIN Employee boss ON boss.EmployeeId = rep.ReportsTo WHERE c.CustomerId = {1}
    UNION SELECT top.EmployeeId FROM Customer c
    JOIN Employee rep ON rep.EmployeeId = c.SupportRepId
    JOIN Employee boss ON boss.EmployeeId = rep.ReportsTo
    JOIN Employee top ON top.EmployeeId = boss.ReportsTo WHERE c.CustomerId = {1}
)
"""
JAZZ = """
SELECT COUNT(*) >= 3 FROM InvoiceLine JOIN Invoice USING (InvoiceId) JOIN Track USING (TrackId)
JOIN Genre USING (GenreId) WHERE Genre.Name = 'Jazz' AND CustomerId = {}
"""
WRONG = """
SELECT EXISTS (
    SELECT 1 FROM Invoice WHERE CAST(ROUND(Total * 100) AS INTEGER) <> (
        SELECT SUM(CAST(ROUND(UnitPrice * 100) AS INTEGER) * Quantity) FROM InvoiceLine
        WHERE InvoiceLine.InvoiceId = Invoice.InvoiceId))
"""
NO_COMPOSER = "SELECT Composer IS NULL FROM Track WHERE TrackId = {}"
INVITED = "SELECT {} IN (6, 57)"

PROVED, DISPROVED = Verdict.PROVED, Verdict.DISPROVED


@dataclass(frozen=True)
class Asked:
    """A goal, its verdict, and a query that says whether the goal is true (1) or not (0)."""

    goal: str
    verdict: Verdict
    query: str
    truth: int


GOALS = [
    Asked("big_spender(6)", PROVED, SPENT.format(6), 4962),
    Asked("big_spender(26)", DISPROVED, SPENT.format(26), 4762),
    Asked("spending(6, 49.62)", PROVED, SPENT.format(6), 4962),
    Asked("spending(26, 47.62)", PROVED, SPENT.format(26), 4762),
    Asked("manages(1, 8)", PROVED, LINE.format(1, 8), 1),
    Asked("manages(2, 7)", DISPROVED, LINE.format(2, 7), 0),
    Asked("manages(3, ?whom)", DISPROVED, "SELECT COUNT(*) FROM Employee WHERE ReportsTo = 3", 0),
    Asked("answers_for(1, 6)", PROVED, ANSWERS.format(1, 6), 1),
    Asked("answers_for(6, 6)", DISPROVED, ANSWERS.format(6, 6), 0),
    Asked("unsold_genre(Opera)", PROVED, UNSOLD.format("Opera"), 1),
    Asked("unsold_genre(Rock)", DISPROVED, UNSOLD.format("Rock"), 0),
    Asked("holds_album(12, 280)", PROVED, ALBUM.format(12, 280), 1),
    Asked("holds_album(12, 1)", DISPROVED, ALBUM.format(12, 1), 0),
    Asked("holds_album(2, 1)", DISPROVED, ALBUM.format(2, 1), 0),
    Asked("wrong_invoice(?which)", DISPROVED, WRONG, 0),
    Asked("written_by(63, ?who)", Verdict.UNRESOLVED, NO_COMPOSER.format(63), 1),
    Asked("likes_jazz(1)", DISPROVED, JAZZ.format(1), 0),
    Asked("gets_invitation(5)", Verdict.DISPROVED_UNDER, INVITED.format(5), 0),
    Asked("gets_invitation(6)", PROVED, INVITED.format(6), 1),
]


@pytest.fixture(scope="module")
def chinook(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (data_folder / "chinook.sqlite").is_file():
        pytest.skip("the Chinook database is not in the folder of public databases")
    folder = tmp_path_factory.mktemp("chinook") / "project"
    shutil.copytree(HERE, folder)
    return folder


@pytest.fixture(scope="module")
def database(data_folder: Path) -> Path:
    return data_folder / "chinook.sqlite"


def sql(database: Path, query: str) -> list[tuple[object, ...]]:
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("asked", GOALS, ids=lambda asked: asked.goal)
def test_a_goal_has_the_verdict_that_plain_sql_has(
    chinook: Path, database: Path, asked: Asked
) -> None:
    assert sql(database, asked.query) == [(asked.truth,)]
    with Session(chinook) as session:
        result = session.prove(asked.goal)
        report = session.verify(result.certificate)
        leaves = session.verify_source(result.certificate)
    assert result.verdict is asked.verdict
    assert (report.accepted, report.verdict, report.reason) == (True, asked.verdict.value, None)
    assert leaves.drift == ()


def rows(session: Session, goal: str) -> set[tuple[object, ...]]:
    decision = session.prove(goal, exhaust=True).decision
    return {row for _, row in decision.answers}


def test_the_answers_of_an_open_goal_are_those_of_plain_sql(chinook: Path, database: Path) -> None:
    with Session(chinook) as session:
        spenders = sql(
            database,
            "SELECT CustomerId FROM Invoice GROUP BY CustomerId"
            " HAVING SUM(CAST(ROUND(Total * 100) AS INTEGER)) > 4762",
        )
        assert rows(session, "big_spender(?c)") == set(spenders)
        lines = sql(
            database,
            "WITH RECURSIVE line (boss, id) AS (SELECT ReportsTo, EmployeeId FROM Employee"
            " WHERE ReportsTo IS NOT NULL UNION SELECT line.boss, e.EmployeeId FROM line"
            " JOIN Employee e ON e.ReportsTo = line.id) SELECT boss, id FROM line",
        )
        assert rows(session, "manages(?b, ?e)") == set(lines)
        albums = sql(
            database,
            "SELECT 12, AlbumId FROM Track LEFT JOIN PlaylistTrack p"
            " ON p.TrackId = Track.TrackId AND p.PlaylistId = 12"
            " GROUP BY AlbumId HAVING COUNT(*) = COUNT(p.TrackId)",
        )
        assert rows(session, "holds_album(12, ?album)") == set(albums)


def test_who_likes_jazz_is_the_drafts_word(chinook: Path, database: Path) -> None:
    fans = sql(
        database,
        "SELECT CustomerId FROM InvoiceLine JOIN Invoice USING (InvoiceId)"
        " JOIN Track USING (TrackId) JOIN Genre USING (GenreId) WHERE Genre.Name = 'Jazz'"
        " GROUP BY CustomerId HAVING COUNT(*) >= 3 ORDER BY CustomerId",
    )
    with Session(chinook) as session:
        for (customer,) in fans[:3]:
            result = session.prove(f"likes_jazz({customer})")
            assert result.verdict is Verdict.PROVED_UNDER
            assert [one.kind for one in result.assumptions] == ["rule"]
