"""Open the file of kept answers, and say what is wrong with it.

In: a path. Out: a connection to a file of ours, with its tables. Raises `AnswerStoreError` for
everything else. Invariant: another program's database is never changed, and a damaged file stays as
it is until somebody clears it. Example: a text file in its place is "not a database".
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.store import opening
from constat.store.state_file import NotOursError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_APPLICATION: Final = 0x434E5341  # "CNSA"
_VERSION: Final = 1
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
    WITHOUT ROWID
"""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class AnswerStoreError(Exception):
    """The file cannot be used; `str()` is the reason, without outside bytes.

    `damaged` where the file is no database any more, so that only removing it helps.
    """

    def __init__(self, reason: str, *, damaged: bool = False) -> None:
        super().__init__(reason)
        self.damaged = damaged


def opened(path: Path, now: float) -> sqlite3.Connection:
    """Open the file, or create it; `now` is the time that a new file has seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return opening.opened(partial(_connected, path), partial(_prepare, now), _WAIT_SECONDS)


def _connected(path: Path) -> sqlite3.Connection:
    # Rows of a database are for those who may read it; the logs get the file's own rights.
    opening.make_private(path)
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rwc",
        uri=True,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _prepare(now: float, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    if not _is_ours(connection):
        # Pages of answers that have left can be given back, which must be said before any table.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        _create(connection, now)
    connection.execute("PRAGMA journal_mode = WAL")
    # After a crash of the machine the last answers may be missing; the file is whole.
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Tell our file from an empty one; raise for any other."""
    found = opening.identity(connection)
    if found.application == _APPLICATION and found.version == _VERSION:
        return True
    if found.application == _APPLICATION:
        raise AnswerStoreError("it was written by another version of Constat")
    if not found.blank:
        raise AnswerStoreError("it is another program's database")
    return False


def _create(connection: sqlite3.Connection, now: float) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Two programs may have found the file empty: the second one finds it made.
        if not _is_ours(connection):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.executemany(
                "INSERT INTO meta VALUES (?, ?)",
                [("secret", os.urandom(32).hex()), ("seen", now)],
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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
