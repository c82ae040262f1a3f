"""What sources said, and when: the record that goals are proved "as of" a time from.

In: answers as texts, with the keys they speak of. Out: for a key the last answer that was recorded
up to a time. Invariants: nothing is overwritten, an answer that changed is recorded beside the old
one, and one that did not change is not recorded again; what `add` has returned survives a crash of
the machine (write-ahead log, full synchronisation); an answer is there whole or not at all, and one
whose text is not what was written is never given out. The oldest leave where the record would grow
beyond its age or its size. Example: `store.add([Fresh(...)], now())`.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.store.answers import failures
from constat.store.state_file import Form, StateFile

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FILE_NAME: Final = "recorded.sqlite"
MOST_BYTES: Final = 1 << 30
_KEYS_AT_ONCE: Final = 10_000
_SCHEMA: Final = """
CREATE TABLE answers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    predicate TEXT NOT NULL, shape TEXT NOT NULL, pattern TEXT NOT NULL, source TEXT NOT NULL,
    keys INTEGER NOT NULL, rows INTEGER NOT NULL, recorded_at TEXT NOT NULL,
    content TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE INDEX by_time ON answers (recorded_at, id, size);
CREATE TABLE keys (
    predicate TEXT NOT NULL, shape TEXT NOT NULL, pattern TEXT NOT NULL, key TEXT NOT NULL,
    answer INTEGER NOT NULL, answered INTEGER NOT NULL,
    PRIMARY KEY (predicate, shape, pattern, key, answer)
) WITHOUT ROWID;
CREATE INDEX by_answer ON keys (answer)
"""
# Rows of a source are for those who may read it.
_FORM: Final = Form("record of answers", 0x434E5352, 1, tuple(_SCHEMA.split(";")))
_LISTED: Final = "id, predicate, pattern, source, keys, rows, recorded_at, size"


@frozen
class FreshRecord:
    """An answer to record: `keys` tells of each key whether the answer says all about it.

    `shape` is the declaration that the texts fit, `content` what stays the same when nothing but
    times has changed.
    """

    predicate: str
    shape: str
    pattern: str
    source: str
    keys: dict[str, bool]
    rows: int
    content: str
    body: str = field(repr=False)


@frozen
class Recorded:
    """An answer in the record. `body` is missing in lists.

    `answered` tells whether it says all about the key that it was found for.
    """

    id: int
    predicate: str
    pattern: str
    source: str
    keys: int
    rows: int
    recorded_at: str
    size: int
    body: str = field(default="", repr=False)
    whole: bool = True
    answered: bool = True


class RecordStore:
    """The record of a project, in one file of its state folder. Nothing is created by reading.

    Raises `AnswerStoreError` where the file cannot be used.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)
        self._most = most_bytes

    def add(self, fresh: Sequence[FreshRecord], moment: str, oldest: str = "") -> int:
        """Record what has changed, all of it or nothing; gives how many answers that is.

        What was recorded before `oldest` leaves.
        """
        if not fresh:
            return 0
        with failures(), self._file.writing() as connection:
            added = sum(_insert(connection, one, moment) for one in fresh)
            self._make_room(connection, oldest)
            return added

    def patterns(self, predicate: str, shape: str) -> tuple[str, ...]:
        """Give the patterns that something is recorded for."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                "SELECT DISTINCT pattern FROM keys WHERE predicate = ? AND shape = ?",
                (predicate, shape),
            )
            return tuple(str(one) for (one,) in rows)

    def find(
        self, place: tuple[str, str, str], keys: Sequence[str], moment: str
    ) -> dict[str, Recorded]:
        """Give for each key the last answer up to a time, complete ones before others.

        `place` is predicate, shape and pattern. The last is the one recorded last, whatever the
        clock said: it may have been set back between two answers.
        """
        with self._reading() as connection:
            if connection is None:
                return {}
            found: dict[str, tuple[int, int]] = {}
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = json.dumps(keys[start : start + _KEYS_AT_ONCE])
                found.update(
                    (key, (number, answered))
                    for key, number, answered in connection.execute(
                        "SELECT key, answer, answered FROM keys JOIN answers ON id = answer"
                        " WHERE keys.predicate = ? AND keys.shape = ? AND keys.pattern = ?"
                        " AND key IN (SELECT value FROM json_each(?)) AND recorded_at <= ?"
                        " ORDER BY answered, id",
                        (*place, some, moment),
                    )
                )
            numbers = {number for number, _ in found.values()}
            answers = {number: _read(connection, number) for number in numbers}
            return {
                key: replace(answers[number], answered=bool(answered))
                for key, (number, answered) in found.items()
            }

    def list(self, predicate: str | None = None) -> tuple[Recorded, ...]:
        """Give what is recorded, without its text, in the order of predicates and recording."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                f"SELECT {_LISTED} FROM answers WHERE ? IS NULL OR predicate = ?"  # noqa: S608  a constant
                " ORDER BY predicate, pattern, id",
                (predicate, predicate),
            )
            return tuple(Recorded(*row) for row in rows)

    def forget(self, before: str, predicate: str | None = None) -> int:
        """Remove what was recorded before a time; gives how many answers."""
        if not self.path.exists():
            return 0
        with failures(), self._file.writing() as connection:
            condition = "recorded_at < ? AND (? IS NULL OR predicate = ?)"
            return _delete(connection, condition, (before, predicate, predicate))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with failures(), self._file.reading() as connection:
            yield connection

    def _make_room(self, connection: sqlite3.Connection, oldest: str) -> None:
        """Let the oldest go: those before a time, then as many as the size asks for."""
        _delete(connection, "recorded_at < ?", (oldest,))
        (used,) = connection.execute("SELECT coalesce(sum(size), 0) FROM answers").fetchone()
        surplus = used - self._most
        leaving = []
        for number, size in connection.execute("SELECT id, size FROM answers ORDER BY id"):
            if surplus <= 0:
                break
            surplus -= size
            leaving.append(number)
        _delete(connection, "id IN (SELECT value FROM json_each(?))", (json.dumps(leaving),))


def _insert(connection: sqlite3.Connection, fresh: FreshRecord, moment: str) -> int:
    """Record an answer unless the last one about the same keys says the same; gives 1 or 0."""
    place = (fresh.predicate, fresh.shape, fresh.pattern)
    keys = list(fresh.keys)
    last = connection.execute(
        "SELECT DISTINCT content, keys FROM answers WHERE id IN (SELECT max(answer) FROM keys"
        " WHERE predicate = ? AND shape = ? AND pattern = ?"
        " AND key IN (SELECT value FROM json_each(?)) GROUP BY key)",
        (*place, json.dumps(keys)),
    ).fetchall()
    if last == [(fresh.content, len(keys))]:
        return 0
    size = len(fresh.body.encode()) + sum(map(len, keys))
    (number,) = connection.execute(
        "INSERT INTO answers (predicate, shape, pattern, source, keys, rows, recorded_at, content,"
        " digest, size, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            *(*place, fresh.source, len(keys), fresh.rows, moment, fresh.content),
            *(_digest(fresh.body), size, fresh.body),
        ),
    ).fetchone()
    connection.executemany(
        "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?)",
        [(*place, key, number, int(answered)) for key, answered in fresh.keys.items()],
    )
    return 1


def _read(connection: sqlite3.Connection, number: int) -> Recorded:
    row = connection.execute(
        f"SELECT {_LISTED}, digest, body FROM answers WHERE id = ?",  # noqa: S608  a constant
        (number,),
    ).fetchone()
    *about, digest, body = row
    return replace(Recorded(*about), body=str(body), whole=digest == _digest(str(body)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _delete(connection: sqlite3.Connection, condition: str, values: Sequence[object]) -> int:
    """Remove answers with their keys; the condition is one of this module."""
    chosen = f"SELECT id FROM answers WHERE {condition}"  # noqa: S608  conditions of this module
    connection.execute(f"DELETE FROM keys WHERE answer IN ({chosen})", values)  # noqa: S608
    return connection.execute(f"DELETE FROM answers WHERE {condition}", values).rowcount  # noqa: S608
