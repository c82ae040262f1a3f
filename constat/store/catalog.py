"""What is known of sources' tables, found by words."""

from __future__ import annotations

import math
import sqlite3
import zlib
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import frozen
from constat.store.state_file import Form, NotOursError, OtherVersionError, StateFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

# A file of ours that is damaged or of another version is removed and made anew, since everything
# in it can be found out again.

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
CREATE TABLE outgrown (source TEXT NOT NULL, label TEXT NOT NULL, document TEXT NOT NULL,
    declared TEXT NOT NULL, PRIMARY KEY (source, label)) WITHOUT ROWID;
CREATE TABLE vocabulary (word TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (word, source))
    WITHOUT ROWID;
CREATE TABLE synonyms (word TEXT NOT NULL, meant TEXT NOT NULL, source TEXT NOT NULL,
    PRIMARY KEY (word, meant, source)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    kind, name, more, notes, content = 'entries', content_rowid = 'id', prefix = '3',
    tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(0.0, 10.0, 4.0, 1.5)')
"""
# Names of tables are for those who may read the database. Another layout is another version, so
# that none has to be counted by hand.
_FORM: Final = Form(
    "index of a catalog",
    0x434E5343,  # "CNSC"
    zlib.crc32(_SCHEMA.encode()) & 0x7FFFFFFF,
    tuple(_SCHEMA.split(";")),
    durable=False,
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_LOGS: Final = ("", "-wal", "-shm")


class CatalogFileError(Exception):
    """The file cannot be used; `str()` is the reason, without outside bytes."""


def opened(path: Path | None) -> sqlite3.Connection:
    """Open the file, or create it; without a path, an index in memory."""
    with failures():
        if path is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            _FORM.prepare(connection)
            return connection
        try:
            return _file(path)
        except OtherVersionError:
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
    except NotOursError as problem:
        raise CatalogFileError(str(problem)) from None
    except sqlite3.Error as problem:
        raise CatalogFileError(f"SQLite says: {str(problem)[:200]}") from problem
    except OSError as problem:
        raise CatalogFileError(problem.strerror or type(problem).__name__) from problem


def _file(path: Path) -> sqlite3.Connection:
    return StateFile(path, _FORM, _WAIT_SECONDS).opened(shared=True)


def _ours(path: Path) -> bool:
    """Tell by the header whether a damaged file was ours."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as connection:
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        return bool(found == _FORM.application)
    return False


if TYPE_CHECKING:
    Ask = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]

MOST_WORDS: Final = 12
_MOST_SYNONYMS: Final = 24
_MOST_CONCEPTS: Final = 3
_SHORTEST_PREFIX: Final = 3
_MOST_RANKED: Final = 5_000
_MOST_IN_ALL: Final = 10_000
_MOST_ALIKE: Final = 500
# How much one word can add to bm25's score: its weight times k1 + 1.
_HEAVIEST: Final = 2.2
_LIGHTEST: Final = 1e-6
_COUNT: Final = "SELECT count(*) FROM words WHERE words MATCH ?"
_ALL: Final = "SELECT count(*) FROM entries"
_RANKED: Final = """
    SELECT id, score FROM (
        SELECT rowid AS id, -rank AS score FROM words WHERE words MATCH ? LIMIT ?
    ) ORDER BY score DESC, id LIMIT ?
"""
# The score is computed only for rows that the second condition lets through.
_RANKED_AMONG: Final = """
    SELECT id, score FROM (
        SELECT rowid AS id, -rank AS score FROM words WHERE words MATCH ?
            AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?) LIMIT ?
    ) ORDER BY score DESC, id LIMIT ?
"""


@frozen
class _Word:
    """A word, or the beginning of one, as the index is asked for it."""

    text: str
    entries: int
    weight: float


class WordSearch:
    """One search; `kinds` are those that are wanted, none for all.

    `synonyms` gives other words for what a word names; it is asked where no name has all the words.
    """

    def __init__(
        self,
        ask: Ask,
        words: Sequence[str],
        kinds: Sequence[str],
        most: int,
        synonyms: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        self._ask = ask
        self._words = tuple(dict.fromkeys(words))[:MOST_WORDS]
        self._synonyms = synonyms
        self._kinds = f"kind : ({_either(map(_quoted, kinds))}) AND " if kinds else ""
        self._most = most

    def found(self) -> dict[int, float]:
        """Give ids of entries with their scores, in the order in which they fit."""
        found: dict[int, float] = {}
        for rows in self._steps():
            for identity, score in rows:
                if len(found) < self._most:
                    found.setdefault(identity, score)
            if len(found) >= self._most:
                break
        return found

    def _steps(self) -> Iterator[list[tuple[int, float]]]:
        """Ask, the strictest question first; the next is asked only where too little was found."""
        words = self._words
        if not words:
            return
        every = " AND ".join(map(_quoted, words))
        if len(words) > 1:
            yield self._all_of(f"name : {_quoted('_'.join(words))}")
        if len(self._known) == len(words):
            yield self._all_of(f"name : ({every})")
            yield self._all_of(every)
        meant: dict[str, Sequence[str]] = {}
        known = {one.text for one in self._known}
        if len(known) < len(words) or (len(words) <= _MOST_CONCEPTS and not self._is_named(every)):
            meant = {word: tuple(self._synonyms(word))[:_MOST_SYNONYMS] for word in words}
        if any(meant.values()) and len(words) <= _MOST_CONCEPTS:
            concepts = self._counted(_any_of((one, *meant[one])) for one in words)
            if len(concepts) == len(words):
                every = " AND ".join(one.text for one in concepts)
                yield self._all_of(f"name : ({every})")
                yield self._all_of(every)
        if len(words) > 1:
            yield self._some_of(self._known)
        others = [
            one for word in words if _quoted(word) not in known for one in meant.get(word, ())
        ]
        if others:
            yield self._some_of(self._counted(map(_quoted, dict.fromkeys(others)))[:MOST_WORDS])
        long = [word for word in words if len(word) >= _SHORTEST_PREFIX]
        yield self._some_of(self._counted(f"{_quoted(word)} *" for word in long))

    def _is_named(self, every: str) -> bool:
        ((entries,),) = self._ask(_COUNT, (f"{self._kinds}({{name more}} : ({every}))",))
        return bool(entries)

    def _all_of(self, match: str) -> list[tuple[int, float]]:
        alike = all(one.weight <= _LIGHTEST for one in self._known)
        return self._ranked(match, _MOST_ALIKE if alike else _MOST_RANKED)

    def _some_of(self, known: Sequence[_Word]) -> list[tuple[int, float]]:
        """Rank what has any of the words, without looking at what cannot be among the best."""
        telling = [one for one in known if one.weight > _LIGHTEST]
        ranked = self._best(telling) if telling else []
        if known[len(telling) :] and len(ranked) < self._most:
            # These are in more than half of all entries: which of them comes first is chance.
            ranked += self._ranked(_any(known), _MOST_ALIKE)
        return ranked

    def _best(self, words: Sequence[_Word]) -> list[tuple[int, float]]:
        first, rest = _rare(words)
        if not rest:
            return self._ranked(_any(words), _MOST_RANKED)
        ranked = self._among(_any(words), _any(first))
        return ranked if self._beats(ranked, rest) else self._ranked(_any(words), _MOST_IN_ALL)

    def _beats(self, ranked: Sequence[tuple[int, float]], rest: Sequence[_Word]) -> bool:
        """Tell whether an entry that has only the other words would come behind all of these."""
        if len(ranked) < self._most:
            return False
        return ranked[-1][1] >= sum(one.weight for one in rest) * _HEAVIEST

    @cached_property
    def _known(self) -> list[_Word]:
        return self._counted(map(_quoted, self._words))

    def _counted(self, texts: Iterable[str]) -> list[_Word]:
        """Give the words that some entry has, the rarest first."""
        return sorted((one for one in map(self._word, texts) if one.entries), key=_rarest)

    def _word(self, text: str) -> _Word:
        ((entries,),) = self._ask(_COUNT, (self._kinds + text,))
        rare = (self._all - entries + 0.5) / (entries + 0.5)
        return _Word(text, entries, max(_LIGHTEST, math.log(rare)))

    @cached_property
    def _all(self) -> int:
        ((entries,),) = self._ask(_ALL, ())
        return int(entries)

    def _ranked(self, match: str, most: int) -> list[tuple[int, float]]:
        return self._ask(_RANKED, (f"{self._kinds}({match})", most, self._most))

    def _among(self, match: str, candidates: str) -> list[tuple[int, float]]:
        asked = (f"{self._kinds}({match})", candidates, _MOST_RANKED, self._most)
        return self._ask(_RANKED_AMONG, asked)


def _rare(words: Sequence[_Word]) -> tuple[Sequence[_Word], Sequence[_Word]]:
    """Take the rarest words, at least one, as long as few entries have them; give the others."""
    taken, entries = 0, 0
    for one in words:
        entries += one.entries
        if taken and entries > _MOST_RANKED:
            break
        taken += 1
    return words[:taken], words[taken:]


def _rarest(word: _Word) -> tuple[int, str]:
    return word.entries, word.text


def _any(words: Sequence[_Word]) -> str:
    return _either(one.text for one in words)


def _either(texts: Iterable[str]) -> str:
    return " OR ".join(texts)


def _any_of(words: Iterable[str]) -> str:
    return f"({_either(map(_quoted, words))})"


def _quoted(word: str) -> str:
    """Quote a word, which may be one of FTS5's own."""
    return '"' + word.replace('"', '""') + '"'


_MOST_FOUND: Final = 1_000
_MOST_NAMES: Final = 20_000
_ADD_ENTRY: Final = "INSERT INTO entries VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_TABLE: Final = "INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REMOVE_WORDS: Final = """
    INSERT INTO words (words, rowid, kind, name, more, notes)
    SELECT 'delete', id, kind, name, more, notes FROM entries WHERE source = ?
"""
_ADD_WORDS: Final = """
    INSERT INTO words (rowid, kind, name, more, notes)
    SELECT id, kind, name, more, notes FROM entries WHERE source = ?
"""


@frozen
class KeptSource:
    """A source as it was seen: under which settings, in which state, when, and what is left out."""

    name: str
    setting: str
    fingerprint: str
    seen_at: str
    problems: str = ""


@frozen
class KeptTable:
    """A table: what a list shows of it, all of it as JSON, and the tables that it points to.

    `lines` are the words, names and comments of its columns, to find them by.
    """

    source: str
    label: str
    kind: str
    rows: int | None
    columns: int
    comment: str
    document: str = ""
    targets: tuple[str, ...] = ()
    lines: str = ""


@frozen
class Entry:
    """Something to find: its label, where it is, what it is about.

    `name`, `more` and `notes` are the words it is found by, in the order of their weight.
    """

    source: str
    kind: str
    label: str
    place: str
    about: str
    name: str
    more: str = ""
    notes: str = ""


@frozen
class Found:
    """An entry that fits, with how well; more is better."""

    source: str
    kind: str
    label: str
    place: str
    about: str
    score: float


class CatalogIndex:
    """One file, `catalog.sqlite`; used by one thread at a time."""

    def __init__(self, path: Path | None) -> None:
        self.trouble = ""
        try:
            self._connection = opened(path)
        except CatalogFileError as problem:
            # What is in the file can be found out again; nothing is lost but time.
            self.trouble = str(problem)
            self._connection = opened(None)

    def turn_to_memory(self, reason: str) -> None:
        """Go on without the file, which cannot be used any more; everything is forgotten."""
        self.trouble = reason
        self._connection.close()
        self._connection = opened(None)

    def source(self, name: str) -> KeptSource | None:
        """Give a source, if it was seen."""
        rows = self._rows("SELECT * FROM sources WHERE name = ?", (name,))
        return KeptSource(*rows[0]) if rows else None

    def replace(
        self,
        source: KeptSource,
        tables: Iterable[KeptTable],
        entries: Iterable[Entry],
        synonyms: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Keep a source in the place of what was known of it.

        `synonyms` are words with the word of its names that each of them stands for.
        """
        with failures(), self._writing() as connection:
            _remove(connection, source.name)
            connection.execute("INSERT INTO sources VALUES (?, ?, ?, ?, ?)", astuple(source))
            for one in tables:
                connection.execute(_ADD_TABLE, _cells(one))
                connection.executemany(
                    "INSERT OR IGNORE INTO pointing VALUES (?, ?, ?)",
                    [(one.source, target, one.label) for target in one.targets],
                )
            words: set[str] = set()
            for entry in entries:
                connection.execute(_ADD_ENTRY, astuple(entry))
                words.update(entry.name.split(), entry.more.split())
            connection.executemany(
                "INSERT INTO vocabulary VALUES (?, ?)", [(word, source.name) for word in words]
            )
            connection.execute(_ADD_WORDS, (source.name,))
            connection.executemany(
                "INSERT OR IGNORE INTO synonyms VALUES (?, ?, ?)",
                [(word, meant, source.name) for word, meant in synonyms],
            )

    def keep_only(self, names: Sequence[str]) -> None:
        """Forget the sources that the project has no more."""
        known = [str(name) for (name,) in self._rows("SELECT name FROM sources")]
        gone = [name for name in known if name not in names]
        if gone:
            with failures(), self._writing() as connection:
                for name in gone:
                    _remove(connection, name)
                    connection.execute("DELETE FROM outgrown WHERE source = ?", (name,))

    def outgrown(self, source: str) -> dict[str, tuple[str, str]]:
        """Give tables that have changed since they were declared: as they were then, by label.

        Beside it stands the state of their declarations.
        """
        asked = "SELECT label, document, declared FROM outgrown WHERE source = ?"
        rows = self._rows(asked, (source,))
        return {str(label): (document, declared) for label, document, declared in rows}

    def put_outgrown(self, source: str, tables: Mapping[str, tuple[str, str]]) -> None:
        """Keep what `outgrown` gives of a source."""
        rows = [(source, label, *one) for label, one in tables.items()]
        with failures(), self._writing() as connection:
            connection.execute("DELETE FROM outgrown WHERE source = ?", (source,))
            connection.executemany("INSERT INTO outgrown VALUES (?, ?, ?, ?)", rows)

    def tables(self, source: str | None = None) -> tuple[KeptTable, ...]:
        """List tables without their documents, in the order of sources and labels."""
        asked, values = ("WHERE source = ?", (source,)) if source is not None else ("", ())
        rows = self._rows(
            f"SELECT source, label, kind, rows, columns, comment FROM tables {asked}"  # noqa: S608  ours
            " ORDER BY source, label",
            values,
        )
        return tuple(KeptTable(*row) for row in rows)

    def documents(self, name: str) -> tuple[KeptTable, ...]:
        """Give the tables that a name may mean, with or without its source, in any case."""
        folded = name.casefold()
        found = self._documents("folded = ?", (folded,))
        for (source,) in self._rows("SELECT name FROM sources ORDER BY name"):
            before = f"{source}.".casefold()
            if folded.startswith(before):
                rest = folded.removeprefix(before)
                found += self._documents("source = ? AND folded = ?", (source, rest))
        return found

    def _documents(self, where: str, values: tuple[object, ...]) -> tuple[KeptTable, ...]:
        rows = self._rows(
            "SELECT source, label, kind, rows, columns, comment, document FROM tables"  # noqa: S608  ours
            f" WHERE {where} ORDER BY source, label",
            values,
        )
        return tuple(KeptTable(*row) for row in rows)

    def pointing_to(self, source: str, target: str) -> tuple[str, ...]:
        """Give the labels of the tables that point to one, or seem to."""
        asked = "SELECT label FROM pointing WHERE source = ? AND target = ? ORDER BY label"
        return tuple(str(label) for (label,) in self._rows(asked, (source, target)))

    def document(self, source: str, label: str) -> str | None:
        """Give all that is known of one table, as JSON."""
        asked = "SELECT document FROM tables WHERE source = ? AND label = ?"
        rows = self._rows(asked, (source, label))
        return str(rows[0][0]) if rows else None

    def lines(self, table: Found) -> str:
        """Give what the columns of a table are found by."""
        asked = "SELECT lines FROM tables WHERE source = ? AND label = ?"
        rows = self._rows(asked, (table.source, table.label))
        return str(rows[0][0]) if rows else ""

    def search(
        self,
        words: Sequence[str],
        kinds: Sequence[str],
        most: int,
        synonyms: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> tuple[Found, ...]:
        """Find entries by words; first those with all of them in their name, at last beginnings.

        `kinds` are those that are wanted; none for all. `synonyms` gives other words for a word;
        it is asked only where no name has all the words.
        """
        search = WordSearch(self._rows, words, kinds, min(most, _MOST_FOUND), synonyms)
        return tuple(self._entry(identity, score) for identity, score in search.found().items())

    def _entry(self, identity: int, score: float) -> Found:
        asked = "SELECT source, kind, label, place, about FROM entries WHERE id = ?"
        ((source, kind, label, place, about),) = self._rows(asked, (identity,))
        return Found(source, kind, label, place, about, score)

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Give the words of names that a word stands for in the comments of the sources."""
        asked = "SELECT DISTINCT meant FROM synonyms WHERE word = ? ORDER BY meant"
        return tuple(str(meant) for (meant,) in self._rows(asked, (word,)))

    def vocabulary(self, beginning: str) -> tuple[str, ...]:
        """Give words of names that begin so, for telling what somebody may have meant."""
        asked = "SELECT DISTINCT word FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?"
        rows = self._rows(asked, (beginning, beginning + "\U0010ffff", _MOST_NAMES))
        return tuple(str(word) for (word,) in rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with failures():
            return self._connection.execute(statement, values).fetchall()

    def _writing(self) -> _Transaction:
        return _Transaction(self._connection)


class _Transaction:
    """All of it or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:
            # A full disk may have ended the transaction already.
            self._connection.execute("ROLLBACK")


def _remove(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("DELETE FROM sources WHERE name = ?", (name,))
    connection.execute("DELETE FROM tables WHERE source = ?", (name,))
    connection.execute("DELETE FROM pointing WHERE source = ?", (name,))
    connection.execute(_REMOVE_WORDS, (name,))
    connection.execute("DELETE FROM entries WHERE source = ?", (name,))
    connection.execute("DELETE FROM vocabulary WHERE source = ?", (name,))
    connection.execute("DELETE FROM synonyms WHERE source = ?", (name,))


def _cells(one: KeptTable) -> tuple[object, ...]:
    folded = one.label.casefold()
    shown = (one.kind, one.rows, one.columns, one.comment)
    return (one.source, one.label, folded, *shown, one.document, one.lines)
