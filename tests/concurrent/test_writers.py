"""Nothing false is proved while somebody writes what is read; `tests.concurrent` does more."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pymysql
import pytest

from constat.catalog import Question, SourceFailureError, guard
from constat.catalog.drivers import connect
from constat.logic import Kind
from constat.project import Database, Expanded
from constat.session import Session
from constat.store.materialized import KeptResult, MaterializedStore, ReplacedError
from tests.concurrent.rounds import prove, prove_with_commands, writers
from tests.concurrent.worlds import (
    ALONE,
    FILES,
    MANY,
    MARIADB,
    POSTGRESQL,
    SQLITE,
    TABLES,
    make,
    reader_of,
    tables,
)
from tests.servers.building import opened, read

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from constat.catalog import Connection
    from tests.concurrent.worlds import World
    from tests.servers.leasing import ServedDatabase

pytestmark = pytest.mark.faults

MOST_ROUNDS: Final = 200


def tried(world: World, *, rounds: int = 10, commands: int = 2) -> Counter[str]:
    """Prove in two threads, and by the command."""
    with writers(world, 1 if world.kind in ALONE else 2):
        found = prove(world, rounds) + prove_with_commands(world, commands)
    assert found["wrong"] == found["not named"] == 0, found
    return found


def decided(world: World) -> bool:
    """Tell whether somebody reads a state while others write, sooner or later."""
    with writers(world, 2):
        for _ in range(MOST_ROUNDS):
            found = prove(world, 1)
            assert found["wrong"] == found["not named"] == 0, found
            if found["DISPROVED"]:
                return True
    return False


@pytest.mark.parametrize("kind", [*SQLITE, "duckdb"])
def test_an_embedded_database_is_read_in_one_state(tmp_path: Path, kind: str) -> None:
    world = make(kind, tmp_path)
    # On a busy machine all of these few may meet a change each time that they try.
    assert tried(world, rounds=4 if kind == "duckdb" else 10)["DISPROVED"] or decided(world)


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
        assert session.why_not(f"{world.goal}(C1)").result.snapshot == "not one snapshot"
        for engine in ("forward", "reference"):
            answers = session.query(f"{world.goal}(?c)", engine=engine)
            assert answers.snapshot == "not one snapshot"
        assert session.query("blocked(?c)", engine="forward").snapshot == "one"
        assert session.materialized.keep(f"{world.goal}(?c)").snapshot == "not one snapshot"
    for command in ("query", "why-not", "what-if", "materialize"):
        goal = f"{world.goal}({'?c' if command in {'query', 'materialize'} else 'C1'})"
        words = [command, goal, "--project", str(tmp_path), "--format", "json"]
        told = subprocess.run(
            [sys.executable, "-m", "constat", *words], capture_output=True, text=True, check=False
        ).stdout
        assert '"snapshot": "not one snapshot"' in told, words


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_postgresql_is_read_in_one_state(
    tmp_path: Path, postgresql: ServedDatabase, kind: str
) -> None:
    postgresql.run(*TABLES)
    assert tried(make(kind, tmp_path, postgresql.uri), rounds=4, commands=1)


@pytest.mark.parametrize("kind", MARIADB)
def test_mariadb_is_read_in_one_state_or_the_answer_says_so(
    tmp_path: Path, mariadb: ServedDatabase, kind: str
) -> None:
    mariadb.run(*tables(kind))
    world = make(kind, tmp_path, reader_of(kind, mariadb), place=mariadb.uri)
    assert tried(world, rounds=4, commands=1)


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


# The table that takes the name was there at the snapshot, and had no rows.
FILLED_LATER = ("INSERT INTO fresh VALUES ('C1')", "RENAME TABLE blocked TO gone, fresh TO blocked")


FILL, EXCHANGE = FILLED_LATER[0], "ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE fresh"


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("blocked", FILLED_LATER),
        ("blocked", (FILL, "DROP TABLE blocked", "RENAME TABLE fresh TO blocked")),
        ("blocked", ("TRUNCATE blocked", FILL)),
        ("blocked", ("ALTER TABLE blocked MODIFY c char(20)",)),
        ("blocked", ("DROP TABLE blocked",)),
        ("parts", (FILL, EXCHANGE)),
        ("seen", FILLED_LATER),
        ("seen", (FILL, "ALTER VIEW seen AS SELECT c FROM fresh")),
    ],
)
def test_a_name_that_mariadb_gives_to_another_table_is_a_failure_and_not_empty(
    mariadb: ServedDatabase, table: str, changes: tuple[str, ...]
) -> None:
    mariadb.run(*TABLES, *MORE_TABLES)
    source = opened(mariadb)
    assert source.begin()
    assert source.snapshot
    assert read(source, Question("SELECT c FROM customers")) == [("C1",)]
    mariadb.run(*changes)
    question = source.whole(guard(f"SELECT c FROM {table}", source.dialect), 1)
    with pytest.raises(SourceFailureError) as caught:
        read(source, question)
    assert caught.value.code == "C0542"
    source.close()


def test_other_tables_of_mariadb_may_change_while_one_is_read(mariadb: ServedDatabase) -> None:
    mariadb.run(*TABLES, *MORE_TABLES)
    source = opened(mariadb)
    source.begin()
    mariadb.run(FILL, EXCHANGE)
    question = source.whole(guard("SELECT c FROM blocked", source.dialect), 1)
    assert read(source, question) == [("C1",)]
    source.close()


MORE_TABLES = (
    "INSERT INTO blocked VALUES ('C1')",
    "CREATE TABLE fresh LIKE blocked",
    (
        "CREATE TABLE parts (c VARCHAR(9))"
        " PARTITION BY LIST COLUMNS(c) (PARTITION p0 VALUES IN ('C1'))"
    ),
    "INSERT INTO parts VALUES ('C1')",
    "CREATE VIEW seen AS SELECT c FROM blocked",
)


def plain_account(database: ServedDatabase, *statements: str) -> Connection:
    """Connect with an account that may read, and not see the numbers of tables."""
    rights = f"GRANT SELECT ON {database.name}.* TO plain@'127.0.0.1' IDENTIFIED BY 'word'"
    database.run(*TABLES, *MORE_TABLES, rights, *statements)
    address = database.server.uri(database.name, "plain", "word")
    return connect(Database("sales", "sql", Expanded(address)), 5)


@pytest.mark.parametrize("table", ["blocked", "seen", "parts"])
@pytest.mark.parametrize(
    "changes",
    [
        ("RENAME TABLE blocked TO gone, fresh TO blocked", EXCHANGE),
        ("ALTER VIEW seen AS SELECT c FROM fresh", "DROP TABLE blocked", "DROP TABLE parts"),
    ],
)
def test_no_name_changes_while_an_account_reads_that_could_not_see_it(
    mariadb: ServedDatabase, table: str, changes: tuple[str, ...]
) -> None:
    source = plain_account(mariadb)
    assert source.begin()
    assert source.snapshot
    mariadb.run(FILL)
    for change in changes:
        with pytest.raises(pymysql.err.OperationalError, match="Lock wait timeout"):
            mariadb.run("SET lock_wait_timeout = 0", change)
    question = source.whole(guard(f"SELECT c FROM {table}", source.dialect), 1)
    assert source.snapshot
    assert ("C1",) in read(source, question)
    source.close()


def test_a_table_that_is_made_while_such_an_account_reads_is_a_failure_and_not_empty(
    mariadb: ServedDatabase,
) -> None:
    source = plain_account(mariadb)
    source.begin()
    read(source, Question("SELECT c FROM customers"))
    mariadb.run("CREATE TABLE later (c VARCHAR(9))", "INSERT INTO later VALUES ('C1')")
    for question in (
        source.whole(guard("SELECT c FROM later", source.dialect), 1),
        Question("SELECT c FROM later"),
    ):
        with pytest.raises(SourceFailureError) as caught:
            read(source, question)
        assert caught.value.code == "C0542"
    source.close()


def test_what_nobody_can_read_takes_no_state_its_name(mariadb: ServedDatabase) -> None:
    source = plain_account(mariadb, "CREATE VIEW broken AS SELECT * FROM fresh", "DROP TABLE fresh")
    source.begin()
    question = source.whole(guard("SELECT c FROM blocked", source.dialect), 1)
    assert read(source, question) == [("C1",)]
    assert source.snapshot
    source.close()


def test_what_a_view_reads_elsewhere_may_be_of_another_state(mariadb: ServedDatabase) -> None:
    for right, clear in (("SELECT", False), ("SHOW VIEW", True)):
        rights = f"GRANT {right} ON {mariadb.name}.* TO plain@'127.0.0.1' IDENTIFIED BY 'word'"
        drops = "DROP TABLE IF EXISTS customers, orders, blocked, fresh, parts"
        mariadb.run(drops, "DROP VIEW IF EXISTS seen")
        source = plain_account(mariadb, rights)
        source.begin()
        for name, named in (("blocked", True), ("seen", clear)):
            question = source.whole(guard(f"SELECT c FROM {name}", source.dialect), 1)
            assert read(source, question) == [("C1",)]
            assert (source.snapshot is not None) == named
        source.close()


def test_where_names_cannot_be_kept_each_query_is_read_as_of_its_moment(
    mariadb: ServedDatabase,
) -> None:
    source = plain_account(mariadb)
    locker = mariadb.server.link(mariadb.name)
    locker.cursor().execute("LOCK TABLES fresh WRITE")
    assert source.begin()
    locker.close()
    assert read(source, Question("SELECT c FROM customers")) == [("C1",)]
    assert source.snapshot is None
    mariadb.run(*FILLED_LATER)
    assert read(source, Question("SELECT c FROM blocked")) == [("C1",)]
    source.close()


def test_rows_of_a_kept_result_are_those_of_the_result_that_was_found(tmp_path: Path) -> None:
    store = MaterializedStore(tmp_path)
    first, second = (
        KeptResult("q(?c)", (("c", Kind.SYMBOL),), 0, created, "1", (("q", created),))
        for created in ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    )
    store.keep(first, [("old",)])
    found = store.find("q(?c)")
    assert found is not None
    store.keep(second, [("new",)])
    with pytest.raises(ReplacedError):
        list(store.rows(found, {}))
