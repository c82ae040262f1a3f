"""Nothing is written, by any of three lines alone: the guard, the transaction, the session."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from constat.catalog import QueryMistakeError, Question, SourceFailureError, guard
from constat.catalog.postgresql import PostgresqlConnection
from tests.servers.building import opened, read

if TYPE_CHECKING:
    from constat.catalog import Connection
    from tests.servers.leasing import ServedDatabase

HOSTILE: Final = (
    "INSERT INTO t VALUES (9)",
    "UPDATE t SET a = 9",
    "DELETE FROM t",
    "DROP TABLE t",
    "TRUNCATE TABLE t",
    "CREATE TABLE u (a INT)",
    "CREATE TABLE u AS SELECT a FROM t",
    "ALTER TABLE t ADD b INT",
    "GRANT ALL ON t TO public",
    "SELECT a FROM t; DELETE FROM t",
    "SELECT a FROM t FOR UPDATE",
    "SELECT a FROM t FOR SHARE",
    "SET x = 1",
    "BEGIN",
    "COMMIT",
    "CALL p()",
)
POSTGRESQL: Final = (
    "SELECT nextval('s') FROM t",
    "SELECT setval('s', 5) FROM t",
    "SELECT pg_sleep(1) FROM t",
    "SELECT pg_read_file('PG_VERSION') FROM t",
    "SELECT pg_ls_dir('.') FROM t",
    "SELECT lo_create(0) FROM t",
    "SELECT lo_import('/etc/hostname') FROM t",
    "SELECT set_config('statement_timeout', '0', false) FROM t",
    "SELECT current_setting('data_directory') FROM t",
    "SELECT version() FROM t",
    "SELECT current_user FROM t",
    "SELECT user FROM t",
    "SELECT query_to_xml('DELETE FROM t', true, true, '') FROM t",
    "SELECT dblink('dbname=postgres', 'SELECT 1') FROM t",
    "SELECT pg_advisory_lock(1) FROM t",
    "SELECT pg_terminate_backend(1) FROM t",
    "SELECT repeat('x', 1000000000) FROM t",
    "SELECT lpad('x', 1000000000) FROM t",
    "SELECT pg_catalog.pg_sleep(1) FROM t",
    "SELECT random() FROM t",
    "SELECT gen_random_uuid() FROM t",
    "SELECT generate_series(1, 1000000000) FROM t",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM pg_shadow",
    "SELECT * FROM information_schema.tables",
    "SELECT 'pg_authid'::regclass FROM t",
    "SELECT a INTO u FROM t",
    "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
    "COPY t TO '/tmp/x'",
    "LISTEN x",
    "LOCK TABLE t",
    "VACUUM t",
    "EXPLAIN ANALYZE DELETE FROM t",
    "DO $$ BEGIN DELETE FROM t; END $$",
    "SELECT $1 FROM t",
    "SELECT a FROM t TABLESAMPLE SYSTEM (1)",
    "SELECT (t).a FROM t",
)
MARIADB: Final = (
    "SELECT SLEEP(1) FROM t",
    "SELECT BENCHMARK(1000000000, 1) FROM t",
    "SELECT LOAD_FILE('/etc/hostname') FROM t",
    "SELECT GET_LOCK('a', 1) FROM t",
    "SELECT NEXTVAL(s) FROM t",
    "SELECT LAST_INSERT_ID(5) FROM t",
    "SELECT USER() FROM t",
    "SELECT VERSION() FROM t",
    "SELECT @@datadir FROM t",
    "SELECT @x := 1 FROM t",
    "SELECT RAND() FROM t",
    "SELECT UUID() FROM t",
    "SELECT a FROM t INTO OUTFILE 'x'",
    "SELECT a INTO @x FROM t",
    "SELECT /*!50000 SLEEP(1), */ a FROM t",
    "SELECT /*M!100000 SLEEP(1), */ a FROM t",
    "SELECT /*+ SET_VAR(max_statement_time=0) */ a FROM t",
    "SELECT 1 --1",
    "SELECT a FROM t LOCK IN SHARE MODE",
    "SELECT a FROM t PROCEDURE ANALYSE()",
    "SELECT * FROM mysql.user",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM performance_schema.threads",
    "SELECT * FROM seq_1_to_1000000000",
    "SELECT EXTRACTVALUE('<a/>', '/a') FROM t",
    "LOAD DATA INFILE 'x' INTO TABLE t",
    "HANDLER t OPEN",
    "SHOW TABLES",
)


def shop(source: ServedDatabase) -> None:
    sequence = "CREATE SEQUENCE s"
    source.run("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", sequence)


def test_a_hostile_query_is_refused_before_it_is_sent(source: ServedDatabase) -> None:
    shop(source)
    connection = opened(source)
    connection.begin()
    kind = POSTGRESQL if source.server.kind == "postgresql" else MARIADB
    for query in (*HOSTILE, *kind):
        assert len(refusal(connection, query)) in range(1, 250), query
    connection.close()


def refusal(connection: Connection, query: str) -> str:
    """Give the reason why a query is not sent; empty when it would be."""
    try:
        unknown = guard(query, connection.dialect).tables - connection.tables().keys()
    except QueryMistakeError as problem:
        return problem.reason
    return "an unknown table" if unknown else ""


WRITES: Final = (
    "INSERT INTO t VALUES (9)",
    "UPDATE t SET a = 9",
    "DELETE FROM t",
    "SELECT 1; COMMIT; DELETE FROM t",
)
DEFINITIONS: Final = ("DROP TABLE t", "CREATE TABLE u (a INT)")


def attempt(source: ServedDatabase, *statements: str, weakened: str, begun: bool = True) -> None:
    """Send writing statements as if the guard did not exist, on a connection that is weakened."""
    shop(source)
    for query in statements:
        connection = opened(source)
        if weakened:
            link = connection._link  # type: ignore[attr-defined]
            link.cursor().execute(weakened)
        if begun:
            connection.begin()
        with pytest.raises((QueryMistakeError, SourceFailureError)) as caught:
            read(connection, Question(query))
        # Several statements are no statement; one that writes is told so by the server.
        assert ";" in query or "may only read" in str(caught.value)
        connection.close()
    assert source.rows("SELECT a FROM t") == [(1,)]


def test_the_transaction_alone_refuses_to_write(source: ServedDatabase) -> None:
    if source.server.kind == "postgresql":
        # Statements that end the transaction come one by one or not at all.
        weakened = "SET default_transaction_read_only = off"
        attempt(source, *WRITES, *DEFINITIONS, weakened=weakened)
    else:
        # Definitions end a transaction of MariaDB's; only the session's setting refuses them.
        attempt(source, *WRITES, weakened="SET SESSION TRANSACTION READ WRITE")


def test_the_session_alone_refuses_to_write(source: ServedDatabase) -> None:
    attempt(source, *WRITES, *DEFINITIONS, weakened="", begun=False)


def test_both_together_refuse_to_write(source: ServedDatabase) -> None:
    attempt(source, *WRITES, *DEFINITIONS, weakened="")


def test_sequences_and_large_objects_are_not_touched_either(postgresql: ServedDatabase) -> None:
    shop(postgresql)
    connection = opened(postgresql)
    connection.begin()
    for query in ("SELECT nextval('s')", "SELECT setval('s', 5)", "SELECT a FROM t FOR UPDATE"):
        with pytest.raises(QueryMistakeError, match="may only read"):
            read(connection, Question(query))
    # The transaction has outlived them all.
    assert read(connection, Question("SELECT a FROM t")) == [(1,)]
    # Servers before 16 let this through, and forget it with the transaction.
    with suppress(QueryMistakeError):
        read(connection, Question("SELECT lo_create(0)"))
    connection.release()
    assert postgresql.rows("SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]
    connection.close()


def test_nothing_is_left_behind(source: ServedDatabase) -> None:
    shop(source)
    connection = opened(source)
    assert isinstance(connection, PostgresqlConnection) == (source.server.kind == "postgresql")
    connection.begin()
    guarded = guard("SELECT a FROM t", connection.dialect)
    assert connection.columns(guarded.text) == ("a",)
    assert read(connection, connection.whole(guarded, 1)) == [(1,)]
    connection.release()
    connection.close()
    kind = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    if source.server.kind == "mariadb":
        kind = "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()"
    # The server ends what served a connection after its client has closed it.
    end = time.monotonic() + 10
    while source.rows(kind) != [(1,)]:
        assert time.monotonic() < end
        time.sleep(0.05)
