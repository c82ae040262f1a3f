"""Keep what is known of sources' tables, and find them by words.

In: tables as JSON texts, and entries to search: tables, columns, predicates, rules. Out: the same,
by name or by words. Invariants: a source is replaced as a whole, in one transaction; only names,
types, comments and sizes are kept, and never a value of a row; the file is a copy that may be
thrown away, so a damaged one or one of another version is made anew, and where it cannot be written
the index lives in memory. Example: `index.search(("customer", "revenue"), ("table",), 10)`.
Reference: https://www.sqlite.org/fts5.html
"""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.store.catalog_file import CatalogFileError, failures, opened
from constat.store.catalog_search import WordSearch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class KeptSource:
    """A source as it was seen: under which settings, in which state, when, and what is left out."""

    name: str
    setting: str
    fingerprint: str
    seen_at: str
    problems: str = ""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
        self, source: KeptSource, tables: Iterable[KeptTable], entries: Iterable[Entry]
    ) -> None:
        """Keep a source in the place of what was known of it."""
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

    def keep_only(self, names: Sequence[str]) -> None:
        """Forget the sources that the project has no more."""
        known = [str(name) for (name,) in self._rows("SELECT name FROM sources")]
        gone = [name for name in known if name not in names]
        if gone:
            with failures(), self._writing() as connection:
                for name in gone:
                    _remove(connection, name)

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

    def search(self, words: Sequence[str], kinds: Sequence[str], most: int) -> tuple[Found, ...]:
        """Find entries by words; first those with all of them in their name, at last beginnings.

        `kinds` are those that are wanted; none for all.
        """
        search = WordSearch(self._rows, words, kinds, min(most, _MOST_FOUND))
        return tuple(self._entry(identity, score) for identity, score in search.found().items())

    def _entry(self, identity: int, score: float) -> Found:
        asked = "SELECT source, kind, label, place, about FROM entries WHERE id = ?"
        ((source, kind, label, place, about),) = self._rows(asked, (identity,))
        return Found(source, kind, label, place, about, score)

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


def _cells(one: KeptTable) -> tuple[object, ...]:
    folded = one.label.casefold()
    shown = (one.kind, one.rows, one.columns, one.comment)
    return (one.source, one.label, folded, *shown, one.document, one.lines)
