"""Files of SQLite in the state folder: opened, created, locked and refused in one way."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import time
import unicodedata
from contextlib import closing, contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A text that is kept has no character that a terminal or an editor would act upon instead of
# showing it: no control character but line ends and tabs, and none that turns the direction of
# text around. Reference for the latter: Unicode Technical Report 36, and N. Boucher, R. Anderson,
# *Trojan Source*, 2021.
_LAYOUT: Final = frozenset("\n\t")
# Joiners that scripts need in words; the other format characters hide or reorder what is read.
_JOINERS: Final = frozenset("\u200c\u200d")

# The lock ends with the descriptor, also when the program dies. Where a system has none that we
# know, what needs one is refused: two programs would write over each other.

LOCKS: Final = fcntl is not None
NO_LOCKS: Final = (
    "this system has no locks of files that Constat knows; nothing is kept here (on Windows: WSL)"
)
NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""The option with which no link is followed, where there is one."""

_PAUSE_SECONDS: Final = 0.02
WAIT_SECONDS: Final = 10.0
"""How long a command waits for another program, unless it has an alternative."""


def lock_within(descriptor: int, seconds: float, *, shared: bool) -> bool:
    """Take the lock; `False` where others hold it for longer than so many seconds."""
    if not LOCKS:
        raise OSError(errno.ENOLCK, NO_LOCKS)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


@contextmanager
def alone(path: Path, busy: Exception) -> Iterator[None]:
    """Lock a file or a folder that is there; raise `busy` where another program does not end."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if not lock_within(descriptor, WAIT_SECONDS, shared=False):
            raise busy
        yield
    finally:
        os.close(descriptor)


def locked_file(path: Path, seconds: float, *, shared: bool = False) -> int | None:
    """Open and lock the file that has this name, which another program may remove meanwhile."""
    until = time.monotonic() + seconds
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
        try:
            if not lock_within(descriptor, max(until - time.monotonic(), 0.0), shared=shared):
                os.close(descriptor)
                return None
            if _is_named(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_named(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


# One statement, so that all three are of one moment: another program may be creating the file.
_IDENTITY: Final = (
    "SELECT (SELECT count(*) = 0 FROM sqlite_master), application_id, user_version"
    " FROM pragma_application_id, pragma_user_version"
)


@frozen
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
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _opened(
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


class NotOursError(ValueError):
    """The file is another program's, or of another version; `str()` says which."""


class OtherVersionError(NotOursError):
    """The file is ours, of another version."""


@frozen
class Form:
    """What a file is: its name for people, the two numbers in its header, and its tables.

    What was written last survives a crash of the machine where the file is `durable`; it is whole
    in any case. A file that `shrinks` can give pages back. Files of an `older` version get the
    tables that they lack: each statement does nothing where its table is there.
    """

    name: str
    application: int
    version: int
    statements: tuple[str, ...] = field(repr=False)
    durable: bool = True
    shrinks: bool = False
    older: tuple[int, ...] = ()

    def is_ours(self, connection: sqlite3.Connection) -> bool:
        """Tell a file of this form from an empty one; raise `NotOursError` for any other."""
        found = identity(connection)
        if found.application == self.application and found.version == self.version:
            return True
        if found.application == self.application and found.version not in self.older:
            age = "a later" if found.version > self.version else "another"
            raise OtherVersionError(f"it was written by {age} version of Constat")
        if not found.blank and found.application != self.application:
            raise NotOursError(f"it is no {self.name}, but another program's database")
        return False

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Create what is missing, and set how writes are made durable."""
        connection.execute("PRAGMA trusted_schema = OFF")
        ours = self.is_ours(connection)
        if self.shrinks and not ours:
            # This must be said before there is any table.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'NORMAL'}")
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
    """The file; it is created by the first write, for its owner alone."""

    def __init__(self, path: Path, form: Form, wait: float = WAIT_SECONDS) -> None:
        self.path = path
        self._form = form
        self._wait = wait

    def opened(self, *, shared: bool = False) -> sqlite3.Connection:
        """Open for writing, for whoever closes it; `shared` by several threads in turn.

        Where nobody can write, what is there is opened as it stands: SQLite refuses to change it.
        """
        # First the file, then the folder: another program may be making both.
        if self.path.exists() and (frozen := self._frozen()):
            return self._connected(f"?mode=ro{frozen}", self._form.is_ours, shared=shared)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        make_private(self.path)
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
        options = f"?mode=ro{self._frozen()}"
        with closing(self._connected(options, self._form.is_ours)) as connection:
            connection.execute("BEGIN")
            # Another program may be about to create the tables.
            yield connection if self._form.is_ours(connection) else None

    def _frozen(self) -> str:
        """Give the option for a file that nobody can write, if it is one; the file is there.

        A reader of a log writes an index beside it, which fails there.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        return "" if os.access(self.path.parent, os.W_OK) or log.exists() else "&immutable=1"

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
            timeout=self._wait,
            isolation_level=None,
            check_same_thread=not shared,
        )
        return _opened(connect, prepare, self._wait)


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


def unshowable(text: str) -> str:
    """Tell which character of a text would be acted upon instead of shown; empty where none."""
    for character in text:
        if character in _LAYOUT or character in _JOINERS:
            continue
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            return f"it holds the character U+{ord(character):04X}, which is not shown but acted on"
    return ""


def unprintable(text: str) -> str:
    """The same for a name, which stands on one line."""
    broken = next((one for one in text if one in _LAYOUT), "")
    return f"a name holds U+{ord(broken):04X}" if broken else unshowable(text)
