"""The store of tables on a real PostgreSQL: what holds of the other stores holds of it.

The tests are those of `tests/store/test_tables.py`, with another address; then an exploration.
"""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.store.table_values import StepResult
from constat.store.tables import DataStore
from tests.explore.storing import explored
from tests.explore.worlds import make_regions
from tests.store.test_tables import (
    check_whole,
    column,
    test_a_later_step_never_changes_what_an_earlier_one_saw,
    test_a_step_is_kept_with_all_that_it_left,
    test_two_writers_at_once_lose_nothing,
    writer,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase

__all__ = [
    "test_a_later_step_never_changes_what_an_earlier_one_saw",
    "test_a_step_is_kept_with_all_that_it_left",
    "test_two_writers_at_once_lose_nothing",
]


@pytest.fixture
def address(postgresql: ServedDatabase) -> str:
    return postgresql.server.uri(postgresql.name)


def test_large_tables_are_files_and_sessions_are_apart(tmp_path: Path, address: str) -> None:
    first, second = (
        DataStore(tmp_path, name, address=address, inline_bytes=100) for name in ("a", "b")
    )
    large = column(*range(1000))
    (kept,) = first.commit(StepResult(1, tables={"large": large}, notes=("x",))).tables
    assert kept.reference.startswith(f"{large.sha256}-")
    assert first.table("large") == large
    assert (second.tables(), second.notes(), second.last_step()) == ((), (), 0)


def test_a_connection_that_is_cut_off_changes_nothing(
    tmp_path: Path, address: str, postgresql: ServedDatabase
) -> None:
    store = DataStore(tmp_path, "s", address=address)
    store.commit(StepResult(1, tables={"t": column(1)}))
    postgresql.run(
        "CREATE FUNCTION cut() RETURNS trigger AS $$ BEGIN PERFORM"
        " pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER cut BEFORE INSERT ON constat_notes FOR EACH ROW EXECUTE FUNCTION cut()",
    )
    with pytest.raises(ConstatError) as caught:
        store.commit(StepResult(2, tables={"t": column(2)}, notes=("x",)))
    assert caught.value.diagnostics[0].code == "C0915"
    postgresql.run("DROP TRIGGER cut ON constat_notes")
    assert (store.table("t"), store.last_step()) == (column(1), 1)


@pytest.mark.slow
def test_writers_that_are_killed_lose_nothing(tmp_path: Path, address: str) -> None:
    chance = random.Random(7)
    for place in range(8):
        with writer(tmp_path, f"s{place}", 100, address) as process:
            assert process.stdout is not None
            told = 0
            for _ in range(chance.randrange(6)):
                told = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
        assert check_whole(DataStore(tmp_path, f"s{place}", address=address)) >= told


@pytest.mark.slow
def test_an_exploration_leaves_the_same(tmp_path: Path, address: str) -> None:
    expected = explored(make_regions(tmp_path / "a"), "")
    assert explored(make_regions(tmp_path / "b"), address) == expected
    assert not (tmp_path / "b" / ".constat" / "explored" / "tables.sqlite").exists()
