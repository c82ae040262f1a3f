"""Drafts of rules in quarantine: kept for good, with what became of each, never overwritten."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.store import clock
from constat.store.state_file import Form, NotOursError, StateFile, unprintable, unshowable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

STATUSES: Final = ("proposed", "approved", "rejected", "superseded")
LONGEST_TEXT: Final = 64 << 10
LONGEST_LINE: Final = 4_000
LONGEST_NAME: Final = 200
_MOST_TESTS: Final = 100
_LONGEST_TESTS: Final = 256 << 10
_MOST_REPLACED: Final = 100
_SHOWN_DIGITS: Final = 16
_CALLED: Final = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\s*\(")


@frozen
class NewDraft:
    """A draft that comes in.

    `text` are rules with the declarations of new predicates; `goal` is what they were drafted for,
    `purpose` the question behind it. `replaces` are ids of rules whose place the drafted ones are
    to take. `tests` are case files. `prompt` and `response` are hashes of what a model was told
    and what it said (`sha256:...`), empty where a person drafted. `asked_by` is who asked.
    """

    text: str
    purpose: str
    goal: str = ""
    model: str = ""
    prompt: str = ""
    response: str = ""
    replaces: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    asked_by: str = ""


@frozen
class Decision:
    """What became of a draft: one of the statuses, by whom, why, and when (UTC)."""

    status: str
    by: str
    reason: str
    at: str = ""


@frozen
class Endorsement:
    """One approver's word; `record` is what goes beside the rules once there are enough."""

    by: str
    reason: str
    at: str
    record: str


@frozen
class Draft:
    """A draft as it is kept; `decision` is the last one about it."""

    identity: str
    text: str
    purpose: str
    goal: str
    model: str
    prompt: str
    response: str
    at: str
    status: str
    replaces: tuple[str, ...]
    tests: tuple[str, ...]
    decision: Decision | None
    asked_by: str = ""

    @property
    def short(self) -> str:
        """The beginning of the identity, as people type it."""
        return self.identity[:_SHOWN_DIGITS]


def mentioned(text: str) -> frozenset[str]:
    """Give the names that stand before a bracket: predicates, whether or not the text parses."""
    return frozenset(_CALLED.findall(text))


def check_draft(new: NewDraft) -> None:
    """Raise `ConstatError` where a draft cannot be kept."""
    names = (new.model, new.prompt, new.response, new.asked_by)
    lines = (new.purpose, new.goal)
    problem = ""
    if not new.text.strip():
        problem = "the draft is empty"
    elif not new.purpose.strip():
        problem = "the draft does not say what it is for"
    elif len(new.text.encode(errors="replace")) > LONGEST_TEXT:
        problem = f"the draft is longer than {LONGEST_TEXT >> 10} KiB"
    elif len(new.tests) > _MOST_TESTS or sum(map(len, new.tests)) > _LONGEST_TESTS:
        problem = f"the draft has more than {_MOST_TESTS} tests or {_LONGEST_TESTS >> 10} KiB"
    elif len(new.replaces) > _MOST_REPLACED:
        problem = f"the draft replaces more than {_MOST_REPLACED} rules"
    elif any(len(one) > LONGEST_LINE for one in lines):
        problem = f"the question or the goal is longer than {LONGEST_LINE} characters"
    elif any(len(one) > LONGEST_NAME for one in (*names, *new.replaces)):
        problem = f"a name is longer than {LONGEST_NAME} characters"
    else:
        shown = (*lines, new.text, *new.tests)
        problem = next(filter(None, map(unshowable, shown)), "")
        problem = problem or next(filter(None, map(unprintable, (*names, *new.replaces))), "")
    if problem:
        hint = "have it drafted again"
        raise ConstatError([Diagnostic("C0881", problem, note="nothing was kept", help=hint)])


def check_decision(decision: Decision) -> None:
    """Raise `ConstatError` where a decision cannot be kept."""
    problem = ""
    if decision.status not in STATUSES:
        problem = f"a decision is one of {', '.join(STATUSES)}"
    elif not decision.by.strip():
        problem = "a decision needs the name of the person who makes it"
    elif not decision.reason.strip():
        problem = "a decision needs a reason"
    elif len(decision.by) > LONGEST_NAME or len(decision.reason) > LONGEST_LINE:
        problem = f"a name has at most {LONGEST_NAME} characters, a reason {LONGEST_LINE}"
    else:
        problem = unprintable(decision.by) or unshowable(decision.reason)
    if problem:
        hint = 'write `--by alice --reason "as the contract says"`'
        raise ConstatError([Diagnostic("C0883", problem, help=hint)])


FILE_NAME: Final = "drafts.sqlite"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS drafts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    purpose TEXT NOT NULL,
    goal TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    response TEXT NOT NULL,
    asked_by TEXT NOT NULL,
    at TEXT NOT NULL,
    replaces TEXT NOT NULL,
    tests TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    draft TEXT NOT NULL REFERENCES drafts (identity),
    status TEXT NOT NULL,
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS decided ON decisions (draft);
CREATE TABLE IF NOT EXISTS endorsements (
    draft TEXT NOT NULL REFERENCES drafts (identity),
    by TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (draft, by)
);
"""
_FORM: Final = Form("store of drafts", 0x434E5344, 1, tuple(_SCHEMA.split(";")))


class DraftsFile:
    """The file; it is created by the first write."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._file = StateFile(self.path, _FORM)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open for one write, which is whole or has not happened."""
        with self._failures("written"), self._file.writing() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open for reading; `None` where there is nothing to read yet."""
        with self._failures("read"), self._file.reading() as connection:
            yield connection

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OSError, ValueError) as problem:
            message = f"the file of drafts, {FILE_NAME}, cannot be {what}: {_reason(problem)}"
            note = "nothing was changed or deleted"
            raise ConstatError([Diagnostic("C0886", message, note=note)]) from problem


def _reason(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or type(problem).__name__
    plain = isinstance(problem, sqlite3.DatabaseError | NotOursError) or type(problem) is ValueError
    return str(problem) if plain else "a record in it is damaged"


_MOST_OPEN = 10_000
_SHORTEST_PREFIX = 4
_LONGEST_SHOWN = 4
_COLUMNS = (
    "d.identity, d.text, d.purpose, d.goal, d.model, d.prompt, d.response, d.asked_by, d.at,"
    " d.replaces, d.tests, c.status, c.by, c.reason, c.at"
)
# The last decision about a draft is the one that counts.
_JOINED = (
    "FROM drafts d LEFT JOIN decisions c ON c.id ="
    " (SELECT max(id) FROM decisions WHERE draft = d.identity)"
)


def identity_of(
    text: str, purpose: str, replaces: Sequence[str] = (), tests: Sequence[str] = ()
) -> str:
    """Give the identity of a draft: 64 hexadecimal digits."""
    parts: list[object] = [purpose, text]
    if replaces or tests:
        parts += [replaces, tests]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


class DraftStore:
    """The drafts of a project, in one file of its state folder. Reading creates nothing."""

    def __init__(self, folder: Path) -> None:
        self._file = DraftsFile(folder)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def add(self, new: NewDraft) -> Draft:
        """Keep a draft. Adding the same text for the same purpose again gives the first record."""
        check_draft(new)
        identity = identity_of(new.text, new.purpose, new.replaces, new.tests)
        with self._file.writing() as connection:
            self._insert(connection, identity, new)
            found = connection.execute(
                f"SELECT {_COLUMNS} {_JOINED} WHERE d.identity = ?",
                (identity,),
            ).fetchone()
        return _draft(found)

    @staticmethod
    def _insert(connection: sqlite3.Connection, identity: str, new: NewDraft) -> None:
        known = connection.execute("SELECT 1 FROM drafts WHERE identity = ?", (identity,))
        if known.fetchone():
            return
        (waiting,) = connection.execute(
            "SELECT count(*) FROM drafts"
            " WHERE identity NOT IN (SELECT draft FROM decisions WHERE status != 'proposed')"
        ).fetchone()
        if waiting >= _MOST_OPEN:
            message = f"{_MOST_OPEN:,} drafts wait for a decision already"
            hint = "decide some: `constat rules reject ID --by NAME --reason TEXT`"
            raise ConstatError([Diagnostic("C0881", message, help=hint)])
        connection.execute(
            "INSERT INTO drafts (identity, text, purpose, goal, model, prompt, response, asked_by,"
            " at, replaces, tests) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(identity, new.text, new.purpose, new.goal, new.model, new.prompt, new.response),
                *(new.asked_by, clock.now(), _listed(new.replaces), _listed(new.tests)),
            ),
        )

    def list(self, status: str | None = None) -> tuple[Draft, ...]:
        """Give the drafts, of one status or all, in the order in which they came."""
        with self._file.reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                f"SELECT {_COLUMNS} {_JOINED}"
                " WHERE ? IS NULL OR coalesce(c.status, 'proposed') = ? ORDER BY d.id",
                (status, status),
            ).fetchall()
            return tuple(map(_draft, found))

    def get(self, prefix: str) -> Draft:
        """Find a draft by its identity or the beginning of it. Raises `ConstatError`."""
        wanted = prefix.lower()
        found: tuple[Draft, ...] = ()
        if len(wanted) >= _SHORTEST_PREFIX and set(wanted) <= set("0123456789abcdef"):
            found = self._beginning(wanted)
        if len(found) == 1:
            return found[0]
        raise ConstatError([_not_one(prefix, found)])

    def _beginning(self, prefix: str) -> tuple[Draft, ...]:
        with self._file.reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                f"SELECT {_COLUMNS} {_JOINED} WHERE d.identity LIKE ? || '%' LIMIT ?",
                (prefix, _LONGEST_SHOWN),
            ).fetchall()
            return tuple(map(_draft, found))

    def decide(self, identity: str, decision: Decision) -> Draft:
        """Write down what became of a draft. Saying the same again changes nothing."""
        check_decision(decision)
        draft = self.get(identity)
        if draft.decision is not None and _same(draft.decision, decision):
            return draft
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO decisions (draft, status, by, reason, at) VALUES (?, ?, ?, ?, ?)",
                (
                    draft.identity,
                    decision.status,
                    decision.by,
                    decision.reason,
                    decision.at or clock.now(),
                ),
            )
        return self.get(draft.identity)

    def endorse(self, identity: str, endorsement: Endorsement) -> tuple[Endorsement, ...]:
        """Keep one approver's word on a draft that needs several; gives all there are.

        The same approver's later word takes the place of the earlier one.
        """
        check_decision(Decision("approved", endorsement.by, endorsement.reason, endorsement.at))
        draft = self.get(identity)
        with self._file.writing() as connection:
            connection.execute(
                "INSERT INTO endorsements (draft, by, reason, at, record) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (draft, by) DO UPDATE SET"
                " reason = excluded.reason, at = excluded.at, record = excluded.record",
                (
                    draft.identity,
                    endorsement.by,
                    endorsement.reason,
                    endorsement.at,
                    endorsement.record,
                ),
            )
        return self.endorsements(draft.identity)

    def endorsements(self, identity: str) -> tuple[Endorsement, ...]:
        """Give the approvers' words on a draft so far, in the order in which they came."""
        with self._file.reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                "SELECT by, reason, at, record FROM endorsements WHERE draft = ? ORDER BY at, by",
                (identity,),
            ).fetchall()
        return tuple(Endorsement(*map(str, one)) for one in found)

    def approvers(self) -> dict[str, tuple[str, ...]]:
        """Give for each draft that has any the names of its approvers so far."""
        with self._file.reading() as connection:
            if connection is None:
                return {}
            found = connection.execute("SELECT draft, by FROM endorsements ORDER BY at, by")
            names: dict[str, tuple[str, ...]] = {}
            for draft, by in found:
                names[str(draft)] = (*names.get(str(draft), ()), str(by))
            return names

    def rejections_about(self, predicates: Iterable[str]) -> tuple[Draft, ...]:
        """Give the rejected drafts that mention one of the predicates, the latest first.

        What people said against them is told to whoever drafts again.
        """
        wanted = frozenset(predicates)
        rejected = self.list("rejected")
        fitting = [one for one in rejected if wanted & mentioned(one.text)]
        return tuple(sorted(fitting, key=_decided_at, reverse=True))


def _decided_at(draft: Draft) -> str:
    return "" if draft.decision is None else draft.decision.at


def _same(one: Decision, other: Decision) -> bool:
    return (one.status, one.by, one.reason) == (other.status, other.by, other.reason)


def _not_one(prefix: str, found: Sequence[Draft]) -> Diagnostic:
    hint = "`constat rules review` lists the drafts"
    if not found:
        note = f"an id is the first {_SHORTEST_PREFIX} or more digits of a draft's identity"
        return Diagnostic("C0880", f"there is no draft `{_plain(prefix)}`", note=note, help=hint)
    shown = ", ".join(f"`{one.identity[: len(prefix) + 4]}`" for one in found[:_LONGEST_SHOWN])
    message = f"`{_plain(prefix)}` begins the identities of several drafts"
    return Diagnostic("C0880", message, note=f"among them {shown}", help="write more digits")


def _plain(text: str) -> str:
    """Write what was typed so that it fits a line and moves no cursor."""
    kept = text if text.isprintable() else ascii(text)[1:-1]
    return kept if len(kept) <= 80 else f"{kept[:77]}..."  # noqa: PLR2004  a line


def _listed(texts: Iterable[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=True, separators=(",", ":"))


def _texts(written: object) -> tuple[str, ...]:
    try:
        values = json.loads(str(written))
    except RecursionError:
        values = None
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise ValueError("a record in it is damaged")
    return tuple(values)


def _draft(found: tuple[object, ...]) -> Draft:
    texts = [str(one) for one in found[:9]]
    replaces, tests = _texts(found[9]), _texts(found[10])
    status, by, reason, at = found[11:]
    decision = None
    if status is not None:
        decision = Decision(str(status), str(by), str(reason), str(at))
    draft = Draft(
        identity=texts[0],
        text=texts[1],
        purpose=texts[2],
        goal=texts[3],
        model=texts[4],
        prompt=texts[5],
        response=texts[6],
        asked_by=texts[7],
        at=texts[8],
        status="proposed" if decision is None else decision.status,
        replaces=replaces,
        tests=tests,
        decision=decision,
    )
    if identity_of(draft.text, draft.purpose, replaces, tests) != draft.identity:
        raise ValueError("a draft in it is not the one that was kept")
    return draft
