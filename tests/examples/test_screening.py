"""Screening for trials: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session, Verdict
from tests.examples.projects import (
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
    ("eligible(Ada, PRESS)", PROVED),
    ("may_enrol(Ada, PRESS)", PROVED),
    ("eligible(Ben, PRESS)", OPEN),
    ("against(Ben, PRESS, P-E8)", OPEN),
    ("eligible(Cora, PRESS)", OPEN),
    ("eligible(Dan, PRESS)", DISPROVED),
    ("eligible(Dan, KIDNEY)", PROVED),
    ("against(Dan, PRESS, P-E6)", DISPROVED),
    ("eligible(Eve, PRESS)", DISPROVED),
    ("against(Eve, PRESS, P-I1)", OPEN),
    ("against(Finn, PRESS, P-E8)", PROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("screening", "clinical-eligibility", tmp_path_factory.mktemp("screening"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


Truth = bool | None


def any_of(values: list[Truth]) -> Truth:
    return True if True in values else None if None in values else False


class Clinic:
    """The protocol once more, read as a program would be written: yes, no, or nobody knows."""

    def __init__(self, path: Path) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: sorted(sql(path, f"SELECT * FROM {name}"), key=str)
            for name in (
                *("criteria", "ages", "findings_asked", "values_asked", "values_by_drugs"),
                *("ranges", "parts", "codes", "sets", "units", "patients", "screenings"),
                *("findings", "histories", "measurements", "drugs"),
            )
        }
        self.parents: defaultdict[str, set[str]] = defaultdict(set)
        for code, parent in self.rows["codes"]:
            self.parents[code].add(parent)
        self.born = dict(self.rows["patients"])

    def above(self, code: str) -> set[str]:
        """Give a code and all that it is a kind of."""
        found, waiting = {code}, [code]
        while waiting:
            new = self.parents[waiting.pop()] - found
            found |= new
            waiting += new
        return found

    def belongs(self, code: str, name: str) -> bool:
        """Tell whether a code belongs to a set."""
        above = self.above(code)
        tops = {
            has: {one for n, one, h in self.rows["sets"] if (n, h) == (name, has)} for has in (0, 1)
        }
        return bool(above & tops[1]) and not above & tops[0]

    def eligible(self, patient: str, trial: str, day: str) -> Truth:
        """Tell whether no criterion stands against a person."""
        if not ("2024" if trial == "PRESS" else "2025") <= day <= "2026-12-31":
            return False
        against: list[Truth] = []
        for name, of, side, first, last in self.rows["criteria"]:
            if of == trial and side != "part" and first <= day <= last:
                met = self.meets(patient, name, day)
                against.append(met if side == "exclusion" or met is None else not met)
        found = any_of(against)
        return None if found is None else not found

    def meets(self, patient: str, name: str, day: str) -> Truth:
        """Tell whether a person meets a criterion."""
        found: list[Truth] = [
            self.meets(patient, two, day) for one, two in self.rows["parts"] if one == name
        ]
        for one, least, most in self.rows["ages"]:
            if one == name:
                born = self.born[patient]
                found.append(None if born is None else least <= years(born, day) <= most)
        for one, codes, days in self.rows["findings_asked"]:
            if one == name:
                found.append(self.has(patient, codes, days, day))
        for one, test, least, most, days in self.rows["values_asked"]:
            if one == name:
                value = self.value(patient, test, days, day)
                found.append(None if value is None else Decimal(least) <= value <= Decimal(most))
        for one, test, codes, days in self.rows["values_by_drugs"]:
            if one == name:
                found.append(self.by_drugs(patient, name, (test, codes, days), day))
        return any_of(found)

    def has(self, patient: str, codes: str, days: int, day: str) -> Truth:
        """Tell whether a person had a finding of a set."""
        for who, code, when in self.rows["findings"]:
            if (
                who == patient
                and when <= day
                and gap(when, day) <= days
                and self.belongs(code, codes)
            ):
                return True
        taken = [
            row for row in self.rows["histories"] if row[:2] == (patient, codes) and row[2] <= day
        ]
        return False if taken else None

    def value(self, patient: str, test: str, days: int, day: str) -> Decimal | None:
        """Give the last value in time."""
        found = [
            (when, value, unit)
            for who, what, when, value, unit in self.rows["measurements"]
            if (who, what) == (patient, test) and when <= day and gap(when, day) <= days
        ]
        if not found or max(found)[1] is None:
            return None
        _, value, unit = max(found)
        (factor,) = [f for t, u, f in self.rows["units"] if (t, u) == (test, unit)]
        return Decimal(value) * Decimal(factor)

    def by_drugs(self, patient: str, name: str, asked: tuple[str, str, int], day: str) -> Truth:
        """Tell whether a value is in the range for the number of drugs."""
        test, codes, days = asked
        drugs = {
            code
            for who, code, first, last in self.rows["drugs"]
            if who == patient and first <= day <= last and self.belongs(code, codes)
        }
        ranges = [row[2:] for row in self.rows["ranges"] if row[:2] == (name, len(drugs))]
        if not ranges:
            return False
        value = self.value(patient, test, days, day)
        return None if value is None else Decimal(ranges[0][0]) <= value <= Decimal(ranges[0][1])


def years(first: str, last: str) -> int:
    one, other = date.fromisoformat(first), date.fromisoformat(last)
    return other.year - one.year - ((other.month, other.day) < (one.month, one.day))


def gap(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def test_eligibility_is_what_the_protocol_says_read_as_a_program(
    session: Session, project: Path
) -> None:
    clinic = Clinic(database_of(project))
    told = {
        (patient, trial): clinic.eligible(patient, trial, day)
        for patient, trial, day in clinic.rows["screenings"]
    }
    found = verdicts(session, "eligible(?patient, ?trial)")
    assert {one for one, holds in told.items() if holds} == {
        one for one, verdict in found.items() if verdict == "PROVED"
    }
    assert {one for one, holds in told.items() if holds is None} == {
        one for one, verdict in found.items() if verdict == "UNRESOLVED"
    }
    assert {True, False, None} == set(told.values())


def test_two_builds_hold_the_same_rows(tmp_path: Path, project: Path) -> None:
    again = copy_example("screening", "clinical-eligibility", tmp_path)
    assert dump(database_of(again)) == dump(database_of(project))


@pytest.mark.parametrize("goal", readme_goals("screening"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
