"""Read SQLite files through the driver of the standard library, and name their state."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import struct
import time
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

from constat.catalog.connection import (
    LEFT_BEHIND,
    Parameter,
    QueryMistakeError,
    Question,
    RawRow,
    ReadBounds,
    SourceColumn,
    SourceFailureError,
    SourceTable,
    Stream,
    Whole,
    preparing,
)
from constat.catalog.file_tables import mark_of, settle
from constat.catalog.guard import FUNCTION_NAMES
from constat.catalog.interruptible import StuckError, Worker
from constat.catalog.keyed import (
    Comparand,
    Push,
    key_parameters,
    keyed_query,
    pushable,
    whole_query,
)
from constat.logic import Kind
from constat.logic.values import MAX_TEXT
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from constat.catalog.file_tables import Mark
    from constat.catalog.guard import Guarded
    from constat.catalog.row_streams import RowStreams
    from constat.evaluation import Demand
    from constat.logic import Row

# Whatever types the rows are stored in, each row that equals a key here is also found there. So a
# column is compared bare only where its declared type has made all stored values comparable (its
# affinity is known); otherwise it is cast, which finds at least as much: `CAST(x AS INTEGER)`
# turns `012`, `12` and 12.0 into 12. Reference: https://www.sqlite.org/datatype3.html


def choose_pushes(
    guarded: Guarded,
    tables: Mapping[str, SourceTable],
    demand: Demand,
    nulls_matter: Collection[int],
) -> tuple[Push, ...]:
    """Give the columns to send. `nulls_matter` are positions whose NULLs the caller must see."""
    kinds = demand.predicate.kinds
    found = []
    for place, position in enumerate(demand.columns):
        if not pushable(kinds[position], demand.keys, place):
            continue
        column = _column(guarded, tables, position)
        safe = column is not None and column.never_null and not guarded.joined
        nullable = position in nulls_matter and not safe
        comparand, besides = _comparand(kinds[position], column), NO_VALUES[kinds[position]]
        found.append(Push(position, comparand, nullable, besides=besides))
    return tuple(found)


# A cell has a type of its own, whatever is declared of its column. What may be no value comes too:
# `012` is one that does not have to, `8 pieces`, 5.5 and bytes are none.
_NO_INTEGER: Final = (
    "typeof({0}) = 'blob' OR typeof({0}) = 'real' AND {0} <> CAST({0} AS INTEGER)"
    " OR typeof({0}) = 'text' AND (length(CAST({0} AS BLOB)) NOT BETWEEN 1 AND 18"
    " OR {0} GLOB '*[^0-9]*' OR instr({0}, char(0)) > 0)"
)
NO_VALUES: Final = MappingProxyType(
    {
        Kind.NUMBER: _NO_INTEGER,
        Kind.UNSIGNED: f"{_NO_INTEGER} OR {{0}} < 0",
        Kind.SYMBOL: (
            "typeof({0}) NOT IN ('text', 'null') OR instr({0}, char(0)) > 0"
            f" OR length({{0}}) > {MAX_TEXT}"
        ),
    }
)


def _column(
    guarded: Guarded, tables: Mapping[str, SourceTable], position: int
) -> SourceColumn | None:
    stored = _stored(guarded, tables, position)
    return None if stored is None else stored[1]


def _stored(
    guarded: Guarded, tables: Mapping[str, SourceTable], position: int
) -> tuple[str, SourceColumn] | None:
    """Give the table and the stored column behind an output, where there is exactly one."""
    output = guarded.outputs[position] if guarded.outputs else None
    if output is None or not all(name in tables and tables[name].plain for name in output.tables):
        return None
    found = [
        (tables[name].name, column)
        for name in output.tables
        for column in tables[name].columns
        if column.name == output.column
    ]
    return found[0] if len(found) == 1 else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _comparand(kind: Kind, column: SourceColumn | None) -> Comparand:
    affinity = None if column is None else _affinity(column.declared)
    if kind is Kind.SYMBOL:
        return Comparand.BARE if affinity in {"TEXT", "BLOB"} else Comparand.AS_TEXT
    numeric = affinity in {"INTEGER", "REAL", "NUMERIC"}
    return Comparand.BARE if numeric else Comparand.AS_INTEGER


def _affinity(declared: str) -> str | None:
    """Give a column's affinity by the five rules; `None` for ANY, which depends on STRICT."""
    name = declared.upper()
    if name == "ANY":
        return None
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


# The same, or a little more, as is quickly looked for in all rows.
LOOKS: Final = MappingProxyType(
    {
        Kind.NUMBER: "({0} | 0) <> {0} COLLATE BINARY",
        Kind.UNSIGNED: "({0} | 0) <> {0} COLLATE BINARY OR {0} < 0",
        Kind.SYMBOL: NO_VALUES[Kind.SYMBOL],
    }
)


# When a process closes any descriptor of a file, POSIX drops all locks that the process has on
# that file, SQLite's among them, and writers would come in between two queries. So the files are
# looked at, never opened; the index of a write-ahead log is read through the descriptor that
# SQLite keeps. References: https://www.sqlite.org/howtocorrupt.html (2.2),
# https://www.sqlite.org/walformat.html (2.1).

_DESCRIPTORS: Final = Path("/dev/fd")
_INDEX_HEADER: Final = 48
# From the count of changes to the checksum and the salts of the log's last frame.
_IDENTITY: Final = slice(8, 40)
_FRAMES: Final = slice(16, 20)


def file_mark(path: Path) -> Mark | None:
    """Give what tells states of a file apart while nobody may write it."""
    try:
        return mark_of(path)
    except OSError:
        return None


def file_name(mark: Mark) -> str:
    """Name a state by the mark of a file that has no log, or that is locked against writers."""
    return f"file {_digest(mark)}"


def log_name(mark: Mark, header: bytes) -> str:
    """Name the state at the end of a log: the salts and the checksum stand for all its frames.

    With an empty log, the file itself is the state; nothing changes it but a log.
    """
    (frames,) = struct.unpack("=I", header[_FRAMES])
    if not frames:
        settle([mark])
    return f"log {_digest((mark[:2] if frames else mark, header[_IDENTITY]))}"


def log_header(path: Path) -> bytes | None:
    """Read what the index of the log says of its end; `None` where SQLite has none open.

    It stands there twice, so that a torn read is noticed.
    """
    try:
        wanted = mark_of(path.with_name(path.name + "-shm"))[:2]
        numbers = [int(one.name) for one in _DESCRIPTORS.iterdir()]
    except (OSError, ValueError):
        return None
    for number in numbers:
        content = _content(number, wanted)
        if content is not None:
            first, second = content[:_INDEX_HEADER], content[_INDEX_HEADER:]
            return first if first == second and len(first) == _INDEX_HEADER else None
    return None


def _content(number: int, wanted: tuple[int, ...]) -> bytes | None:
    """Read through a descriptor that is that file's before and after; other threads have theirs."""
    try:
        if not _is_of(number, wanted):
            return None
        content = os.pread(number, 2 * _INDEX_HEADER, 0)
        return content if _is_of(number, wanted) else None
    except OSError:
        return None


def _is_of(number: int, wanted: tuple[int, ...]) -> bool:
    about = os.fstat(number)
    return (about.st_dev, about.st_ino) == wanted


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


_Result = TypeVar("_Result")
_BATCH: Final = 1_000
_SECONDS_TO_LOOK: Final = 5.0
_STEPS_BETWEEN_CHECKS: Final = 20_000
_LONGEST_VALUE: Final = 64 << 20
_MOST_MEMORY: Final = 1 << 30
_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 0.01
FEW: Final = 20_000
"""Of so few rows it is not worth opening a DuckDB to read them by columns."""
_LEAST_BYTES_A_ROW: Final = 16
_SECONDS_TO_PREPARE: Final = 5.0
_MISTAKES: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_RANGE})
_HARMLESS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_OWN_FUNCTIONS: Final = frozenset({"json_each", "json_extract"})
# A view's author is the database's owner; what no reader may cause stays refused there too.
_NEVER: Final = frozenset({"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"})


# The last two: a journal that is deleted just now looks like one that a broken writer has left.
_LOCKED: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY_ROLLBACK,
        sqlite3.SQLITE_READONLY_RECOVERY,
    }
)


class _LockedError(SourceFailureError):
    """Another program is in the way."""


class SqliteConnection:
    """A read-only connection to one file; implements `Connection`."""

    dialect = "sqlite"
    most_keys = 5_000

    def __init__(self, path: Path, *, wait_seconds: float, immutable: bool = False) -> None:
        self._path = path
        self._wait = wait_seconds
        self._immutable = immutable
        self._own_words = False
        self._deadline = float("inf")
        self._seconds = _SECONDS_TO_PREPARE
        self._cancelled = False
        self._interrupted = False
        self._reading = False
        self._worker = Worker(self._stop, self._leave)
        self._cursor: sqlite3.Cursor | None = None
        self._version: tuple[object, ...] | None = None
        self._streams: RowStreams | None = None
        self._tables: tuple[int, Mapping[str, SourceTable]] | None = None
        self._looked_at: object = None
        self._strange: dict[str, bool] = {}
        self._row_numbers: set[tuple[str, str]] = set()
        self.snapshot: str | None = None
        self._locked: Mark | None = None
        self._file = _identity(path)
        if not path.is_file():
            raise SourceFailureError(f"there is no file {path.name}")
        mode = "&immutable=1" if immutable else ""
        try:
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?mode=ro{mode}",
                uri=True,
                timeout=wait_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as problem:
            raise _failure(problem) from None
        self._configure()

    def _configure(self) -> None:
        connection = self._connection
        # Bytes that are no UTF-8 become half surrogates, which no value may hold.
        connection.text_factory = _read_text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        # The memory is that of all SQLite connections of the process; a lower bound stays.
        bound = f"hard_heap_limit = {_MOST_MEMORY}"
        for pragma in ("query_only = ON", "trusted_schema = OFF", bound):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_progress_handler(self._is_late, _STEPS_BETWEEN_CHECKS)
        connection.set_authorizer(self._authorize)

    def replaced(self) -> bool:
        """Tell whether another file lies at the path now, or none; never while reading a state."""
        if self._worker.stuck:
            return not self._reading
        return not self._connection.in_transaction and _identity(self._path) != self._file

    def estimate(self, guarded: Guarded) -> float | None:
        """Guess from the largest row number of its tables how many rows a query gives."""
        known = self.tables()
        found = []
        for table in guarded.tables & known.keys():
            name = known[table].name.replace('"', '""')
            try:
                last = self._own(f'SELECT max(rowid) FROM "{name}"')  # noqa: S608  a name of the source, quoted
            except SourceFailureError:
                # A view, or a table without row numbers: the file says how many there can be.
                return self._most_rows()
            found.append(float(str(last[0] or 0)))
        return max(found, default=0.0)

    def _most_rows(self) -> float | None:
        try:
            return self._path.stat().st_size / _LEAST_BYTES_A_ROW
        except OSError:
            return None

    def stream(self, whole: Whole, bounds: ReadBounds) -> Stream | None:
        """Give all rows as an Arrow stream; `None` where they have to be read cell by cell."""
        if (self.estimate(whole.guarded) or 0) <= FEW:
            return None
        from constat.catalog.row_streams import RowStreams  # noqa: PLC0415  loaded when it is used

        if self._streams is None:
            self._streams = RowStreams()
        question = self.whole(whole.guarded, len(whole.kinds))
        read = partial(self.read, question, bounds)
        return self._streams.stream(whole, question.text, read, bounds.seconds)

    def begin(self) -> bool:
        """Start a read transaction; tells whether the file may have changed since the last one."""
        if self._worker.stuck:
            raise SourceFailureError(LEFT_BEHIND, "C0555")
        self._reading = True
        if self._connection.in_transaction:
            return False
        version = (*self._started(time.monotonic() + self._wait), self.snapshot)
        changed, self._version = version != self._version, version
        return changed

    def _started(self, until: float) -> tuple[object, ...]:
        """Start reading and name the state. What is read is one state, whatever its name."""
        for _ in range(_ATTEMPTS):
            before = log_header(self._path)
            version = self._fixed(until)
            logged = version[-1] == "wal" and not self._immutable
            self.snapshot = self._named(before, logged=logged)
            if self.snapshot is not None:
                return version
            self.release()
        version = self._fixed(until)
        # Somebody writes all the time: no other transaction's state has this name.
        self.snapshot = f"transaction of {now()}, {os.urandom(8).hex()}"
        return version

    def _fixed(self, until: float) -> tuple[object, ...]:
        """Begin a transaction and fix its state by reading, while others are in the way."""
        self._locked = None
        while True:
            try:
                # BEGIN alone reads nothing.
                self._own("BEGIN")
                return (
                    *self._own("SELECT count(*) FROM sqlite_master"),
                    *self._own("PRAGMA data_version"),
                    *self._own("PRAGMA schema_version"),
                    *self._own("PRAGMA journal_mode"),
                )
            except SourceFailureError as problem:
                self.release()
                # SQLite itself has waited for most locks, but gives up at once at some.
                if not isinstance(problem, _LockedError) or time.monotonic() > until:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def _named(self, before: bytes | None, *, logged: bool) -> str | None:
        """Name the state that is read; `None` where it was written, or replaced, just now."""
        header = log_header(self._path) if logged else None
        mark = file_mark(self._path)
        if mark is None or mark[:2] != self._file or (logged and header is None):
            return None
        if header is not None:
            return log_name(mark, header) if header == before else None
        # Whoever writes without a log waits for this transaction to end.
        settle([mark])
        self._locked = mark
        return file_name(mark)

    def release(self) -> None:
        """End the read transaction."""
        self._reading = False
        self._forget()
        if not self._worker.stuck and self._connection.in_transaction:
            self._own("ROLLBACK")

    def _forget(self) -> None:
        if self._streams is not None:
            self._streams.close()

    def tables(self) -> Mapping[str, SourceTable]:
        """Give tables and views, read anew when the schema has changed."""
        version = int(str(self._own("PRAGMA schema_version")[0]))
        if self._tables is None or self._tables[0] != version:
            # A virtual table is built on first use, in ways that no query may: build them here.
            self._own("SELECT count(*) FROM json_each('[]')")
            listed = self._own_rows("SELECT name, type, sql FROM sqlite_master")
            self._row_numbers.clear()
            found = {
                str(name).lower(): self._table(str(name), str(kind), str(sql))
                for name, kind, sql in listed
                if kind in {"table", "view"}
            }
            self._tables = version, found
        return self._tables[1]

    def look(self, statement: str, seconds: float) -> list[tuple[object, ...]]:
        """Run a statement of Constat's own about the tables, for so long at most."""
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        try:
            return self._own_rows(statement)
        finally:
            self._deadline = float("inf")

    @preparing()
    def columns(self, query: str) -> tuple[str, ...]:
        """Give the column names by preparing the query behind `LIMIT 0`."""
        self._seconds = _SECONDS_TO_PREPARE
        self._deadline = time.monotonic() + _SECONDS_TO_PREPARE
        try:
            statement = f"SELECT * FROM (\n{query}\n) LIMIT 0"  # noqa: S608  guarded
            cursor = self._executed(statement)
            return tuple(column[0] for column in cursor.description)
        except sqlite3.Error as problem:
            raise _trouble(problem, _SECONDS_TO_PREPARE) from None
        finally:
            self._end()

    def pushes(
        self, guarded: Guarded, demand: Demand, nulls_matter: Collection[int]
    ) -> tuple[Push, ...]:
        """Choose the columns to send by the affinities of the stored columns.

        A condition on the type of cells finds no rows by an index: where a table has no cell that
        is no value, nothing is said of them: unless that would tell of rows that are hidden.
        """
        tables = self.tables()
        found = choose_pushes(guarded, tables, demand, nulls_matter)
        if demand.only:
            return found
        kinds = demand.predicate.kinds
        return tuple(
            one
            if self._may_be_strange(_stored(guarded, tables, one.position), kinds[one.position])
            else replace(one, besides="")
            for one in found
        )

    def _may_be_strange(self, stored: tuple[str, SourceColumn] | None, kind: Kind) -> bool:
        """Tell whether a stored column has a cell that is no value; looked at once a state."""
        if stored is None:
            return True
        if kind is Kind.NUMBER and (stored[0], stored[1].name) in self._row_numbers:
            return False
        state = self._own("PRAGMA data_version")[0], self._tables and self._tables[0]
        if self._looked_at != state:
            self._looked_at = state
            self._strange.clear()
        condition = LOOKS[kind].format(f"t.{_quoted(stored[1].name)}")
        asked = f"SELECT EXISTS (SELECT 1 FROM {_quoted(stored[0])} AS t WHERE {condition})"  # noqa: S608  names of the source, quoted
        if asked not in self._strange:
            try:
                self._strange[asked] = self.look(asked, _SECONDS_TO_LOOK) != [(0,)]
            except (SourceFailureError, QueryMistakeError):
                return True
        return self._strange[asked]

    @staticmethod
    def keyed(
        guarded: Guarded, arity: int, pushes: Sequence[Push], keys: Sequence[Row]
    ) -> Question:
        """Ask for one key by its values, for many by a JSON text."""
        single = len(keys) == 1
        query = keyed_query(guarded, arity, pushes, single=single)
        return Question(query, key_parameters(keys, single=single))

    @staticmethod
    def whole(guarded: Guarded, arity: int) -> Question:
        """Ask for all rows."""
        return Question(whole_query(guarded, arity))

    def read(self, question: Question, bounds: ReadBounds) -> Iterator[list[RawRow]]:
        """Run a query; raises `SourceFailureError` at its bounds, after what came before them."""
        self._seconds, self._worker.patience = bounds.seconds, bounds.patience
        self._deadline = time.monotonic() + bounds.seconds
        self._cancelled = False
        left = bounds.rows
        batch: list[RawRow] = []
        try:
            cursor = self._executed(question.text, question.parameters)
            while True:
                batch = []
                # Unlike `fetchmany`, this keeps the rows that came before an interruption.
                self._run(partial(batch.extend, islice(cursor, _BATCH)))
                self._check_locked()
                if not batch:
                    return
                if len(batch) > left:
                    yield batch[:left]
                    batch = []
                    raise SourceFailureError(f"it gives more than {bounds.rows} rows", "C0522")
                left -= len(batch)
                yield batch
        except (sqlite3.Error, sqlite3.Warning) as problem:
            if batch:
                yield batch
            if self._cancelled:
                raise SourceFailureError("it was cancelled", "C0521") from None
            raise _trouble(problem, seconds=bounds.seconds) from None
        finally:
            self._end()

    def _check_locked(self) -> None:
        """Tell of a program that writes the file without SQLite, past its locks."""
        present = None if self._locked is None else file_mark(self._path)
        if present is not None and present[:2] == self._file and present != self._locked:
            raise SourceFailureError("its file changed while it was read", "C0542")

    def cancel(self) -> None:
        """Interrupt the running query."""
        self._cancelled = True
        if not self._worker.stuck:
            self._connection.interrupt()

    def close(self) -> None:
        """Close the connection, unless a query is still running on it."""
        self._forget()
        if not self._worker.stuck:
            self._connection.close()
        self._worker.close()

    def _executed(self, text: str, parameters: Sequence[Parameter] = ()) -> sqlite3.Cursor:
        cursor = self._cursor = self._connection.cursor()
        self._run(lambda: cursor.execute(text, parameters))
        return cursor

    def _end(self) -> None:
        """End a query, of which nothing more is read."""
        self._deadline = float("inf")
        if not self._worker.stuck and self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def _run(self, work: Callable[[], _Result]) -> _Result:
        """Let SQLite work where Ctrl-C cannot meet its callbacks, which would swallow it."""
        left = self._deadline - time.monotonic()
        try:
            return self._worker.run(work, left)
        except StuckError:
            seconds = self._seconds
            raise SourceFailureError(f"it did not finish within {seconds:g} s", "C0521") from None
        except MemoryError:
            reason = f"it needs more than {_MOST_MEMORY >> 20:,} MB of memory"
            raise SourceFailureError(reason, "C0522") from None
        finally:
            self._interrupted = self._worker.stuck

    def _stop(self) -> None:
        # Interrupted before it has begun, a statement runs: so the callback is told as well.
        self._interrupted = True
        self._connection.interrupt()

    def _leave(self) -> None:
        """Close behind a query that was left behind: its transaction would keep writers out."""
        if self._cursor is not None:
            self._cursor.close()
        self._connection.close()

    def _is_late(self) -> int:
        return int(self._interrupted or time.monotonic() > self._deadline)

    def _authorize(
        self, action: int, _: str | None, second: str | None, __: str | None, view: str | None
    ) -> int:
        if self._own_words or action in _HARMLESS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second is not None:
            name = second.lower()
            known = name in FUNCTION_NAMES or name in _OWN_FUNCTIONS
            if known or (view is not None and name not in _NEVER):
                return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _own(self, statement: str) -> tuple[object, ...]:
        rows = self._own_rows(statement)
        return rows[0] if rows else ()

    def _own_rows(
        self, statement: str, parameters: tuple[str, ...] = ()
    ) -> list[tuple[object, ...]]:
        """Run a statement of this module, to which the rules for queries do not apply."""
        self._own_words = True
        try:
            return self._run(lambda: self._connection.execute(statement, parameters).fetchall())
        except sqlite3.Error as problem:
            raise _failure(problem) from None
        finally:
            self._own_words = False

    def _table(self, name: str, kind: str, sql: str) -> SourceTable:
        # A view that is broken has no columns to tell; the query that needs it says why.
        try:
            found = self._own_rows(
                'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?)', (name,)
            )
        except SourceFailureError:
            found = []
        plain = kind == "table" and not sql.lstrip().upper().startswith("CREATE VIRTUAL")
        integer_key = sum(bool(pk) for *_, pk in found) == 1
        # What counts rows holds integers alone: not so in tables without, or if it counts downward.
        if plain and integer_key and not re.search(r"\b(WITHOUT|DESC)\b", sql, re.IGNORECASE):
            self._row_numbers |= {
                (name, str(column).lower())
                for column, declared, _, pk in found
                if pk and str(declared).upper() == "INTEGER"
            }
        columns = tuple(
            SourceColumn(
                str(column).lower(),
                str(declared),
                bool(required) or (bool(pk) and integer_key and str(declared).upper() == "INTEGER"),
            )
            for column, declared, required, pk in found
        )
        return SourceTable(name, columns, plain)


def _identity(path: Path) -> tuple[int, int] | None:
    mark = file_mark(path)
    return None if mark is None else mark[:2]


def _read_text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _trouble(
    problem: sqlite3.Error | sqlite3.Warning, seconds: float = 0
) -> SourceFailureError | QueryMistakeError:
    code = getattr(problem, "sqlite_errorcode", None)
    if isinstance(problem, sqlite3.ProgrammingError | sqlite3.Warning):
        return QueryMistakeError("the query has parameters, or is more than one statement")
    if code == sqlite3.SQLITE_AUTH:
        return QueryMistakeError("the query does something that is not allowed", "C0516")
    if code in _MISTAKES:
        return QueryMistakeError(f"SQLite says: {str(problem)[:200]}")
    return _failure(problem, seconds)


def _failure(problem: sqlite3.Error | sqlite3.Warning, seconds: float = 0) -> SourceFailureError:
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return SourceFailureError(f"it did not finish within {seconds:g} s", "C0521")
    full = getattr(problem, "sqlite_errorcode", 0)
    kind = _LockedError if code in _LOCKED or full in _LOCKED else SourceFailureError
    return kind(f"SQLite says: {str(problem)[:200]}")
