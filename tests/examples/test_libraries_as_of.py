"""What was answered before records changed is asked again with `as_of`, library by library."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from constat import Session, Verdict
from tests.examples.projects import ROOT, copy_example, database_of

if TYPE_CHECKING:
    from pathlib import Path

# An example, its library, a goal, its verdict, what is put right afterwards, and the verdict then.
CHANGED = [
    (
        *("privacy", "data-protection", "lawful(A3)", Verdict.PROVED),
        "UPDATE consents SET withdrawn = '2026-01-01' WHERE person_id = 'Ada'",
        Verdict.DISPROVED_UNDER,
    ),
    (
        *("parts", "supply-chain", 'contains_part("city bike", tube)', Verdict.PROVED),
        "UPDATE bill SET component_id = 'saddle' WHERE component_id = 'tube'",
        Verdict.DISPROVED,
    ),
    (
        *("laundering", "anti-money-laundering", "report_overdue(Orwell, 2026-05-04)"),
        *(
            Verdict.PROVED,
            "UPDATE cash_reports SET customer_id = 'Orwell', day = '2026-05-04' WHERE rowid = 1",
        ),
        Verdict.DISPROVED,
    ),
    (
        *("screening", "clinical-eligibility", "eligible(Ada, PRESS)", Verdict.PROVED),
        "INSERT INTO findings VALUES ('Ada', 'I63.1', '2020-01-01')",
        Verdict.DISPROVED,
    ),
    (
        *("software", "software-supply-chain", "may_release(Beacon)", Verdict.PROVED),
        "UPDATE ranges SET fixed = '~' WHERE advisory_id = 'ADV-2'",
        Verdict.DISPROVED,
    ),
    (
        *("access", "access-control", "member(boris, controller)", Verdict.PROVED),
        "DELETE FROM assignments WHERE account_id = 'boris'",
        Verdict.DISPROVED,
    ),
    (
        *("ownership", "ownership-control", "directly_controls(Birch, Cedar)", Verdict.PROVED),
        "DELETE FROM holdings WHERE holder_id = 'Birch'",
        Verdict.DISPROVED,
    ),
    (
        *("credit", "credit-decision", "declined(A2)", Verdict.PROVED),
        "UPDATE cards SET refer = 0",
        Verdict.DISPROVED,
    ),
    (
        *("families", "tax-benefit", "entitled(Carol, Cal, 2025-06-02)", Verdict.PROVED),
        "DELETE FROM claims WHERE person_id = 'Carol'",
        Verdict.DISPROVED,
    ),
    (
        *("vip", "customer-value", "is_vip(C001)", Verdict.PROVED),
        "DELETE FROM orders WHERE customer_id = 'C001'",
        Verdict.DISPROVED,
    ),
]

IN_FILES = ("lending",)
"""Libraries whose example reads files: one is asked below."""


@pytest.mark.sampled(10, "examples")
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("example", "library", "goal", "verdict", "change", "later"),
    CHANGED,
    ids=[one[0] for one in CHANGED],
)
def test_an_answer_of_then_outlasts_a_change_of_the_records(
    *,
    tmp_path: Path,
    example: str,
    library: str,
    goal: str,
    verdict: Verdict,
    change: str,
    later: Verdict,
) -> None:
    project = copy_example(example, library, tmp_path)
    with Session(project) as session:
        result = session.prove(goal)
        session.keep(result)
    assert result.verdict is verdict
    then = datetime.now(UTC).isoformat()
    with closing(sqlite3.connect(database_of(project))) as connection, connection:
        connection.execute(change)
    with Session(project) as session:
        assert session.prove(goal).verdict is later
        before = session.prove(goal, as_of=then)
        assert before.verdict is verdict
        assert session.verify(before.certificate).verdict == verdict.value


def test_an_answer_of_then_outlasts_a_change_of_files(tmp_path: Path) -> None:
    project = tmp_path / "examples" / "lending"
    shutil.copytree(ROOT / "rules" / "lending", tmp_path / "rules" / "lending")
    shutil.copytree(
        ROOT / "examples" / "lending", project, ignore=shutil.ignore_patterns(".constat")
    )
    with Session(project) as session:
        session.keep(session.prove("approved(A101)"))
    then = datetime.now(UTC).isoformat()
    missed = project / "data" / "missed.csv"
    missed.write_text(missed.read_text(encoding="utf-8") + "P1,2026-01-31\n", encoding="utf-8")
    with Session(project) as session:
        assert session.prove("approved(A101)").verdict is Verdict.DISPROVED
        before = session.prove("approved(A101)", as_of=then)
        assert before.verdict is Verdict.PROVED
        assert session.verify(before.certificate).verdict == Verdict.PROVED.value
