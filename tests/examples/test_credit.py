"""A lender's scorecard: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from constat.proof.formats import format_named, write_format
from constat.session.redacting import Hiding, make_view
from tests.examples.projects import (
    columns,
    copy_example,
    database_of,
    dump,
    prove_and_read_again,
    readme_goals,
    sql,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.sampled(3), pytest.mark.examples]

PROVED, DISPROVED, OPEN = Verdict.PROVED, Verdict.DISPROVED, Verdict.UNRESOLVED

TOLD = [
    ("approved(A1)", PROVED),
    ("declined(A2)", PROVED),
    ("principal_reason(A2, 4, R06, ?words)", PROVED),
    ("wrongly_stated(A2, R07)", PROVED),
    ("left_out(A2, R06)", PROVED),
    ("referred(A3)", PROVED),
    ("declined(A4)", PROVED),
    ("approved(A5)", OPEN),
    ("approved(A6)", PROVED),
    ("declined(A6)", DISPROVED),
    ("notice_late(A4, 2026-05-31)", PROVED),
    ('unlawful_use(pilot, "marital status")', PROVED),
    ("report_disclosed(A2, R04)", PROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("credit", "credit-decision", tmp_path_factory.mktemp("credit"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


class Lender:
    """The card and the regulation once more, read as a program would be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bands = sql(path, "SELECT card_id, name, low, high, points FROM bands")
        self.categories: dict[Any, Any] = {
            row[:3]: row[3] for row in sql(path, "SELECT * FROM categories")
        }
        self.averages = {
            row[:2]: Decimal(str(row[2])) for row in sql(path, "SELECT * FROM averages")
        }
        self.codes = columns(path, "SELECT name, code FROM reasons")
        self.born: dict[Any, Any] = columns(path, "SELECT id, born FROM applicants")
        self.known = columns(path, "SELECT id, identified FROM applicants")
        self.says: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        for table in ("figures", "traits"):
            for application, name, value in sql(path, f"SELECT * FROM {table}"):
                self.says[application][str(name)] = value
        self.bankrupt: defaultdict[Any, list[str]] = defaultdict(list)
        for person, day in sql(path, "SELECT * FROM bankruptcies"):
            self.bankrupt[person].append(str(day))

    def points(self, application: str, card: str) -> dict[str, int | None]:
        """Give the points of each characteristic; `None` where nobody knows the value."""
        found: dict[str, int | None] = {}
        for name, value in self.says[application].items():
            if value is None:
                found[name] = None
                continue
            category = self.categories.get((card, name, value))
            if category is not None:
                found[name] = category
            for of, what, low, high, points in self.bands:
                if (of, what) == (card, name) and Decimal(str(low)) <= Decimal(value) < Decimal(
                    str(high)
                ):
                    found[name] = int(str(points))
        return found

    def bars(self, person: str, day: str) -> tuple[set[str], bool]:
        """Give what bars an application, and whether something else may."""
        found = set() if self.known[person] else {"not identified"}
        if any(one <= day and years(one, day) < 10 for one in self.bankrupt[person]):
            found.add("bankruptcy")
        born = self.born[person]
        if born is not None and years(born, day) < 18:
            found.add("too young")
        return found, born is None

    def judged(self, application: str, person: str, day: str) -> tuple[str, list[str]]:
        """Say what becomes of an application, and the codes of its reasons, the first first."""
        card, more = ("2025", 0) if day < "2026" else ("2026", 5)
        found = self.points(application, card)
        bars, may = self.bars(person, day)
        if bars:
            return "declined", sorted(str(self.codes[one]) for one in bars)[:4]
        if len(found) == 8 and None in found.values():
            return "open", []
        if len(found) < 8:
            return "open" if may else "nothing", []
        score = sum(one or 0 for one in found.values())
        if score < 160 + more:
            return ("open reasons", []) if may else ("declined", self.ranked(found, card))
        if may:
            return "open", []
        return "approved" if score >= 190 + more else "referred", []

    def ranked(self, found: dict[str, int | None], card: str) -> list[str]:
        """Give the codes of what is below the average, the furthest first."""
        lost: defaultdict[str, Decimal] = defaultdict(Decimal)
        for name, points in found.items():
            gap = self.averages[card, name] - (points or 0)
            if gap > 0:
                lost[str(self.codes[name])] += gap
        return sorted(lost, key=lambda code: (-lost[code], code))[:4]


def years(first: str, last: str) -> int:
    one, other = date.fromisoformat(first), date.fromisoformat(last)
    return other.year - one.year - ((other.month, other.day) < (one.month, one.day))


@pytest.fixture(scope="module")
def judged(project: Path) -> dict[str, tuple[str, list[str]]]:
    lender = Lender(database_of(project))
    rows = sql(database_of(project), "SELECT id, applicant_id, day FROM applications")
    return {str(one): lender.judged(str(one), str(who), str(day)) for one, who, day in rows}


@pytest.mark.parametrize("outcome", ["approved", "referred", "declined"])
def test_decisions_are_what_adding_up_points_finds(
    session: Session, judged: dict[str, tuple[str, list[str]]], outcome: str
) -> None:
    found = verdicts(session, f"{outcome}(?application)")
    proved = {row[0] for row, verdict in found.items() if verdict == "PROVED"}
    low = {one for one, (told, _) in judged.items() if told == "open reasons"}
    expected = {one for one, (told, _) in judged.items() if told == outcome}
    assert proved == expected | (low if outcome == "declined" else set())
    assert len(expected) > 20


def test_principal_reasons_are_what_sorting_gaps_finds(
    session: Session, judged: dict[str, tuple[str, list[str]]]
) -> None:
    found = verdicts(session, "principal_reason(?application, ?rank, ?code, ?words)")
    told = {(row[0], row[1], row[2]) for row, verdict in found.items() if verdict == "PROVED"}
    expected = {
        (application, rank, code)
        for application, (_, codes) in judged.items()
        for rank, code in enumerate(codes, 1)
    }
    assert told == expected
    assert max(rank for _, rank, _ in expected) == 4


def test_late_notices_are_what_counting_days_finds(session: Session, project: Path) -> None:
    days = columns(database_of(project), "SELECT id, day FROM applications")
    late = set()
    for name, action, _, sent in sql(database_of(project), "SELECT * FROM decisions"):
        last = (date.fromisoformat(str(days[name])) + timedelta(days=30)).isoformat()
        if action == "declined" and last < "2026-06-30" and (sent is None or str(sent) > last):
            late.add((name, last))
    found = verdicts(session, "notice_late(?application, ?last)")
    assert {(row[0], str(row[1])) for row in found} == late
    assert len(late) > 20


def test_whoever_is_declined_does_not_see_points_and_cutoffs(session: Session) -> None:
    whole = session.prove("declined(A2)").certificate
    text = write_format(format_named("markdown"), whole).decode()
    view = make_view(whole, Hiding(view="subject"), b"s" * 32)
    hidden = write_format(format_named("markdown"), view).decode()
    assert "75 points by 2026 are fewer than 165" in text
    assert "75 points" not in hidden
    assert "165" not in hidden
    assert "the value of score.score" in hidden


def test_a_decision_is_seen_with_the_cutoffs_of_then(tmp_path: Path) -> None:
    project = copy_example("credit", "credit-decision", tmp_path)
    with Session(project) as session:
        before = session.prove("approved(A1)")
        session.keep(before)
    then = datetime.now(UTC).isoformat()

    with sqlite3.connect(database_of(project)) as connection:
        connection.execute("UPDATE cards SET approve = 1000")
    with Session(project) as session:
        assert session.prove("approved(A1)").verdict is DISPROVED
        assert session.prove("approved(A1)", as_of=then).verdict is before.verdict is PROVED


def test_two_builds_hold_the_same_rows(tmp_path: Path, project: Path) -> None:
    again = copy_example("credit", "credit-decision", tmp_path)
    assert dump(database_of(again)) == dump(database_of(project))


@pytest.mark.parametrize("goal", readme_goals("credit"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
