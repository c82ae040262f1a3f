"""The file of drafts: opened for reading or writing, and refused where it is not one.

In: the state folder. Out: connections. Invariants: a write is whole or has not happened, and is on
the disk when the block ends; a reader creates nothing; two programs may write at once. Example:
`with DraftsFile(folder).writing() as connection: connection.execute(...)`.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.state_file import Form, NotOursError, StateFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME: Final = "drafts.sqlite"
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
_FORM: Final = Form("store of drafts", 0x434E5344, 1, tuple(_SCHEMA.split(";")))


class DraftsFile:
    """The file; it is created by the first write."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open for one write, which is whole or has not happened."""
        with self._failures("written"), self._file.writing() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open for reading; `None` where there is nothing to read yet."""
        with self._failures("read"), self._file.reading() as connection:
            yield connection

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
            message = f"the file of drafts, {FILE_NAME}, cannot be {what}: {_reason(problem)}"
            note = "nothing was changed or deleted"
            raise ConstatError([Diagnostic("C0886", message, note=note)]) from problem


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    plain = isinstance(problem, sqlite3.DatabaseError | NotOursError) or type(problem) is ValueError
    return str(problem) if plain else "a record in it is damaged"
