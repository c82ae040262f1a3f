"""Read PostgreSQL through psycopg: types, errors, queries."""

from __future__ import annotations

import os
import re
import socket
import struct
from contextlib import closing, suppress
from dataclasses import field, replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import capabilities
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from constat.catalog.connection import (
    NO_VALUE,
    NotPlacedError,
    QueryMistakeError,
    Question,
    ReadBounds,
    Shown,
    Single,
    SourceColumn,
    SourceFailureError,
    SourceTable,
    Spelled,
)
from constat.catalog.keyed import Compared, Family, query_name, query_prefix, ranged, typed_whole
from constat.catalog.plain_query import recognised
from constat.catalog.server_reading import (
    ServerConnection,
    Trouble,
    driver_text,
    of_one_table,
)
from constat.frozen import slotted
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

    from psycopg.abc import Buffer

    from constat.catalog.connection import (
        Parameter,
        RawRow,
        Stream,
        Whole,
    )
    from constat.catalog.drivers import Target
    from constat.catalog.guard import Guarded
    from constat.catalog.keyed import Push
    from constat.evaluation import Demand
    from constat.project.settings import Asker

_BOOL, _BYTEA, _INT8, _INT2, _INT4, _FLOAT4, _FLOAT8, _NUMERIC = 16, 17, 20, 21, 23, 700, 701, 1700
_CHAR, _NAME, _TEXT, _BPCHAR, _VARCHAR, _UUID = 18, 19, 25, 1042, 1043, 2950
_DATE, _TIMESTAMP, _TIMESTAMPTZ = 1082, 1114, 1184
_FAMILIES: Final[Mapping[int, Family]] = MappingProxyType(
    {
        **dict.fromkeys((_INT2, _INT4, _INT8), Family.SIGNED),
        **dict.fromkeys((_FLOAT4, _FLOAT8, _NUMERIC), Family.NUMERIC),
        **dict.fromkeys((_TEXT, _BPCHAR, _VARCHAR), Family.TEXT),
        **dict.fromkeys((_CHAR, _NAME, _UUID), Family.CAST),
    }
)
# psycopg reads these exactly: integers, floats of 64 bits, decimals, truth values, bytes.
_AS_THEY_ARE: Final = frozenset({_BOOL, _BYTEA, _INT2, _INT4, _INT8, _FLOAT8, _NUMERIC})
_NO_TYPE: Final = 0
# The forms in which COPY sends columns (`row_streams.FORMS`); those that are cast come as texts.
_COPIED: Final = MappingProxyType(
    {
        _INT2: "int2",
        _INT4: "int4",
        _INT8: "int8",
        _FLOAT4: "float4",
        _FLOAT8: "float8",
        _BOOL: "bool",
        _DATE: "date",
        _TIMESTAMP: "timestamp",
        _TIMESTAMPTZ: "timestamp",
        **dict.fromkeys((_TEXT, _VARCHAR, _BPCHAR, _NAME, _CHAR, _UUID), "text"),
        _NUMERIC: "digits",
    }
)
_CAST: Final = frozenset({_NUMERIC, _NAME, _CHAR, _UUID})
_MOST_DIGITS: Final = 38
_LONGEST_TEXT: Final = 1 << 20
_PLACES: Final = 12
_WHOLE_DIGITS: Final = 26
_NAN: Final = "{0} = 'NaN'"
_BEYOND: Final = "abs({0}) >= 1e26 OR scale({0}) > 12"
# NaN is the greatest of all floats there.
_BEYOND_FLOATS: Final = "{0} >= 'Infinity'"
_BELOW_FLOATS: Final = "{0} = '-Infinity'"
_NO_FLOAT: Final = f"{_BEYOND_FLOATS} OR {_BELOW_FLOATS}"
# A row whose cell is none ends the query, unless other columns leave it out before. That rests on
# the cell: else the planner would compute it, and of the clock it would merge no common table.
_ENDS: Final = f"concat('constat: {NO_VALUE}', left({{0}}::text, 0))"
_FINITE: Final = "abs({0}) < 'Infinity'"
_MINDED: Final = f"CASE WHEN {_FINITE} THEN {{0}} + '0'::float8 ELSE {_ENDS}::float8 END"
_MINDED_ROW: Final = f"CASE WHEN {_FINITE} THEN true ELSE {_ENDS}::boolean END"
_NO_YEAR: Final = "{0} < '0001-01-01' OR {0} >= '10000-01-01'"
# The exact form of a column with which the server computes, and which of its cells are none.
# A letter has four bytes at most.
_SHORT: Final = _LONGEST_TEXT // 4
_LONG: Final = f"octet_length({{0}}) > {_LONGEST_TEXT}"
_EXACT: Final = MappingProxyType(
    {
        (Kind.NUMBER, _INT8): ("{0}", ""),
        **{(Kind.NUMBER, one): ("{0}::int8", "") for one in (_INT2, _INT4)},
        **{(Kind.FLOAT, one): ("{0}::float8", "") for one in (_INT2, _INT4)},
        # There is one zero.
        (Kind.FLOAT, _FLOAT8): ("({0} + '0'::float8)", _NO_FLOAT),
        **{(Kind.DECIMAL, one): ("{0}::numeric", "") for one in (_INT2, _INT4, _INT8)},
        **{(Kind.SYMBOL, one): ('{0}::text COLLATE "C"', _LONG) for one in (_TEXT, _VARCHAR)},
        (Kind.SYMBOL, _UUID): ('{0}::text COLLATE "C"', ""),
        (Kind.BOOL, _BOOL): ("CASE WHEN {0} THEN 'true' ELSE 'false' END COLLATE \"C\"", ""),
        (Kind.DATE, _DATE): ('{0}::text COLLATE "C"', _NO_YEAR),
    }
)
_RESULTS: Final = MappingProxyType(
    {Kind.NUMBER: "int8", Kind.FLOAT: "float8", Kind.DECIMAL: "digits"}
)
# Letters are ordered by a collation, and found by an equality that includes ours.
_COMPARED: Final = MappingProxyType(
    {
        **{(Kind.NUMBER, one): Compared() for one in (_INT2, _INT4, _INT8)},
        **{(Kind.FLOAT, one): Compared("?::float8") for one in (_INT2, _INT4)},
        **{
            (Kind.FLOAT, one): Compared(
                "?::float8", _NO_FLOAT, above=_BELOW_FLOATS, below=_BEYOND_FLOATS
            )
            for one in (_FLOAT4, _FLOAT8)
        },
        **{(Kind.SYMBOL, one): Compared(ordered=False) for one in (_TEXT, _VARCHAR, _BPCHAR)},
        (Kind.DATE, _DATE): Compared("?::date", _NO_YEAR),
        (Kind.TIMESTAMP, _TIMESTAMP): Compared("?::timestamp", _NO_YEAR),
        (Kind.TIMESTAMP, _TIMESTAMPTZ): Compared("?::timestamptz", _NO_YEAR),
    }
)


@slotted
class Names:
    """The types that a database has made itself: enumerations, `citext`, and others.

    `exact` where the server stores text without an encoding, so that it may be no UTF-8.
    """

    exact: bool = False
    labels: set[int] = field(default_factory=set)
    folding: set[int] = field(default_factory=set)
    other: set[int] = field(default_factory=set)

    def unknown(self, types: Iterable[int]) -> list[int]:
        """Give the types of which nothing has been heard."""
        known = self.labels | self.folding | self.other
        return [one for one in dict.fromkeys(types) if one >= _FIRST_OWN and one not in known]

    def add(self, asked: Iterable[int], told: Iterable[tuple[Any, ...]]) -> None:
        """Remember what was asked and what the server told: number, enumeration, `citext`."""
        self.other.update(asked)
        for number, is_enumeration, is_citext in told:
            if is_enumeration or is_citext:
                self.other.discard(number)
                (self.labels if is_enumeration else self.folding).add(number)


_FIRST_OWN: Final = 16_384


def families(types: Sequence[int], names: Names) -> tuple[Family, ...]:
    """Give what each column can be compared with."""
    return tuple(_family(one, names) for one in types)


def _family(number: int, names: Names) -> Family:
    if number in names.labels:
        # As text: a key that is no label would be an error, and it is simply not there.
        return Family.CAST
    if number in names.folding:
        return Family.TEXT
    return _FAMILIES.get(number, Family.OTHER)


def teach(link: psycopg.Connection[Any], names: Names) -> None:
    """Tell a connection how cells become values here."""
    adapters = link.adapters
    strange = _foreign(names)
    for known in {one.oid for one in adapters.types} | {one.array_oid for one in adapters.types}:
        if known not in _AS_THEY_ARE:
            adapters.register_loader(known, strange)
    adapters.register_loader(_NO_TYPE, strange)
    text = _AnyText if names.exact else TextLoader
    for number in (_TEXT, _VARCHAR, _BPCHAR, _NAME, _CHAR, _UUID):
        adapters.register_loader(number, text)
    adapters.register_loader(_FLOAT4, _Single)
    adapters.register_loader(_DATE, _Date)
    adapters.register_loader(_TIMESTAMP, _Moment)
    adapters.register_loader(_TIMESTAMPTZ, _Moment)


def _decoded(data: Buffer) -> str:
    # Bytes that are no UTF-8 become half surrogates, which no value may hold.
    return bytes(data).decode("utf-8", "surrogateescape")


class _AnyText(Loader):
    def load(self, data: Buffer) -> str:
        return _decoded(data)


class _Single(Loader):
    def load(self, data: Buffer) -> Single:
        # The shortest text of a 32 bit float names it among those, and not among 64 bit floats.
        value = float(bytes(data))
        return Single(struct.unpack("f", struct.pack("f", value))[0])


class _Date(Loader):
    def load(self, data: Buffer) -> date | Spelled:
        text = _decoded(data)
        try:
            return date.fromisoformat(text)
        except ValueError:
            return Spelled(text)


class _Moment(Loader):
    def load(self, data: Buffer) -> datetime | Spelled:
        text = _decoded(data)
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return Spelled(text)


def _foreign(names: Names) -> type[Loader]:
    class Foreign(Loader):
        """Reads labels and `citext` as text; anything else is no text, however it is spelled."""

        def load(self, data: Buffer) -> str:
            text = _decoded(data)
            known = self.oid in names.labels or self.oid in names.folding
            return text if known else Spelled(text)

    return Foreign


# Messages of the server hold values, addresses and accounts; only the condition behind the
# SQLSTATE is told, and the column that the query itself names.

_NO_COLUMN: Final = re.compile(r'column "?([^"\s]{1,120})"? does not exist')
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLOSED: Final = ("08", "57P")
_WRITES: Final = "25006"
# How queries that Constat wrote end where a value cannot be had (`sql.postgres`).
_NO_TRUTH: Final = "22P02"
_OWN_FAILURE: Final = re.compile(r'"constat: ([a-zA-Z0-9^ ]{1,60})"')
_UNREACHABLE: Final = (
    ("password", "C0554", "the server does not accept the account"),
    ("authentication", "C0554", "the server does not accept the account"),
    ("pg_hba.conf", "C0554", "the server does not accept the account from here"),
    ("role ", "C0554", "the server does not accept the account"),
    ("database ", "C0554", "the server has no such database, or not for this account"),
    ("too many", "C0553", "the server has no connection to spare"),
    ("starting up", "C0553", "the server is starting"),
    ("shutting down", "C0553", "the server is shutting down"),
    ("timeout", "C0553", "the server did not answer in time"),
)


def is_lost(problem: Exception) -> bool:
    """Tell whether the server, or the way to it, is gone."""
    state = problem.sqlstate if isinstance(problem, psycopg.Error) else None
    if state is not None:
        return state.startswith(_CLOSED)
    return isinstance(problem, psycopg.OperationalError)


def meaning(problem: Exception) -> Trouble:
    """Give the error to raise."""
    state = problem.sqlstate if isinstance(problem, psycopg.Error) else None
    if not isinstance(problem, psycopg.Error) or state is None:
        return _without_state(problem)
    own = _OWN_FAILURE.search(problem.diag.message_primary or "") if state == _NO_TRUTH else None
    told = f"PostgreSQL says: {own[1] if own else _condition(state)} ({state})"
    if state == "57014":
        return SourceFailureError("the query was stopped", "C0521")
    if state == _WRITES:
        return QueryMistakeError("the query writes, and it may only read", "C0516")
    if state == "42501":
        return SourceFailureError("the account may not read what the query reads", "C0554")
    if state == "42703":
        found = _NO_COLUMN.search(problem.diag.message_primary or "")
        return QueryMistakeError(f"no such column: {found[1]}" if found else told)
    if state.startswith("28"):
        return SourceFailureError("the server does not accept the account", "C0554")
    if state.startswith(_CLOSED):
        return SourceFailureError("the server closed the connection", "C0555")
    # What a query says wrongly is a mistake; what it meets in the data is not.
    return QueryMistakeError(told) if state.startswith("42") else SourceFailureError(told)


def _without_state(problem: Exception) -> Trouble:
    """Explain what did not come from the server's own mouth: mostly that it was not reached."""
    if isinstance(problem, psycopg.OperationalError):
        said = str(problem).lower()
        for word, code, reason in _UNREACHABLE:
            if word in said:
                return SourceFailureError(reason, code)
        return SourceFailureError("the server cannot be reached", "C0553")
    if isinstance(problem, psycopg.ProgrammingError):
        return SourceFailureError("the driver does not accept the uri or the query", "C0553")
    return SourceFailureError(f"the driver cannot read it ({type(problem).__name__})")


def _condition(state: str) -> str:
    """Give the name of a condition in words: `UndefinedFunction` is `undefined function`."""
    try:
        name = psycopg.errors.lookup(state).__name__
    except KeyError:
        return "an error"
    return _CAPITAL.sub(" ", name).lower()


_BATCH: Final = 1_000
_COPY_BATCH: Final = 50_000
# What a row and a field of the binary form hold besides texts.
_BYTES_OF_ROW: Final = 2
_BYTES_OF_FIELD: Final = 12
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
# Before the savepoint, so that what is told lasts as long as the transaction.
_BEGIN_FOR: Final = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TELL: Final = "SELECT set_config(%s, %s, true)"
_SAVE: Final = "SAVEPOINT constat"
_TIMEOUT: Final = "SET LOCAL statement_timeout = {};"
# Quoted names differ in the case of their letters, and a query's names are known without it: all
# tables are looked at that may be meant.
_SECURED: Final = """
    SELECT c.relkind::text, row_security_active(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE lower(c.relname) = %(name)s OR lower(n.nspname || '.' || c.relname) = %(name)s
"""
_CLUSTER: Final = "SELECT system_identifier::text FROM pg_control_system()"
_TABLES: Final = """
    SELECT n.nspname, c.relname, c.relkind::text, pg_table_is_visible(c.oid),
           a.attname, format_type(a.atttypid, a.atttypmod),
           a.attnotnull AND (c.relkind <> 'r' OR NOT c.relhassubclass)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
      AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
    ORDER BY n.nspname, c.relname, a.attnum
"""
# Rows of tables that inherit are rows of the parent's, and no index of its knows of them.
_UNIQUE: Final = """
    SELECT i.indexrelid::int8, lower(a.attname) FROM pg_index i
    JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
    WHERE lower(c.relname) = %s AND pg_table_is_visible(c.oid)
      AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (c.relkind = 'p' OR NOT c.relhassubclass)
      AND (SELECT count(*) = 1 FROM pg_class o
           WHERE lower(o.relname) = lower(c.relname) AND pg_table_is_visible(o.oid))
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
    most_keys = 50_000

    def __init__(self, target: Target, seconds: float) -> None:
        self._cluster: str | None = None
        self._names = Names()
        self._in_force: int | None = None
        self._compared: set[str] = set()
        self._types: dict[str, tuple[int, ...]] = {}
        self._digits: dict[str, tuple[int | None, ...]] = {}
        self._places: dict[str, tuple[int | None, ...]] = {}
        self._letters: dict[str, tuple[int | None, ...]] = {}
        self._shown: dict[str, Shown] = {}
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

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send; many keys are arrays, which the server reads as a table."""
        found = super().pushes(guarded, demand, nulls_matter)
        return tuple(replace(one, array=self._array(guarded, demand, one)) for one in found)

    def _array(self, guarded: Guarded, demand: Demand, push: Push) -> str:
        if demand.predicate.kinds[push.position] is not Kind.SYMBOL:
            return "bigint"
        # Cast to text, padded letters would lose their blanks.
        padded = self._types[guarded.text][push.position] == _BPCHAR
        return "bpchar" if padded else "text"

    def _start(self) -> None:
        self._compared.clear()
        self._shown.clear()
        begin = _BEGIN
        if self._target.asker is not None:
            self._tell(self._target.asker)
            begin = _SAVE
        # Together, since each statement is a way to the server and back: what limited the last
        # query will do for the next one, too.
        limit = _TIMEOUT.format(self._in_force) if self._in_force else ""
        cursor = self._link.execute(f"{begin}; {limit}{_STATE}".encode())
        while cursor.nextset():
            pass
        snapshot, database, foreign = cursor.fetchone() or ("", "", True)
        name = f"cluster {self._cluster}, database {database}, snapshot {snapshot}"
        self.snapshot = None if foreign else name

    def _tell(self, asker: Asker) -> None:
        """Begin a transaction, and tell the server for whom: until its end, and in no text."""
        self._link.execute(_BEGIN_FOR)
        if asker.setting:
            self._link.execute(_TELL, (asker.setting, asker.value))
        if asker.role:
            self._link.execute(_TELL, ("role", asker.role))

    def shown(self, guarded: Guarded) -> Shown:
        """Tell what of a query's answer row security leaves, for whoever asks now."""
        if guarded.text not in self._shown:
            self._shown[guarded.text] = self._timed(lambda: self._left(guarded))
        return self._shown[guarded.text]

    def _left(self, guarded: Guarded) -> Shown:
        hidden = False
        for name in guarded.tables:
            found = self._link.execute(_SECURED, {"name": name.lower()}).fetchall()
            # A view may ask who asks, and a table of another server may have rules of its own.
            if not found or any(kind not in {"r", "p", "m"} for kind, _ in found):
                return Shown.OTHER
            hidden = hidden or any(active for _, active in found)
        if not hidden:
            return Shown.ALL
        # Fewer rows of one table are true rows; sums and absences over them say something else.
        return Shown.OTHER if recognised(guarded.text) is None else Shown.ROWS

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

    def _in_columns(self, whole: Whole, question: Question, bounds: ReadBounds) -> Stream | None:
        """Read all rows by COPY, in the state that is read."""
        types = self._types.get(whole.guarded.text, ())
        forms = [self._form(one) for one in types]
        if self._names.exact or not forms or None in forms:
            return None
        from constat.catalog.row_streams import FORMS, unpacked  # noqa: PLC0415  loaded when it is used

        cast = {n for n, one in enumerate(types) if one in _CAST}
        outputs = [f"c{n}::text" if n in cast else f"c{n}" for n in range(len(types))]
        plain = typed_whole(whole.guarded, len(types), outputs=outputs)
        question = ranged(plain, self._told_ranges(whole))
        rows = partial(self._copied, question, bounds)
        batches = partial(self._batched, rows, bounds, partial(_letters, len(types)))
        named = [FORMS[one] for one in forms if one is not None]

        def read() -> Iterator[Mapping[str, Any]]:
            with closing(batches()) as found:
                for batch in found:
                    yield unpacked(batch, named)

        return self._streaming().copied(whole, named, question, read, bounds)

    def _unique(self, table: str) -> Sequence[frozenset[str]]:
        found: dict[int, set[str]] = {}
        for index, column in self._link.execute(_UNIQUE, (table,)).fetchall():
            found.setdefault(index, set()).add(column)
        return [frozenset(columns) for columns in found.values()]

    def _comparison(self, query: str, column: int, kind: Kind) -> Compared | None:
        number = self._types[query][column]
        if kind is Kind.DECIMAL and number == _NUMERIC:
            # Exact numbers without a width may have more digits than a value.
            few = (self._digits[query][column] or _MOST_DIGITS + 1) <= _MOST_DIGITS
            return Compared("?::numeric", _NAN if few else _BEYOND)
        return _COMPARED.get((kind, number))

    def placed(self, whole: Whole, seconds: float, *, cheaply: bool) -> tuple[str, bool]:
        """Write the query that gives all rows in exact forms, as a set.

        Tell as well whether it only chooses among the rows of one table. Raises `NotPlacedError`
        where there is none. The user's query is no common table: PostgreSQL would not merge what
        has one with the query around it.
        """
        if self.snapshot is None:
            raise NotPlacedError("tables of other servers are not read in one state")
        if self._link.info.parameter_status("server_encoding") != "UTF8":
            raise NotPlacedError("the texts of its database are not stored as UTF-8")
        guarded = whole.guarded
        listed, _, there = self._forms(whole)
        before, name = query_prefix(guarded, len(whole.kinds)), query_name(guarded)
        kept = f" WHERE {' AND '.join(there)}" if there else ""
        if not whole.distinct and not self._sets_apart(whole):
            if cheaply:
                raise NotPlacedError("no index keeps its rows apart")
            key = ", ".join(f"c{one}" for one in whole.key or range(len(whole.kinds)))
            twice = f"SELECT 1 FROM {name}{kept} GROUP BY {key} HAVING count(*) > 1"  # noqa: S608  ours
            if self._finds(before + twice, seconds):
                raise NotPlacedError("rows of it come twice, or a key does")
        return _placed(whole, listed, there), not whole.distinct and self._is_plain(guarded)

    def minded(self, whole: Whole, read: Collection[int]) -> tuple[str, frozenset[int]]:
        """As `placed`; a cell of a column of floats that is none ends the query."""
        listed, wrong, there = self._forms(whole)
        places = [
            one
            for one in sorted(read)
            if wrong[one] == [_NO_FLOAT.format(f"c{one}")] and f"c{one} IS NOT NULL" not in there
        ]
        for place in places:
            listed[place] = f"{_MINDED.format(f'c{place}')} AS c{place}"
        # Also of a row of which nobody reads the cell in the end.
        there += [_MINDED_ROW.format(f"c{place}") for place in places]
        return _placed(whole, listed, there), frozenset(places)

    def _is_plain(self, guarded: Guarded) -> bool:
        """Tell whether a query chooses among the rows of one table: of a view nobody knows."""
        known = [self.tables().get(one) for one in guarded.tables]
        # A name that is not quoted is the one in small letters.
        return recognised(guarded.text) is not None and all(
            one is not None and one.plain and one.name in guarded.tables for one in known
        )

    def doubted(self, whole: Whole, read: Collection[int], seconds: float) -> str:
        """Say what is wrong with cells of columns that are read; "" where all are exact values."""
        _, wrong, there = self._forms(whole)
        doubts = [one for place in sorted(read) for one in wrong[place]]
        if not doubts:
            return ""
        both = " AND ".join([*there, f"({' OR '.join(doubts)})"])
        before = query_prefix(whole.guarded, len(whole.kinds))
        rows = f"{before}SELECT 1 FROM {query_name(whole.guarded)}"  # noqa: S608  ours
        found = self._finds(f"{rows} WHERE {both}", seconds)
        return f"a cell of its rows is NULL, or {NO_VALUE}" if found else ""

    def _forms(self, whole: Whole) -> tuple[list[str], list[list[str]], list[str]]:
        """Give the exact form of each column, which cells are none, and which rows are left out."""
        guarded = whole.guarded
        if guarded.text not in self._types:
            self.columns(guarded.text)
        listed: list[str] = []
        wrong: list[list[str]] = []
        there: list[str] = []
        for place, kind in enumerate(whole.kinds):
            value, besides = self._exact(guarded.text, place, kind)
            listed.append(f"{value} AS c{place}")
            wrong.append([besides] if besides else [])
            if not self._may_be_null(guarded, place):
                continue
            if whole.policies[place] == "skip":
                there.append(f"c{place} IS NOT NULL")
            else:
                wrong[place].append(f"c{place} IS NULL")
        return listed, wrong, there

    def _finds(self, query: str, seconds: float) -> bool:
        """Tell whether a query has a row; of one state it is asked once."""
        if query not in self._answered:
            question = Question(f"SELECT EXISTS (\n{query}\n)")
            rows = [row for batch in self.read(question, ReadBounds(seconds, 1)) for row in batch]
            self._answered[query] = rows != [(False,)]
        return self._answered[query]

    def _sets_apart(self, whole: Whole) -> bool:
        """Tell whether an index keeps two rows of one key apart, or of one value in all columns."""
        guarded = whole.guarded
        outputs = [of_one_table(guarded, one) for one in range(len(whole.kinds))]
        # What is no column may give several rows for one, and a common table may have any name.
        if None in outputs or "with" in guarded.text.casefold():
            return False
        # An index lets NULL come any number of times.
        key = [
            one
            for one in whole.key or range(len(outputs))
            if whole.policies[one] == "skip" or not self._may_be_null(guarded, one)
        ]
        columns = {one.column for n, one in enumerate(outputs) if one is not None and n in key}
        (table,) = guarded.tables
        return any(one <= columns for one in self._kept_apart(table))

    def _exact(self, query: str, place: int, kind: Kind) -> tuple[str, str]:
        """Give the exact form of a column, and which of its cells are none."""
        number, name = self._types[query][place], f"c{place}"
        exact = _EXACT.get((kind, number))
        if exact is not None:
            short = number == _VARCHAR and 0 < (self._letters[query][place] or 0) <= _SHORT
            return exact[0].format(name), "" if short else exact[1].format(name)
        if kind is Kind.DECIMAL and number == _NUMERIC:
            digits, places = self._digits[query][place], self._places[query][place]
            fits = (
                digits is not None
                and places is not None
                and 0 <= places <= _PLACES
                and digits - places <= _WHOLE_DIGITS
            )
            return name, (_NAN if fits else _BEYOND).format(name)
        if kind is Kind.SYMBOL and number in self._names.labels:
            return f'{name}::text COLLATE "C"', ""
        raise NotPlacedError(
            f"its column {place + 1} has a type with which PostgreSQL does not compute as a "
            f"{kind.value} exactly"
        )

    def results(
        self, query: str, kinds: Sequence[Kind], bounds: ReadBounds
    ) -> Iterator[Mapping[str, object]]:
        """Run a query of Constat's own over placed relations, and yield its rows as arrays."""
        from constat.catalog.row_streams import FORMS, unpacked  # noqa: PLC0415  loaded when it is used

        forms = [FORMS[_RESULTS.get(one, "text")] for one in kinds]
        rows = partial(self._copied, Question(query), bounds)
        for batch in self._batched(rows, bounds, partial(_letters, len(forms))):
            yield unpacked(batch, forms)

    def _form(self, number: int) -> str | None:
        return "text" if number in self._names.labels | self._names.folding else _COPIED.get(number)

    def _copied(self, question: Question, bounds: ReadBounds) -> Generator[list[bytes]]:
        """Yield rows in the binary form of COPY."""
        self._limit(bounds.seconds)
        text, parameters = driver_text(question, "format")
        statement = f"COPY (\n{text}\n) TO STDOUT (FORMAT binary)"
        with self._link.cursor() as cursor, cursor.copy(statement.encode(), parameters) as copy:
            rows = map(bytes, copy)
            while batch := list(islice(rows, _COPY_BATCH)):
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
        least = round(seconds * 1_000) + 1_000
        if self._in_force is None or not least <= self._in_force <= least + 1_000:
            self._link.execute(_TIMEOUT.format(least + 500).encode())
            self._in_force = least + 500

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

    def _told(
        self, statement: str, parameters: Sequence[Parameter] | None = None
    ) -> list[tuple[object, ...]]:
        return self._link.execute(statement.encode(), parameters).fetchall()

    def _describe(self, query: str) -> tuple[tuple[str, ...], tuple[Family, ...]]:
        prepared = f"SELECT * FROM (\n{query}\n) AS q LIMIT 0"  # noqa: S608  guarded
        cursor = self._link.execute(prepared.encode())
        columns = cursor.description or []
        types = [column.type_code for column in columns]
        self._learn(types)
        self._types[query] = tuple(types)
        self._digits[query] = tuple(column.precision for column in columns)
        self._places[query] = tuple(column.scale for column in columns)
        self._letters[query] = tuple(column.display_size for column in columns)
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


def _placed(whole: Whole, listed: Sequence[str], there: Sequence[str]) -> str:
    """Select columns of the user's query, which is no common table: see `placed`."""
    distinct = "DISTINCT " if whole.distinct else ""
    columns = ", ".join(f"c{one}" for one in range(len(whole.kinds)))
    source = f"(\n{whole.guarded.text}\n) AS {query_name(whole.guarded)}({columns})"
    kept = f" WHERE {' AND '.join(there)}" if there else ""
    return f"SELECT {distinct}{', '.join(listed)} FROM {source}{kept}"  # noqa: S608  ours


def _letters(fields: int, batch: list[bytes]) -> int:
    """Count about what the texts of some rows hold."""
    plain = len(batch) * (_BYTES_OF_ROW + fields * _BYTES_OF_FIELD)
    return max(0, sum(map(len, batch)) - plain)


def shut_down(number: int) -> None:
    """End both directions of a socket that another thread may be waiting for."""
    with socket.socket(fileno=os.dup(number)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
