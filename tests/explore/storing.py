"""One exploration over a store of tables, wherever that lies: asked, followed up, failed, resumed.

In: a project and the address of its store. Out: what the store holds at the end, which may not
depend on where it lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.store.tables import DataStore
from tests.explore.planned import plan, step
from tests.explore.test_following import (
    BOTH_YEARS,
    CHANGE,
    INDEPENDENT,
    Q4_LAST_YEAR,
    Q4_REVENUE,
    Q4_SALES,
)
from tests.explore.worlds import TODAY, oracle

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = step("broken(region: symbol)", sql="SELECT nobody FROM q4_revenue")


def explored(project: Path, address: str, *, inline: int = 1 << 20) -> list[tuple[object, ...]]:
    """Explore, and give the tables, notes and artifacts that are kept."""
    setting = f'explore: {{store: "{address}"}}\n' if address else ""
    with (project / "constat.yaml").open("a") as file:
        file.write(setting)
    with pytest.MonkeyPatch.context() as patch:
        # Below so many bytes a table lies in the database, above it is a file by reference.
        patch.setitem(_defaults(), "inline_bytes", inline)
        return _explored(project, address)


def _defaults() -> dict[str, object]:
    found = DataStore.__init__.__kwdefaults__
    assert found is not None
    return found


def _explored(project: Path, address: str) -> list[tuple[object, ...]]:
    with Session(project) as session:
        first = session.solve("Q4 by region", plan=plan(Q4_SALES, Q4_REVENUE), today=TODAY)
        steps = plan(Q4_LAST_YEAR, BOTH_YEARS, CHANGE)
        second = session.follow_up("and the year before?", plan=steps)
        with pytest.raises(ConstatError, match="nobody"):
            session.follow_up("and what is broken?", plan=plan(BROKEN))
    # Another program goes on from what this one has kept.
    with Session(project) as session:
        state = session.get_state(first.exploration)
        assert [one[2] for one in state.questions] == ["answered", "answered", "failed"]
        again = session.follow_up("once more", plan=plan(_one_of(5)), exploration=first.exploration)
        kept = {one.name: one.how for one in again.steps}
        assert kept["year_on_year"] == "kept"
        assert again.rows == tuple((row[0],) for row in sorted(second.rows))
    expected = oracle(project / "sales.sqlite").execute(INDEPENDENT).fetchall()
    assert [row[:3] for row in second.rows] == [row[:3] for row in expected]
    store = DataStore(project / ".constat", first.exploration, address=address)
    return [
        *((one.name, one.version, one.step, one.sha256, one.rows) for one in store.tables()),
        *((note.number, note.step, note.text) for note in store.notes()),
        *(
            (one.step, one.attempt, one.kind, one.name)
            for one in store.artifacts()
            if one.kind in {"code", "query", "error"}
        ),
        *((one.name, bool(one.reference)) for one in store.tables()),
    ]


def _one_of(number: int) -> dict[str, object]:
    rules = "regions_of(?r) :- year_on_year(?r, _, _, _)."
    return step("regions_of(region: symbol)", rules=rules, goal=f"the regions of step {number}")
