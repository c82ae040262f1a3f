"""An exploration leaves the same in each store of tables (PostgreSQL: see tests/servers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from tests.explore.planned import plan, step
from tests.explore.storing import explored
from tests.explore.test_following import Q4_REVENUE, Q4_SALES
from tests.explore.worlds import TODAY, make_regions

if TYPE_CHECKING:
    from pathlib import Path

DUCKDB = "duckdb:///tables.duckdb"


def test_another_program_goes_on_from_tables_in_duckdb(regions: Path) -> None:
    with (regions / "constat.yaml").open("a") as file:
        file.write(f'explore: {{store: "{DUCKDB}"}}\n')
    with Session(regions) as session:
        first = session.solve("Q4 by region", plan=plan(Q4_SALES, Q4_REVENUE), today=TODAY)
    with Session(regions) as session:
        rich = step("rich(region: symbol)", rules="rich(?r) :- q4_revenue(?r, ?t), ?t > 1000.")
        second = session.follow_up("who is rich?", plan=plan(rich))
        assert [one.how for one in second.steps][-2:] == ["kept", "computed"]
        assert {row[0] for row in second.rows} == {row[0] for row in first.rows if row[1] > 1000}
    folder = regions / ".constat" / "explored"
    assert (folder / "tables.duckdb").exists()
    assert not (folder / "tables.sqlite").exists()


@pytest.mark.slow
def test_an_exploration_leaves_the_same_in_duckdb(tmp_path: Path) -> None:
    expected = explored(make_regions(tmp_path / "a"), "")
    assert explored(make_regions(tmp_path / "b"), DUCKDB) == expected


@pytest.mark.slow
@pytest.mark.parametrize("address", ["", DUCKDB])
def test_tables_by_reference_are_explored_the_same(tmp_path: Path, address: str) -> None:
    inside = explored(make_regions(tmp_path / "a"), address)
    beside = explored(make_regions(tmp_path / "b"), address, inline=60)
    assert [one for one in beside if len(one) != 2] == [one for one in inside if len(one) != 2]
    by_reference = [
        len(found) for found in (inside, beside) if any(one[-1] is True for one in found)
    ]
    assert by_reference == [len(beside)]
