"""Names that need quoting, wide tables and a schema that lies, on real servers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pymysql
import pytest

from constat import Session
from constat.catalog import QueryMistakeError, guard
from tests.catalog.schema_worlds import (
    all_are_asked,
    called_as_ours,
    definition,
    goes_all_the_way,
    managed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase


def config(source: ServedDatabase) -> str:
    return f'databases: {{sales: {{uri: "{source.uri}"}}}}'


def test_servers_are_asked_for_hard_names(source: ServedDatabase, tmp_path: Path) -> None:
    source.run(*definition('"' if source.server.kind == "postgresql" else "`"))
    goes_all_the_way(tmp_path, config(source))


def test_tables_of_servers_are_called_as_ours(source: ServedDatabase, tmp_path: Path) -> None:
    quote = "`" if source.server.kind == "mariadb" else ""
    source.run(*called_as_ours("VARCHAR(20)", quote))
    all_are_asked(tmp_path, config(source))


def test_a_table_of_1500_columns_is_read_whole(source: ServedDatabase, tmp_path: Path) -> None:
    listed = ", ".join(f"column_{number} SMALLINT" for number in range(1_500))
    # InnoDB has at most 1,017 columns.
    engine = "" if source.server.kind == "postgresql" else " ENGINE=Aria"
    source.run(f"CREATE TABLE wide ({listed}){engine}", "INSERT INTO wide (column_7) VALUES (7)")
    catalog = managed(tmp_path, config(source))
    assert len(catalog.table("wide").columns) == 1_500
    (hit, *_) = catalog.search("column 1499", ("column",)).hits
    assert hit.name == "sales.wide.column_1499"
    assert catalog.check("wide", ["column_7", "column_8"]).rows == 1
    catalog.close()
    with Session(tmp_path) as session:
        drafted = session.draft_tables(["wide"])
    assert "further columns" in drafted.text


def test_a_schema_that_lies_is_found_out(source: ServedDatabase, tmp_path: Path) -> None:
    tables = (
        "CREATE TABLE rooms (code VARCHAR(10) PRIMARY KEY)",
        "CREATE TABLE readings (id INT PRIMARY KEY, room_code VARCHAR(10), parent_id INT)",
        "INSERT INTO rooms VALUES ('A')",
        "INSERT INTO readings VALUES (1, 'A', 1), (2, 'gone', 9)",
    )
    known = "ALTER TABLE readings ADD FOREIGN KEY (room_code) REFERENCES rooms (code)"
    if source.server.kind == "postgresql":
        source.run(*tables, f"{known} NOT VALID")
    else:
        source.run(*tables, "SET foreign_key_checks = 0", known)
    catalog = managed(tmp_path, config(source))
    assert catalog.table("readings").relationships[0].declared
    (finding,) = catalog.check("readings").findings
    assert (finding.code, "1 of 2 values are not there" in finding.message) == ("C0848", True)
    catalog.close()


def test_a_view_over_nothing_says_so_and_spoils_no_other(
    mariadb: ServedDatabase, tmp_path: Path
) -> None:
    mariadb.run(
        "CREATE TABLE gone (x INT)",
        "CREATE TABLE kept (x INT)",
        "CREATE VIEW broken AS SELECT x FROM gone",
        "DROP TABLE gone",
    )
    catalog = managed(tmp_path, config(mariadb))
    assert [one.label for one in catalog.tables()] == ["broken", "kept"]
    assert [one.name for one in catalog.table("kept").columns] == ["x"]
    assert catalog.table("broken").columns == ()
    assert "not known" in catalog.table("broken").problems[0]
    catalog.close()


def test_zero_dates_are_reported(mariadb: ServedDatabase, tmp_path: Path) -> None:
    mariadb.run(
        "SET sql_mode = ''",
        "CREATE TABLE visits (id INT PRIMARY KEY, day DATE NOT NULL)",
        "INSERT INTO visits VALUES (1, '2025-01-01'), (2, '0000-00-00')",
    )
    catalog = managed(tmp_path, config(mariadb))
    messages = [one.message for one in catalog.check("visits").findings]
    assert any("`day`" in one for one in messages), messages
    catalog.close()


@pytest.mark.slow
def test_the_server_sees_the_columns_that_the_guard_sees(mariadb: ServedDatabase) -> None:
    hard = ["--", "a--b", "/*!", "*/", "/*!50000 x", "'", '"', "b", "\\", "#", "-- x", "--`x"]
    names = ["`" + name.replace("`", "``") + "`" for name in hard]
    mariadb.run(
        f"CREATE TABLE t ({', '.join(f'{name} INT' for name in names)})",
        f"INSERT INTO t VALUES ({', '.join('1' for _ in names)})",
    )
    pieces = [*names, "'", '"', "\\", "`", "--", "-- ", "/*", "*/", "/*!", "#", "\n", ",", "1"]
    pieces += ["'x'", "''", '"y"', "a", "b", "--1", " "]
    chosen = random.Random(1)
    compared = 0
    link = mariadb.server.link(mariadb.name)
    cursor = link.cursor()
    # As our own connections set it.
    cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'")
    for _ in range(30_000):
        text = "".join(chosen.choice(pieces) for _ in range(chosen.randint(1, 9)))
        try:
            guarded = guard(f"SELECT {text} FROM t", "mysql")
            cursor.execute(guarded.text)
        except (QueryMistakeError, pymysql.err.Error):
            continue
        if guarded.outputs is not None and ("--" in text or "/*" in text):
            compared += 1
            assert len(cursor.description) == len(guarded.outputs), text
    link.close()
    assert compared > 500
