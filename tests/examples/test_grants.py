"""Grants with condition trees: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

import runpy
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from constat import Session, Verdict
from tests.examples.projects import ROOT, database_of, dump, readme_goals, sql

pytestmark = pytest.mark.sampled(2)

PROVED, DISPROVED = Verdict.PROVED, Verdict.DISPROVED
TOLD = [
    ("granted(anna, heating)", PROVED),
    ("granted(boris, heating)", DISPROVED),
    ("refused(boris, heating)", PROVED),
    ("waits(chen, heating)", PROVED),
    ("refused(chen, heating)", DISPROVED),
    ("missing_paper(chen, heating, home)", PROVED),
    ("missing_paper(chen, heating, income)", DISPROVED),
    ("refused(dora, heating)", PROVED),
    ("in_time(dora, heating)", DISPROVED),
    ("granted(emil, transit)", PROVED),
    ("refused(fatma, transit)", PROVED),
    ("missing_paper(goran, studio, wealth)", PROVED),
]
DAY: Final = "2026-03-01"
Papers = dict[str, object]
Tree = tuple[object, ...]

# The trees again, as values of Python: the oracle reads no text of the database.
CONDITIONS: Final[dict[str, Tree]] = {
    "heating": (
        "both",
        ("most", "income", 18000),
        ("either", ("least", "age", 65), ("is", "home", "family")),
    ),
    "transit": ("both", ("most", "age", 26), ("not", ("is", "work", "employed"))),
    "studio": (
        "both",
        ("is", "work", "artist"),
        ("both", ("most", "income", 30000), ("not", ("least", "wealth", 50000))),
    ),
}
PERIODS: Final = {
    "heating": ("2025-10-01", "2026-02-28"),
    "transit": ("2026-01-01", "2026-12-31"),
    "studio": ("2025-10-01", "2026-02-28"),
}


def met(tree: Tree, papers: Papers) -> bool | None:
    """Tell whether papers meet a condition, after Kleene: nothing where they do not say."""
    match tree:
        case ("both" | "either" as word, tuple(one), tuple(other)):
            sides = (met(one, papers), met(other, papers))
            deciding = word == "either"
            if deciding in sides:
                return deciding
            return None if None in sides else not deciding
        case ("not", tuple(denied)):
            inner = met(denied, papers)
            return None if inner is None else not inner
        case (word, str(what), limit):
            known = papers.get(what)
            if known is None:
                return None
            if isinstance(known, float) and isinstance(limit, int):
                return known <= limit if word == "most" else known >= limit
            return known == limit
    raise AssertionError(tree)


def papers_of(database: Path) -> dict[str, Papers]:
    found: dict[str, Papers] = {}
    for person, day in sql(database, "SELECT * FROM births"):
        years = int(DAY[:4]) - int(str(day)[:4]) - (DAY[5:] < str(day)[5:])
        found.setdefault(str(person), {})["age"] = float(years)
    for person, what, amount in sql(database, "SELECT * FROM figures"):
        found.setdefault(str(person), {})[str(what)] = float(str(amount))
    for person, what, value in sql(database, "SELECT * FROM traits"):
        found.setdefault(str(person), {})[str(what)] = value
    return found


def decided(database: Path) -> dict[str, set[tuple[object, ...]]]:
    """Sort all applications as the documentation says."""
    papers = papers_of(database)
    found: dict[str, set[tuple[object, ...]]] = {"granted": set(), "refused": set(), "waits": set()}
    for person, programme, day in sql(database, "SELECT * FROM applications"):
        first, last = PERIODS[str(programme)]
        holds = met(CONDITIONS[str(programme)], papers[str(person)])
        if not first <= str(day) <= last or holds is False:
            found["refused"].add((person, programme))
        else:
            found["granted" if holds else "waits"].add((person, programme))
    return found


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("grants"))


def build(folder: Path) -> Path:
    project = folder / "grants"
    shutil.copytree(
        ROOT / "examples" / "grants", project, ignore=shutil.ignore_patterns("data", ".constat")
    )
    make(project)
    return project


def make(project: Path) -> None:
    runpy.run_path(str(project / "make_data.py"))["build"](database_of(project))


@pytest.fixture(scope="module")
def session(office: Path) -> Iterator[Session]:
    with Session(office) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_of_the_office_is_as_told(
    session: Session, goal: str, verdict: Verdict
) -> None:
    result = session.prove(goal)
    leaves = session.verify_source(result.certificate)
    assert result.verdict is verdict
    assert (leaves.report.accepted, leaves.report.verdict) == (True, verdict.value)
    assert leaves.drift == ()


@pytest.mark.parametrize("decision", ["granted", "refused", "waits"])
def test_the_decisions_are_those_of_plain_python(
    session: Session, office: Path, decision: str
) -> None:
    expected = decided(database_of(office))[decision]
    rows = session.query(f"{decision}(?person, ?programme)").rows
    assert {row.values for row in rows.only([PROVED])} == expected
    assert len(expected) > 2


def test_the_reason_of_a_refusal_is_found_inside_the_tree(session: Session) -> None:
    refutation = session.why_not("granted(boris, heating)").refutation
    assert refutation is not None
    stops = [one.stop for lacking in refutation.lacking for one in lacking.attempts]
    assert "500" in {one.distance for one in stops if one is not None}


def test_what_would_help_is_found_in_a_branch_of_the_tree(session: Session) -> None:
    found = session.missing_facts("granted(chen, heating)", abducible={"trait": "1"})
    assert [one.fact for one in found.sets[0].add] == ["trait(chen, home, family)"]


def test_a_changed_condition_needs_no_rule(tmp_path: Path) -> None:
    project = build(tmp_path)
    with closing(sqlite3.connect(database_of(project))) as connection, connection:
        connection.execute(
            "UPDATE programmes SET condition = ? WHERE id = 'heating'",
            ('$AtMost("income", 19000)',),
        )
    with Session(project) as opened:
        assert opened.prove("granted(boris, heating)").verdict is PROVED


def test_a_text_that_is_no_condition_leaves_what_needs_it_open(tmp_path: Path) -> None:
    project = build(tmp_path)
    with closing(sqlite3.connect(database_of(project))) as connection, connection:
        connection.execute(
            "UPDATE programmes SET condition = ? WHERE id = 'heating'", ("$AtMost(income)",)
        )
    with Session(project) as opened:
        assert opened.prove("granted(anna, heating)").verdict is Verdict.UNRESOLVED
        assert opened.prove("granted(emil, transit)").verdict is PROVED


def test_two_builds_of_the_office_hold_the_same_rows(tmp_path: Path, office: Path) -> None:
    assert dump(database_of(build(tmp_path))) == dump(database_of(office))


@pytest.mark.parametrize("goal", readme_goals("grants"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
