"""Open the file of the catalog, or an index in memory.

In: a path, or none. Out: a connection with its tables. Raises `CatalogFileError` where the file
cannot be used; another program's database is never changed. Invariant: a file of ours that is
damaged or of another version is removed and made anew, since everything in it can be found out
again. Example: `opened(None)` is an empty index in memory.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.store import opening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_APPLICATION: Final = 0x434E5343  # "CNSC"
_WAIT_SECONDS: Final = 5.0
_SCHEMA: Final = """
CREATE TABLE sources (
    name TEXT PRIMARY KEY, setting TEXT NOT NULL, fingerprint TEXT NOT NULL,
    seen_at TEXT NOT NULL, problems TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE tables (
    source TEXT NOT NULL, label TEXT NOT NULL, folded TEXT NOT NULL, kind TEXT NOT NULL,
    rows INTEGER, columns INTEGER NOT NULL, comment TEXT NOT NULL, document TEXT NOT NULL,
    lines TEXT NOT NULL, PRIMARY KEY (source, label)
);
CREATE INDEX by_name ON tables (folded, source, label);
CREATE TABLE pointing (source TEXT NOT NULL, target TEXT NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (source, target, label)) WITHOUT ROWID;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, kind TEXT NOT NULL, label TEXT NOT NULL,
    place TEXT NOT NULL, about TEXT NOT NULL, name TEXT NOT NULL, more TEXT NOT NULL,
    notes TEXT NOT NULL
);
CREATE INDEX by_source ON entries (source);
CREATE TABLE vocabulary (word TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (word, source))
    WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    kind, name, more, notes, content = 'entries', content_rowid = 'id', prefix = '3',
    tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(0.0, 10.0, 4.0, 1.5)')
"""
# Another layout is another version, so that none has to be counted by hand.
_VERSION: Final = zlib.crc32(_SCHEMA.encode()) & 0x7FFFFFFF
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOGS: Final = ("", "-wal", "-shm")


class CatalogFileError(Exception):
    """The file cannot be used; `str()` is the reason, without outside bytes."""


class _ForeignFileError(Exception):
    """The file is another program's."""


class _OtherVersionError(Exception):
    """The file is ours, of another version."""


def opened(path: Path | None) -> sqlite3.Connection:
    """Open the file, or create it; without a path, an index in memory."""
    with failures():
        if path is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            _create(connection)
            return connection
        try:
            return _file(path)
        except _OtherVersionError:
            remove(path)
        except sqlite3.DatabaseError as problem:
            if (getattr(problem, "sqlite_errorcode", 0) & 0xFF) not in _DAMAGED or not _ours(path):
                raise
            remove(path)
        return _file(path)


def remove(path: Path) -> None:
    """Remove the file and its logs."""
    for ending in _LOGS:
        path.with_name(path.name + ending).unlink(missing_ok=True)


@contextmanager
def failures() -> Iterator[None]:
    """Turn everything that can be wrong with a file into `CatalogFileError`."""
    try:
        yield
    except _ForeignFileError:
        raise CatalogFileError("it is another program's database") from None
    except sqlite3.Error as problem:
        raise CatalogFileError(f"SQLite says: {str(problem)[:200]}") from problem
    except OSError as problem:
        raise CatalogFileError(problem.strerror or type(problem).__name__) from problem


def _file(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    return opening.opened(partial(_connected, path), _prepare, _WAIT_SECONDS)


def _connected(path: Path) -> sqlite3.Connection:
    # Names of tables are for those who may read the database.
    opening.make_private(path)
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    if not _is_ours(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        _create(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _is_ours(connection: sqlite3.Connection) -> bool:
    found = opening.identity(connection)
    if found.application == _APPLICATION and found.version == _VERSION:
        return True
    if found.application == _APPLICATION:
        raise _OtherVersionError
    if not found.blank:
        raise _ForeignFileError
    return False


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Two programs may have found the file empty: the second one finds it made.
        if not _is_ours(connection):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _ours(path: Path) -> bool:
    """Tell by the header whether a damaged file was ours; see `opening.make_private` for how."""
    with suppress(sqlite3.Error), closing(_connected(path)) as connection:
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        return bool(found == _APPLICATION)
    return False
