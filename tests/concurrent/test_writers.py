"""Nothing false is proved while somebody writes what is read; `tests.concurrent` does more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.catalog import Question, SourceFailureError
from constat.session import Session
from tests.concurrent.rounds import prove, prove_with_commands, writers
from tests.concurrent.worlds import ALONE, FILES, MANY, MARIADB, POSTGRESQL, SQLITE, TABLES, make
from tests.servers.building import opened, read

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from tests.concurrent.worlds import World
    from tests.servers.leasing import ServedDatabase


def tried(world: World, *, rounds: int = 10, commands: int = 2) -> Counter[str]:
    """Prove in two threads, and by the command."""
    with writers(world, 1 if world.kind in ALONE else 2):
        found = prove(world, rounds, sessions=2) + prove_with_commands(world, commands)
    assert found["wrong"] == found["not named"] == 0, found
    return found


@pytest.mark.parametrize("kind", SQLITE)
def test_sqlite_is_read_in_one_state(tmp_path: Path, kind: str) -> None:
    assert tried(make(kind, tmp_path))["DISPROVED"] > 0


def test_duckdb_is_read_in_one_state(tmp_path: Path) -> None:
    assert tried(make("duckdb", tmp_path), rounds=4)["DISPROVED"] > 0


@pytest.mark.parametrize("kind", FILES)
def test_files_are_read_in_one_state_or_not_at_all(tmp_path: Path, kind: str) -> None:
    found = tried(make(kind, tmp_path), rounds=4, commands=1)
    assert found["DISPROVED"] + found["UNRESOLVED"] == 9


def test_two_sources_have_no_one_state_and_the_answer_says_so(tmp_path: Path) -> None:
    world = make(MANY, tmp_path)
    tried(world)
    with Session(world.folder) as session:
        result = session.prove(f"{world.goal}(C1)")
        assert result.snapshot == "not one snapshot"
        assert session.prove("blocked(C1)").snapshot == "one"


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_postgresql_is_read_in_one_state(
    tmp_path: Path, postgresql: ServedDatabase, kind: str
) -> None:
    postgresql.run(*TABLES)
    assert tried(make(kind, tmp_path, postgresql.uri), rounds=4, commands=1)


@pytest.mark.parametrize("kind", sorted({*MARIADB} - {"mariadb-swap"}))
def test_mariadb_is_read_in_one_state_or_the_answer_says_so(
    tmp_path: Path, mariadb: ServedDatabase, kind: str
) -> None:
    engine = " ENGINE = MyISAM" if kind == "mariadb-myisam" else ""
    mariadb.run(*(f"{one}{engine * one.startswith('CREATE')}" for one in TABLES))
    assert tried(make(kind, tmp_path, mariadb.uri), rounds=4, commands=1)


SWAP = (
    "CREATE TABLE fresh (c VARCHAR(9))",
    "INSERT INTO fresh VALUES ('C1')",
    "DROP TABLE blocked",
    "ALTER TABLE fresh RENAME TO blocked",
)


@pytest.mark.parametrize(
    "changes",
    [
        SWAP,
        ("TRUNCATE blocked", "INSERT INTO blocked VALUES ('C1')"),
        ("ALTER TABLE blocked ALTER COLUMN c TYPE char(9)",),
        ("ALTER TABLE blocked RENAME TO gone", "ALTER TABLE orders RENAME TO blocked"),
    ],
)
def test_a_table_that_heeds_no_snapshot_is_a_failure_and_not_empty(
    postgresql: ServedDatabase, changes: tuple[str, ...]
) -> None:
    postgresql.run(*TABLES, "INSERT INTO blocked VALUES ('C1')")
    source = opened(postgresql)
    assert source.begin()
    assert read(source, Question("SELECT c FROM customers")) == [("C1",)]
    postgresql.run(*changes)
    with pytest.raises(SourceFailureError) as caught:
        read(source, Question("SELECT c FROM blocked"))
    assert caught.value.code == "C0542"
    source.release()
    source.begin()
    found = read(source, Question("SELECT trim(c) FROM blocked"))
    assert found[0] == ("C1",)
    source.close()
