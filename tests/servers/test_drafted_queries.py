"""Queries that a model drafts for a server: prepared and measured there, and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.authoring.fragments import check_query
from constat.logic import Column, Kind, Predicate, Source
from tests.catalog.schema_worlds import (
    STORED,
    all_are_read,
    drafted_otherwise,
    stored_otherwise,
    wrong_row,
)
from tests.servers.building import opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase


def drafted(query: str) -> Predicate:
    source = Source({"source": "sales", "query": query})
    return Predicate("q", (Column("a", "number", Kind.NUMBER),), source)


def problems(database: ServedDatabase, query: str, most: int = 1_000) -> list[str]:
    connection = opened(database)
    try:
        connection.begin()
        return [one.message for one in check_query(drafted(query), connection, most)]
    finally:
        connection.close()


@pytest.fixture
def filled(source: ServedDatabase) -> ServedDatabase:
    source.run("CREATE TABLE t (a INT)")
    values = ", ".join(f"({number})" for number in range(3_000))
    source.run(f"INSERT INTO t VALUES {values}")
    source.run("ANALYZE t" if source.uri.startswith("postgresql") else "ANALYZE TABLE t")
    return source


def test_the_plan_of_the_server_bounds_what_is_read(filled: ServedDatabase) -> None:
    assert problems(filled, "SELECT a FROM t", 10_000) == []
    (message,) = problems(filled, "SELECT a FROM t", 100)
    assert "it reads more rows than" in message


def test_mistakes_and_other_tables_are_found_without_running(filled: ServedDatabase) -> None:
    assert "no table" in problems(filled, "SELECT a FROM u")[0]
    assert "column" in problems(filled, "SELECT b FROM t")[0].lower()
    assert "gives 2 columns" in problems(filled, "SELECT a, a AS b FROM t")[0]
    assert problems(filled, "SELECT a FROM t WHERE CAST(a AS CHAR(9)) LIKE '%1'", 10_000) == []
    assert problems(filled, "DELETE FROM t")


def _all_are_texts(source: ServedDatabase, folder: Path) -> None:
    """What a database cannot spell stays as it stands, and the draft can be asked."""
    databases = f'databases: {{sales: {{uri: "{source.uri}"}}}}'
    (folder / "constat.yaml").write_text(databases, encoding="utf-8")
    with Session(folder) as session:
        text = session.draft_tables(["odd"]).text
    assert "us_day: symbol" in text
    (folder / "drafted.dl").write_text(text, encoding="utf-8")
    (folder / "constat.yaml").write_text(f"{databases}\nrules: [drafted.dl]\n", encoding="utf-8")
    with Session(folder) as session:
        asked = session.query("odd(id = ?id, us_day = ?x)")
    assert {row[0]: row[1] for row in asked.sure} == dict(enumerate(STORED["us_day"][1], 1))


def test_days_and_numbers_that_are_stored_in_another_way_are_read(
    source: ServedDatabase, tmp_path: Path
) -> None:
    source.run(*stored_otherwise("VARCHAR(40)"))
    if source.server.kind == "mariadb":
        _all_are_texts(source, tmp_path)
        return
    drafted_otherwise(tmp_path, f'databases: {{sales: {{uri: "{source.uri}"}}}}')
    source.run(wrong_row())
    all_are_read(tmp_path)
