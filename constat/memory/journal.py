"""What is kept beside the messages: facts found elsewhere, pins, what was taken back, branches.

In: values.  Out: the same.  Invariants: what a method has returned from is on the disk; nothing is
changed or deleted, but that a branch comes back once; the same fact noted twice is noted once.

Example: ``Journal(archive, "s1").mark("pin", "m3[12:58] constraint", "ann")``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.memory.facts import Author, Fact, Span
from constat.store import clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.memory.archive import Archive

PIN = "pin"
RETRACT = "retract"


@dataclass(frozen=True, slots=True)
class Mark:
    """Somebody wants a claim to be kept in sight (``pin``), or takes it back (``retract``)."""

    kind: str
    claim: str
    author: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BranchKept:
    """A branch, the session that holds its messages, and where it began and came back."""

    name: str
    session: str
    start: int
    end: int | None
    snapshot: str


class Journal:
    """The journal of one session, in the file of the archive."""

    def __init__(self, archive: Archive, session: str) -> None:
        self._archive = archive
        self._session = session

    def note(self, facts: Iterable[Fact]) -> None:
        """Keep facts that were found elsewhere."""
        moment = clock.now()
        rows = [(self._session, _spelled(fact), moment) for fact in facts]
        with self._archive.writing() as connection:
            connection.executemany(
                "INSERT INTO notes (session, fact, added_at) VALUES (?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                rows,
            )

    def noted(self) -> tuple[Fact, ...]:
        """Return these facts, in the order in which they were noted."""
        asked = "SELECT fact FROM notes WHERE session = ? ORDER BY id"
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(_read(text) for (text,) in rows)

    def mark(self, kind: str, claim: str, author: str, reason: str = "") -> None:
        """Keep a pin or a retraction."""
        row = (self._session, kind, claim, author, reason, clock.now())
        with self._archive.writing() as connection:
            connection.execute(
                "INSERT INTO marks (session, kind, claim, author, reason, added_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )

    def marks(self) -> tuple[Mark, ...]:
        """Return pins and retractions, in their order."""
        asked = "SELECT kind, claim, author, reason FROM marks WHERE session = ? ORDER BY id"
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(Mark(*row) for row in rows)

    def begin(self, branch: BranchKept) -> None:
        """Keep that a branch begins; raises ``ConstatError`` where there is one of that name."""
        row = (self._session, branch.name, branch.session, branch.start, branch.snapshot)
        with self._archive.writing() as connection:
            kept = connection.execute(
                "INSERT INTO branches (session, branch, archived_as, start, snapshot)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                row,
            )
            if kept.rowcount != 1:
                message = f"there is a branch `{branch.name}` already"
                raise ConstatError([Diagnostic("C0806", message)])

    def end(self, branch: str, at: int) -> None:
        """Keep that a branch has come back; the first time counts."""
        with self._archive.writing() as connection:
            connection.execute(
                "UPDATE branches SET end = ? WHERE session = ? AND branch = ? AND end IS NULL",
                (at, self._session, branch),
            )

    def branches(self) -> tuple[BranchKept, ...]:
        """Return the branches by name."""
        asked = (
            "SELECT branch, archived_as, start, end, snapshot FROM branches"
            " WHERE session = ? ORDER BY branch"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(BranchKept(*row) for row in rows)


def _spelled(fact: Fact) -> str:
    members = asdict(fact) | {"author": fact.author.name}
    return json.dumps(members, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def _read(text: str) -> Fact:
    members = json.loads(text)
    members["span"] = Span(**members["span"])
    members["author"] = Author[members["author"]]
    return Fact(**members)
