"""Open a database file that several programs may create at the same moment.

In: how to connect and how to prepare the file. Out: a connection to the prepared file. Invariants:
a program waits for the others no longer than it was told, about twice that where it is unlucky; a
connection that could not be prepared is closed. Example: six programs that state the first fact of
a project at once all succeed.
Reference: https://www.sqlite.org/pragma.html#pragma_journal_mode
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PAUSE_SECONDS: Final = 0.02
# One statement, so that all three are of one moment: another program may be creating the file.
_IDENTITY: Final = (
    "SELECT (SELECT count(*) = 0 FROM sqlite_master), application_id, user_version"
    " FROM pragma_application_id, pragma_user_version"
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose file it is: `empty` where it holds no table, and the two numbers of its header."""

    empty: bool
    application: int
    version: int

    @property
    def blank(self) -> bool:
        """Whether nobody has written anything into it."""
        return self.empty and not self.application and not self.version


def identity(connection: sqlite3.Connection) -> Identity:
    """Read whose file it is."""
    empty, application, version = connection.execute(_IDENTITY).fetchone()
    return Identity(bool(empty), int(application), int(version))


def make_private(path: Path) -> None:
    """Make an empty file for its owner alone, unless there is one.

    Neither file is opened: closing any descriptor of a file drops the locks that SQLite has on it
    for all connections of this process (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    try:
        os.mknod(path, 0o600 | stat.S_IFREG)
    except FileExistsError:
        return
    except (OSError, AttributeError):
        # Not every system lets everybody make a file without opening it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def opened(
    connect: Callable[[], sqlite3.Connection],
    prepare: Callable[[sqlite3.Connection], object],
    seconds: float,
) -> sqlite3.Connection:
    """Connect and prepare; begin again for so many seconds while another program is in the way.

    Turning to a write-ahead log is why: it gives up at once, whatever the connection's own time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return _prepared(connect(), prepare)
        except sqlite3.OperationalError as problem:
            code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_SECONDS)


def close_quietly(connection: sqlite3.Connection) -> None:
    """Close; what was committed is kept, whatever closing says."""
    with contextlib.suppress(sqlite3.Error):
        connection.close()


def _prepared(
    connection: sqlite3.Connection, prepare: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    try:
        prepare(connection)
    except BaseException:
        close_quietly(connection)
        raise
    return connection
