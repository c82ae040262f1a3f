"""Answers of sources, cached across programs for as long as their `.input` allows."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.store.state_file import Form, NotOursError, StateFile, close_quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

# Another program's database is never changed, and a damaged file stays as it is until somebody
# clears it.

# Asking the source again is the alternative, so nobody waits long.
_WAIT_SECONDS: Final = 2.0
_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL, predicate TEXT NOT NULL, source TEXT NOT NULL, pattern TEXT NOT NULL,
    keys INTEGER NOT NULL, rows INTEGER NOT NULL,
    fetched_at REAL NOT NULL, max_age INTEGER NOT NULL, tables TEXT NOT NULL,
    size INTEGER NOT NULL, served INTEGER NOT NULL, used_at REAL NOT NULL,
    digest TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX by_scope ON answers (scope, pattern);
CREATE INDEX by_use ON answers (used_at, id, size);
CREATE TABLE keys (
    scope TEXT NOT NULL, pattern TEXT NOT NULL, key TEXT NOT NULL, answer INTEGER NOT NULL,
    PRIMARY KEY (scope, pattern, key)
) WITHOUT ROWID;
CREATE INDEX by_answer ON keys (answer);
CREATE TABLE counts (predicate TEXT PRIMARY KEY, hits INTEGER NOT NULL, misses INTEGER NOT NULL)
    WITHOUT ROWID;
INSERT INTO meta VALUES ('secret', lower(hex(randomblob(32)))), ('seen', 0.0)
"""
# Rows of a database are for those who may read it.
_FORM: Final = Form(
    "file of answers",
    0x434E5341,  # "CNSA"
    1,
    tuple(_SCHEMA.split(";")),
    durable=False,
    shrinks=True,
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class AnswerStoreError(Exception):
    """The file cannot be used; `str()` is the reason, without outside bytes.

    `damaged` where the file is no database any more, so that only removing it helps.
    """

    def __init__(self, reason: str, *, damaged: bool = False) -> None:
        super().__init__(reason)
        self.damaged = damaged


@contextmanager
def failures() -> Iterator[None]:
    """Turn everything that can be wrong with a file into `AnswerStoreError`."""
    try:
        yield
    except sqlite3.Error as problem:
        code = getattr(problem, "sqlite_errorcode", 0) or 0
        raise AnswerStoreError(str(problem)[:200], damaged=code & 0xFF in _DAMAGED) from problem
    except OSError as problem:
        raise AnswerStoreError(problem.strerror or type(problem).__name__) from problem
    except NotOursError as problem:
        raise AnswerStoreError(str(problem)) from problem
    except (ValueError, TypeError, OverflowError) as problem:
        raise AnswerStoreError("a record in it is damaged", damaged=True) from problem


def remove(path: Path) -> None:
    """Remove a damaged file and its logs; raises `AnswerStoreError`."""
    with failures():
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
            path.with_name(name).unlink(missing_ok=True)


# `concerns`, which says what an answer depends on, goes in and never comes out; only its keyed
# hash is kept.


@frozen
class Fresh:
    """An answer to keep. `pattern` tells the bound columns, `tables` the tables that were read."""

    concerns: str = field(repr=False)
    predicate: str
    source: str
    pattern: str
    rows: int
    fetched_at: float
    max_age: int
    tables: str
    body: str = field(repr=False)


@frozen
class Stored:
    """An answer that is kept; `whole` is false where its text is not what was written."""

    id: int
    predicate: str
    source: str
    pattern: str
    keys: int
    rows: int
    fetched_at: float
    max_age: int
    tables: str
    size: int
    served: int
    scope: str
    body: str = field(default="", repr=False)
    whole: bool = True


@frozen
class Counted:
    """How many keys of a predicate were served, and how many had to be asked for."""

    predicate: str
    hits: int
    misses: int


FILE_NAME: Final = "answers.sqlite"
MOST_BYTES: Final = 256 << 20
# A clock that is set by a few seconds is the daily life of a machine.
_SET_BACK: Final = 60.0
_LARGEST_SHARE: Final = 4
_KEYS_AT_ONCE: Final = 10_000
_COLUMNS: Final = (
    "id, predicate, source, pattern, keys, rows, fetched_at, max_age, tables, size, served, scope"
)


class AnswerStore:
    """The kept answers of a project, in one file of its state folder.

    May be used by many threads and programs at once. Nothing is created by reading.
    """

    def __init__(
        self,
        folder: Path,
        *,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = folder / FILE_NAME
        self._most = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._secret = b""

    def scope(self, concerns: str) -> str:
        """Give the name of everything an answer depends on; without the file's secret no name.

        The text says which source and which configuration: nobody can guess them from the name.
        """
        with self._using(create=False) as connection:
            if connection is None:
                return ""
            return _keyed(self._secret_of(connection), concerns)

    def find(
        self, scope: str, pattern: str, keys: Sequence[str], max_age: float
    ) -> tuple[Stored, ...]:
        """Give the answers of at most that age that speak for one of the keys at least."""
        with self._using(create=False) as connection:
            if connection is None:
                return ()
            now = self._present(connection)
            span = now - max_age, now + _SET_BACK
            found: dict[int, None] = {}
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = json.dumps(keys[start : start + _KEYS_AT_ONCE])
                rows = connection.execute(
                    "SELECT DISTINCT answer FROM keys WHERE scope = ? AND pattern = ?"
                    " AND key IN (SELECT value FROM json_each(?))",
                    (scope, pattern, some),
                )
                found.update(dict.fromkeys(int(number) for (number,) in rows))
            read = (self._read(connection, number, span) for number in found)
            return tuple(one for one in read if one is not None)

    def at(
        self, scope: str, pattern: str, keys: Sequence[str], moment: float
    ) -> tuple[Stored, ...]:
        """Give the answers about some of the keys that were there and young enough at a moment."""
        with self._using(create=False) as connection:
            if connection is None:
                return ()
            found: dict[int, None] = {}
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = json.dumps(keys[start : start + _KEYS_AT_ONCE])
                rows = connection.execute(
                    "SELECT DISTINCT answer FROM keys JOIN answers ON id = answer"
                    " WHERE keys.scope = ? AND keys.pattern = ? AND fetched_at + max_age >= ?"
                    " AND key IN (SELECT value FROM json_each(?))",
                    (scope, pattern, moment, some),
                )
                found.update(dict.fromkeys(int(number) for (number,) in rows))
            read = (self._read(connection, number, (0.0, moment)) for number in found)
            return tuple(one for one in read if one is not None)

    def patterns(self, scope: str) -> tuple[str, ...]:
        """Give the patterns that something is kept for, the widest first."""
        with self._using(create=False) as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                "SELECT DISTINCT pattern FROM answers WHERE scope = ?", (scope,)
            )
            return tuple(sorted((str(one) for (one,) in rows), key=lambda one: (len(one), one)))

    def keep(self, fresh: Fresh, keys: Iterable[str]) -> bool:
        """Keep an answer for keys that had to be asked for, in the place of what was kept for them.

        Tells whether it was kept: one that would fill a quarter of the room is not.
        """
        listed = list(keys)
        size = len(fresh.body.encode()) + sum(map(len, listed))
        if size * _LARGEST_SHARE > self._most:
            return False
        with self._using(create=True) as connection, _writing(connection) as writing:
            now = self._present(writing)
            scope = _keyed(self._secret_of(writing), fresh.concerns)
            number = _insert(writing, fresh, scope, (size, len(listed), now))
            _point(writing, (scope, fresh.pattern), listed, number)
            _count(writing, fresh.predicate, 0, len(listed))
            self._make_room(writing, now)
        return True

    def told(self, predicate: str, hits: int, served: Sequence[int] = ()) -> None:
        """Count keys that were served, and the answers that served them."""
        with self._using(create=False) as connection:
            if connection is None:
                return
            with _writing(connection) as writing:
                now = self._present(writing)
                _count(writing, predicate, hits, 0)
                writing.executemany(
                    "UPDATE answers SET served = served + 1, used_at = ? WHERE id = ?",
                    [(now, number) for number in served],
                )

    def list(self, predicate: str | None = None) -> tuple[Stored, ...]:
        """Give what is kept, without its text, in the order of predicates and age."""
        with self._using(create=False) as connection:
            if connection is None:
                return ()
            self._present(connection)
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM answers WHERE ? IS NULL OR predicate = ?"  # noqa: S608  a constant
                " ORDER BY predicate, pattern, fetched_at, id",
                (predicate, predicate),
            )
            return tuple(_stored(row) for row in rows)

    def counts(self) -> tuple[Counted, ...]:
        """Give how often each predicate was served, and how often not."""
        with self._using(create=False) as connection:
            if connection is None:
                return ()
            rows = connection.execute("SELECT * FROM counts ORDER BY predicate").fetchall()
            return tuple(Counted(str(one), int(hits), int(misses)) for one, hits, misses in rows)

    def clear(
        self,
        predicate: str | None = None,
        *,
        older_than: float | None = None,
        expired: bool = False,
    ) -> int:
        """Remove answers, all that fit every condition; gives how many."""
        with self._using(create=False) as connection:
            if connection is None:
                return 0
            with _writing(connection) as writing:
                now = self._present(writing)
                before = None if older_than is None else now - older_than
                count = _delete(
                    writing,
                    "(? IS NULL OR predicate = ?) AND (? IS NULL OR fetched_at < ?)"
                    " AND (NOT ? OR fetched_at + max_age < ?)",
                    (predicate, predicate, before, before, expired, now),
                )
                if predicate is None and before is None and not expired:
                    writing.execute("DELETE FROM counts")
            # It gives a row without columns for each page, at which `execute` would stop. Where
            # another program is writing, the room is used again instead.
            with suppress(sqlite3.OperationalError):
                connection.executescript("PRAGMA incremental_vacuum")
            return count

    def remove(self) -> None:
        """Remove the file with everything in it: what a damaged one is good for."""
        self.close()
        remove(self.path)

    def close(self) -> None:
        """Close the file; the store may be used again."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                close_quietly(connection)

    @contextmanager
    def _using(self, *, create: bool) -> Iterator[sqlite3.Connection | None]:
        with self._lock, failures():
            if self._connection is None and (create or self.path.exists()):
                self._connection = StateFile(self.path, _FORM, _WAIT_SECONDS).opened(shared=True)
            yield self._connection

    def _secret_of(self, connection: sqlite3.Connection) -> bytes:
        if not self._secret:
            found = connection.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()
            self._secret = bytes.fromhex(str(found[0]))
        return self._secret

    def _present(self, connection: sqlite3.Connection) -> float:
        """Give the time, never before one that was seen: entries do not grow younger.

        Where the clock was set back nobody knows how old entries are, so none is kept.
        """
        now = self._clock()
        (seen,) = connection.execute("SELECT value FROM meta WHERE name = 'seen'").fetchone()
        if float(seen) - now > _SET_BACK:
            _delete(connection, "1", ())
            connection.execute("UPDATE meta SET value = ? WHERE name = 'seen'", (now,))
            return now
        if connection.in_transaction and now > float(seen):
            connection.execute("UPDATE meta SET value = ? WHERE name = 'seen'", (now,))
        return max(now, float(seen))

    def _read(
        self, connection: sqlite3.Connection, number: int, span: tuple[float, float]
    ) -> Stored | None:
        row = connection.execute(
            f"SELECT {_COLUMNS}, digest, body FROM answers WHERE id = ?",  # noqa: S608  a constant
            (number,),
        ).fetchone()
        if row is None or not span[0] <= float(row[6]) <= span[1]:
            return None
        *about, digest, body = row
        secret = self._secret_of(connection)
        return _stored(about, str(body), whole=digest == _keyed(secret, str(body)))

    def _make_room(self, connection: sqlite3.Connection, now: float) -> None:
        """Let go what is too old, and then what was not used for the longest time."""
        late = "fetched_at + max_age < ? OR fetched_at > ?"
        _delete(connection, late, (now, now + _SET_BACK))
        (used,) = connection.execute("SELECT coalesce(sum(size), 0) FROM answers").fetchone()
        if used <= self._most:
            return
        surplus = used - self._most * 9 // 10
        leaving = []
        for number, size in connection.execute("SELECT id, size FROM answers ORDER BY used_at, id"):
            if surplus <= 0:
                break
            surplus -= size
            leaving.append(number)
        _delete(connection, "id IN (SELECT value FROM json_each(?))", (json.dumps(leaving),))


@contextmanager
def _writing(connection: sqlite3.Connection | None) -> Iterator[sqlite3.Connection]:
    if connection is None:
        raise AnswerStoreError("it could not be created")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _count(connection: sqlite3.Connection, predicate: str, hits: int, misses: int) -> None:
    connection.execute(
        "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT (predicate) DO UPDATE"
        " SET hits = hits + excluded.hits, misses = misses + excluded.misses",
        (predicate, hits, misses),
    )


def _insert(
    connection: sqlite3.Connection, fresh: Fresh, scope: str, about: tuple[int, int, float]
) -> int:
    size, keys, now = about
    secret = connection.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()
    digest = _keyed(bytes.fromhex(str(secret[0])), fresh.body)
    (number,) = connection.execute(
        "INSERT INTO answers (scope, predicate, source, pattern, keys, rows, fetched_at, max_age,"
        " tables, size, served, used_at, digest, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) RETURNING id",
        (
            *(scope, fresh.predicate, fresh.source, fresh.pattern, keys, fresh.rows),
            *(fresh.fetched_at, fresh.max_age, fresh.tables, size, now, digest, fresh.body),
        ),
    ).fetchone()
    return int(number)


def _point(
    connection: sqlite3.Connection, place: tuple[str, str], keys: Sequence[str], number: int
) -> None:
    """Let keys name their new answer, and remove answers that no key names any more."""
    before: dict[int, None] = {}
    for key in keys:
        named = (*place, key)
        found = connection.execute(
            "SELECT answer FROM keys WHERE scope = ? AND pattern = ? AND key = ?", named
        ).fetchone()
        if found is not None:
            before[int(found[0])] = None
        connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", (*named, number))
    for old in before:
        _delete(connection, "id = ? AND NOT EXISTS (SELECT 1 FROM keys WHERE answer = id)", (old,))


def _delete(connection: sqlite3.Connection, condition: str, values: Sequence[object]) -> int:
    numbers = [
        number
        for (number,) in connection.execute(
            f"SELECT id FROM answers WHERE {condition}",  # noqa: S608  conditions of this module
            values,
        )
    ]
    for number in numbers:
        connection.execute("DELETE FROM keys WHERE answer = ?", (number,))
        connection.execute("DELETE FROM answers WHERE id = ?", (number,))
    return len(numbers)


def _stored(row: Sequence[object], body: str = "", *, whole: bool = True) -> Stored:
    number, predicate, source, pattern, keys, rows, fetched, age, tables, size, served, scope = row
    return Stored(
        id=int(str(number)),
        predicate=str(predicate),
        source=str(source),
        pattern=str(pattern),
        keys=int(str(keys)),
        rows=int(str(rows)),
        fetched_at=float(str(fetched)),
        max_age=int(str(age)),
        tables=str(tables),
        size=int(str(size)),
        served=int(str(served)),
        scope=str(scope),
        body=body,
        whole=whole,
    )


def _keyed(secret: bytes, text: str) -> str:
    return hashlib.blake2b(text.encode(), key=secret, digest_size=32).hexdigest()
