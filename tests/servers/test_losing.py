"""Limits, cancelling, connections that are lost: what came is kept, and no rest is guessed."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat.catalog import Question, ReadBounds, SourceFailureError, Whole, guard, server_reading
from constat.logic import OPEN, Kind
from tests.servers.building import opened, read, served
from tests.tiers.building import declare, open_rows, reasons, rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.catalog import Connection
    from tests.servers.leasing import ServedDatabase, Server


# What a connection does when it is lost is code of ours, the same for both; slow, both are asked.
@pytest.fixture(params=["postgresql", pytest.param("mariadb", marks=pytest.mark.slow)])
def source(request: pytest.FixtureRequest) -> Iterator[ServedDatabase]:
    server: Server = request.getfixturevalue(f"{request.param}_server")
    with server.fresh() as database:
        yield database


# No figure: whoever does not stop at all is told apart from a busy machine.
_SECONDS_TO_STOP: Final = 60
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
# Pairs of numbers without end in sight, none of which is given.
ENDLESS = "SELECT a.i FROM t a, t b, t c WHERE a.i + b.i + c.i < 0"


def numbers(source: ServedDatabase, count: int) -> None:
    source.run("CREATE TABLE t (i INT PRIMARY KEY)")
    source.insert("t", [(number,) for number in range(1, count + 1)])


def end_connections(source: ServedDatabase) -> None:
    """End all connections to the database but our own, as an operator would."""
    link = source.server.link(source.name if source.server.kind == "postgresql" else "")
    cursor = link.cursor()
    if source.server.kind == "postgresql":
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    else:
        cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE db = %s", (source.name,)
        )
        for (number,) in cursor.fetchall():
            cursor.execute(f"KILL {number}")
    link.close()


def test_a_query_without_end_is_stopped(source: ServedDatabase, tmp_path: Path) -> None:
    numbers(source, 3_000)
    found = served(
        tmp_path,
        source.uri,
        declare("p(i: number)", ENDLESS),
        declare("t(i: number)", "SELECT i FROM t"),
        # The second query, which ends, has the same bound: a busy machine needs some of it.
        bounds=", seconds: 2",
    )
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert open_rows(answer) == {(OPEN,)}
    assert "did not finish within 2 s [C0521]" in reasons(answer)
    # The state that was being read is still there, and is still the same.
    source.run("DELETE FROM t WHERE i > 1")
    later = found.ask("t")
    assert len(rows(later)) == 3_000
    assert later.answered == {()}


def test_what_somebody_else_stops_did_not_take_too_long(source: ServedDatabase) -> None:
    numbers(source, 3_000)
    connection = opened(source)
    connection.begin()
    stopping = threading.Thread(target=_stop_all, args=(source,))
    stopping.start()
    with pytest.raises(SourceFailureError, match="somebody else") as caught:
        read(connection, Question(ENDLESS), ReadBounds(60, 10))
    # No limit of ours would have allowed more.
    assert caught.value.code == "C0520"
    stopping.join()
    connection.close()


def _stop_all(source: ServedDatabase) -> None:
    """Stop the endless query, as soon as it runs."""
    running = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%t b, t c%'"
    # Other tests run on the same server at the same time, each in a database of its own.
    running = f"{running} AND datname = current_database() AND pid <> pg_backend_pid()"
    stop = "SELECT pg_cancel_backend({})"
    if source.server.kind == "mariadb":
        running = "SELECT id FROM information_schema.processlist WHERE info LIKE '%t b, t c%'"
        running = f"{running} AND db = database() AND id <> connection_id()"
        stop = "KILL QUERY {}"
    while not (found := source.rows(running)):
        time.sleep(0.05)
    source.run(*(stop.format(number) for (number,) in found))


def test_the_server_alone_would_stop_it_too(source: ServedDatabase) -> None:
    numbers(source, 3_000)
    connection = opened(source)
    connection.begin()
    connection._interrupt = lambda: None  # type: ignore[attr-defined]
    connection._hang_up = lambda: None  # type: ignore[attr-defined]
    with pytest.raises(SourceFailureError) as caught:
        read(connection, Question(ENDLESS), ReadBounds(0.2, 10))
    assert caught.value.code == "C0521"
    connection.close()


def test_too_many_rows_are_partial(source: ServedDatabase, tmp_path: Path) -> None:
    numbers(source, 5_000)
    found = served(
        tmp_path,
        source.uri,
        declare("p(i: number)", "SELECT i FROM t ORDER BY i"),
        declare("q(i: number)", "SELECT i FROM t WHERE i < 5"),
        bounds=", rows: 2100",
    )
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert rows(answer) == {(number,) for number in range(1, 2_101)}
    assert "more than 2100 rows [C0522]" in reasons(answer)
    assert found.ask("q").answered == {()}


def test_what_came_before_an_error_is_kept(source: ServedDatabase, tmp_path: Path) -> None:
    if source.server.kind != "postgresql":
        pytest.skip("MariaDB has no errors in the middle of a result that are easily made")
    numbers(source, 2_000)
    query = "SELECT 100 / (i - 1500) FROM (SELECT i FROM t ORDER BY i) x WHERE i > 1000"
    found = served(tmp_path, source.uri, declare("p(i: number)", query, distinct="true"))
    answer = found.ask("p")
    assert answer.answered == frozenset()
    assert "PostgreSQL says: division by zero (22012) [C0520]" in reasons(answer)
    assert len(rows(answer)) > 0


def test_a_table_is_not_collected_before_it_is_given(source: ServedDatabase) -> None:
    source.run("CREATE TABLE t (i INT, filling VARCHAR(1000))")
    source.insert("t", [(number, "x" * 1_000) for number in range(3_000)])
    connection = opened(source)
    connection.begin()
    batches = connection.read(Question("SELECT i, filling FROM t"), ReadBounds(30, 10_000))
    assert 0 < len(next(batches)) <= 1_000
    batches.close()  # type: ignore[attr-defined]
    # Whoever stops reading early can go on with something else, or is told that it is lost.
    with suppress(SourceFailureError):
        assert read(connection, Question("SELECT count(*) FROM t")) == [(3_000,)]
    connection.release()
    connection.begin()
    assert read(connection, Question("SELECT count(*) FROM t")) == [(3_000,)]
    connection.close()


def cancelled_from_outside(connection: Connection) -> SourceFailureError:
    timer = threading.Timer(0.2, connection.cancel)
    timer.start()
    with pytest.raises(SourceFailureError) as caught:
        read(connection, Question(ENDLESS), ReadBounds(60, 10))
    timer.join()
    return caught.value


def test_another_thread_cancels(source: ServedDatabase) -> None:
    numbers(source, 3_000)
    connection = opened(source)
    connection.cancel()
    connection.begin()
    problem = cancelled_from_outside(connection)
    assert (problem.reason, problem.code) == ("it was cancelled", "C0521")
    assert read(connection, Question("SELECT count(*) FROM t")) == [(3_000,)]
    connection.close()


def test_a_person_interrupts(source: ServedDatabase) -> None:
    numbers(source, 3_000)
    connection = opened(source)
    connection.begin()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            read(connection, Question(ENDLESS), ReadBounds(60, 10))
    finally:
        # A test that failed earlier may not leave the interruption to the next one.
        timer.cancel()
        timer.join()
    connection.release()
    if connection.replaced():
        connection.close()
        connection = opened(source)
    connection.begin()
    assert read(connection, Question("SELECT count(*) FROM t")) == [(3_000,)]
    connection.close()


# Connections that are lost.


def test_a_lost_connection_fails_until_the_evaluation_is_over(
    source: ServedDatabase, tmp_path: Path
) -> None:
    numbers(source, 3)
    query = "SELECT i FROM t"
    found = served(tmp_path, source.uri, declare("p(i: number)", query, key="i"))
    assert rows(found.ask("p", (0,), (1,))) == {(1,)}
    end_connections(source)
    source.run("UPDATE t SET i = 9 WHERE i = 3")
    for pause in (0.0, 0.0, 1.2):
        # Not even after the time that a source which cannot be opened is left alone.
        time.sleep(pause)
        answer = found.ask("p", (0,), (2,))
        assert answer.answered == frozenset()
        assert rows(answer) == set()
        assert "C0555" in reasons(answer)
    found.tiers.release()
    answer = found.ask("p", (0,), (2,), (9,))
    assert rows(answer) == {(2,), (9,)}
    assert answer.answered == {(2,), (9,)}


def test_a_connection_that_dies_between_evaluations_is_not_missed(
    source: ServedDatabase, tmp_path: Path
) -> None:
    numbers(source, 3)
    found = served(tmp_path, source.uri, declare("p(i: number)", "SELECT i FROM t"))
    assert len(rows(found.ask("p"))) == 3
    found.tiers.release()
    end_connections(source)
    source.run("DELETE FROM t WHERE i = 1")
    answer = found.ask("p")
    assert rows(answer) == {(2,), (3,)}
    assert answer.answered == {()}


def test_a_connection_that_is_lost_while_rows_come_keeps_what_came(
    source: ServedDatabase,
) -> None:
    source.run("CREATE TABLE t (i INT PRIMARY KEY, filling VARCHAR(4000))")
    source.insert("t", [(number, "x" * 4_000) for number in range(4_000)])
    connection = opened(source)
    connection.begin()
    batches = connection.read(Question("SELECT i, filling FROM t"), ReadBounds(30, 10_000))
    got = len(next(batches))
    end_connections(source)
    with pytest.raises(SourceFailureError) as caught:
        got += sum(len(batch) for batch in batches)
    assert caught.value.code == "C0555"
    assert 0 < got < 4_000
    with pytest.raises(SourceFailureError, match="lost"):
        connection.begin()
    connection.release()
    assert connection.replaced()
    connection.close()


def test_a_server_that_hears_nothing_is_hung_up_on(postgresql: ServedDatabase) -> None:
    numbers(postgresql, 3)
    connection = opened(postgresql)
    connection.begin()
    ((backend,),) = read(connection, Question("SELECT pg_backend_pid()"))
    assert isinstance(backend, int)
    os.kill(backend, signal.SIGSTOP)
    try:
        with pytest.raises(SourceFailureError) as caught:
            read(connection, Question("SELECT count(*) FROM t"), ReadBounds(0.2, 10))
        assert caught.value.code == "C0555"
    finally:
        os.kill(backend, signal.SIGCONT)
        connection.close()


def test_who_cannot_even_be_told_to_stop_is_not_waited_for(source: ServedDatabase) -> None:
    numbers(source, 3_000)
    connection, gate = opened(source), threading.Event()
    connection.begin()
    connection._interrupt = gate.wait  # type: ignore[attr-defined]
    try:
        with pytest.raises(SourceFailureError, match=r"did not finish within 0\.2 s"):
            read(connection, Question(ENDLESS), ReadBounds(0.2, 10, 0.2))
    finally:
        gate.set()
    with pytest.raises(SourceFailureError, match="lost"):
        connection.begin()
    connection.close()


def test_a_server_that_never_says_hello_is_not_waited_for() -> None:
    import socket

    from constat.catalog.drivers import connect
    from constat.project import Database, Expanded

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for kind in ("postgresql", "mysql"):
            address = Expanded(f"{kind}://u:canary-pw@127.0.0.1:{port}/d")
            with pytest.raises(SourceFailureError) as caught:
                connect(Database("sales", "sql", address), 1)
            assert caught.value.code == "C0553"
            assert "canary" not in str(caught.value)


def test_reading_by_columns_without_end_is_stopped(
    source: ServedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_reading, "FEW", -1)
    numbers(source, 3_000)
    connection: Any = opened(source)
    connection.begin()
    endless, plain = (guard(text, connection.dialect) for text in (ENDLESS, "SELECT i FROM t"))
    for one in (endless, plain):
        connection.columns(one.text)
    number = (Kind.NUMBER,)
    begun = time.monotonic()
    with pytest.raises(SourceFailureError) as stopped:
        connection.stream(Whole(endless, number, ("error",), False, ()), ReadBounds(0.5, 100))
    assert stopped.value.code == "C0521"
    assert time.monotonic() - begun < _SECONDS_TO_STOP
    if source.server.kind == "postgresql":
        # MariaDB's rows that are still on their way are not waited for: the connection ends.
        told = connection.stream(Whole(plain, number, ("error",), False, ()), ReadBounds(10, 9_999))
        assert told.rows == 3_000
        other = Whole(plain, number, ("none",), False, ())
        with pytest.raises(SourceFailureError) as many:
            connection.stream(other, ReadBounds(10, 100))
        assert many.value.code == "C0522"
    connection.close()
