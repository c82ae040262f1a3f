"""Every message of every session, word for word, in one file that survives crashes.

In: messages, and bytes by their digest.  Out: the same.  Invariants: what ``append`` has returned
survives the end of the program and of the machine; a session's messages are numbered from 0 without
gaps, also when two programs append to it; nothing is changed or deleted; each text is kept once,
whoever said it how often.

Example: ``Archive(folder).append("s1", messages)`` gives the numbers of the messages.
Reference: https://www.sqlite.org/wal.html
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.spelling import digest, read, spelled
from constat.store import clock, opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.memory.messages import Message

FILE_NAME: Final = "memory.sqlite"
_APPLICATION: Final = 0x434E4D45  # "CNME"
_VERSION: Final = 1
_WAIT_SECONDS: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS contents (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS messages (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    spelling TEXT NOT NULL,
    added_at TEXT NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
"""


class Archive:
    """The messages in one folder; also where the bytes of attachments are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / FILE_NAME

    def append(
        self, session: str, messages: Sequence[Message], *, after: int | None = None
    ) -> tuple[int, ...]:
        """Keep messages behind those of the session, all or none; gives their numbers.

        ``after`` is how many the session is believed to have: where others have come meanwhile,
        nothing is kept and ``ConstatError`` C0801 is raised.
        """
        _check_name(session)
        pairs = [spelled(message) for message in messages]
        with self._writing() as connection:
            first = _count(connection, session)
            if after is not None and after != first:
                raise ConstatError([_overtaken(session, after, first)])
            for _, texts in pairs:
                _keep(connection, texts)
            moment = clock.now()
            connection.executemany(
                "INSERT INTO messages (session, number, spelling, added_at) VALUES (?, ?, ?, ?)",
                [(session, first + at, text, moment) for at, (text, _) in enumerate(pairs)],
            )
        return tuple(range(first, first + len(pairs)))

    def messages(self, session: str, start: int = 0) -> tuple[Message, ...]:
        """Return the messages of a session from a number on; none for an unknown session."""
        asked = "SELECT spelling FROM messages WHERE session = ? AND number >= ? ORDER BY number"
        with self._reading() as connection:
            if connection is None:
                return ()
            content = partial(_content, connection)
            rows = connection.execute(asked, (session, start))
            return tuple(read(text, content) for (text,) in rows)

    def count(self, session: str) -> int:
        """Return how many messages a session has."""
        with self._reading() as connection:
            return 0 if connection is None else _count(connection, session)

    def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions, sorted."""
        with self._reading() as connection:
            asked = "SELECT DISTINCT session FROM messages ORDER BY session"
            return () if connection is None else tuple(x for (x,) in connection.execute(asked))

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes; ``reference`` has to be their digest, or ``ValueError`` is raised."""
        if reference != digest(content):
            raise ValueError("a reference is the digest of its content")
        with self._writing() as connection:
            _keep(connection, {reference: content})

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        with self._reading() as connection:
            if connection is None:
                raise KeyError(reference)
            return _content(connection, reference)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _failures("written"):
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(self._opened("?mode=rwc")) as connection:
                # Taking the lock first: the count below must still be true when it is used.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        if not self.path.exists():
            yield None
            return
        with _failures("read"), closing(self._opened("?mode=rw")) as connection:
            yield connection

    def _opened(self, options: str) -> sqlite3.Connection:
        connect = partial(
            sqlite3.connect,
            f"{self.path.absolute().as_uri()}{options}",
            uri=True,
            timeout=_WAIT_SECONDS,
            isolation_level=None,
        )
        return opening.opened(connect, _prepare, _WAIT_SECONDS)


def _prepare(connection: sqlite3.Connection) -> None:
    found = opening.identity(connection)
    if found.application == _APPLICATION and found.version > _VERSION:
        raise ValueError("it was written by a later version of Constat")
    connection.execute("PRAGMA synchronous = FULL")
    if (found.application, found.version) == (_APPLICATION, _VERSION):
        return
    if not found.blank:
        raise ValueError("it is no archive of messages")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _count(connection: sqlite3.Connection, session: str) -> int:
    asked = "SELECT coalesce(max(number) + 1, 0) FROM messages WHERE session = ?"
    return int(connection.execute(asked, (session,)).fetchone()[0])


def _keep(connection: sqlite3.Connection, contents: Mapping[str, bytes]) -> None:
    connection.executemany(
        "INSERT INTO contents (digest, content) VALUES (?, ?) ON CONFLICT DO NOTHING",
        contents.items(),
    )


def _content(connection: sqlite3.Connection, reference: str) -> bytes:
    asked = "SELECT content FROM contents WHERE digest = ?"
    found = connection.execute(asked, (reference,)).fetchone()
    if found is None:
        raise KeyError(reference)
    content: bytes = found[0]
    if digest(content) != reference:
        raise ValueError("a content in it is damaged")
    return content


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        message = f"the archive of messages, {FILE_NAME}, cannot be {what}: {reason}"
        raise ConstatError(
            [Diagnostic("C0800", message, note="nothing was changed or deleted")]
        ) from problem


def _check_name(session: str) -> None:
    if not session or len(session) > 200 or not session.isprintable():  # noqa: PLR2004
        message = "the name of a session has 1 to 200 printable characters"
        raise ConstatError([Diagnostic("C0802", message)])


def _overtaken(session: str, believed: int, found: int) -> Diagnostic:
    return Diagnostic(
        "C0801",
        f"session `{session}` has {found} messages, and not {believed}",
        note="another program has appended to it; nothing was kept",
        help="read the messages that came meanwhile, then append",
    )
