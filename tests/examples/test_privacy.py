"""The shop's personal data: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from constat import Session, Verdict
from tests.examples.projects import (
    Asked,
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
UNDER, AGAINST = Verdict.PROVED_UNDER, Verdict.DISPROVED_UNDER
TODAY = date(2026, 6, 30)

TOLD = [
    ("lawful(A1)", DISPROVED),
    ("lawful(A3)", PROVED),
    ("lawful(C1)", DISPROVED),
    ("lawful(D1)", OPEN),
    ("lawful(E1)", DISPROVED),
    ("lawful(E2)", UNDER),
    ("lawful(F1)", AGAINST),
    ("basis(Frida, fitting, b)", PROVED),
    ("must_erase(Q-Ada, A1)", UNDER),
    ("must_erase(Q-Ada, A2)", DISPROVED),
    ("refused(Q-Ada, A2, b)", PROVED),
    ("must_erase(Q-Bruno, B1)", DISPROVED),
    ("refused(Q-Bruno, B1, e)", PROVED),
    ("deletion_due(B2)", DISPROVED),
    ("answer_late(Q-Bruno, 2026-05-31)", PROVED),
    ("answer_late(Q-Emil, ?day)", DISPROVED),
    ("transfer_allowed(T1)", PROVED),
    ("transfer_allowed(T2)", UNDER),
    ("transfer_allowed(T3)", UNDER),
    ("transfer_allowed(T4)", OPEN),
    ("transfer_allowed(T5)", PROVED),
    ("allowed_by(T7, 46)", DISPROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("privacy", "data-protection", tmp_path_factory.mktemp("privacy"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


def test_deletions_are_what_counting_days_finds(session: Session, project: Path) -> None:
    path = database_of(project)
    years = columns(path, "SELECT id, years FROM activities")
    ended = {(one[0], one[1], one[2]) for one in sql(path, "SELECT * FROM purposes_ended")}
    held = {
        person
        for person, day, lifted in sql(path, "SELECT person_id, day, lifted FROM holds")
        if str(day) <= str(TODAY) and (lifted is None or str(lifted) > str(TODAY))
    }
    due = set()
    for record, person, category, activity, day in sql(path, "SELECT * FROM records"):
        if category == "invoice" and int(str(day)[:4]) + 8 >= TODAY.year:
            continue
        over = any(
            since(str(last)) >= int(str(years[activity]))
            for who, what, last in ended
            if who == person and what == activity and str(last) <= str(TODAY)
        )
        if over and person not in held:
            due.add((record,))
    found = verdicts(session, "deletion_due(?record)")
    assert found == dict.fromkeys(due, "PROVED_UNDER")
    assert len(due) > 100


def since(day: str) -> int:
    """Whole years from a day until today; the example has no 29 February."""
    then = date.fromisoformat(day)
    return TODAY.year - then.year - ((TODAY.month, TODAY.day) < (then.month, then.day))


def age(born: str, day: str) -> int:
    then, now = date.fromisoformat(born), date.fromisoformat(day)
    return now.year - then.year - ((now.month, now.day) < (then.month, then.day))


class Lawfulness:
    """The articles once more, read as a program would be written: yes, no, or nobody knows."""

    def __init__(self, path: Path) -> None:
        self.born = columns(path, "SELECT id, born FROM persons")
        self.purposes = columns(path, "SELECT id, purpose FROM activities")
        self.bases = sql(path, "SELECT activity_id, basis FROM bases")
        self.consents = sql(path, "SELECT * FROM consents")
        self.parents = sql(path, "SELECT * FROM parental_consents")
        self.contracts = sql(path, "SELECT person_id, activity_id, settled FROM contracts")
        self.objections = sql(path, "SELECT * FROM objections")

    def record(self, person: str, category: str, activity: str) -> bool | None:
        """Tell whether a record may be processed."""
        basis = self.basis(person, activity)
        if category != "hearing test" or basis is False:
            return basis
        explicit = self.consent(person, str(self.purposes[activity]), {"explicit"})
        return None if None in {basis, explicit} and explicit is not False else bool(explicit)

    def basis(self, person: str, activity: str) -> bool | None:
        """Join the bases that the controller names."""
        named = {basis for one, basis in self.bases if one == activity}
        found: set[bool | None] = {"legal obligation" in named}
        if "contract" in named:
            found.add(any(
                (who, what) == (person, activity) and (end is None or str(end) > str(TODAY))
                for who, what, end in self.contracts
            ))  # fmt: skip
        if "legitimate interests" in named:
            found.add(not self.objected(person, activity))
        if "consent" in named:
            ways = {"explicit", "by action"}
            found.add(self.consent(person, str(self.purposes[activity]), ways))
        return True if True in found else None if None in found else False

    def objected(self, person: str, activity: str) -> bool:
        """Tell whether an objection counts."""
        return any(
            (who, what) == (person, activity)
            and str(day) <= str(TODAY)
            and (grounds is None or activity == "offers")
            for who, what, day, grounds in self.objections
        )

    def consent(self, person: str, purpose: str, ways: set[str]) -> bool | None:
        """Tell whether a consent stands."""
        found: set[bool | None] = {False}
        for who, what, given, how, withdrawn in self.consents:
            late = withdrawn is not None and str(withdrawn) <= str(TODAY)
            if (who, what) != (person, purpose) or how not in ways or late:
                continue
            if str(given) <= str(TODAY):
                found.add(self.binds(person, purpose, str(given)))
        return True if True in found else None if None in found else False

    def binds(self, person: str, purpose: str, given: str) -> bool | None:
        """Tell whether the person was old enough, or a parent agreed."""
        if purpose != "an online club" or (person, purpose) in self.parents:
            return True
        born = self.born[person]
        return None if born is None else age(str(born), given) >= 16


def test_lawful_is_what_the_articles_say_read_as_a_program(session: Session, project: Path) -> None:
    judge = Lawfulness(database_of(project))
    rows = sql(database_of(project), "SELECT id, person_id, category, activity_id FROM records")
    told: Asked = {
        (str(record),): judge.record(str(person), str(category), str(activity))
        for record, person, category, activity in rows
    }
    found = verdicts(session, "lawful(?record)")
    assert {one for one, holds in told.items() if holds} == {
        one for one, verdict in found.items() if verdict.startswith("PROVED")
    }
    assert {one for one, holds in told.items() if holds is None} == {
        one for one, verdict in found.items() if verdict == "UNRESOLVED"
    }
    assert {True, False, None} == set(told.values())


def test_a_decision_counts_until_the_day_on_which_it_ends(project: Path) -> None:
    configuration = project / "constat.yaml"
    text = configuration.read_text("utf-8")
    for day, verdict in (("2020-07-15", UNDER), ("2020-07-16", OPEN)):
        changed = text.replace("today: 2026-06-30", f"today: {day}")
        configuration.write_text(changed, "utf-8")
        try:
            with Session(project) as session:
                assert session.prove("transfer_allowed(T4)").verdict is verdict
        finally:
            configuration.write_text(text, "utf-8")


def test_two_builds_hold_the_same_rows(tmp_path: Path, project: Path) -> None:
    again = copy_example("privacy", "data-protection", tmp_path)
    assert dump(database_of(again)) == dump(database_of(project))


@pytest.mark.parametrize("goal", readme_goals("privacy"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
