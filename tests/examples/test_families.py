"""Families and Child Benefit: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

import runpy
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
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
    ("paid(Ann, 2024-06-03, 42.55)", PROVED),
    ("paid(Ann, 2025-06-02, 43.30)", PROVED),
    ("entitled(Andrew, Amy, 2024-06-03)", DISPROVED),
    ("entitled(Carol, Cal, 2024-06-03)", DISPROVED),
    ("entitled(Carol, Cal, 2025-06-02)", PROVED),
    ("entitled(Dana, Dot, 2024-10-07)", PROVED),
    ("entitled(Dana, Dot, 2025-07-07)", DISPROVED),
    ("entitled(Edda, Eli, 2025-03-02)", PROVED),
    ("entitled(Edda, Eli, 2025-03-03)", DISPROVED),
    ("entitled(Fay, Fox, 2024-06-03)", OPEN),
    ("charge(Bob, 2024, 50, 1106)", PROVED),
    ("charge(Bob, 2023, 100, 2074)", PROVED),
    ("charge(Bob, 2025, ?percent, ?amount)", OPEN),
    ("charge(Dana, 2024, 11, 146)", PROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, with fewer families than it has."""
    found = copy_example("families", "tax-benefit", tmp_path_factory.mktemp("families"))
    runpy.run_path(str(found / "make_data.py"))["build"](database_of(found), families=40)
    return found


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


RATES = (
    ("2023-04-10", "24.00", "15.90"),
    ("2024-04-08", "25.60", "16.95"),
    ("2025-04-07", "26.05", "17.25"),
)


class Office:
    """The acts once more, read as a program would be written."""

    def __init__(self, path: Path) -> None:
        self.born: dict[Any, Any] = columns(path, "SELECT id, born FROM children")
        self.of: dict[str, list[tuple[Any, ...]]] = {
            name: sorted(sql(path, f"SELECT * FROM {name}"), key=str)
            for name in (
                *("homes", "payments", "courses", "care", "stays", "controls", "claims"),
                *("choices", "unpaid", "couples"),
            )
        }
        self.claims: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for _, person, child, made in self.of["claims"]:
            since = (date.fromisoformat(made) - timedelta(days=91)).isoformat()
            self.claims[child].add((person, since))

    def during(self, table: str, day: str, *names: str) -> list[tuple[Any, ...]]:
        """Give the rows of a table that begin with names and include a day."""
        return [
            row
            for row in self.of[table]
            if row[: len(names)] == names and row[-2] <= day <= row[-1]
        ]

    def counts(self, child: str, day: str) -> bool:
        """Tell whether a child counts as one; nobody asks for one whose birth nobody knows."""
        born = self.born[child]
        return (born <= day and years(born, day) < 16) or any(
            years(born, day) < 20 and years(born, first) < 19
            for _, first, _ in self.during("courses", day, child)
        )

    def qualify(self, child: str, day: str) -> set[str]:
        """Give who meets the conditions for a child."""
        cared = any(gap(first, day) >= 56 for _, first, _ in self.during("care", day, child))
        if cared or not self.counts(child, day):
            return set()
        return {
            person
            for person, since in self.claims[child]
            if since <= day
            and self.during("stays", day, person)
            and not self.during("controls", day, person)
            and (self.during("homes", day, child, person) or self.pays(child, person, day))
        }

    def pays(self, child: str, person: str, day: str) -> bool:
        """Tell whether a person pays at least the rate of the eldest."""
        rate = rate_on(day)[0]
        return any(Decimal(row[2]) >= rate for row in self.during("payments", day, child, person))

    def awarded(self, child: str, day: str) -> str | None:
        """Give the one who is awarded, if it is settled."""
        able = self.qualify(child, day)
        home = {one for one in able if self.during("homes", day, child, one)}
        able = home or able
        if len(able) > 1:
            able = {one for one in able if self.during("choices", day, child, one)}
        return able.pop() if len(able) == 1 else None

    def paid(self, day: str) -> dict[str, Decimal]:
        """Give what everybody is paid in a week."""
        children: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for child, born in self.born.items():
            if born is not None and (person := self.awarded(child, day)):
                children[person].append((born, child))
        eldest, other = rate_on(day)
        return {
            person: eldest + other * (len(found) - 1)
            for person, found in children.items()
            if not self.during("unpaid", day, person)
        }

    def uncertain(self) -> set[str]:
        """Give who claims for a child whose birth nobody knows."""
        return {row[1] for row in self.of["claims"] if self.born[row[2]] is None}


def years(first: str, last: str) -> int:
    one, other = date.fromisoformat(first), date.fromisoformat(last)
    return other.year - one.year - ((other.month, other.day) < (one.month, one.day))


def gap(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def rate_on(day: str) -> tuple[Decimal, Decimal]:
    _, eldest, other = max(one for one in RATES if one[0] <= day)
    return Decimal(eldest), Decimal(other)


@pytest.mark.parametrize("day", ["2023-05-01", "2024-12-30", "2025-06-02"])
def test_payments_are_what_the_acts_say_read_as_a_program(
    session: Session, project: Path, day: str
) -> None:
    office = Office(database_of(project))
    found = verdicts(session, f"paid(?person, {day}, ?weekly)")
    settled = {row: one for row, one in found.items() if row[0] not in office.uncertain()}
    expected = {
        (person, weekly)
        for person, weekly in office.paid(day).items()
        if person not in office.uncertain()
    }
    assert {(row[0], Decimal(str(row[1]))) for row in settled} == expected
    assert set(settled.values()) == {"PROVED"}
    assert len(expected) > 15


@pytest.mark.slow
def test_charges_are_what_adding_up_weeks_finds(session: Session, project: Path) -> None:
    path = database_of(project)
    office = Office(path)
    incomes = columns(path, "SELECT person_id, amount FROM incomes WHERE year = 2024")
    weeks = sorted(str(day) for (day,) in sql(path, "SELECT monday FROM weeks WHERE year = 2024"))
    base: defaultdict[str, Decimal] = defaultdict(Decimal)
    unsure = office.uncertain() | {one for one, amount in incomes.items() if amount is None}
    for day in weeks:
        couples: defaultdict[str, set[str]] = defaultdict(set)
        for one, other, _, _ in office.during("couples", day):
            couples[one].add(other)
            couples[other].add(one)
        for person, total in office.paid(day).items():
            if person in unsure or couples[person] & unsure:
                unsure |= {person, *couples[person]}
                continue
            own = Decimal(str(incomes.get(person, 0)))
            richer = [one for one in couples[person] if Decimal(str(incomes.get(one, 0))) > own]
            for one in richer or [person]:
                base[one] += total
    expected = set()
    for person, total in base.items():
        steps = (Decimal(str(incomes.get(person, 0))) - 60_000) // 200
        if steps >= 1 and person not in unsure:
            percent = min(100, int(steps))
            expected.add((person, percent, int(total * percent / 100)))
    found = verdicts(session, "charge(?person, 2024, ?percent, ?amount)")
    assert {row for row in found if row[0] not in unsure} == expected
    assert len(expected) > 5


def test_a_decision_of_then_is_seen_with_the_rates_of_then(tmp_path: Path) -> None:
    project = copy_example("families", "tax-benefit", tmp_path)
    runpy.run_path(str(project / "make_data.py"))["build"](database_of(project), families=1)
    configuration = project / "constat.yaml"
    goal = "paid(Ann, 2025-06-02, ?weekly)"
    with Session(project) as session:
        session.keep(session.prove(goal))
    then = datetime.now(UTC).isoformat()
    text = configuration.read_text("utf-8")
    configuration.write_text(text.replace("26.05", "27.00"), "utf-8")
    with Session(project) as session:
        assert [row.values for row in session.query(goal)] == [(Decimal("44.25"),)]
        before = session.prove(goal, as_of=then)
    assert before.verdict is PROVED
    assert "43.3" in before.certificate.decode()
    assert "44.25" not in before.certificate.decode()


def test_two_builds_hold_the_same_rows(tmp_path: Path) -> None:
    one, other = (copy_example("families", "tax-benefit", tmp_path / name) for name in "ab")
    assert dump(database_of(one)) == dump(database_of(other))


@pytest.mark.parametrize("goal", readme_goals("families"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
