"""The file of drafts: opened for reading or writing, and refused where it is not one.

In: the state folder. Out: connections. Invariants: a write is whole or has not happened, and is on
the disk when the block ends; a reader creates nothing; two programs may write at once. Example:
`with DraftsFile(folder).writing() as connection: connection.execute(...)`.
Reference: https://www.sqlite.org/wal.html
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FILE_NAME: Final = "drafts.sqlite"
_APPLICATION: Final = 0x434E5344  # "CNSD"
_VERSION: Final = 1
_WAIT_SECONDS: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS drafts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    purpose TEXT NOT NULL,
    goal TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    response TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    at TEXT NOT NULL,
    replaces TEXT NOT NULL,
    tests TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    draft TEXT NOT NULL REFERENCES drafts (identity),
    status TEXT NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS decided ON decisions (draft);
CREATE TABLE IF NOT EXISTS endorsements (
    draft TEXT NOT NULL REFERENCES drafts (identity),
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (draft, by)
);
"""


class DraftsFile:
    """The file; it is created by the first write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / FILE_NAME

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open for one write, which is whole or has not happened."""
        with self._failures("written"):
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(self._opened("?mode=rwc", _prepare)) as connection:
                # Taking the lock first: a read that later becomes a write could find it taken.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open for reading; `None` where there is nothing to read yet."""
        if not self.path.exists():
            yield None
            return
        log = self.path.with_name(FILE_NAME + "-wal")
        # A log's reader would write an index where nobody can write.
        frozen = "" if os.access(self._folder, os.W_OK) or log.exists() else "&immutable=1"
        with (
            self._failures("read"),
            closing(self._opened(f"?mode=ro{frozen}", _is_ours)) as connection,
        ):
            yield connection if _is_ours(connection) else None

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
            message = f"the file of drafts, {FILE_NAME}, cannot be {what}: {_reason(problem)}"
            note = "nothing was changed or deleted"
            raise ConstatError([Diagnostic("C0886", message, note=note)]) from problem

    def _opened(
        self, options: str, prepare: Callable[[sqlite3.Connection], object]
    ) -> sqlite3.Connection:
        connect = partial(
            sqlite3.connect,
            f"{self.path.absolute().as_uri()}{options}",
            uri=True,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
        )
        return opening.opened(connect, prepare, _WAIT_SECONDS)


def _prepare(connection: sqlite3.Connection) -> None:
    """Create what is missing, and set how writes are made durable."""
    _is_ours(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Tell whether it holds our tables; an empty file does not hold them yet.

    Raises `ValueError` for another database, and for one that a later version has written.
    """
    found = opening.identity(connection)
    if found.application == _APPLICATION and found.version == _VERSION:
        return True
    if found.application == _APPLICATION and found.version > _VERSION:
        raise ValueError("it was written by a later version of Constat")
    if not found.blank:
        raise ValueError("it is not a store of drafts")
    return False


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    plain = isinstance(problem, sqlite3.DatabaseError) or type(problem) is ValueError
    return str(problem) if plain else "a record in it is damaged"
