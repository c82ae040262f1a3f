"""What is kept beside the messages: pins, branches, checkpoints, and what was forgotten."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.memory.archive import FORGOTTEN, STATES
from constat.memory.facts import Author, Fact, Place, Span
from constat.memory.history import MAIN, History
from constat.memory.policy import lightened
from constat.memory.quotations import MARKER
from constat.memory.tokens import estimate, estimate_lines, message_tokens
from constat.store import clock

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from constat.memory.archive import Archive
    from constat.memory.history import Cited
    from constat.memory.messages import Message
    from constat.memory.policy import Policy, Window

PIN = "pin"
RETRACT = "retract"


@frozen
class Mark:
    """Somebody wants a claim to be kept in sight (``pin``), or takes it back (``retract``)."""

    kind: str
    claim: str
    author: str
    reason: str = ""


@frozen
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


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """How far a record had come: messages, facts found elsewhere, pins and retractions."""

    messages: int
    notes: int
    marks: int


class Record:
    """The record of one branch; ``branch`` says where it left the main one, if it did."""

    def __init__(
        self,
        archive: Archive,
        session: str,
        policy: Policy,
        window: Window,
        branch: BranchKept | None = None,
    ) -> None:
        self.archive = archive
        self.branch = branch
        self._archived_as = session if branch is None else branch.session
        self._policy = policy
        self._heavy_tokens = policy.heavy(window)
        self.journal = Journal(archive, self._archived_as)
        start = 0 if branch is None else branch.start
        self.history = History(MAIN if branch is None else branch.name, start)
        self.shown: list[Message] = []
        self.costs: list[int] = []
        self.total = 0
        self._cost_of: dict[int, int] = {}
        self.marks: list[Mark] = []
        self.heavy: list[tuple[int, str]] = []
        self._noted = 0

    def load(self) -> None:
        """Take in what is on the disk and not here."""
        self._extend(self.archive.messages(self._archived_as, len(self.history.messages)))
        noted = self.journal.noted()
        self.history.note(noted[self._noted :])
        self._noted = len(noted)
        self.marks = list(self.journal.marks())

    def append(self, messages: Sequence[Message], after: int | None) -> tuple[int, ...]:
        """Keep messages; gives their numbers."""
        numbers = self.archive.append(self._archived_as, messages, after=after)
        if numbers and numbers[0] > len(self.history.messages):
            self.load()
        else:
            self._extend(messages)
        return numbers

    def note(self, facts: Iterable[Fact]) -> None:
        """Keep facts that were found elsewhere."""
        self.journal.note(facts)
        self.load()

    def mark(self, kind: str, claim: str, author: str, reason: str) -> None:
        """Keep a pin or a retraction."""
        self.journal.mark(kind, claim, author, reason)
        self.marks = list(self.journal.marks())

    def moment(self) -> Moment:
        """Say how far the record has come."""
        return Moment(len(self.history.messages), self.history.notes, len(self.marks))

    def at(self, moment: Moment) -> History:
        """Return the history as it was."""
        return self.history.upto(moment.messages, moment.notes)

    def held(self, moment: Moment) -> list[tuple[str, str]]:
        """Return the pins as they were: claims, and who wants them."""
        marks = self.marks[: moment.marks]
        return [(one.claim, one.author) for one in marks if one.kind == PIN]

    def taken_back(self, moment: Moment) -> list[tuple[str, str]]:
        """Return the retractions as they were: what is taken back, and why."""
        marks = self.marks[: moment.marks]
        return [(one.claim, f"{one.author}: {one.reason}") for one in marks if one.kind == RETRACT]

    def tokens(self, messages: Iterable[Message]) -> int:
        """Return the tokens of messages; those of the record were counted when they came."""
        known = self._cost_of
        return sum(
            cost if (cost := known.get(id(one))) is not None else message_tokens(one, _estimated)
            for one in messages
        )

    def _extend(self, messages: Sequence[Message]) -> None:
        first = len(self.history.messages)
        self.history.extend(messages)
        for number, message in enumerate(messages, first):
            shown = lightened(message, number, self._is_heavy, self.history.branch)
            if shown is not message:
                texts = self.history.texts_of(number)
                self.heavy += [(number, one.name) for one in texts if self._is_saved(one)]
            self.shown.append(shown)
            cost = message_tokens(shown)
            self.costs.append(cost)
            self.total += cost
            # The message is in the list as long as its identity is in the table.
            self._cost_of[id(shown)] = cost

    def _is_saved(self, text: Cited) -> bool:
        passage = text.passage
        if passage.place is Place.ARGUMENTS or passage.source:
            return False
        return self._is_heavy(passage.text, passage.place is Place.SAID)

    def _is_heavy(self, text: str, said: bool) -> bool:  # noqa: FBT001  one question, two answers
        if not said and len(text) > self._policy.heavy_characters:
            return True
        # A token has one character at least: most texts are known to be light by their length.
        return len(text) > self._heavy_tokens and estimate(text) > self._heavy_tokens


@lru_cache(maxsize=512)
def _estimated(text: str) -> int:
    """Estimate a text; a block of our own is known line by line."""
    return estimate_lines(text) if text.startswith(MARKER) else estimate(text)


@frozen
class Snapshot:
    """A state: the session at a moment, seen through rules and a policy for a goal."""

    session: str
    moment: Moment
    rules: str
    policy: str
    goal: str

    @property
    def id(self) -> str:
        """The name of the state."""
        text = json.dumps(asdict(self), ensure_ascii=True, sort_keys=True)
        return f"view:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def policy_digest(policy: Policy, window: Window) -> str:
    """Name a policy and a window."""
    text = json.dumps([asdict(policy), asdict(window)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# The table has the columns of seed 004, and the digest of the view, where its source is archived,
# how many facts it was made of, and the round.  `LATEST` and `SAVINGS` are its queries to watch
# by.

LATEST: Final = """
SELECT session_id, checkpoint_num, compression_ratio, summary_cost_usd
FROM checkpoint_summaries
ORDER BY created_at DESC, id DESC
"""
SAVINGS: Final = """
SELECT session_id, SUM(original_tokens - compressed_tokens) AS tokens_saved,
       SUM(summary_cost_usd) AS total_cost
FROM checkpoint_summaries
GROUP BY session_id
ORDER BY session_id
"""
_COLUMNS: Final = (
    "checkpoint_num, from_message_id, to_message_id, messages_compressed, summary_content,"
    " key_facts, original_tokens, compressed_tokens, summary_cost_usd, view_sha, archive_ref,"
    " fact_count, round, kept, snapshot"
)
_INSERT: Final = (
    f"INSERT INTO checkpoint_summaries (session_id, {_COLUMNS}, compression_ratio, created_at)"  # noqa: S608  ours
    f" VALUES ({', '.join('?' * 18)})"
)


@frozen
class Checkpoint:
    """One compaction; ``number`` is 0 until it is kept.

    ``start`` and ``end`` are the first and the last message that it covers, ``key_facts`` the
    places of what it shows, ``before`` and ``after`` tokens, ``kept`` the messages that stayed word
    for word, ``snapshot`` the name of the state that it shows.
    """

    start: int
    end: int
    summary: str
    key_facts: tuple[str, ...]
    before: int
    after: int
    view_sha: str
    fact_count: int
    round: int
    archive_ref: str
    kept: str = ""
    snapshot: str = ""
    cost_usd: float = 0.0
    compressed: int = 0
    number: int = 0

    @property
    def ratio(self) -> float:
        """How many times fewer the tokens are."""
        return self.before / max(1, self.after)

    @property
    def gain(self) -> float:
        """The share of the tokens that was saved."""
        return 1 - self.after / max(1, self.before)


# The four designs keep what they made of a session beside what is made of it by itself.
_DESIGNS: Final = ("001", "002", "003", "004")


def session_of(session: str, design: str) -> str:
    """Return under which name the checkpoints of a design are kept; without one, its own."""
    return f"{session} ({design})" if design else session


class Checkpoints:
    """The checkpoints of one session, in the file of the archive."""

    def __init__(self, archive: Archive, session: str, most: int = 5) -> None:
        self._archive = archive
        self._session = session
        self._most = most

    def add(self, made: Checkpoint) -> int:
        """Keep a checkpoint and forget those before the last ones; returns its number."""
        with self._archive.writing() as connection:
            asked = (
                "SELECT coalesce(max(checkpoint_num), 0) + 1 FROM checkpoint_summaries"
                " WHERE session_id = ?"
            )
            number = int(connection.execute(asked, (self._session,)).fetchone()[0])
            connection.execute(_INSERT, self._row(made, number))
            connection.execute(
                "DELETE FROM checkpoint_summaries WHERE session_id = ? AND checkpoint_num <= ?",
                (self._session, number - max(1, self._most)),
            )
        return number

    def _row(self, made: Checkpoint, number: int) -> tuple[object, ...]:
        return (
            self._session,
            number,
            made.start,
            made.end,
            made.compressed,
            made.summary,
            json.dumps(made.key_facts, ensure_ascii=True),
            made.before,
            made.after,
            made.cost_usd,
            made.view_sha,
            made.archive_ref,
            made.fact_count,
            made.round,
            made.kept,
            made.snapshot,
            made.ratio,
            clock.now(),
        )

    def all(self) -> tuple[Checkpoint, ...]:
        """Return the checkpoints that are kept, the newest first."""
        asked = (
            f"SELECT {_COLUMNS} FROM checkpoint_summaries WHERE session_id = ?"  # noqa: S608  ours
            " ORDER BY checkpoint_num DESC"
        )
        with self._archive.reading() as connection:
            rows = [] if connection is None else connection.execute(asked, (self._session,))
            return tuple(_checkpoints_read(row) for row in rows)

    def newest(self) -> int:
        """Return the number of the newest one; 0 where there is none."""
        asked = "SELECT max(checkpoint_num) FROM checkpoint_summaries WHERE session_id = ?"
        with self._archive.reading() as connection:
            if connection is None:
                return 0
            return int(connection.execute(asked, (self._session,)).fetchone()[0] or 0)

    def last(self) -> Checkpoint | None:
        """Return the newest one."""
        return next(iter(self.all()), None)


def _checkpoints_read(row: tuple[Any, ...]) -> Checkpoint:
    names = [name.strip() for name in _COLUMNS.split(",")]
    one = dict(zip(names, row, strict=True))
    return Checkpoint(
        start=one["from_message_id"],
        end=one["to_message_id"],
        summary=one["summary_content"],
        key_facts=tuple(json.loads(one["key_facts"])),
        before=one["original_tokens"],
        after=one["compressed_tokens"],
        view_sha=one["view_sha"],
        fact_count=one["fact_count"],
        round=one["round"],
        archive_ref=one["archive_ref"],
        kept=one["kept"],
        snapshot=one["snapshot"],
        cost_usd=one["summary_cost_usd"],
        compressed=one["messages_compressed"],
        number=one["checkpoint_num"],
    )


_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class Forgotten:
    """How much went: texts, the messages that said them, facts noted of them, checkpoints."""

    texts: tuple[str, ...]
    messages: int
    notes: int
    checkpoints: int


def forget(archive: Archive, digests: Sequence[str], *, by: str, reason: str) -> Forgotten:
    """Forget texts; raises ``ConstatError`` C0926 for one that is not kept, or no person."""
    wanted = tuple(dict.fromkeys(digests))
    if not by.strip() or not wanted or not all(map(_DIGEST.fullmatch, wanted)):
        message = "a text is forgotten by its digest, and in the name of a person"
        raise ConstatError([Diagnostic("C0926", message)])
    with archive.writing() as connection:
        # What is deleted is overwritten; otherwise it would stay in the file until that is reused.
        connection.execute("PRAGMA secure_delete = ON")
        missing = [one for one in wanted if not _is_kept(connection, one)]
        if missing:
            message = f"no text `{missing[0]}` is kept"
            raise ConstatError([Diagnostic("C0926", message, note="nothing was forgotten")])
        sessions = {name for one in wanted for name in _sessions(connection, one)}
        removed = Forgotten(
            wanted,
            sum(len(_rows(connection, one)) for one in wanted),
            sum(_drop_notes(connection, one) for one in wanted),
            sum(_drop_contexts(connection, one) for one in sorted(sessions)),
        )
        moment = clock.now()
        for one in wanted:
            connection.execute("UPDATE contents SET content = ? WHERE digest = ?", (FORGOTTEN, one))
            connection.execute(
                "INSERT INTO forgotten (digest, author, reason, forgotten_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (one, by, reason, moment),
            )
    with archive.reading() as connection:
        if connection is not None:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return removed


def _is_kept(connection: sqlite3.Connection, digest: str) -> bool:
    asked = "SELECT 1 FROM contents WHERE digest = ?"
    return connection.execute(asked, (digest,)).fetchone() is not None


def _rows(connection: sqlite3.Connection, digest: str) -> list[tuple[str, int]]:
    """Return the messages that hold a text, which name it by its digest."""
    asked = "SELECT session, number FROM messages WHERE instr(spelling, ?) > 0"
    return list(connection.execute(asked, (json.dumps(digest),)))


def _sessions(connection: sqlite3.Connection, digest: str) -> set[str]:
    return {session for session, _ in _rows(connection, digest)}


def _drop_notes(connection: sqlite3.Connection, digest: str) -> int:
    asked = "DELETE FROM notes WHERE instr(fact, ?) > 0"
    return connection.execute(asked, (json.dumps(digest),)).rowcount


def _drop_contexts(connection: sqlite3.Connection, session: str) -> int:
    """Remove what was rendered of a session; it is made anew from what is left.

    The states of an agent hold what was said in its thread, and no part of them can be taken out.
    """
    connection.execute("DELETE FROM working_memory WHERE session = ?", (session,))
    asked = "SELECT digest FROM scratchpad WHERE session = ?"
    for (digest,) in connection.execute(asked, (session,)).fetchall():
        # A whole history may be saved there; what a message says stays, if it is not forgotten.
        if not _rows(connection, digest):
            connection.execute("DELETE FROM contents WHERE digest = ?", (digest,))
    connection.execute("DELETE FROM scratchpad WHERE session = ?", (session,))
    for table in STATES:
        connection.execute(f"DELETE FROM {table} WHERE thread = ?", (session,))  # noqa: S608  ours
    asked = "DELETE FROM checkpoint_summaries WHERE session_id = ?"
    names = [session_of(session, design) for design in ("", *_DESIGNS)]
    return sum(connection.execute(asked, (name,)).rowcount for name in names)
