"""The store of tables on a real PostgreSQL."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from constat.diagnostics import ConstatError
from constat.store.table_forms import Table, table_of
from constat.store.table_values import NewArtifact, StepResult
from constat.store.tables import DataStore
from tests.store.table_values import tables

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase


def test_steps_are_kept_and_versioned(postgresql: ServedDatabase, tmp_path: Path) -> None:
    store = DataStore(tmp_path, "s", address=postgresql.uri, inline_bytes=300)
    small, large = (table_of([("n", "number")], [range(count)]) for count in (2, 500))
    store.commit(
        StepResult(
            *(1, "first", {"t": small}, {"text": "\0%s?'é"}, ("100 % sure?",)),
            (NewArtifact("plot", "p", b"\0\xff", "image/png"),),
        )
    )
    store.commit(StepResult(2, tables={"t": large}))
    again = DataStore(tmp_path, "s", address=postgresql.uri)
    assert (again.table("t", at=1), again.table("t")) == (small, large)
    assert again.state() == {"text": "\0%s?'é"}
    assert again.notes()[0].text == "100 % sure?"
    assert again.content(again.artifacts()[0]) == b"\0\xff"
    assert again.last_step() == 2
    assert DataStore(tmp_path, "other", address=postgresql.uri).tables() == ()


def test_two_writers_at_once_lose_nothing(postgresql: ServedDatabase, tmp_path: Path) -> None:
    def commit(place: int) -> None:
        store = DataStore(tmp_path, "s", address=postgresql.uri)
        for number in range(4):
            store.commit(StepResult(number, state={"n": place}, notes=(str(place),)))

    threads = [threading.Thread(target=commit, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = DataStore(tmp_path, "s", address=postgresql.uri)
    assert [one.version for one in store.state_history()] == list(range(1, 9))
    assert [note.number for note in store.notes()] == list(range(1, 9))


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_nothing_changes_on_the_way(
    postgresql: ServedDatabase, tmp_path: Path, table: Table
) -> None:
    store = DataStore(tmp_path, "laws", address=postgresql.uri)
    store.commit(StepResult(1, tables={"t": table}))
    assert store.table("t") == table


def test_a_failure_half_way_keeps_nothing(postgresql: ServedDatabase, tmp_path: Path) -> None:
    store = DataStore(tmp_path, "s", address=postgresql.uri)
    store.commit(StepResult(1, notes=("x",)))
    bad = NewArtifact("code", "c", b"x", attempt=1 << 70)
    with pytest.raises(ConstatError):
        store.commit(StepResult(2, notes=("y",), artifacts=(bad,)))
    assert (len(store.notes()), store.last_step()) == (1, 1)
