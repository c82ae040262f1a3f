"""Replies of language models, which were paid for: kept at once, and served again."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from contextlib import contextmanager, suppress
from dataclasses import field
from decimal import Decimal, InvalidOperation
from time import monotonic
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.store import state_file
from constat.store.clock import now
from constat.store.state_file import Form, NotOursError, StateFile, locked_file, transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

FOLDER_NAME: Final = "in_flight"
_DIGITS: Final = 32
_MOST_NOTE: Final = 64


@frozen
class Flight:
    """Whether a request is ours to send, after how many seconds of waiting for another program.

    `left` is when a program sent the same that ended before its reply was kept; empty where none.
    """

    ours: bool
    waited: float = 0.0
    left: str = ""


@contextmanager
def in_flight(folder: Path, prompt: str, seconds: float) -> Iterator[Flight]:
    """Have a request to oneself, once whoever has it is done; wait so many seconds at most."""
    path = folder / FOLDER_NAME / prompt.rpartition(":")[2][:_DIGITS]
    waited = 0.0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = locked_file(path, 0.0)
        if descriptor is None and seconds > 0:
            started = monotonic()
            descriptor = locked_file(path, seconds)
            waited = monotonic() - started
    except OSError:
        # Such a folder keeps no reply either, which is said where one is kept.
        yield Flight(ours=True)
        return
    if descriptor is None:
        yield Flight(ours=False, waited=waited)
        return
    try:
        yield Flight(ours=True, waited=waited, left=_signed(descriptor))
    finally:
        # Removed while it is locked: whoever waits for it finds that it is gone, and begins anew.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _signed(descriptor: int) -> str:
    """Write down when we begin; give when somebody began who did not come to an end."""
    left = os.pread(descriptor, _MOST_NOTE, 0).decode("ascii", "replace")
    with suppress(OSError):
        os.pwrite(descriptor, now().encode(), 0)
    return "".join(one for one in left if one.isprintable())


FILE_NAME: Final = "model_answers.sqlite"
_SCHEMA: Final = """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, at TEXT NOT NULL,
    request TEXT NOT NULL, response TEXT NOT NULL, digest TEXT NOT NULL, usable INTEGER NOT NULL,
    read INTEGER NOT NULL, cached INTEGER NOT NULL, stored INTEGER NOT NULL,
    written INTEGER NOT NULL, cost TEXT NOT NULL, seconds REAL NOT NULL
);
CREATE INDEX by_prompt ON replies (prompt, usable, id);
CREATE INDEX by_time ON replies (at);
CREATE TABLE told (
    scope TEXT NOT NULL, key TEXT NOT NULL, reply INTEGER NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX by_reply ON told (reply)
"""
# What was asked and told is for those who may read the project's data, and it was paid for.
_FORM: Final = Form("store of model answers", 0x434E4D41, 1, tuple(_SCHEMA.split(";")))
_COLUMNS: Final = (
    "id, prompt, task, model, at, request, response, digest, usable, read, cached, stored, written,"
    " cost, seconds"
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class ModelAnswerError(Exception):
    """The file cannot be used; `str()` is the reason, without outside bytes."""


@frozen
class PaidReply:
    """A reply with its request, both in canonical form, and what it used.

    `task` and `model` are those that were asked; `usable` where somebody may be served it again.
    """

    prompt: str
    task: str
    model: str
    at: str
    request: str = field(repr=False)
    response: str = field(repr=False)
    usable: bool
    read: int
    cached: int
    stored: int
    written: int
    cost: Decimal
    seconds: float
    id: int = 0


@frozen
class ReplyPlace:
    """Which reply told about a key, and at which place of it."""

    key: str
    reply: PaidReply
    place: int


@frozen
class Spent:
    """What one task has used at one model, over all programs."""

    task: str
    model: str
    calls: int
    read: int
    cached: int
    stored: int
    written: int
    cost: Decimal


class ModelAnswers:
    """The paid replies of a project, in one file of its state folder.

    May be used by many threads and programs at once. Nothing is created by reading.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def add(self, reply: PaidReply) -> int:
        """Keep a reply, on the disk when this returns; gives its number."""
        with self._writing() as connection:
            (number,) = connection.execute(
                f"INSERT INTO replies ({_COLUMNS})"  # noqa: S608  a constant
                " VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    *(reply.prompt, reply.task, reply.model, reply.at, reply.request),
                    *(reply.response, _digest(reply.request, reply.response), reply.usable),
                    *(reply.read, reply.cached, reply.stored, reply.written),
                    *(str(reply.cost), reply.seconds),
                ),
            ).fetchone()
            return int(number)

    def find(self, prompt: str, since: str = "") -> PaidReply | None:
        """Give the newest usable reply to a request, not older than a time."""
        with self._reading() as connection:
            if connection is None:
                return None
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM replies"  # noqa: S608  a constant
                " WHERE prompt = ? AND usable AND at >= ? ORDER BY id DESC LIMIT 1",
                (prompt, since),
            ).fetchone()
            return None if row is None else _reply(row)

    def of_prompt(self, digits: str) -> tuple[PaidReply, ...]:
        """Give the newest reply to each prompt whose hash begins with these digits, two at most."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM replies"  # noqa: S608  a constant
                " WHERE id IN (SELECT max(id) FROM replies WHERE prompt >= ? AND prompt < ?"
                " AND request <> '' GROUP BY prompt LIMIT 2) ORDER BY id",
                (f"sha256:{digits}", f"sha256:{digits}g"),
            )
            return tuple(_reply(row) for row in rows)

    def tell(self, scope: str, prompt: str, places: Mapping[str, int]) -> None:
        """Note that the newest reply to a request told about keys, and where."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO told SELECT ?, ?, max(id), ? FROM replies"
                " WHERE prompt = ? AND usable HAVING max(id) IS NOT NULL",
                [(scope, key, place, prompt) for key, place in places.items()],
            )

    def told(self, scope: str, keys: Sequence[str], since: str = "") -> tuple[ReplyPlace, ...]:
        """Give what was told about keys, not before a time."""
        with self._reading() as connection:
            if connection is None:
                return ()
            wanted = json.dumps(list(keys))
            rows = connection.execute(
                "SELECT key, place, reply FROM told WHERE scope = ?"
                " AND key IN (SELECT value FROM json_each(?)) ORDER BY key",
                (scope, wanted),
            ).fetchall()
            replies: dict[int, PaidReply] = {}
            for number in dict.fromkeys(int(row[2]) for row in rows):
                found = connection.execute(
                    f"SELECT {_COLUMNS} FROM replies WHERE id = ? AND at >= ?",  # noqa: S608
                    (number, since),
                ).fetchone()
                if found is not None:
                    replies[number] = _reply(found)
            return tuple(
                ReplyPlace(str(key), replies[int(number)], int(place))
                for key, place, number in rows
                if int(number) in replies
            )

    def spent(self) -> tuple[Spent, ...]:
        """Give what was used so far, by task and model."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = connection.execute(
                "SELECT task, model, read, cached, stored, written, cost FROM replies"
                " ORDER BY task, model"
            )
            found: dict[tuple[str, str], Spent] = {}
            for task, model, *counts, cost in rows:
                place = (str(task), str(model))
                before = found.get(place, Spent(*place, 0, 0, 0, 0, 0, Decimal(0)))
                found[place] = _more(before, [int(count) for count in counts], Decimal(cost))
            return tuple(found.values())

    def clear(self, before: str | None = None) -> int:
        """Remove the texts of replies, all or those before a time; gives how many.

        What they have cost stays in the books.
        """
        with self._reading() as connection:
            if connection is None:
                return 0
        with self._writing() as writing:
            count = writing.execute(
                "UPDATE replies SET request = '', response = '', digest = ?, usable = 0"
                " WHERE request <> '' AND (? IS NULL OR at < ?)",
                (_digest("", ""), before, before),
            ).rowcount
            writing.execute(
                "DELETE FROM told WHERE reply IN (SELECT id FROM replies WHERE request = '')"
            )
            return count

    def close(self) -> None:
        """Close the file; the store may be used again."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            state_file.close_quietly(connection)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        with self._lock, _failures():
            if self._connection is None and self.path.exists():
                self._connection = self._opened()
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _failures():
            if self._connection is None:
                self._connection = self._opened()
            with transaction(self._connection):
                yield self._connection

    def _opened(self) -> sqlite3.Connection:
        return StateFile(self.path, _FORM).opened(shared=True)


def _more(before: Spent, counts: Iterable[int], cost: Decimal) -> Spent:
    read, cached, stored, written = counts
    return Spent(
        before.task,
        before.model,
        before.calls + 1,
        before.read + read,
        before.cached + cached,
        before.stored + stored,
        before.written + written,
        before.cost + cost,
    )


def _reply(row: Sequence[object]) -> PaidReply:
    number, prompt, task, model, at, request, response, digest, usable, *rest = row
    read, cached, stored, written, cost, seconds = rest
    if digest != _digest(str(request), str(response)):
        raise ValueError("is damaged")
    counts = [int(str(count)) for count in (read, cached, stored, written)]
    return PaidReply(
        prompt=str(prompt),
        task=str(task),
        model=str(model),
        at=str(at),
        request=str(request),
        response=str(response),
        usable=bool(usable),
        read=counts[0],
        cached=counts[1],
        stored=counts[2],
        written=counts[3],
        cost=Decimal(str(cost)),
        seconds=float(str(seconds)),
        id=int(str(number)),
    )


def _digest(request: str, response: str) -> str:
    return hashlib.sha256(f"{len(request)}:{request}{response}".encode()).hexdigest()


@contextmanager
def _failures() -> Iterator[None]:
    """Turn everything that can be wrong with a file into `ModelAnswerError`."""
    try:
        yield
    except sqlite3.Error as problem:
        raise ModelAnswerError(str(problem)[:200]) from problem
    except NotOursError as problem:
        raise ModelAnswerError(str(problem)) from problem
    except OSError as problem:
        raise ModelAnswerError(problem.strerror or type(problem).__name__) from problem
    except (ValueError, TypeError, OverflowError, InvalidOperation) as problem:
        raise ModelAnswerError("a record in it is damaged") from problem
