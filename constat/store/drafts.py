"""Drafts of rules in quarantine: kept for good, with what became of each, never overwritten.

In: texts that a model or a person proposes. Out: `Draft` values. Invariants: a draft's identity is
the sha256 of its text, its purpose and what it replaces, with its tests: of all that is decided
about; so the same draft is kept once, whoever adds it; what
`add`, `endorse` or `decide` has returned survives a crash; nothing is deleted, a later decision is
written beside the earlier one. Example:
`DraftStore(folder).add(NewDraft("p(?x) :- q(?x).", "Who is p?")).status` is `proposed`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic
from constat.store import clock
from constat.store.draft_values import (
    Decision,
    Draft,
    Endorsement,
    NewDraft,
    check_decision,
    check_draft,
    mentioned,
)
from constat.store.drafts_file import DraftsFile

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["Decision", "Draft", "DraftStore", "Endorsement", "NewDraft", "identity_of"]

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
