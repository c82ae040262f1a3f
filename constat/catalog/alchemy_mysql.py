"""Read MySQL and MariaDB through PyMySQL.

In: a target. Out: a `Connection`. Invariants: every transaction is REPEATABLE READ, READ ONLY, with
its snapshot taken at once, and is rolled back; the server's mode decides nothing about how a query
is read; rows are streamed, never collected. InnoDB's tables alone have snapshots: where a database
has others, the state has no name. Example of a name: `repeatable read since 2026-01-31T10:00:00Z`.
Reference: https://dev.mysql.com/doc/refman/8.4/en/innodb-consistent-read.html
"""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

import pymysql
from pymysql.constants import ER
from pymysql.cursors import Cursor, SSCursor

from constat.catalog.alchemy_mysql_types import DECODERS, families, is_single
from constat.catalog.alchemy_mysql_words import is_lost, meaning
from constat.catalog.alchemy_parameters import driver_text
from constat.catalog.alchemy_reading import ServerConnection, Trouble
from constat.catalog.connection import Single, SourceColumn, SourceTable
from constat.catalog.failure import QueryMistakeError
from constat.catalog.keyed import Comparand
from constat.catalog.typed import typed_question, typed_whole
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from constat.catalog.alchemy_addresses import Target
    from constat.catalog.connection import Question, RawRow, ReadBounds
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.catalog.typed import Family
    from constat.logic import Row

_BATCH: Final = 1_000
_CANCEL_SECONDS: Final = 2
_LONGEST_GROUP: Final = 1 << 26
# How an output column is named whose cells are floats of 32 bits.
_SINGLE: Final = "single_"
# What a server warns of where others fail: a text cut in an aggregate, a number out of range, a
# text too long for a packet (it becomes NULL), an overflow, a recursion not followed further.
_CUTTING: Final = frozenset({1260, 1264, 1301, 1916, 1931})
_CUT: Final = "the server says that it cut a value, or the rows, short"
_Link: TypeAlias = "pymysql.connections.Connection[Cursor]"

# The guard reads double quotes, backslashes and `||` as these modes do.
_SESSION: Final = f"""
    SET SESSION sql_mode = 'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ENGINE_SUBSTITUTION',
        time_zone = '+00:00', group_concat_max_len = {_LONGEST_GROUP}, lock_wait_timeout = %s
"""
_ISOLATION: Final = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_BEGIN: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_TABLES: Final = """
    SELECT t.table_schema, t.table_name, t.table_type, t.engine,
           c.column_name, c.column_type, c.is_nullable, c.character_set_name
    FROM information_schema.tables t
    LEFT JOIN information_schema.columns c
        ON c.table_schema = DATABASE() AND c.table_name = t.table_name
    WHERE t.table_schema = DATABASE() ORDER BY t.table_name, c.ordinal_position
"""
_ENGINES: Final = """
    SELECT count(*) FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'
"""


def connect(target: Target, seconds: float) -> MysqlConnection:
    """Open a connection."""
    return MysqlConnection(target, seconds)


class MysqlConnection(ServerConnection[_Link]):
    """A connection to one database of a MySQL or MariaDB server."""

    errors = (pymysql.err.Error, OSError)

    def __init__(self, target: Target, seconds: float) -> None:
        self._in_force: tuple[float, int] | None = None
        self._narrow = False
        self._types: dict[str, tuple[bool, ...]] = {}
        super().__init__(target, seconds)

    def keyed(
        self, guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for some keys; where a column could not hold a key's letters, compare in Unicode."""
        self.tables()
        if self._narrow and not all(str(value).isascii() for key in keys for value in key):
            # No index serves the cast, and a comparison in the column's letters is an error.
            pushes = [replace(push, comparand=Comparand.AS_TEXT) for push in pushes]
        outputs = self._outputs(guarded, arity)
        return typed_question(guarded, arity, pushes, keys, outputs=outputs)

    def whole(self, guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        return typed_whole(guarded, arity, outputs=self._outputs(guarded, arity))

    def _outputs(self, guarded: Guarded, arity: int) -> Sequence[str]:
        """Have the server widen floats of 32 bits, which it would spell with six digits."""
        told = self._types.get(guarded.text, ())
        if not any(told[:arity]):
            return ()
        return [
            f"c{n} + 0e0 AS {_SINGLE}{n}" if n < len(told) and told[n] else f"c{n}"
            for n in range(arity)
        ]

    def _open(self) -> _Link:
        link = self._connected(self._wait)
        try:
            with link.cursor() as cursor:
                cursor.execute(_SESSION, (round(self._wait),))
                cursor.execute(_ISOLATION)
                if self._is_mariadb(link):
                    # Beyond it MariaDB gives what it has so far; MySQL fails at a bound of its own.
                    cursor.execute("SET SESSION max_recursive_iterations = 4294967295")
        except BaseException:
            link.close()
            raise
        self._in_force = None
        # From here on a deadline beside the query bounds the waiting.
        link._read_timeout = None  # type: ignore[attr-defined]  # noqa: SLF001  there is no other way
        return link

    def _connected(self, wait: float) -> _Link:
        _, said = self._target.dialect.create_connect_args(self._target.url)
        ours = {
            "charset": "utf8mb4",
            "use_unicode": True,
            "connect_timeout": max(1, round(wait)),
            "read_timeout": max(1, round(wait)),
            "write_timeout": max(1, round(wait)),
            "local_infile": False,
            "autocommit": True,
            "conv": dict(DECODERS),
            "program_name": "constat",
            "client_flag": 0,
        }
        link: _Link = pymysql.connect(**{**said, **ours})
        return link

    def _start(self) -> None:
        with self._link.cursor() as cursor:
            cursor.execute(_BEGIN)
            since = now()
            cursor.execute(_ENGINES)
            ((others,),) = cursor.fetchall()
        self.snapshot = None if others else f"repeatable read since {since}"

    def _end(self) -> None:
        self._link.rollback()

    def _rows(self, question: Question, bounds: ReadBounds) -> Generator[list[RawRow]]:
        self._limit(bounds)
        text, parameters = driver_text(question, "format")
        cursor = self._link.cursor(SSCursor)
        cursor.execute(text, parameters)
        names = [column[0] for column in cursor.description or ()]
        singles = frozenset(n for n, name in enumerate(names) if name.startswith(_SINGLE))
        rows = iter(cursor.fetchone, None)
        while True:
            batch: list[RawRow] = []
            try:
                # Unlike `fetchmany`, this keeps what came before an error.
                batch.extend(islice(rows, _BATCH))
            except self.errors:
                yield _widened(batch, singles)
                raise
            if not batch:
                break
            yield _widened(batch, singles)
        cut = cursor.warning_count and self._cut_short()
        cursor.close()
        if cut:
            # The rows that came may be false: nothing of them is used.
            raise QueryMistakeError(_CUT, hint="cast to types that hold every value")

    def _cut_short(self) -> bool:
        """Tell whether the server warns that what it gave is not what was asked for."""
        with self._link.cursor() as cursor:
            cursor.execute("SHOW WARNINGS")
            return any(code in _CUTTING for _, code, _ in cursor.fetchall())

    @staticmethod
    def _is_mariadb(link: _Link) -> bool:
        return "mariadb" in str(link.server_version).lower()  # type: ignore[attr-defined]

    def _limit(self, bounds: ReadBounds) -> None:
        """Have the server end a query too: a little after the deadline, one row after the last."""
        wanted = bounds.seconds, bounds.rows
        if self._in_force == wanted:
            return
        seconds = bounds.seconds + 1
        limit = f"max_statement_time = {seconds:.3f}"
        if not self._is_mariadb(self._link):
            limit = f"max_execution_time = {round(seconds * 1_000)}"
        with self._link.cursor() as cursor:
            cursor.execute(f"SET SESSION {limit}, sql_select_limit = {bounds.rows + 1}")
        self._in_force = wanted

    def _list_tables(self) -> Mapping[str, SourceTable]:
        with self._unlimited() as cursor:
            cursor.execute(_TABLES)
            listed = cursor.fetchall()
        found: dict[str, SourceTable] = {}
        columns: dict[str, list[SourceColumn]] = {}
        self._narrow = False
        for schema, name, kind, _, column, declared, nullable, letters in listed:
            told = columns.setdefault(name.lower(), [])
            if column is not None:
                told.append(SourceColumn(column.lower(), str(declared), nullable == "NO"))
            self._narrow = self._narrow or letters not in {None, "utf8mb4"}
            table = SourceTable(name, tuple(told), kind == "BASE TABLE")
            found[name.lower()] = found[f"{schema}.{name}".lower()] = table
        return found

    def _told(self, statement: str) -> list[tuple[object, ...]]:
        with self._unlimited() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _unlimited(self) -> Cursor:
        """Give a cursor for questions of this module, which no limit of a query shortens."""
        cursor = self._link.cursor()
        if self._in_force is not None:
            cursor.execute("SET SESSION sql_select_limit = DEFAULT")
            self._in_force = None
        return cursor

    def _describe(self, query: str) -> tuple[tuple[str, ...], tuple[Family, ...]]:
        with self._link.cursor() as cursor:
            try:
                cursor.execute(f"SELECT * FROM (\n{query}\n) AS q LIMIT 0")  # noqa: S608  guarded
            except pymysql.err.Error as problem:
                if problem.args[:1] == (ER.DUP_FIELDNAME,):
                    reason = "two of its columns have the same name"
                    raise QueryMistakeError(reason, hint="name them apart with AS") from None
                raise
            fields = cursor._result.fields  # type: ignore[attr-defined]  # noqa: SLF001  the description lacks the charset
        told = [(field.type_code, field.charsetnr) for field in fields]
        self._types[query] = tuple(is_single(code) for code, _ in told)
        return tuple(field.name for field in fields), families(told)

    def _interrupt(self) -> None:
        with suppress(*self.errors):
            killer = self._connected(_CANCEL_SECONDS)
            try:
                killer.query(f"KILL QUERY {self._link.thread_id()}")  # type: ignore[no-untyped-call]
            finally:
                killer.close()

    def _hang_up(self) -> None:
        with suppress(OSError, AttributeError):
            self._link._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]  # noqa: SLF001  as in _open

    def _recover(self) -> None:
        """Find out whether the connection can go on; what is still on its way is not waited for."""
        result = getattr(self._link, "_result", None)
        if not self._link.open or (result is not None and result.unbuffered_active):
            self._lost = True
            self._cut()

    def _cut(self) -> None:
        """Drop the connection with the rest of a result, which PyMySQL would read to its end."""
        result = getattr(self._link, "_result", None)
        if result is not None:
            result.unbuffered_active = False
            self._link._result = None  # type: ignore[attr-defined]  # noqa: SLF001  as in _open
        self._link._force_close()  # type: ignore[attr-defined]  # noqa: SLF001  as in _open

    def _is_lost(self, problem: Exception) -> bool:
        return not self._link.open or is_lost(problem)

    def _meaning(self, problem: Exception) -> Trouble:
        return meaning(problem)

    def _shut(self) -> None:
        with suppress(*self.errors):
            self._cut()


def _widened(batch: list[RawRow], singles: frozenset[int]) -> list[RawRow]:
    if not singles:
        return batch
    return [
        tuple(
            Single(cell) if place in singles and isinstance(cell, float) else cell
            for place, cell in enumerate(row)
        )
        for row in batch
    ]
