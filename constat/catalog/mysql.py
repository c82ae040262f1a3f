"""Read MySQL and MariaDB through PyMySQL: types, errors, queries."""

from __future__ import annotations

import re
import socket
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pymysql
from pymysql import converters
from pymysql.constants import CR, ER, FIELD_TYPE, FLAG
from pymysql.cursors import Cursor, SSCursor
from pymysql.protocol import MysqlPacket

from constat.catalog.connection import (
    QueryMistakeError,
    Single,
    SourceColumn,
    SourceFailureError,
    SourceTable,
    Spelled,
)
from constat.catalog.keyed import Comparand, Compared, Family, typed_question, typed_whole
from constat.catalog.server_reading import ServerConnection, Trouble, driver_text
from constat.frozen import frozen
from constat.logic import Kind
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from constat.catalog.connection import (
        Parameter,
        Question,
        RawRow,
        ReadBounds,
        Stream,
        Whole,
    )
    from constat.catalog.drivers import Target
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.logic import Row

_NUMERIC: Final = frozenset({
    FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG,
    FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE, FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL,
})  # fmt: skip
_TEXT: Final = frozenset({
    FIELD_TYPE.VARCHAR, FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.BLOB,
    FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB, FIELD_TYPE.ENUM,
    FIELD_TYPE.SET,
})  # fmt: skip
# The character set of bytes.
_BINARY: Final = 63


def is_single(code: int) -> bool:
    """Tell whether a column holds floats of 32 bits."""
    return code == FIELD_TYPE.FLOAT


# Where a server orders cells as values are ordered here, and which cells are no values. Whole
# numbers without a sign may be beyond 64 bits with one; letters are ordered by a collation, and
# found by an equality that includes ours.
_SIGNED: Final = frozenset({
    FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG,
})  # fmt: skip
_DECIMALS: Final = frozenset({FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL})
_MOST_DIGITS: Final = 38
_NO_DAY: Final = "{0} < '0001-01-01' OR MONTH({0}) = 0 OR DAYOFMONTH({0}) = 0"


@frozen
class OutputColumn:
    """What the server says of an output column: its type, its width, a sign, and never NULL."""

    code: int
    letters: int
    signed: bool
    width: int
    filled: bool

    def compared(self, kind: Kind) -> Compared | None:
        """Say how the column is compared with values of a kind; `None` where it is not."""
        whole = self.code in _SIGNED and self.signed
        match kind:
            case Kind.NUMBER if whole:
                return Compared()
            case Kind.FLOAT if self.code == FIELD_TYPE.DOUBLE or (
                whole and self.code != FIELD_TYPE.LONGLONG
            ):
                return Compared()
            case Kind.DECIMAL if self.code in _DECIMALS and self.width <= _MOST_DIGITS:
                # Compared with a text it would be a float.
                return Compared("CAST(? AS DECIMAL(65,30))")
            case Kind.DATE if self.code == FIELD_TYPE.DATE:
                return Compared("CAST(? AS DATE)", _NO_DAY)
            case Kind.SYMBOL if _family(self.code, self.letters) is Family.TEXT:
                return Compared(ordered=False)
            case _:
                return None

    def form(self, kind: Kind) -> str | None:
        """Name the form in which cells come as columns; `None` where they come one by one."""
        whole = self.code in _SIGNED and self.signed
        match kind:
            case Kind.NUMBER if whole:
                return "int8"
            case Kind.FLOAT if self.code == FIELD_TYPE.DOUBLE:
                return "float8"
            case Kind.DECIMAL if self.code in _DECIMALS:
                return "digits"
            case Kind.DATE if self.code == FIELD_TYPE.DATE:
                return "date"
            case Kind.SYMBOL if _family(self.code, self.letters) is Family.TEXT:
                return "text"
            case _:
                return None


def families(columns: Iterable[OutputColumn]) -> tuple[Family, ...]:
    """Give what each column can be compared with."""
    return tuple(
        Family.SIGNED if one.code in _SIGNED and one.signed else _family(one.code, one.letters)
        for one in columns
    )


def _family(code: int, letters: int) -> Family:
    if code in _NUMERIC:
        return Family.NUMERIC
    return Family.TEXT if code in _TEXT and letters != _BINARY else Family.OTHER


def _date(text: str) -> date | Spelled:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return Spelled(text)


def _moment(text: str) -> datetime | Spelled:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return Spelled(text)


DECODERS: Final[Mapping[Any, Any]] = MappingProxyType({
    **{kind: one for kind, one in converters.conversions.items() if not isinstance(kind, int)},
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR,
        ),
        int,
    ),
    FIELD_TYPE.DOUBLE: float,
    FIELD_TYPE.DECIMAL: Decimal,
    FIELD_TYPE.NEWDECIMAL: Decimal,
    FIELD_TYPE.DATE: _date,
    FIELD_TYPE.DATETIME: _moment,
    FIELD_TYPE.TIMESTAMP: _moment,
    # Spelled as the server does, and no text: a float with six digits, a time of day, JSON.
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.TIME, FIELD_TYPE.JSON), Spelled),
})  # fmt: skip
"""How PyMySQL turns parameters into literals, and cells into values."""


# Messages of the server hold values, addresses and accounts; only the number is told, and the
# column that the query names.

_NO_COLUMN: Final = re.compile(r"Unknown column '([^'\s]{1,120})'")
# Numbers stand here for what PyMySQL has no name for: mostly MariaDB's own errors.
_CLOSED: Final = frozenset({
    CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_SERVER_LOST_EXTENDED,
    ER.SERVER_SHUTDOWN, ER.NEW_ABORTING_CONNECTION, 1927, 4031,
})  # fmt: skip
_STOPPED: Final = frozenset({ER.QUERY_INTERRUPTED, 1028, 1969, 3024})
_MIXED: Final = frozenset({ER.CANT_AGGREGATE_2COLLATIONS, ER.CANT_AGGREGATE_3COLLATIONS,
                           ER.CANT_AGGREGATE_NCOLLATIONS})  # fmt: skip
_MIXED_REASON: Final = ("C0520", "it compares texts of different collations; cast them")
_TURNED_AWAY: Final[Mapping[int, tuple[str, str]]] = MappingProxyType({
    ER.ACCESS_DENIED_ERROR: ("C0554", "the server does not accept the account"),
    1698: ("C0554", "the server does not accept the account"),
    ER.DBACCESS_DENIED_ERROR: (
        "C0554", "the server has no such database, or not for this account"
    ),
    ER.BAD_DB_ERROR: ("C0554", "the server has no such database, or not for this account"),
    ER.TABLEACCESS_DENIED_ERROR: ("C0554", "the account may not read what the query reads"),
    ER.COLUMNACCESS_DENIED_ERROR: ("C0554", "the account may not read what the query reads"),
    **dict.fromkeys(_MIXED, _MIXED_REASON),
    ER.CON_COUNT_ERROR: ("C0553", "the server has no connection to spare"),
    CR.CR_CONN_HOST_ERROR: ("C0553", "the server cannot be reached"),
    CR.CR_CONNECTION_ERROR: ("C0553", "the server cannot be reached"),
})  # fmt: skip
_WRITES: Final = frozenset({1792, ER.OPTION_PREVENTS_STATEMENT})
# Syntax, unknown names, wrong numbers of columns or arguments.
_MISTAKES: Final = frozenset({
    ER.PARSE_ERROR, ER.NO_SUCH_TABLE, ER.SP_DOES_NOT_EXIST, ER.NON_UNIQ_ERROR,
    ER.WRONG_NUMBER_OF_COLUMNS_IN_SELECT, ER.OPERAND_COLUMNS, ER.MIX_OF_GROUP_FUNC_AND_FIELDS,
    ER.WRONG_FIELD_WITH_GROUP, ER.INVALID_GROUP_FUNC_USE, ER.UNKNOWN_TABLE, ER.NONUNIQ_TABLE,
    1582, ER.WRONG_COLUMN_NAME, ER.VIEW_WRONG_LIST,
})  # fmt: skip


def number_of(problem: Exception) -> int:
    """Give the number of an error; 0 where it has none."""
    found = problem.args[0] if problem.args else 0
    return found if isinstance(found, int) else 0


def is_lost(problem: Exception) -> bool:
    """Tell whether the server, or the way to it, is gone."""
    return isinstance(problem, pymysql.err.InterfaceError) or number_of(problem) in _CLOSED


def meaning(problem: Exception) -> Trouble:
    """Give the error to raise."""
    number = number_of(problem)
    told = f"the server says: error {number}"
    if number in _STOPPED:
        return SourceFailureError("the query was stopped", "C0521")
    if number in _TURNED_AWAY:
        code, reason = _TURNED_AWAY[number]
        return SourceFailureError(reason, code)
    if number in _WRITES:
        return QueryMistakeError("the query writes, and it may only read", "C0516")
    if number == ER.BAD_FIELD_ERROR:
        found = _NO_COLUMN.search(str(problem.args[-1]))
        return QueryMistakeError(f"no such column: {found[1]}" if found else told)
    if is_lost(problem):
        return SourceFailureError("the server closed the connection", "C0555")
    if number in _MISTAKES:
        return QueryMistakeError(told)
    return SourceFailureError(told if number else f"the driver says: {type(problem).__name__}")


_BATCH: Final = 1_000
_PACKETS: Final = 50_000
# What a number takes as a text, at most.
_BYTES_OF_FIELD: Final = 24
# How packets begin that are no rows; one that is full goes on in the next.
_ERROR: Final = b"\xff"
_END: Final = b"\xfe"
_LONGEST_END: Final = 9
_WHOLE_PACKET: Final = (1 << 24) - 1
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
_EACH_ALONE: Final = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
_BEGIN_LATER: Final = "START TRANSACTION READ ONLY"
_CHANGED: Final = "a table was emptied, replaced or renamed while its state was read"
_TABLES: Final = """
    SELECT t.table_schema, t.table_name, t.table_type, t.engine,
           c.column_name, c.column_type, c.is_nullable, c.character_set_name
    FROM information_schema.tables t
    LEFT JOIN information_schema.columns c
        ON c.table_schema = DATABASE() AND c.table_name = t.table_name
    WHERE t.table_schema = DATABASE() AND t.table_type <> 'SEQUENCE'
    ORDER BY t.table_name, c.ordinal_position
"""
_UNIQUE: Final = """
    SELECT index_name, column_name FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND lower(table_name) = lower(%s) AND non_unique = 0
"""
_ENGINES: Final = """
    SELECT count(*) FROM information_schema.tables
    WHERE table_schema = DATABASE() AND engine <> 'InnoDB'
"""
# A table's number is its own as long as it lives, but it may get columns; only who has the right
# PROCESS sees it.
_NUMBERS: Final = """
    SELECT lower(substring_index(name, '/', -1)), concat(table_id, ' ', n_cols)
    FROM information_schema.{table} WHERE name LIKE concat(DATABASE(), '/%') ORDER BY 1, 2
"""
# A table that a transaction has opened keeps its name until the end; the snapshot is not taken
# before a row is read, of which there is none here.
_OPEN_ALL: Final = "SET STATEMENT lock_wait_timeout = 1 FOR {tables}"
_OPEN_ONE: Final = "(SELECT 1 FROM {name} LIMIT 0)"
_MOST_OPENED: Final = 1_000
_REFUSED: Final = frozenset({
    ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR, ER.NO_SUCH_TABLE, 1356,
})  # fmt: skip
_LISTED: Final = """
    SELECT table_name, DATABASE() FROM information_schema.tables WHERE table_schema = DATABASE()
"""
_VIEWS: Final = """
    SELECT lower(table_name), view_definition, DATABASE() FROM information_schema.views
    WHERE table_schema = DATABASE() ORDER BY 1
"""
# What a view reads, as the server spells it, and functions of a database's own.
_VIEW_READS: Final = re.compile(r"\b(?:from|join)\s*\(*`((?:[^`]|``)+)`\.`", re.IGNORECASE)
_OWN_FUNCTION: Final = re.compile(r"`\.`(?:[^`]|``)+`\(")


@frozen
class _Names:
    """What names stand for: tables by what tells them apart, views by their definitions."""

    tables: Mapping[str, tuple[object, ...]]
    views: Mapping[str, object]

    def of(self, asked: frozenset[str] | None) -> object:
        """Give what some names stand for; all, where one is a view or is not known."""
        if asked is None or not asked <= self.tables.keys():
            return self.tables, self.views
        return {name: self.tables[name] for name in asked}


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
        self._outputs_told: dict[str, tuple[OutputColumn, ...]] = {}
        self._held: _Names | None = None
        self._listed: tuple[_Names | None, Mapping[str, SourceTable]] | None = None
        self._kept: frozenset[str] | None = None
        self._unclear: frozenset[str] = frozenset()
        self._compared: set[frozenset[str] | None] = set()
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
        outputs = self._outputs(guarded, arity)
        return typed_whole(guarded, arity, outputs=outputs)

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
        self._compared.clear()
        self._kept, self._held = None, self._stood_for(at_first=True)
        with self._unlimited() as cursor:
            if self._held is not None:
                cursor.execute(_BEGIN)
            elif not self._keep_names(cursor):
                self._link.rollback()
                cursor.execute(_EACH_ALONE)
                cursor.execute(_BEGIN_LATER)
            since = now()
            cursor.execute(_ENGINES)
            ((others,),) = cursor.fetchall()
        unnamed = others or (self._held is None and self._kept is None)
        self.snapshot = None if unnamed else f"repeatable read since {since}"

    def _stood_for(self, *, at_first: bool = False) -> _Names | None:
        """Tell what names stand for now; at first `None` where a change could not be seen."""
        with self._unlimited() as cursor:
            cursor.execute(_VIEWS)
            views = cursor.fetchall()
            rows = self._numbers(cursor)
        if rows is None or (at_first and not all(map(_is_plain, views))):
            return None
        tables: dict[str, tuple[object, ...]] = {}
        for name, told in rows:
            # A table in parts has a number for each.
            whole = str(name).partition("#p#")[0]
            tables[whole] = (*tables.get(whole, ()), name, told)
        return _Names(tables, {name: definition for name, definition, _ in views})

    def _keep_names(self, cursor: Cursor) -> bool:
        """Begin, with all tables and views open before the snapshot; tells whether they are."""
        if not self._is_mariadb(self._link):
            return False
        cursor.execute(_LISTED)
        listed = list(cursor.fetchall())
        if len(listed) > _MOST_OPENED:
            return False
        problem = self._opened(cursor, listed)
        if problem in _REFUSED:
            # What is broken, or not for this account, is left out: it cannot be read either.
            listed = [one for one in listed if self._opened(cursor, [one]) not in _REFUSED]
            problem = self._opened(cursor, listed)
        if problem:
            return False
        cursor.execute(_VIEWS)
        self._kept = frozenset(_spelled(listed))
        unclear = [(view[0], view[2]) for view in cursor.fetchall() if not _is_plain(view)]
        self._unclear = frozenset(_spelled(unclear))
        return True

    def _opened(self, cursor: Cursor, listed: Sequence[tuple[Any, ...]]) -> int:
        """Begin, and open tables in one statement; gives the number of the error, or 0."""
        self._link.rollback()
        cursor.execute(_BEGIN_LATER)
        names = ["`" + str(name).replace("`", "``") + "`" for name, _ in listed]
        tables = " UNION ALL ".join(_OPEN_ONE.format(name=name) for name in names)
        try:
            cursor.execute(_OPEN_ALL.format(tables=tables or "SELECT 1"))
        except self.errors as problem:
            if self._is_lost(problem):
                raise
            return number_of(problem)
        return 0

    def _numbers(self, cursor: Cursor) -> Sequence[tuple[Any, ...]] | None:
        table = "innodb_sys_tables" if self._is_mariadb(self._link) else "innodb_tables"
        try:
            cursor.execute(_NUMBERS.format(table=table))
        except pymysql.err.OperationalError as problem:
            if problem.args[:1] == (ER.SPECIFIC_ACCESS_DENIED_ERROR,):
                return None
            raise
        # A database whose name is spelled in another way there shows nothing.
        return cursor.fetchall() or None

    def _compare(self, asked: frozenset[str] | None) -> None:
        """Raise `SourceFailureError` where a name stands for something else than at first."""
        if self._kept is not None:
            if asked is None:
                asked = frozenset(_spelled(self._told(_LISTED)))
            if not asked <= self._kept:
                raise SourceFailureError(_CHANGED, "C0542")
            if asked & self._unclear:
                self.snapshot = None
        if self._held is None or asked in self._compared:
            return
        found = self._stood_for()
        if found is None or found.of(asked) != self._held.of(asked):
            raise SourceFailureError(_CHANGED, "C0542")
        self._compared.add(asked)

    def _end(self) -> None:
        self._link.rollback()

    def _rows(self, question: Question, bounds: ReadBounds) -> Generator[list[RawRow]]:
        self._limit(bounds)
        text, parameters = driver_text(question, "format")
        cursor = self._link.cursor(SSCursor)
        try:
            yield from self._fetched(cursor, text, parameters)
            cut = cursor.warning_count and self._cut_short()
            cursor.close()
        finally:
            # Where not all was read the cursor would wait for the rest when it is collected.
            cursor._result = None  # type: ignore[attr-defined]  # noqa: SLF001  as in _open
        if cut:
            # The rows that came may be false: nothing of them is used.
            raise QueryMistakeError(_CUT, hint="cast to types that hold every value")
        self._compare(question.tables)

    def _in_columns(self, whole: Whole, question: Question, bounds: ReadBounds) -> Stream | None:
        """Read all rows into columns, from the packets in which they come."""
        told = self._outputs_told.get(whole.guarded.text, ())
        forms = [one.form(kind) for one, kind in zip(told, whole.kinds, strict=False)]
        if len(forms) != len(whole.kinds) or None in forms:
            return super()._in_columns(whole, question, bounds)
        from constat.catalog.row_streams import FORMS, fetched  # noqa: PLC0415  loaded when it is used

        rows = partial(self._packets, question, bounds)
        batches = partial(self._batched, rows, bounds, partial(_letters, len(forms)))
        named = [FORMS[one] for one in forms if one is not None]

        def read() -> Iterator[Mapping[str, Any]]:
            with closing(batches()) as found:
                for batch in found:
                    yield fetched(batch, named)

        return self._streaming().copied(whole, named, question, read, bounds)

    def _packets(self, question: Question, bounds: ReadBounds) -> Generator[list[bytes]]:
        """Run a query and yield its rows as they come over the wire."""
        self._limit(bounds)
        text, parameters = driver_text(question, "format")
        cursor = self._link.cursor(SSCursor)
        try:
            cursor.execute(text, parameters)
            result = cursor._result  # type: ignore[attr-defined]  # noqa: SLF001  as in _open
            packets = iter(partial(_packet, self._link, result), None)
            while batch := list(islice(packets, _PACKETS)):
                yield batch
            cut = result.warning_count and self._cut_short()
            cursor.close()
        finally:
            cursor._result = None  # type: ignore[attr-defined]  # noqa: SLF001  as in _open
        if cut:
            raise QueryMistakeError(_CUT, hint="cast to types that hold every value")
        self._compare(question.tables)

    def _fetched(
        self, cursor: SSCursor, text: str, parameters: Sequence[Parameter] | None
    ) -> Generator[list[RawRow]]:
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
                return
            yield _widened(batch, singles)

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
        """Ask for tables and columns, unless names stand for what they did when that was asked.

        Whether a column may be NULL is none of what is kept: a table may stay the same while that
        changes.
        """
        if self._listed is not None and self._listed[0] == self._held:
            return self._listed[1]
        found = self._all_tables()
        # Of tables that are no InnoDB's nobody sees that they are others now.
        is_known = self._held is not None and self.snapshot is not None
        self._listed = (self._held, found) if is_known else None
        return found

    def _may_be_null(self, guarded: Guarded, column: int) -> bool:
        told = self._outputs_told.get(guarded.text)
        if told is None or not told[column].filled:
            return True
        return super()._may_be_null(guarded, column)

    def _all_tables(self) -> Mapping[str, SourceTable]:
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
        for name in self._held.tables.keys() - found.keys() if self._held else ():
            # While a table gets another name the list lacks both; the query itself will tell.
            self._narrow = True
            found[name] = SourceTable(name, (), plain=False)
        return found

    def _told(
        self, statement: str, parameters: Sequence[Parameter] | None = None
    ) -> list[tuple[object, ...]]:
        with self._unlimited() as cursor:
            cursor.execute(statement, parameters)
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
        self._types[query] = tuple(is_single(field.type_code) for field in fields)
        told = self._outputs_told[query] = tuple(
            OutputColumn(
                field.type_code,
                field.charsetnr,
                not field.flags & FLAG.UNSIGNED,
                field.length,
                bool(field.flags & FLAG.NOT_NULL),
            )
            for field in fields
        )
        return tuple(field.name for field in fields), families(told)

    def _comparison(self, query: str, column: int, kind: Kind) -> Compared | None:
        self.tables()
        if kind is Kind.SYMBOL and self._narrow:
            # A letter that a column cannot hold is an error there, and no difference.
            return None
        return self._outputs_told[query][column].compared(kind)

    def _unique(self, table: str) -> Sequence[frozenset[str]]:
        found: dict[str, set[str]] = {}
        with self._unlimited() as cursor:
            cursor.execute(_UNIQUE, (table,))
            for index, column in cursor.fetchall():
                found.setdefault(index, set()).add(str(column).lower())
        # What a collation keeps apart, or the beginning of a text, differs as a whole.
        return [frozenset(columns) for columns in found.values()]

    def _interrupt(self) -> None:
        number = self._link.thread_id()  # type: ignore[no-untyped-call]
        with suppress(*self.errors):
            killer = self._connected(_CANCEL_SECONDS)
            try:
                killer.query(f"KILL QUERY {number}")
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
        if problem.args[:1] == (ER.TABLE_DEF_CHANGED,):
            return SourceFailureError(_CHANGED, "C0542")
        if problem.args[:1] == (ER.NO_SUCH_TABLE,) and self._reading:
            self._compared.discard(None)
            try:
                self._bounded(lambda: self._compare(None))
            except SourceFailureError as changed:
                return changed
            except self.errors:
                return meaning(problem)
        return meaning(problem)

    def _shut(self) -> None:
        with suppress(*self.errors):
            self._cut()


def _packet(link: _Link, result: Any) -> bytes | None:  # noqa: ANN401  the driver's own
    """Give the next row; `None` behind the last, as the driver would have noted it."""
    data: bytes = b""
    while True:
        header = link._read_bytes(4)  # type: ignore[attr-defined]  # noqa: SLF001  there is no other way
        size = int.from_bytes(header[:3], "little")
        link._next_seq_id = (header[3] + 1) % 256  # type: ignore[attr-defined]  # noqa: SLF001  as above
        data += link._read_bytes(size)  # type: ignore[attr-defined]  # noqa: SLF001  as above
        if size < _WHOLE_PACKET:
            break
    if data[:1] == _ERROR:
        result.unbuffered_active = False
        MysqlPacket(data, link.encoding).raise_for_error()
    if data[:1] == _END and len(data) < _LONGEST_END:
        result.warning_count = int.from_bytes(data[1:3], "little")
        result.unbuffered_active = False
        return None
    return data


def _letters(fields: int, batch: list[bytes]) -> int:
    """Count about what the texts of some rows hold."""
    return max(0, sum(map(len, batch)) - len(batch) * fields * _BYTES_OF_FIELD)


def _spelled(listed: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Give the names of tables as a query may name them."""
    for name, database in listed:
        yield from (str(name).lower(), f"{database}.{name}".lower())


def _is_plain(view: tuple[Any, ...]) -> bool:
    """Tell whether a view can be seen to read tables of its own database alone."""
    _, definition, database = view
    text = str(definition or "")
    return set(_VIEW_READS.findall(text)) == {database} and not _OWN_FUNCTION.search(text)


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
