"""Results of queries, kept in files with an index for each column.

In: the rows of a settled query, and what they depend on. Out: rows by key, in thousandths of a
second. Invariants: a file appears whole or not at all, and a name stands for one whole file at
every moment, whoever writes it; it is on the disk when `keep` returns; a file that is not ours, is
damaged or of another version is an error and never rows. What is kept is a copy: it says on what
it depends, and whoever reads it has to compare that with the present state. Example:
`MaterializedStore(state).find("is_vip(?c)")`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager, nullcontext
from dataclasses import field, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import committing
from constat.frozen import frozen
from constat.logic import Kind, MadeBy, NullCell, NullPolicy, Value, format_value, parse_value
from constat.store.answers import failures
from constat.store.replacing import Scratch
from constat.store.state_file import LOCKS, Form, StateFile, alone, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from constat.logic import Row

# What sources said, and when: the record that goals are proved "as of" a time from.
#
# Invariants: nothing is overwritten, an answer that changed is recorded beside the old one, and
# one that did not change is not recorded again; what `add` has returned survives a crash of the
# machine; an answer is there whole or not at all, and one whose text is not what was written is
# never given out. The oldest leave where the record would grow beyond its age or its size.

FILE_NAME: Final = "recorded.sqlite"
MOST_BYTES: Final = 1 << 30
_KEYS_AT_ONCE: Final = 10_000
_SCHEMA: Final = """
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    predicate TEXT NOT NULL, shape TEXT NOT NULL, pattern TEXT NOT NULL, source TEXT NOT NULL,
    keys INTEGER NOT NULL, rows INTEGER NOT NULL, recorded_at TEXT NOT NULL,
    content TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE INDEX by_time ON answers (recorded_at, id, size);
CREATE TABLE keys (
    predicate TEXT NOT NULL, shape TEXT NOT NULL, pattern TEXT NOT NULL, key TEXT NOT NULL,
    answer INTEGER NOT NULL, answered INTEGER NOT NULL,
    PRIMARY KEY (predicate, shape, pattern, key, answer)
) WITHOUT ROWID;
CREATE INDEX by_answer ON keys (answer)
"""
# Rows of a source are for those who may read it.
_FORM: Final = Form("record of answers", 0x434E5352, 1, tuple(_SCHEMA.split(";")))
_LISTED: Final = "id, predicate, pattern, source, keys, rows, recorded_at, size"


@frozen
class FreshRecord:
    """An answer to record: `keys` tells of each key whether the answer says all about it.

    `shape` is the declaration that the texts fit, `content` what stays the same when nothing but
    times has changed.
    """

    predicate: str
    shape: str
    pattern: str
    source: str
    keys: dict[str, bool]
    rows: int
    content: str
    body: str = field(repr=False)


@frozen
class Recorded:
    """An answer in the record. `body` is missing in lists.

    `answered` tells whether it says all about the key that it was found for.
    """

    id: int
    predicate: str
    pattern: str
    source: str
    keys: int
    rows: int
    recorded_at: str
    size: int
    body: str = field(default="", repr=False)
    whole: bool = True
    answered: bool = True


class RecordStore:
    """The record of a project, in one file of its state folder. Nothing is created by reading.

    Raises `AnswerStoreError` where the file cannot be used.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)
        self._most = most_bytes

    def add(self, fresh: Sequence[FreshRecord], moment: str, oldest: str = "") -> int:
        """Record what has changed, all of it or nothing; gives how many answers that is.

        What was recorded before `oldest` leaves.
        """
        if not fresh:
            return 0
        with failures(), self._file.writing() as connection:
            added = sum(_insert_answer(connection, one, moment) for one in fresh)
            self._make_room(connection, oldest)
            return added

    def patterns(self, predicate: str, shape: str) -> tuple[str, ...]:
        """Give the patterns that something is recorded for."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                "SELECT DISTINCT pattern FROM keys WHERE predicate = ? AND shape = ?",
                (predicate, shape),
            )
            return tuple(str(one) for (one,) in rows)

    def find(
        self, place: tuple[str, str, str], keys: Sequence[str], moment: str
    ) -> dict[str, Recorded]:
        """Give for each key the last answer up to a time, complete ones before others.

        `place` is predicate, shape and pattern. The last is the one recorded last, whatever the
        clock said: it may have been set back between two answers.
        """
        with self._reading() as connection:
            if connection is None:
                return {}
            found: dict[str, tuple[int, int]] = {}
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = json.dumps(keys[start : start + _KEYS_AT_ONCE])
                found.update(
                    (key, (number, answered))
                    for key, number, answered in connection.execute(
                        "SELECT key, answer, answered FROM keys JOIN answers ON id = answer"
                        " WHERE keys.predicate = ? AND keys.shape = ? AND keys.pattern = ?"
                        " AND key IN (SELECT value FROM json_each(?)) AND recorded_at <= ?"
                        " ORDER BY answered, id",
                        (*place, some, moment),
                    )
                )
            numbers = {number for number, _ in found.values()}
            answers = {number: _read_answer(connection, number) for number in numbers}
            return {
                key: replace(answers[number], answered=bool(answered))
                for key, (number, answered) in found.items()
            }

    def list(self, predicate: str | None = None) -> tuple[Recorded, ...]:
        """Give what is recorded, without its text, in the order of predicates and recording."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                f"SELECT {_LISTED} FROM answers WHERE ? IS NULL OR predicate = ?"  # noqa: S608  a constant
                " ORDER BY predicate, pattern, id",
                (predicate, predicate),
            )
            return tuple(Recorded(*row) for row in rows)

    def forget(self, before: str, predicate: str | None = None) -> int:
        """Remove what was recorded before a time; gives how many answers."""
        if not self.path.exists():
            return 0
        with failures(), self._file.writing() as connection:
            condition = "recorded_at < ? AND (? IS NULL OR predicate = ?)"
            return _delete(connection, condition, (before, predicate, predicate))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with failures(), self._file.reading() as connection:
            yield connection

    def _make_room(self, connection: sqlite3.Connection, oldest: str) -> None:
        """Let the oldest go: those before a time, then as many as the size asks for."""
        _delete(connection, "recorded_at < ?", (oldest,))
        (used,) = connection.execute("SELECT coalesce(sum(size), 0) FROM answers").fetchone()
        surplus = used - self._most
        leaving = []
        for number, size in connection.execute("SELECT id, size FROM answers ORDER BY id"):
            if surplus <= 0:
                break
            surplus -= size
            leaving.append(number)
        _delete(connection, "id IN (SELECT value FROM json_each(?))", (json.dumps(leaving),))


def _insert_answer(connection: sqlite3.Connection, fresh: FreshRecord, moment: str) -> int:
    """Record an answer unless the last one about the same keys says the same; gives 1 or 0."""
    place = (fresh.predicate, fresh.shape, fresh.pattern)
    keys = list(fresh.keys)
    last = connection.execute(
        "SELECT DISTINCT content, keys FROM answers WHERE id IN (SELECT max(answer) FROM keys"
        " WHERE predicate = ? AND shape = ? AND pattern = ?"
        " AND key IN (SELECT value FROM json_each(?)) GROUP BY key)",
        (*place, json.dumps(keys)),
    ).fetchall()
    if last == [(fresh.content, len(keys))]:
        return 0
    size = len(fresh.body.encode()) + sum(map(len, keys))
    (number,) = connection.execute(
        "INSERT INTO answers (predicate, shape, pattern, source, keys, rows, recorded_at, content,"
        " digest, size, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            *(*place, fresh.source, len(keys), fresh.rows, moment, fresh.content),
            *(_digest(fresh.body), size, fresh.body),
        ),
    ).fetchone()
    connection.executemany(
        "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)",
        [(*place, key, number, int(answered)) for key, answered in fresh.keys.items()],
    )
    return 1


def _read_answer(connection: sqlite3.Connection, number: int) -> Recorded:
    row = connection.execute(
        f"SELECT {_LISTED}, digest, body FROM answers WHERE id = ?",  # noqa: S608  a constant
        (number,),
    ).fetchone()
    *about, digest, body = row
    return replace(Recorded(*about), body=str(body), whole=digest == _digest(str(body)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _delete(connection: sqlite3.Connection, condition: str, values: Sequence[object]) -> int:
    """Remove answers with their keys; the condition is one of this module."""
    chosen = f"SELECT id FROM answers WHERE {condition}"  # noqa: S608  conditions of this module
    connection.execute(f"DELETE FROM keys WHERE answer IN ({chosen})", values)  # noqa: S608
    return connection.execute(f"DELETE FROM answers WHERE {condition}", values).rowcount  # noqa: S608


# Results of queries, kept in files with an index for each column.

FOLDER: Final = "materialized"
PASSED: Final = "passed"
_APPLICATION: Final = 0x434E534D  # "CNSM"
_VERSION: Final = 1
_WITH_LABELS: Final = 2
"""The version of a file in which cells are labels: a program that knows none refuses it."""
_BATCH: Final = 20_000
_NATIVE: Final = frozenset({Kind.NUMBER, Kind.FLOAT})


@frozen
class KeptResult:
    """What is kept of a query: its columns with their kinds, and what it depends on.

    `version` names the rules and the configuration, `states` the state of each external predicate.
    `check` is `PASSED` where the rows were counted again from the rules and were the same, else why
    they were not. With `labels` some rows hold unknown values (semantics 26a).
    """

    query: str
    columns: tuple[tuple[str, Kind], ...]
    rows: int
    created: str
    version: str
    states: tuple[tuple[str, str], ...]
    check: str = ""
    labels: bool = False

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the columns."""
        return tuple(kind for _, kind in self.columns)


class ReplacedError(ConstatError):
    """Another result has taken the place of the one that was found."""


class MaterializedStore:
    """The kept results of one project."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def keep(self, result: KeptResult, rows: Iterable[Row]) -> KeptResult:
        """Keep rows under the query, in place of what was kept; gives the result with their count.

        Raises `ConstatError` where they cannot be written.
        """
        target = self._path(result.query)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with Scratch(self._folder, hidden=True) as place:
                made = place.path / target.name
                count = _write(made, result, rows)
                _flush(made)
                with self._in_turn(), committing():
                    made.replace(target)
            _flush(self._folder)
        except (OSError, sqlite3.Error) as problem:
            raise _failure(target, "written", problem) from None
        return replace(result, rows=count)

    def judge(self, result: KeptResult, check: str) -> KeptResult:
        """Say of what is kept what became of its check; another file takes the place of this one.

        Raises `ReplacedError` where another result is kept by now, and `ConstatError`.
        """
        target = self._path(result.query)
        try:
            with Scratch(self._folder, hidden=True) as place:
                made = place.path / target.name
                shutil.copy(target, made)
                judged = replace(result, check=check)
                with closing(sqlite3.connect(made, isolation_level=None)) as connection:
                    connection.execute("UPDATE meta SET about = ?", (_about(judged),))
                _flush(made)
                with self._in_turn(), committing():
                    # Nobody keeps another one between this look and what follows.
                    if self._about(target) != result:
                        raise _replaced(result)
                    made.replace(target)
            _flush(self._folder)
        except (OSError, sqlite3.Error, ValueError, KeyError, TypeError) as problem:
            raise _failure(target, "written", problem) from None
        return judged

    def list(self) -> tuple[KeptResult, ...]:
        """Give what is kept, by query. Raises `ConstatError` for a file that is not ours."""
        found = [self._about(path) for path in sorted(self._folder.glob("*.sqlite"))]
        return tuple(sorted(found, key=lambda one: one.query))

    def find(self, query: str) -> KeptResult | None:
        """Give what is kept of a query."""
        path = self._path(query)
        return self._about(path) if path.is_file() else None

    def rows(self, result: KeptResult, bound: Mapping[int, Value]) -> Iterator[Row]:
        """Yield the rows that have, or may have, these values in these columns; by index.

        Raises `ReplacedError` where the file holds another result by now than was found.
        """
        path = self._path(result.query)
        kinds = result.kinds
        # A label may be any value. Whoever asks sees that a row has one.
        perhaps = " OR typeof(c{0}) = 'blob'" if result.labels else ""
        wanted = [f"(c{place} = ?{perhaps.format(place)})" for place in bound]
        where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
        listed = ", ".join(_names(kinds))
        keys = [_stored(value, kinds[place]) for place, value in bound.items()]
        try:
            with closing(_opened(path)) as connection:
                if _told(connection) != result:
                    raise _replaced(result)
                statement = f"SELECT {listed} FROM rows{where}"  # noqa: S608  names of this module's own
                for row in connection.execute(statement, keys):
                    yield _read(row, kinds)
        except (sqlite3.Error, ValueError, KeyError, TypeError) as problem:
            raise _failure(path, "read", problem) from None

    def drop(self, query: str) -> bool:
        """Forget a result; tells whether there was one."""
        path = self._path(query)
        try:
            with self._in_turn():
                path.unlink()
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise _failure(path, "removed", problem) from None
        return True

    def _in_turn(self) -> AbstractContextManager[None]:
        """Let one program at a time put files in place, where the system has locks."""
        busy = OSError(errno.EAGAIN, "another program does not end")
        return alone(self._folder, busy) if LOCKS else nullcontext()

    def _path(self, query: str) -> Path:
        return self._folder / f"{hashlib.sha256(query.encode()).hexdigest()[:32]}.sqlite"

    @staticmethod
    def _about(path: Path) -> KeptResult:
        try:
            with closing(_opened(path)) as connection:
                return _told(connection)
        except (sqlite3.Error, ValueError, KeyError, TypeError) as problem:
            raise _failure(path, "read", problem) from None


def _told(connection: sqlite3.Connection) -> KeptResult:
    """Read what a file says of itself."""
    told = json.loads(connection.execute("SELECT about FROM meta").fetchone()[0])
    columns = tuple((str(name), Kind(kind)) for name, kind in told["columns"])
    states = tuple((str(name), str(state)) for name, state in told["states"])
    return KeptResult(
        *(str(told["query"]), columns, int(told["rows"])),
        *(str(told["created"]), str(told["version"]), states),
        check=str(told.get("check", "")),
        labels=told.get("labels") is True,
    )


def _about(result: KeptResult) -> str:
    """Write what a file says of itself."""
    about = {
        "query": result.query,
        "columns": [[name, kind.value] for name, kind in result.columns],
        "rows": result.rows,
        "created": result.created,
        "version": result.version,
        "states": [list(one) for one in result.states],
        "check": result.check,
        **({"labels": True} if result.labels else {}),
    }
    return json.dumps(about)


def _replaced(result: KeptResult) -> ReplacedError:
    message = f"the kept result of `{result.query}` was replaced while it was read"
    hint = "ask again"
    return ReplacedError([Diagnostic("C0670", message, help=hint)])


def _opened(path: Path) -> sqlite3.Connection:
    # The file never changes under its name: another one takes its place.
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        found = (
            *connection.execute("PRAGMA application_id").fetchone(),
            *connection.execute("PRAGMA user_version").fetchone(),
        )
    except sqlite3.Error:
        connection.close()
        raise
    if found not in {(_APPLICATION, _VERSION), (_APPLICATION, _WITH_LABELS)}:
        connection.close()
        raise ValueError("it is not a result of this version of Constat")
    return connection


def _write(path: Path, result: KeptResult, rows: Iterable[Row]) -> int:
    kinds = result.kinds
    names = _names(kinds)
    make_private(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Nobody sees the file before it is whole, so it needs no journal of its own.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        version = _WITH_LABELS if result.labels else _VERSION
        connection.execute(f"PRAGMA user_version = {version}")
        typed = ", ".join(f"{n} {_type(k)} NOT NULL" for n, k in zip(names, kinds, strict=False))
        connection.execute(f"CREATE TABLE rows ({typed or 'c0 INTEGER NOT NULL'})")
        connection.execute("CREATE TABLE meta (about TEXT NOT NULL)")
        connection.execute("BEGIN")
        count = _insert(connection, rows, result, names)
        for name in names[: len(kinds)]:
            connection.execute(f"CREATE INDEX by_{name} ON rows ({name})")
        connection.execute("INSERT INTO meta VALUES (?)", (_about(replace(result, rows=count)),))
        connection.execute("COMMIT")
    return count


def _insert(
    connection: sqlite3.Connection,
    rows: Iterable[Row],
    result: KeptResult,
    names: Sequence[str],
) -> int:
    kinds = result.kinds
    statement = f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})"  # noqa: S608  marks only
    others = [place for place, kind in enumerate(kinds) if kind not in _NATIVE]
    remaining, count = iter(rows), 0
    while batch := list(islice(remaining, _BATCH)):
        count += len(batch)
        if not kinds:
            connection.executemany(statement, [(0,)] * len(batch))
        elif others or result.labels:
            connection.executemany(
                statement,
                (
                    [_stored(value, kind) for value, kind in zip(row, kinds, strict=True)]
                    for row in batch
                ),
            )
        else:
            connection.executemany(statement, batch)
    return count


def _names(kinds: Sequence[Kind]) -> list[str]:
    return [f"c{place}" for place in range(max(1, len(kinds)))]


def _type(kind: Kind) -> str:
    match kind:
        case Kind.NUMBER:
            return "INTEGER"
        case Kind.FLOAT:
            return "REAL"
        case _:
            return "TEXT"


def _stored(value: Value | NullCell, kind: Kind) -> int | float | str | bytes:
    """Give a value as SQLite keeps it exactly; equal values are stored alike, and labels."""
    if isinstance(value, NullCell):
        return _label(value)
    if kind is Kind.NUMBER:
        return int(value)
    return float(value) if kind is Kind.FLOAT else format_value(value, kind)


def _label(cell: NullCell) -> bytes:
    """Write a label; no value of any kind is stored as bytes."""
    made = None if cell.made is None else [cell.made.function, _texts(cell.made.arguments)]
    known = [cell.policy.value, cell.predicate, cell.column, _texts(cell.known), cell.ordinal, made]
    return json.dumps(known).encode()


def _read_label(written: bytes) -> NullCell:
    policy, predicate, column, known, ordinal, made = json.loads(written)
    function = None if made is None else MadeBy(str(made[0]), _values(made[1]))
    place = NullPolicy(policy), str(predicate), int(column)
    return NullCell(*place, _values(known), int(ordinal), function)


def _texts(values: Iterable[Value | None]) -> list[list[str] | None]:
    """Write the cells that a label is known by, each with its type; no cell is lost or rounded."""
    return [
        None
        if one is None
        else [type(one).__name__, one.hex() if isinstance(one, float) else str(one)]
        for one in values
    ]


def _values(texts: Sequence[Sequence[str] | None]) -> tuple[Value | None, ...]:
    return tuple([None if one is None else _OF_TYPE[one[0]](one[1]) for one in texts])


_OF_TYPE: Final[Mapping[str, Callable[[str], Value]]] = MappingProxyType(
    {"int": int, "float": float.fromhex, "str": str, "Decimal": Decimal}
)


def _read(row: Sequence[int | float | str | bytes], kinds: Sequence[Kind]) -> Row:
    found: list[Value | NullCell] = []
    for cell, kind in zip(row, kinds, strict=False):
        if isinstance(cell, bytes):
            found.append(_read_label(cell))
        elif kind in {Kind.UNSIGNED, Kind.DECIMAL}:
            value = parse_value(str(cell), kind)
            found.append(Decimal(value) if kind is Kind.DECIMAL else value)
        elif kind is Kind.STRUCTURE:
            found.append(parse_value(str(cell), kind))
        else:
            found.append(cell)
    return cast("Row", tuple(found))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _failure(path: Path, what: str, problem: Exception) -> ConstatError:
    reason = problem.strerror if isinstance(problem, OSError) else str(problem)[:200]
    message = f"a kept result cannot be {what}: {reason or type(problem).__name__}"
    note = f"the file is {FOLDER}/{path.name} in the project's state folder"
    hint = "remove the file, or make room, and materialize anew"
    return ConstatError([Diagnostic("C0670", message, note=note, help=hint)])
