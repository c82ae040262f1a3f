"""Every message of every session, word for word, in one file, found again by words."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation.processor import OPEN_HERE, Turn
from constat.frozen import frozen
from constat.memory.messages import digest, read, spelled
from constat.store import clock
from constat.store.state_file import Form, StateFile, close_quietly, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.memory.history import Cited
    from constat.memory.messages import Message

FILE_NAME: Final = "memory.sqlite"
# What stands in the place of a text that was forgotten: JSON, for it may be a call's arguments.
FORGOTTEN: Final = b'{"forgotten":true}'
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
# Version 3 keeps the states of other people's agents, which hold what was said in their threads.
_SCHEMA_3: Final = """
CREATE TABLE IF NOT EXISTS states (
    thread TEXT NOT NULL,
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    parent TEXT,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    metadata BLOB NOT NULL,
    PRIMARY KEY (thread, space, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state_values (
    thread TEXT NOT NULL,
    space TEXT NOT NULL,
    channel TEXT NOT NULL,
    version TEXT NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (thread, space, channel, version)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state_items (
    thread TEXT NOT NULL,
    link TEXT NOT NULL,
    before TEXT NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (thread, link)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state_writes (
    thread TEXT NOT NULL,
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    task TEXT NOT NULL,
    number INTEGER NOT NULL,
    channel TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (thread, space, name, task, number)
) WITHOUT ROWID;
"""
STATES: Final = ("states", "state_values", "state_items", "state_writes")
_FORM: Final = Form(
    "archive of messages",
    0x434E4D45,  # "CNME"
    3,
    (*_SCHEMA.split(";"), *_SCHEMA_2.split(";"), *_SCHEMA_3.split(";")),
    older=(1, 2),
)


class Archive:
    """The messages in one folder; also where the bytes of attachments are kept."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)
        self._turn = Turn()
        self._held: tuple[sqlite3.Connection, tuple[int, int] | None] | None = None

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
        """Keep the file open, so that opening and closing it for each transaction costs nothing.

        Returns what lets go of it.
        """
        with _failures("read"), self._turn:
            OPEN_HERE.add(self)
            # Whichever thread comes last closes it.
            connection = self._file.opened(shared=True)
            self._held = (connection, _identity(self.path))
            return partial(self._let_go, connection)

    def _let_go(self, connection: sqlite3.Connection) -> None:
        with self._turn:
            if self._held is not None and self._held[0] is connection:
                self._held = None
                OPEN_HERE.discard(self)
        close_quietly(connection)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Give the connection that is kept open, where it is to the file that is there now."""
        with self._turn:
            held = self._held
            if held is not None and held[1] == _identity(self.path):
                yield held[0]
                return
        with closing(self._file.opened(shared=True)) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the file for one transaction, which is kept whole or not at all."""
        with _failures("written"), self._connected() as connection, transaction(connection):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give the file for reading; ``None`` where there is none yet."""
        if not self.path.exists():
            yield None
            return
        with _failures("read"), self._connected() as connection:
            yield connection


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


# Two rankings are put together, of single texts and of texts with their neighbours, for an answer
# often stands beside the question that has the words.  References: G. Cormack, C. Clarke and S.
# Buettcher, Reciprocal Rank Fusion, SIGIR 2009; https://www.sqlite.org/fts5.html

_WORDS: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 64
_SNIPPET: Final = 200
# How far a ranking counts; the usual constant of the method.
_DAMPING: Final = 60
_DEPTH: Final = 4
_STOP: Final = frozenset(
    _WORDS.findall(
        "a an and are as at be been but by can could did do does for from had has have he her his "
        "how i if in is it its may me my of on or our she should so that the their them then there "
        "they this to was we were what when where which who whom whose why will with would you your"
    )
)


@frozen
class Found:
    """A text that was found: its name, who said it, a piece of it, and how well it fits."""

    place: str
    speaker: str
    snippet: str
    score: float


class Index:
    """An index in the memory of the program; texts are added and never taken away.

    With ``neighbours`` a text is found by the words of those beside it as well.
    """

    def __init__(self, *, neighbours: bool = True) -> None:
        self._neighbours = neighbours
        self._file = sqlite3.connect(":memory:", isolation_level=None)
        for table in ("single", "beside"):
            self._file.execute(
                f"CREATE VIRTUAL TABLE {table} USING fts5"
                "(content, content='', tokenize='porter unicode61')"
            )
        self._texts: list[Cited] = []

    def add(self, texts: Sequence[Cited]) -> None:
        """Add texts that follow those that are there."""
        first = len(self._texts)
        self._texts += texts
        self._file.execute("BEGIN")
        singles = ((at, _clean(one.passage.text)) for at, one in enumerate(texts, first + 1))
        self._file.executemany("INSERT INTO single (rowid, content) VALUES (?, ?)", singles)
        # Groups overlap by one text, so that each text stands beside the one before and after it.
        groups = ((at, self._group(at)) for at in range(first, len(self._texts)))
        self._file.executemany("INSERT INTO beside (rowid, content) VALUES (?, ?)", groups)
        self._file.execute("COMMIT")

    def __len__(self) -> int:
        return len(self._texts)

    def search(self, words: str, limit: int = 10) -> tuple[Found, ...]:
        """Return the texts that fit best; none where no word is in any."""
        wanted = _query(words)
        if not wanted or limit < 1:
            return ()
        scores: dict[int, float] = defaultdict(float)
        for rank, row in enumerate(self._ranked("single", wanted, limit * _DEPTH), 1):
            scores[row - 1] += 2 / (_DAMPING + rank)
        if not self._neighbours:
            return self._best(scores, limit, words)
        for rank, row in enumerate(self._ranked("beside", wanted, limit * _DEPTH), 1):
            for at in (row - 1, row):
                scores[at] += 1 / (2 * (_DAMPING + rank))
        return self._best(scores, limit, words)

    def _best(self, scores: Mapping[int, float], limit: int, words: str) -> tuple[Found, ...]:
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        chosen = [one for one in best if 0 <= one[0] < len(self._texts)]
        return tuple(self._found(at, score, words) for at, score in chosen[:limit])

    def close(self) -> None:
        """Forget the index."""
        self._file.close()

    def _group(self, at: int) -> str:
        return _clean("\n".join(one.passage.text for one in self._texts[max(0, at - 1) : at + 1]))

    def _ranked(self, table: str, wanted: str, limit: int) -> list[int]:
        asked = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?"  # noqa: S608  ours
        return [int(row) for (row,) in self._file.execute(asked, (wanted, limit))]

    def _found(self, at: int, score: float, words: str) -> Found:
        text = self._texts[at]
        speaker = text.passage.author.name.lower()
        return Found(text.name, speaker, _snippet(text.passage.text, words), score)


def _query(words: str) -> str:
    """Return words as a query of the index: any of them, none with a meaning of its own."""
    found = list(dict.fromkeys(one.lower() for one in _WORDS.findall(_clean(words))))
    telling = [one for one in found if one not in _STOP] or found
    return " OR ".join(f'"{one}"' for one in telling[:_MOST_WORDS])


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _snippet(text: str, words: str) -> str:
    """Return a piece of a text, around the first of the words that stands in it."""
    telling = [one for one in _WORDS.findall(words.lower()) if one not in _STOP]
    lowered = text.lower()
    places = [place for one in telling if (place := lowered.find(one)) >= 0]
    start = max(0, min(places, default=0) - _SNIPPET // 4)
    return text[start : start + _SNIPPET]
