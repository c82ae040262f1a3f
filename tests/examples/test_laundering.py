"""The bank's payments: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import Session, Verdict
from tests.examples.projects import (
    copy_example,
    database_of,
    prove_and_read_again,
    sql,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.sampled(3), pytest.mark.examples]

PROVED, DISPROVED, OPEN = Verdict.PROVED, Verdict.DISPROVED, Verdict.UNRESOLVED
UNDER, AGAINST = Verdict.PROVED_UNDER, Verdict.DISPROVED_UNDER

TOLD = [
    ("structuring(Marlowe, 2026-03-02, 4, 34700)", PROVED),
    ("structuring(Marlowe, 2026-03-03, ?number, ?total)", PROVED),
    ("structuring(Orwell, ?first, ?number, ?total)", DISPROVED),
    ("reportable(Orwell, 2026-05-04, 10000.5)", PROVED),
    ("report_overdue(Orwell, 2026-05-04)", PROVED),
    ('circular("Nemo Ltd", T-N1, T-N3)', PROVED),
    ('circular("Hook Ltd", ?first, ?last)', DISPROVED),
    ("passes_through(Vane, 2026-06-01, 50000, 49000)", PROVED),
    ('suspicion_due("Silver Ltd", ?number)', UNDER),
    ('open_alert("Hook Ltd", "due diligence missing")', DISPROVED),
    ('open_alert(Dorrit, "due diligence missing")', OPEN),
    ('open_alert(Jarndyce, "due diligence missing")', DISPROVED),
    ('open_alert(Marlowe, "due diligence missing")', AGAINST),
    ("alert(Rudge, structuring)", PROVED),
    ("open_alert(Rudge, structuring)", DISPROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("laundering", "anti-money-laundering", tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


def cash_of_days(path: Path) -> dict[tuple[str, date], list[Decimal]]:
    """Every customer's deposits of every day."""
    found: dict[tuple[str, date], list[Decimal]] = defaultdict(list)
    rows = sql(
        path,
        "SELECT deposits.id, customer_id, amount, day FROM deposits"
        " JOIN accounts ON accounts.id = account_id",
    )
    for _, customer, amount, day in rows:
        found[str(customer), date.fromisoformat(str(day))].append(Decimal(str(amount)))
    return found


def test_structuring_is_what_looking_at_every_week_finds(session: Session, project: Path) -> None:
    days = cash_of_days(database_of(project))
    parts = {
        key: [one for one in amounts if one >= 3000]
        for key, amounts in days.items()
        if sum(amounts) <= 10_000
    }
    expected = {}
    for (customer, first), amounts in parts.items():
        week = [first + timedelta(days=number) for number in range(7)]
        inside = [one for day in week for one in parts.get((customer, day), [])]
        if amounts and len(inside) >= 3 and sum(inside) > 10_000:
            row = (customer, first.isoformat(), len(inside), sum(inside))
            expected[row] = "PROVED"
    found = verdicts(session, "structuring(?customer, ?first, ?number, ?total)")
    assert found == expected
    assert len(expected) >= 4
