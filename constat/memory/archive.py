"""Every message of every session, word for word, in one file that survives crashes.

In: messages, and bytes by their digest.  Out: the same.  Invariants: what ``append`` has returned
survives the end of the program and of the machine; a session's messages are numbered from 0 without
gaps, also when two programs append to it; nothing is changed or deleted, but that a text may be
forgotten (``forgetting``); each text is kept once, whoever said it how often.

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
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.memory.messages import Message

FILE_NAME: Final = "memory.sqlite"
_APPLICATION: Final = 0x434E4D45  # "CNME"
_VERSION: Final = 2
# What stands in the place of a text that was forgotten: JSON, for it may be a call's arguments.
FORGOTTEN: Final = b'{"forgotten":true}'
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
# Version 2 keeps what was made of the messages, and what people want to be done with them.
_SCHEMA_2: Final = """
CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    fact TEXT NOT NULL,
    added_at TEXT NOT NULL,
    UNIQUE (session, fact)
);
CREATE TABLE IF NOT EXISTS marks (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    claim TEXT NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    added_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS branches (
    session TEXT NOT NULL,
    branch TEXT NOT NULL,
    archived_as TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER,
    snapshot TEXT NOT NULL,
    PRIMARY KEY (session, branch)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoint_summaries (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    checkpoint_num INTEGER NOT NULL,
    from_message_id INTEGER NOT NULL,
    to_message_id INTEGER NOT NULL,
    messages_compressed INTEGER,
    summary_content TEXT NOT NULL,
    key_facts TEXT,
    original_tokens INTEGER,
    compressed_tokens INTEGER,
    compression_ratio REAL,
    summary_cost_usd REAL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    view_sha TEXT NOT NULL,
    archive_ref TEXT NOT NULL,
    fact_count INTEGER NOT NULL,
    round INTEGER NOT NULL,
    kept TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    UNIQUE (session_id, checkpoint_num)
);
CREATE TABLE IF NOT EXISTS working_memory (
    session TEXT NOT NULL,
    subtask TEXT NOT NULL,
    summary TEXT NOT NULL,
    artifacts TEXT NOT NULL,
    stored_at TEXT NOT NULL,
    PRIMARY KEY (session, subtask)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (
    digest TEXT PRIMARY KEY,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    forgotten_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scratchpad (
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (session, key)
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
        check_name(session)
        pairs = [spelled(message) for message in messages]
        with self.writing() as connection:
            first = _count(connection, session)
            if after is not None and after != first:
                raise ConstatError([_overtaken(session, after, first)])
            for _, texts in pairs:
                keep_contents(connection, texts)
            moment = clock.now()
            connection.executemany(
                "INSERT INTO messages (session, number, spelling, added_at) VALUES (?, ?, ?, ?)",
                [(session, first + at, text, moment) for at, (text, _) in enumerate(pairs)],
            )
        return tuple(range(first, first + len(pairs)))

    def messages(self, session: str, start: int = 0) -> tuple[Message, ...]:
        """Return the messages of a session from a number on; none for an unknown session."""
        asked = "SELECT spelling FROM messages WHERE session = ? AND number >= ? ORDER BY number"
        with self.reading() as connection:
            if connection is None:
                return ()
            content = partial(_content, connection)
            rows = connection.execute(asked, (session, start))
            return tuple(read(text, content) for (text,) in rows)

    def count(self, session: str) -> int:
        """Return how many messages a session has."""
        with self.reading() as connection:
            return 0 if connection is None else _count(connection, session)

    def sessions(self) -> tuple[str, ...]:
        """Return the names of all sessions, sorted."""
        with self.reading() as connection:
            asked = "SELECT DISTINCT session FROM messages ORDER BY session"
            return () if connection is None else tuple(x for (x,) in connection.execute(asked))

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes; ``reference`` has to be their digest, or ``ValueError`` is raised."""
        if reference != digest(content):
            raise ValueError("a reference is the digest of its content")
        with self.writing() as connection:
            keep_contents(connection, {reference: content})

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        with self.reading() as connection:
            if connection is None:
                raise KeyError(reference)
            return _content(connection, reference)

    def hold(self) -> Callable[[], None]:
        """Keep the file open, so that closing it after each transaction costs nothing.

        Returns what lets go of it.
        """
        with _failures("read"):
            self._folder.mkdir(parents=True, exist_ok=True)
            return partial(opening.close_quietly, self._opened("?mode=rwc"))

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the file for one transaction, which is kept whole or not at all."""
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
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give the file for reading; ``None`` where there is none yet."""
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
            # What `hold` keeps is closed by whichever thread comes last; nothing else crosses them.
            check_same_thread=False,
        )
        return opening.opened(connect, _prepare, _WAIT_SECONDS)


def _prepare(connection: sqlite3.Connection) -> None:
    found = opening.identity(connection)
    if found.application == _APPLICATION and found.version > _VERSION:
        raise ValueError("it was written by a later version of Constat")
    connection.execute("PRAGMA synchronous = FULL")
    if (found.application, found.version) == (_APPLICATION, _VERSION):
        return
    if not found.blank and found.application != _APPLICATION:
        raise ValueError("it is no archive of messages")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in (*_SCHEMA.split(";"), *_SCHEMA_2.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    connection.execute("COMMIT")


def _count(connection: sqlite3.Connection, session: str) -> int:
    asked = "SELECT coalesce(max(number) + 1, 0) FROM messages WHERE session = ?"
    return int(connection.execute(asked, (session,)).fetchone()[0])


def keep_contents(connection: sqlite3.Connection, contents: Mapping[str, bytes]) -> None:
    """Keep bytes by their digests."""
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
    if digest(content) != reference and content != FORGOTTEN:
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


def check_name(session: str) -> None:
    """Raise ``ConstatError`` for what is no name of a session."""
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
