"""No password, address or value of the data is in what a failure says, in any log or `repr`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from constat.catalog import Question, SourceFailureError
from constat.catalog.drivers import connect, target
from constat.diagnostics import ConstatError
from constat.project import Database, Expanded
from tests.servers.building import opened, read, served
from tests.tiers.building import declare, reasons

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.leasing import ServedDatabase

SECRET = "canary-hunter2"  # noqa: S105  nobody's
VALUE = "canary-value"


def test_an_account_that_is_turned_away(
    source: ServedDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = source.server
    cases = [
        (server.uri(source.name, user="canary-bob", password=SECRET), "does not accept"),
        (server.uri(source.name, password=SECRET), "does not accept"),
        (server.uri("canary_nowhere"), "no such database"),
    ]
    for uri, reason in cases:
        with pytest.raises(SourceFailureError) as caught:
            connect(Database("sales", "sql", Expanded(uri)), 5)
        assert reason in caught.value.reason
        assert caught.value.code == "C0554"
        told = f"{caught.value!r} {caught.value.__cause__!r} {caplog.text}"
        assert "canary" not in told
        assert str(server.port) not in told


def test_an_account_that_may_read_one_table_only(source: ServedDatabase) -> None:
    source.run("CREATE TABLE open_to_all (a INT)", "CREATE TABLE closed (a INT)")
    if source.server.kind == "postgresql":
        reader = f"reader_{source.name}"
        source.run(
            f"CREATE ROLE {reader} LOGIN PASSWORD '{SECRET}'",
            f"GRANT SELECT ON open_to_all TO {reader}",
        )
    else:
        reader = source.name[:20]
        source.run(
            f"CREATE USER {reader}@'127.0.0.1' IDENTIFIED BY '{SECRET}'",
            f"GRANT SELECT ON {source.name}.open_to_all TO {reader}@'127.0.0.1'",
        )
    uri = source.server.uri(source.name, reader, SECRET)
    connection = connect(Database("sales", "sql", Expanded(uri)), 5)
    connection.begin()
    # A state has its name for accounts without rights as well.
    assert connection.snapshot is not None
    assert read(connection, Question("SELECT a FROM open_to_all")) == []
    with pytest.raises(SourceFailureError) as caught:
        read(connection, Question("SELECT a FROM closed"))
    assert caught.value.code == "C0554"
    connection.close()
    if source.server.kind == "postgresql":
        source.run(f"DROP OWNED BY {reader}", f"DROP ROLE {reader}")


def test_values_of_the_data_are_not_quoted(
    source: ServedDatabase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    source.run("CREATE TABLE t (a VARCHAR(40), n INT)")
    source.insert("t", [(VALUE, 1)])
    queries = ["SELECT a FROM t"]
    if source.server.kind == "postgresql":
        queries += ["SELECT CAST(a AS int) FROM t", "SELECT to_date(a, 'YYYY')::text FROM t"]
    for query in queries:
        found = served(tmp_path, source.uri, declare("p(x: number)", query))
        answer = found.ask("p")
        told = f"{answer.openings!r} {answer.authorities!r} {found.events!r} {caplog.text}"
        assert VALUE not in told
        assert source.server.password not in told
        assert answer.openings
        assert reasons(answer)
        found.tiers.close()


def test_nothing_shows_an_address(source: ServedDatabase) -> None:
    database = Database("sales", "sql", Expanded(source.uri))
    connection = opened(source)
    for one in (database, target(database), connection, connection.snapshot):
        assert source.server.password not in repr(one)
        assert source.server.password not in str(one)
    connection.close()


def test_a_driver_that_is_missing_names_what_to_install(
    source: ServedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    driver = "psycopg" if source.server.kind == "postgresql" else "pymysql"
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(ConstatError, match="C0552") as caught:
        connect(Database("sales", "sql", Expanded(source.uri)), 5)
    (diagnostic,) = caught.value.diagnostics
    extra = "postgresql" if source.server.kind == "postgresql" else "mysql"
    assert diagnostic.help == f"pip install 'constat[{extra}]'"
    assert source.server.password not in str(caught.value)
