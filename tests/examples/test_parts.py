"""Bicycles and their parts: what the documentation says, and the rules against plain Python."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

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
UNDER, AGAINST = Verdict.PROVED_UNDER, Verdict.DISPROVED_UNDER

TOLD = [
    ('contains_part("city bike", tube)', PROVED),
    ('contains_part("kids bike", tube)', DISPROVED),
    ("originating(frame)", PROVED),
    ("originating(paint)", AGAINST),
    ('originating("city bike")', PROVED),
    ('foreign_value("city bike", 110)', UNDER),
    ('foreign_value("cargo bike", 500)', UNDER),
    ('unfounded_claim("cargo bike")', UNDER),
    ('originating("kids bike")', OPEN),
    ("affected(CB-1, ?hazard)", PROVED),
    ("affected(CB-2, ?hazard)", DISPROVED),
    ("to_be_told(Radhaus, CB-1, ?hazard)", PROVED),
    ('to_be_told("Velo Sud", CB-1, ?hazard)', DISPROVED),
    ("came_from(CB-2, Nordrør)", PROVED),
    ("untraceable(PA-1)", PROVED),
    ('diligence_missing("city bike", "Andes Gears", ?risk)', PROVED),
    ('diligence_missing("cargo bike", "Kaze Motors", ?risk)', DISPROVED),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_example("parts", "supply-chain", tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Session]:
    with Session(project) as opened:
        yield opened


@pytest.mark.parametrize(("goal", "verdict"), TOLD, ids=[goal for goal, _ in TOLD])
def test_the_told_part_is_as_told(project: Path, goal: str, verdict: Verdict) -> None:
    prove_and_read_again(project, goal, verdict)


def test_who_is_to_be_told_is_what_a_recursive_query_finds(session: Session, project: Path) -> None:
    expected = sql(
        database_of(project),
        """
        WITH RECURSIVE reach AS (
            SELECT lot_id AS lot, hazard FROM hazards
            UNION SELECT made_id, hazard FROM reach JOIN uses ON lot_id = lot)
        SELECT customer, lot, hazard FROM reach JOIN shipments ON lot_id = lot
        EXCEPT SELECT customer, lot, hazard FROM reach JOIN notices ON lot_id = lot
        """,
    )
    found = verdicts(session, "to_be_told(?customer, ?lot, ?hazard)")
    assert found == dict.fromkeys(expected, "PROVED")
    assert len(expected) > 1


def test_parts_at_any_depth_are_what_a_recursive_query_finds(
    session: Session, project: Path
) -> None:
    expected = sql(
        database_of(project),
        """
        WITH RECURSIVE parts AS (
            SELECT item_id AS item, component_id AS part FROM bill
            UNION SELECT item, component_id FROM parts JOIN bill ON item_id = part)
        SELECT item, part FROM parts
        """,
    )
    found = verdicts(session, "contains_part(?item, ?part)")
    assert found == dict.fromkeys(expected, "PROVED")


def test_origin_is_what_working_from_the_materials_up_finds(
    session: Session, project: Path
) -> None:
    rows = sql(database_of(project), "SELECT id, amount, origin, bought, most_foreign FROM items")
    parts = defaultdict(list)
    for item, part, quantity in sql(database_of(project), "SELECT * FROM bill"):
        parts[str(item)].append((str(part), Decimal(str(quantity))))
    worth = {str(row[0]): Decimal(str(row[1])) for row in rows}
    share = {str(row[0]): Decimal(str(row[4])) for row in rows if row[4] is not None}
    # A declaration of nobody knows what may be one of the zone.
    sure = {str(row[0]) for row in rows if row[2] in {"Norway", "France"}}
    perhaps = sure | {str(row[0]) for row in rows if row[3] and row[2] is None}

    def grown(found: set[str]) -> set[str]:
        while True:
            new = {
                item
                for item, used in parts.items()
                if item in share
                and sum(q * worth[one] for one, q in used if one not in found)
                <= worth[item] * share[item]
            }
            if new <= found:
                return found
            found = found | new

    proved, possible = grown(sure), grown(perhaps)
    expected = {(one,): "PROVED" if one in proved else "UNRESOLVED" for one in possible}
    assert verdicts(session, "originating(?item)") == expected
    assert possible - proved


def test_two_builds_hold_the_same_rows(tmp_path: Path, project: Path) -> None:
    again = copy_example("parts", "supply-chain", tmp_path)
    assert dump(database_of(again)) == dump(database_of(project))


@pytest.mark.parametrize("goal", readme_goals("parts"))
def test_the_goals_of_the_readme_are_answered(session: Session, goal: str) -> None:
    result = session.prove(goal)
    assert session.verify(result.certificate).verdict == result.verdict.value
