"""Read PostgreSQL through psycopg.

In: a target. Out: a `Connection`. Invariants: every transaction is REPEATABLE READ READ ONLY and is
rolled back; queries go by the extended protocol, which takes one statement; a query that fails
leaves the transaction and its snapshot usable (savepoint); rows are streamed, never collected; a
table that was emptied, dropped or renamed after the snapshot is a failure, because PostgreSQL then
gives no rows of it, or those of another one. A database with foreign tables has no one state.
Example of a state's name: `cluster 7312..., database 16384, snapshot 751:753:752`. Reference:
https://www.postgresql.org/docs/current/transaction-iso.html
"""

from __future__ import annotations

import os
import socket
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import capabilities

from constat.catalog.alchemy_parameters import driver_text
from constat.catalog.alchemy_postgresql_types import Names, families, teach
from constat.catalog.alchemy_postgresql_words import is_lost, meaning
from constat.catalog.alchemy_reading import ServerConnection, Trouble
from constat.catalog.connection import SourceColumn, SourceTable
from constat.catalog.failure import SourceFailureError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from constat.catalog.alchemy_addresses import Target
    from constat.catalog.connection import Parameter, Question, RawRow, ReadBounds
    from constat.catalog.typed import Family

_BATCH: Final = 1_000
# So many rows come from the server's socket at once; fewer are lost when a query is stopped.
_CHUNK: Final = 100
_CANCEL_SECONDS: Final = 2.0
_CHANGED: Final = "a table was emptied, replaced or renamed while its state was read"
_ATTEMPTS: Final = 3
# What decides how literals are read and values are spelled is not left to the account's settings.
_SESSION: Final = """
    SET default_transaction_read_only = on;
    SET standard_conforming_strings = on;
    SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
    SET extra_float_digits = 1; SET bytea_output = 'hex';
    SET transform_null_equals = off; SET client_min_messages = error;
"""
_BEGIN: Final = """
    BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SAVEPOINT constat
"""
_STATE: Final = """
    SELECT pg_current_snapshot()::text,
           (SELECT oid::text FROM pg_database WHERE datname = current_database()),
           EXISTS (SELECT FROM pg_class WHERE relkind = 'f')
"""
# Names stand for what they are now; `pg_class` is read as it was at the snapshot. What queries have
# read stays locked, so that it can be compared: TRUNCATE and ALTER TABLE heed no snapshot.
# Reference: https://www.postgresql.org/docs/current/mvcc-caveats.html
_REPLACED: Final = """
    SELECT EXISTS (
        SELECT FROM pg_locks l
        LEFT JOIN pg_class c ON c.oid = l.relation
        LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND (
            c.oid IS NULL
            OR (c.relkind IN ('r', 'm') AND c.relfilenode <> 0
                AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid))
            OR (c.relkind IN ('r', 'm', 'p', 'v') AND l.relation::regclass::text
                NOT IN (quote_ident(c.relname),
                        quote_ident(n.nspname) || '.' || quote_ident(c.relname)))
        )
    )
"""
_CLUSTER: Final = "SELECT system_identifier::text FROM pg_control_system()"
_TABLES: Final = """
    SELECT n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid),
           a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    ORDER BY n.nspname, c.relname, a.attnum
"""
_OWN_TYPES: Final = """
    SELECT oid::int8, typtype = 'e', typname = 'citext' AND typinput::text = 'citextin'
    FROM pg_type WHERE oid = ANY(%s)
"""
_Link = psycopg.Connection[tuple[Any, ...]]


def connect(target: Target, seconds: float) -> PostgresqlConnection:
    """Open a connection."""
    return PostgresqlConnection(target, seconds)


class PostgresqlConnection(ServerConnection[_Link]):
    """A connection to one database of a PostgreSQL server."""

    errors = (psycopg.Error,)

    def __init__(self, target: Target, seconds: float) -> None:
        self._cluster: str | None = None
        self._names = Names()
        self._in_force: float | None = None
        self._compared: set[str] = set()
        super().__init__(target, seconds)

    def _open(self) -> _Link:
        _, said = self._target.dialect.create_connect_args(self._target.url)
        ours = {
            "connect_timeout": round(self._wait),
            "tcp_user_timeout": round(self._wait * 1_000),
            "client_encoding": "utf8",
            "application_name": "constat",
            "autocommit": True,
            "prepare_threshold": None,
        }
        said.pop("context", None)
        link = psycopg.connect(**{**said, **ours})
        try:
            link.execute(_SESSION)
            self._names = Names(exact=link.info.parameter_status("server_encoding") == "SQL_ASCII")
            teach(link, self._names)
            with suppress(psycopg.Error):
                (self._cluster,) = link.execute(_CLUSTER).fetchone() or (None,)
        except BaseException:
            link.close()
            raise
        return link

    def _start(self) -> None:
        self._in_force = None
        self._compared.clear()
        self._link.execute(_BEGIN)
        snapshot, database, foreign = self._link.execute(_STATE).fetchone() or ("", "", True)
        name = f"cluster {self._cluster}, database {database}, snapshot {snapshot}"
        self.snapshot = None if foreign else name

    def _end(self) -> None:
        self._link.execute("ROLLBACK")

    def _rows(self, question: Question, bounds: ReadBounds) -> Generator[list[RawRow]]:
        self._limit(bounds.seconds)
        text, parameters = driver_text(question, "format")
        with (
            self._link.cursor() as cursor,
            closing(self._streamed(cursor, text, parameters)) as stream,
        ):
            while True:
                batch: list[RawRow] = []
                try:
                    # Unlike a list of the slice, this keeps what came before an error.
                    batch.extend(islice(stream, _BATCH))
                except psycopg.Error:
                    yield batch
                    raise
                if not batch:
                    break
                yield batch
        self._compare(question.text)

    def _compare(self, query: str) -> None:
        """Raise `SourceFailureError` where a table is not the one of the snapshot any more."""
        if query in self._compared:
            return
        if (self._link.execute(_REPLACED).fetchone() or (True,))[0]:
            raise SourceFailureError(_CHANGED, "C0542")
        self._compared.add(query)

    @staticmethod
    def _streamed(
        cursor: psycopg.Cursor[RawRow], text: str, parameters: Sequence[Parameter] | None
    ) -> Generator[RawRow]:
        size = _CHUNK if capabilities.has_stream_chunked() else 1
        yield from cursor.stream(text.encode(), parameters, size=size)

    def _limit(self, seconds: float) -> None:
        """Have the server end a query too, a little after it is cancelled from here."""
        if self._in_force != seconds:
            self._link.execute(f"SET LOCAL statement_timeout = {round(seconds * 1_000) + 1_000}")
            self._in_force = seconds

    def _list_tables(self) -> Mapping[str, SourceTable]:
        found: dict[str, SourceTable] = {}
        columns: dict[str, list[SourceColumn]] = {}
        for schema, name, kind, visible, column, declared, required in self._link.execute(_TABLES):
            if visible is None:
                raise SourceFailureError(_CHANGED, "C0542")
            full = f"{schema}.{name}".lower()
            told = columns.setdefault(full, [])
            if column is not None:
                told.append(SourceColumn(column.lower(), declared, required))
            table = SourceTable(name, tuple(told), kind in {"r", "p"})
            found[full] = table
            if visible:
                found[name.lower()] = table
        return found

    def _told(self, statement: str) -> list[tuple[object, ...]]:
        return self._link.execute(statement.encode()).fetchall()

    def _describe(self, query: str) -> tuple[tuple[str, ...], tuple[Family, ...]]:
        prepared = f"SELECT * FROM (\n{query}\n) AS q LIMIT 0"  # noqa: S608  guarded
        cursor = self._link.execute(prepared.encode())
        columns = cursor.description or []
        types = [column.type_code for column in columns]
        self._learn(types)
        return tuple(column.name for column in columns), families(types, self._names)

    def _learn(self, types: list[int]) -> None:
        """Ask what types of the database's own are, so that their values can be read."""
        unknown = self._names.unknown(types)
        if unknown:
            self._names.add(unknown, self._link.execute(_OWN_TYPES, (unknown,)).fetchall())

    def _interrupt(self) -> None:
        with suppress(psycopg.Error):
            self._link.cancel_safe(timeout=_CANCEL_SECONDS)

    def _hang_up(self) -> None:
        with suppress(psycopg.Error, OSError):
            shut_down(self._link.fileno())

    def _recover(self) -> None:
        """Roll back to where the state had just begun; a cancel that comes late may hit this."""
        self._in_force = None
        # What was locked behind the savepoint is locked no more.
        self._compared.clear()
        for _ in range(_ATTEMPTS):
            if self._link.closed:
                break
            try:
                self._link.execute("ROLLBACK TO SAVEPOINT constat")
            except psycopg.errors.QueryCanceled:
                continue
            except psycopg.Error:
                break
            return
        self._lost = True

    def _is_lost(self, problem: Exception) -> bool:
        return self._link.closed or is_lost(problem)

    def _meaning(self, problem: Exception) -> Trouble:
        return meaning(problem)

    def _shut(self) -> None:
        with suppress(psycopg.Error):
            self._link.close()


def shut_down(number: int) -> None:
    """End both directions of a socket that another thread may be waiting for."""
    with socket.socket(fileno=os.dup(number)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
