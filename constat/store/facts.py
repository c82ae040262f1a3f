"""Facts that people state: kept for good, with author, time and words, never overwritten."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.store import clock
from constat.store.state_file import Form, NotOursError, StateFile, unprintable, unshowable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

LONGEST_TEXT: Final = 100_000
_LONGEST_NAME: Final = 200
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS told_texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS told (
    fact INTEGER PRIMARY KEY REFERENCES facts (id),
    hash TEXT NOT NULL REFERENCES told_texts (hash),
    first INTEGER NOT NULL,
    behind INTEGER NOT NULL,
    tool TEXT NOT NULL,
    prompt TEXT NOT NULL,
    response TEXT NOT NULL
)""",
)


@frozen
class Wording:
    """Words that say a fact: bytes `start` to `end` of `text` in UTF-8.

    `tool` names what found the fact in them, a model with the hashes of prompt and response; it is
    empty where the person wrote the fact. The word is the person's in any case.
    """

    text: str
    start: int
    end: int
    tool: str = ""
    prompt: str = ""
    response: str = ""

    @property
    def hash(self) -> str:
        """The hash of the whole text."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def words(self) -> str:
        """The words themselves."""
        return self.text.encode()[self.start : self.end].decode(errors="replace")


def check_told_text(text: str) -> None:
    """Raise `ConstatError` where a text cannot be kept."""
    problem = unshowable(text)
    if not text.strip():
        problem = "the text is empty"
    elif len(text) > LONGEST_TEXT:
        problem = f"the text is longer than {LONGEST_TEXT:,} characters"
    if problem:
        hint = "tell it in plain words, in parts if need be"
        raise ConstatError([Diagnostic("C0888", problem, note="nothing was kept", help=hint)])


def check_told(told: Wording) -> None:
    """Raise `ConstatError` where words cannot be kept."""
    check_told_text(told.text)
    names = (told.tool, told.prompt, told.response)
    content = told.text.encode()
    try:
        placed = 0 <= told.start < told.end <= len(content)
        content[told.start : told.end].decode()
    except UnicodeDecodeError:
        placed = False
    named = all(len(one) <= _LONGEST_NAME and not unprintable(one) for one in names)
    if not placed or not named:
        message = "the words lie outside the text, or a name of what found them is none"
        raise ConstatError([Diagnostic("C0888", message, note="nothing was kept")])


def keep_told(connection: sqlite3.Connection, fact: int, told: Wording) -> None:
    """Keep the words of a fact; the first ones stay."""
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute("INSERT OR IGNORE INTO told_texts VALUES (?, ?)", (told.hash, told.text))
    connection.execute(
        "INSERT OR IGNORE INTO told VALUES (?, ?, ?, ?, ?, ?, ?)",
        (fact, told.hash, told.start, told.end, told.tool, told.prompt, told.response),
    )


def read_told(connection: sqlite3.Connection, facts: Sequence[int]) -> dict[int, Wording]:
    """Give the words of facts by their numbers; none in a file of before there were any."""
    if not facts:
        return {}
    tables = "SELECT count(*) FROM sqlite_master WHERE name IN ('told', 'told_texts')"
    if connection.execute(tables).fetchone()[0] != len(_SCHEMA):
        return {}
    found = connection.execute(
        "SELECT t.fact, x.text, t.hash, t.first, t.behind, t.tool, t.prompt, t.response"
        " FROM told t JOIN told_texts x ON x.hash = t.hash WHERE t.fact BETWEEN ? AND ?",
        (min(facts), max(facts)),
    )
    told = {}
    for fact, text, digest, start, end, *how in found:
        one = Wording(str(text), int(start), int(end), *map(str, how))
        if one.hash != digest:
            raise ValueError("the words of a fact in it are not those that were told")
        told[int(fact)] = one
    return told


FILE_NAME: Final = "facts.sqlite"
_LONGEST_ROW: Final = 4 << 20
_FACTS_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    predicate TEXT NOT NULL,
    row TEXT NOT NULL,
    author TEXT NOT NULL,
    note TEXT NOT NULL,
    added_at TEXT NOT NULL,
    retracted_at TEXT,
    retracted_by TEXT,
    CHECK ((retracted_at IS NULL) = (retracted_by IS NULL))
);
CREATE UNIQUE INDEX IF NOT EXISTS active ON facts (predicate, row, author)
    WHERE retracted_at IS NULL;
"""
_FORM: Final = Form("store of facts", 0x434E5354, 1, tuple(_FACTS_SCHEMA.split(";")))
_COLUMNS: Final = "id, predicate, row, author, note, added_at, retracted_at, retracted_by"


@frozen
class StoredFact:
    """A fact somebody stated: `row` as canonical texts, times in UTC. Active until retracted.

    `None` in the row is a column that was left out.
    """

    id: int
    predicate: str
    row: tuple[str | None, ...]
    author: str
    note: str
    added_at: str
    retracted_at: str | None = None
    retracted_by: str | None = None
    told: Wording | None = None
    """The words that say it, where somebody told it in words."""
    repeated: bool = field(default=False, compare=False)
    """Whether the call that gave this record found it there."""

    @property
    def active(self) -> bool:
        """Whether the fact still stands."""
        return self.retracted_at is None


class FactStore:
    """The facts of a project, in one file of its state folder. Nothing is created by reading."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)

    def add(
        self,
        predicate: str,
        row: Sequence[str | None],
        author: str,
        note: str = "",
        told: Wording | None = None,
    ) -> StoredFact:
        """Keep a fact. Adding what the same author has stated already gives the first record.

        `told` are the words that say it, if there are any.
        """
        texts = _checked(predicate, row, author, note)
        if told is not None:
            check_told(told)
        now = clock.now()
        with self._writing() as connection:
            inserted = connection.execute(
                "INSERT INTO facts (predicate, row, author, note, added_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (predicate, texts, author, note, now),
            )
            found = connection.execute(
                f"SELECT {_COLUMNS} FROM facts"  # noqa: S608  a constant of this module
                " WHERE predicate = ? AND row = ? AND author = ? AND retracted_at IS NULL",
                (predicate, texts, author),
            ).fetchone()
            if told is not None:
                keep_told(connection, int(found[0]), told)
            words = read_told(connection, [int(found[0])])
        return replace(_stored(found, words), repeated=inserted.rowcount == 0)

    def retract(
        self, predicate: str, row: Sequence[str | None], by: str, author: str | None = None
    ) -> tuple[StoredFact, ...]:
        """Mark active records of a fact as retracted, all of them or one author's; gives those."""
        # A clock that was set back must not put a retraction before its statement.
        texts = _checked(predicate, row, by, author or "")
        if not self.path.exists():
            return ()
        with self._writing() as connection:
            found = connection.execute(
                "UPDATE facts SET retracted_at = max(?, added_at), retracted_by = ?"  # noqa: S608  as in `add`
                " WHERE predicate = ? AND row = ? AND retracted_at IS NULL"
                f" AND (? IS NULL OR author = ?) RETURNING {_COLUMNS}",
                (clock.now(), by, predicate, texts, author, author),
            ).fetchall()
            words = read_told(connection, [int(one[0]) for one in found])
        return tuple(sorted((_stored(one, words) for one in found), key=lambda fact: fact.id))

    def list(
        self, predicate: str | None = None, *, history: bool = False
    ) -> tuple[StoredFact, ...]:
        """Give the active facts in the order they were added; with `history` retracted ones too."""
        if not self.path.exists():
            return ()
        with self._reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                f"SELECT {_COLUMNS} FROM facts"  # noqa: S608  a constant of this module
                " WHERE (? IS NULL OR predicate = ?) AND (? OR retracted_at IS NULL) ORDER BY id",
                (predicate, predicate, history),
            ).fetchall()
            words = read_told(connection, [int(one[0]) for one in found])
            return tuple(_stored(one, words) for one in found)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _failures("written"), self._file.writing() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the file; `None` where another program is about to write its first fact."""
        with _failures("read"), self._file.reading() as connection:
            yield connection


@contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
        raise ConstatError([_complaint(problem, what)]) from problem


def _checked(predicate: str, row: Sequence[str | None], *texts: str) -> str:
    """Give the row as one text, or raise `ConstatError` where a text cannot be kept."""
    problem, written = "", [text for text in row if text is not None]
    if not texts[0].strip():
        problem = "a fact needs the name of the person who states it"
    elif any(len(text) > _LONGEST_NAME for text in (predicate, *texts)):
        problem = f"a name or note is longer than {_LONGEST_NAME} characters"
    elif sum(map(len, written)) > _LONGEST_ROW:
        problem = f"the fact is longer than {_LONGEST_ROW} characters"
    elif not all(map(_storable, (predicate, *written, *texts))):
        problem = "a text holds NUL, a control character in a name, or half a surrogate pair"
    elif not all(text.isprintable() for text in texts):
        problem = "a name or note holds a control character"
    if problem:
        raise ConstatError([Diagnostic("C0551", problem)])
    return json.dumps(list(row), ensure_ascii=True, separators=(",", ":"))


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _stored(found: tuple[object, ...], words: Mapping[int, Wording]) -> StoredFact:
    number, predicate, row, author, note, added, retracted, by = found
    try:
        values = json.loads(str(row))
    except RecursionError:
        values = None
    if not isinstance(values, list) or not all(isinstance(value, str | None) for value in values):
        raise ValueError("a record in it is damaged")
    return StoredFact(
        int(str(number)),
        str(predicate),
        tuple(values),
        str(author),
        str(note),
        str(added),
        None if retracted is None else str(retracted),
        None if by is None else str(by),
        words.get(int(str(number))),
    )


def _complaint(problem: Exception, what: str) -> Diagnostic:
    if isinstance(problem, sqlite3.DatabaseError | NotOursError):
        reason = str(problem)
    elif isinstance(problem, OSError):
        reason = problem.strerror or type(problem).__name__
    else:
        reason = str(problem) if type(problem) is ValueError else "a record in it is damaged"
    return Diagnostic(
        "C0550",
        f"the file of stated facts, {FILE_NAME}, cannot be {what}: {reason}",
        note="nothing was changed or deleted",
    )


# Reads only.


class FactsAt(FactStore):
    """The facts of a project at a time, spelled as a `Timestamp`."""

    def __init__(self, folder: Path, moment: str) -> None:
        super().__init__(folder)
        self._moment = moment

    def list(
        self, predicate: str | None = None, *, history: bool = False
    ) -> tuple[StoredFact, ...]:
        """Give the facts that stood then; with `history` those that had been taken back, too."""
        return tuple(
            fact
            for fact in super().list(predicate, history=True)
            if fact.added_at <= self._moment
            and (history or fact.retracted_at is None or fact.retracted_at > self._moment)
        )
