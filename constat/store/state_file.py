"""A file of SQLite in the state folder: opened, created, locked and refused in one way.

In: a path, and the form that the file has to have. Out: connections. Invariants: a write is whole
or has not happened, and is on the disk when the block ends; writers wait for each other, so long
and no longer; a reader sees one state and creates nothing, also where nobody can write; a file of
another program, or of another version, is refused and never changed. Example:
`with StateFile(path, FORM).writing() as connection: connection.execute(...)`.
Reference: https://www.sqlite.org/wal.html
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.store import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT_SECONDS: Final = 10.0


class NotOursError(ValueError):
    """The file is another program's, or of another version; `str()` says which."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a file is: its name for people, the two numbers in its header, and its tables.

    A `private` file is made for its owner alone, whatever other files of the folder are.
    """

    name: str
    application: int
    version: int
    statements: tuple[str, ...] = field(repr=False)
    private: bool = False

    def is_ours(self, connection: sqlite3.Connection) -> bool:
        """Tell a file of this form from an empty one; raise `NotOursError` for any other."""
        found = opening.identity(connection)
        if found.application == self.application and found.version == self.version:
            return True
        if found.application == self.application:
            age = "a later" if found.version > self.version else "another"
            raise NotOursError(f"it was written by {age} version of Constat")
        if not found.blank:
            raise NotOursError(f"it is no {self.name}, but another program's database")
        return False

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Create what is missing, and set how writes are made durable."""
        connection.execute("PRAGMA trusted_schema = OFF")
        ours = self.is_ours(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if ours:
            return
        with transaction(connection):
            # Two programs may have found the file empty: the second one finds it made.
            if self.is_ours(connection):
                return
            for statement in self.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.application}")
            connection.execute(f"PRAGMA user_version = {self.version}")


class StateFile:
    """The file; it is created by the first write."""

    def __init__(self, path: Path, form: Form) -> None:
        self.path = path
        self._form = form

    def opened(self, *, shared: bool = False) -> sqlite3.Connection:
        """Open for writing, for whoever closes it; `shared` by several threads in turn."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._form.private:
            opening.make_private(self.path)
        return self._connected("?mode=rwc", self._form.prepare, shared=shared)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open for one write, which is whole or has not happened."""
        with closing(self.opened()) as connection, transaction(connection):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open for reading one state; `None` where there is nothing to read yet."""
        if not self.path.exists():
            yield None
            return
        log = self.path.with_name(f"{self.path.name}-wal")
        # A log's reader would write an index where nobody can write.
        frozen = "" if os.access(self.path.parent, os.W_OK) or log.exists() else "&immutable=1"
        with closing(self._connected(f"?mode=ro{frozen}", self._form.is_ours)) as connection:
            connection.execute("BEGIN")
            # Another program may be about to create the tables.
            yield connection if self._form.is_ours(connection) else None

    def _connected(
        self,
        options: str,
        prepare: Callable[[sqlite3.Connection], object],
        *,
        shared: bool = False,
    ) -> sqlite3.Connection:
        connect = partial(
            sqlite3.connect,
            f"{self.path.absolute().as_uri()}{options}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=not shared,
        )
        return opening.opened(connect, prepare, WAIT_SECONDS)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write as a whole or not at all, alone."""
    # Taking the lock first: a read that later becomes a write could find it taken.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
