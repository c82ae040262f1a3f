"""The entries of the decision log: one canonical line each, chained by their heads.

In: what is to be written down. Out: a line, and back. An entry is a head and a body. The head
holds the hash of the body and of the head before, so the chain is over heads; a body that has
expired is gone, its head stays, and the chain still closes. The body is salted: the hash that stays
tells nobody what it was of. Invariant: a line has one spelling; `read_entry(line).line() == line`.
Example of a line::

    {"body":{...},"head":{"body":"sha256:...","kind":"decision","previous":"sha256:...",
    "retention":"kept","sequence":1,"time":"2026-11-21T15:20:18.000250Z","until":null}}

Reference: RFC 5848, section 1 (hash chains of log entries and what they cannot show).
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from constat.project import KEPT

NOTHING: Final = "sha256:" + "0" * 64
MOST_LINE_BYTES: Final = 1 << 16
BEGIN, DECISION, HOLD, RELEASE = "begin", "decision", "hold", "release"
EXPIRE, REPAIR, SNAPSHOT = "expire", "repair", "snapshot"
KINDS: Final = (BEGIN, DECISION, HOLD, RELEASE, EXPIRE, REPAIR, SNAPSHOT)
_HASH: Final = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z", re.ASCII)
_HEAD: Final = frozenset({"body", "kind", "previous", "retention", "sequence", "time", "until"})
_NUMBERS: Final = frozenset({"bytes", "supersedes"})
_MEMBERS: Final = (
    (BEGIN, ("log", "salt")),
    (DECISION, ("certificate", "goal", "identity", "salt", "supersedes", "verdict", "who")),
    (HOLD, ("matter", "reason", "salt", "targets", "who")),
    (RELEASE, ("matter", "reason", "salt", "targets", "who")),
    (EXPIRE, ("salt", "targets", "who")),
    (REPAIR, ("bytes", "file", "salt", "sha256")),
    (SNAPSHOT, ("executed", "predicate", "root", "salt", "source", "statement", "who")),
)


class EntryError(ValueError):
    """A line that is no entry; the text says why, without quoting it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `body` is `None` once it has expired; `until` is the time it is kept to."""

    sequence: int
    time: str
    previous: str
    kind: str
    body_hash: str
    body: Mapping[str, Any] | None = field(hash=False)
    retention: str = KEPT
    until: str | None = None

    @property
    def head(self) -> dict[str, object]:
        """Give the part that the chain is over."""
        return {
            "body": self.body_hash,
            "kind": self.kind,
            "previous": self.previous,
            "retention": self.retention,
            "sequence": self.sequence,
            "time": self.time,
            "until": self.until,
        }

    @property
    def hash(self) -> str:
        """Give the hash that the next entry holds."""
        return _hash(self.head)

    @property
    def targets(self) -> tuple[int, ...]:
        """Give the numbers of the entries that this one is about."""
        return () if self.body is None else tuple(self.body.get("targets", ()))

    def line(self) -> bytes:
        """Write the entry, with a line end."""
        return _canonical({"body": self.body, "head": self.head}) + b"\n"


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be written down; the log gives it its place."""

    kind: str
    body: Mapping[str, Any] = field(hash=False)
    retention: str = KEPT
    until: str | None = None


def entry_after(last: Entry | None, draft: Draft, time: str) -> Entry:
    """Make the entry that follows another; time never runs backwards in a log.

    Raises `EntryError` where it is too long for a line.
    """
    body = {**draft.body, "salt": secrets.token_hex(16)}
    moment = time if last is None else max(time, last.time)
    entry = Entry(
        sequence=0 if last is None else last.sequence + 1,
        time=moment,
        previous=NOTHING if last is None else last.hash,
        kind=draft.kind,
        body_hash=_hash(body),
        body=body,
        retention=draft.retention,
        until=draft.until,
    )
    if len(entry.line()) > MOST_LINE_BYTES:
        raise EntryError(f"it is longer than {MOST_LINE_BYTES} bytes")
    read_entry(entry.line())
    return entry


def read_entry(line: bytes) -> Entry:
    """Read a line with its end; raises `EntryError`."""
    if len(line) > MOST_LINE_BYTES:
        raise EntryError("it is too long")
    try:
        document = json.loads(line)
        head, body = document["head"], document["body"]
        exact = document.keys() == {"head", "body"} and head.keys() == _HEAD
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise EntryError("it is not JSON of the form that entries have") from None
    if not exact:
        raise EntryError("it has not exactly the members that entries have")
    entry = Entry(
        sequence=head["sequence"],
        time=head["time"],
        previous=head["previous"],
        kind=head["kind"],
        body_hash=head["body"],
        body=body,
        retention=head["retention"],
        until=head["until"],
    )
    _check_head(entry)
    _check_body(entry)
    if entry.line() != line:
        raise EntryError("it is not in canonical form")
    return entry


def _check_head(entry: Entry) -> None:
    hashes = (entry.previous, entry.body_hash)
    if not all(isinstance(one, str) and _HASH.match(one) for one in hashes):
        raise EntryError("a hash in it is none")
    if type(entry.sequence) is not int or entry.sequence < 0:
        raise EntryError("its number is none")
    times = (entry.time,) if entry.until is None else (entry.time, entry.until)
    if not all(isinstance(one, str) and _TIME.match(one) for one in times):
        raise EntryError("a time in it is none")
    if not isinstance(entry.retention, str) or entry.kind not in KINDS:
        raise EntryError("its kind or its class of retention is none")


def _check_body(entry: Entry) -> None:
    body = entry.body
    if body is None:
        return
    wanted = next(names for kind, names in _MEMBERS if kind == entry.kind)
    if not isinstance(body, dict) or body.keys() != set(wanted):
        raise EntryError("its body has not exactly the members of its kind")
    targets = body.get("targets", [])
    if not isinstance(targets, list) or not all(type(one) is int for one in targets):
        raise EntryError("what it is about is no list of numbers")
    for name, value in body.items():
        if name in _NUMBERS:
            if value is not None and (type(value) is not int or value < 0):
                raise EntryError("a number in it is none")
        elif name != "targets" and not isinstance(value, str):
            raise EntryError("a text in it is none")
    if _hash(body) != entry.body_hash:
        raise EntryError("its body is not the one that was written")


def _hash(value: object) -> str:
    return "sha256:" + hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()
