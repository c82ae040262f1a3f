"""The decision log of a project: what was decided, by whom, and what came of it.

In: decisions with their certificates. Out: entries, in order. Invariants: nothing is overwritten; a
decision that is wrong is superseded by a later one; what is held stays, what may go leaves its
head. Each decision's certificate lies beside the log under the sha256 of its bytes, and is on the
disk before the entry is. Example: `DecisionLog(folder).decide(made, content, now)` writes
`log.jsonl` and `certificates/<hex>.json`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.project import KEPT
from constat.store.decision_log_checking import check_log, lines_of
from constat.store.decision_log_entries import (
    DECISION,
    EXPIRE,
    HOLD,
    RELEASE,
    SNAPSHOT,
    Draft,
    Entry,
    EntryError,
    entry_after,
    read_entry,
)
from constat.store.decision_log_file import (
    LOG_NAME,
    LockedLog,
    damaged,
    locked,
    readable_folder,
    reading,
)
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.store.decision_log_checking import Anchor, LogReport

CERTIFICATES: Final = "certificates"
# So many numbers fit on a line, whatever they are.
_TARGETS_OF_A_LINE: Final = 4_000
_NUMBER: Final = re.compile(r"[0-9]{1,15}\Z", re.ASCII)
_PREFIX: Final = re.compile(r"(?:sha256:)?([0-9a-f]{8,64})\Z")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision to be written down; `supersedes` is the number of an earlier one."""

    goal: str
    verdict: str
    identity: str
    who: str
    supersedes: int | None = None
    retention: str = KEPT
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """An entry with what later entries say about it."""

    entry: Entry
    matters: tuple[str, ...] = ()
    superseded_by: int | None = None


@dataclass(frozen=True, slots=True)
class Expiry:
    """How many decisions were expired now, and how many are over their time but held."""

    expired: tuple[int, ...]
    held: tuple[int, ...]


@dataclass(slots=True)
class _Later:
    """What entries say about earlier ones."""

    matters: dict[int, set[str]] = field(default_factory=dict)
    superseded: dict[int, int] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Note what one entry says."""
        body = entry.body
        if body is None:
            return
        if entry.kind == HOLD:
            for target in entry.targets:
                self.matters.setdefault(target, set()).add(str(body["matter"]))
        elif entry.kind == RELEASE:
            for target in entry.targets:
                self.matters.get(target, set()).discard(str(body["matter"]))
        elif entry.kind == DECISION and body["supersedes"] is not None:
            self.superseded[body["supersedes"]] = entry.sequence


class DecisionLog:
    """The log in one folder. Each use takes the lock for as long as it lasts.

    `mode` are the rights of its files: those of an auditor's group can be let read them.
    """

    def __init__(self, folder: Path, mode: int = 0o600) -> None:
        self.folder = folder
        self._mode = mode
        self.path = folder / LOG_NAME

    def decide(self, decided: Decided, certificate: bytes, now: str) -> Entry:
        """Write a decision down; when this returns it is on the disk.

        Raises `ConstatError` where it is not, or where what it supersedes cannot be superseded.
        """
        digest = hashlib.sha256(certificate).hexdigest()
        body = {
            "certificate": f"sha256:{digest}",
            "goal": decided.goal,
            "identity": decided.identity,
            "supersedes": decided.supersedes,
            "verdict": decided.verdict,
            "who": decided.who,
        }
        draft = Draft(DECISION, body, decided.retention, decided.until)
        with locked(self.folder, self._mode) as log:
            if decided.supersedes is not None:
                found = self._records(log.path)
                _require_supersedable(found, decided.supersedes, decided.goal)
            with self._kept(digest, certificate):
                return log.add([draft], now)[0]

    def snapshot(self, body: Mapping[str, str], now: str) -> Entry:
        """Write down that somebody committed to a relation."""
        with locked(self.folder, self._mode) as log:
            return log.add([Draft(SNAPSHOT, body)], now)[0]

    def hold(self, targets: Sequence[int], matter: str, reason: str, who: str, now: str) -> Entry:
        """Keep decisions from expiring, for a matter."""
        return self._mark(HOLD, targets, (matter, reason, who), now)

    def release(
        self, targets: Sequence[int], matter: str, reason: str, who: str, now: str
    ) -> Entry:
        """Lift a hold."""
        return self._mark(RELEASE, targets, (matter, reason, who), now)

    def _mark(
        self, kind: str, targets: Sequence[int], said: tuple[str, str, str], now: str
    ) -> Entry:
        matter, reason, who = said
        wanted = sorted(set(targets))
        body = {"matter": matter, "reason": reason, "targets": wanted, "who": who}
        with locked(self.folder, self._mode) as log:
            records = {one.entry.sequence: one for one in self._records(log.path)}
            for target in wanted:
                _require_markable(records.get(target), target, matter, kind)
            return log.add([Draft(kind, body)], now)[0]

    def expire(self, who: str, now: str) -> Expiry:
        """Remove the bodies and certificates of decisions whose time is over and nobody holds."""
        with locked(self.folder, self._mode) as log:
            if not log.path.exists():
                return Expiry((), ())
            last = log.last(now)
            report = check_log(lines_of(log.path))
            if not report.whole:
                raise damaged(report.problems[0])
            over = [
                one
                for one in self._records(log.path)
                if one.entry.kind == DECISION
                and one.entry.body is not None
                # Time never runs backwards in a log, so it may be ahead of this machine's.
                and one.entry.until is not None
                and one.entry.until <= max(now, last.time)
            ]
            due = tuple(one.entry.sequence for one in over if not one.matters)
            if due:
                log.replace(_without(log, set(due), last, who, now))
            self._drop_unreferenced(log.path)
        return Expiry(due, tuple(one.entry.sequence for one in over if one.matters))

    def records(self) -> tuple[Record, ...]:
        """Give all entries, in order. Raises `ConstatError` for a line that is none."""
        with reading(self.folder) as path:
            return () if path is None else self._records(path)

    def find(self, reference: str) -> Record:
        """Give the entry with a number, or the last decision whose proof has an identity."""
        found = [one for one in self.records() if _meant(one.entry, reference)]
        if not found:
            raise ConstatError(
                [
                    Diagnostic(
                        "C0754",
                        f"the log of decisions has no entry `{reference[:80]}`",
                        help="`constat log list` shows what there is",
                    )
                ]
            )
        return found[-1]

    def check(self, anchor: Anchor | None = None) -> LogReport | None:
        """Check the log from end to end; `None` where none was begun."""
        with reading(self.folder) as path:
            return None if path is None else check_log(lines_of(path), anchor)

    def wrong_certificates(self, most: int) -> tuple[str, ...]:
        """Say which certificates are not what was written down, so many at most."""
        found: list[str] = []
        with reading(self.folder) as path:
            for entry in () if path is None else _entries(path):
                if entry.kind == DECISION and entry.body is not None and len(found) < most:
                    problem = self._wrong_certificate(str(entry.body["certificate"]))
                    found += [f"entry {entry.sequence}: {problem}"] if problem else []
        return tuple(found)

    def certificate(self, entry: Entry) -> bytes:
        """Give the certificate of a decision that has not expired."""
        digest = "" if entry.body is None else str(entry.body.get("certificate", ""))
        if problem := self._wrong_certificate(digest):
            raise ConstatError([Diagnostic("C0754", f"entry {entry.sequence}: {problem}")])
        return self._place(digest).read_bytes()

    def content(self) -> Iterator[bytes]:
        """Give the lines of the log as they stand."""
        with reading(self.folder) as path:
            if path is not None:
                yield from lines_of(path)

    def _records(self, path: Path) -> tuple[Record, ...]:
        if not path.exists():
            return ()
        later, entries = _Later(), list(_entries(path))
        for entry in entries:
            later.take(entry)
        return tuple(
            Record(
                one,
                tuple(sorted(later.matters.get(one.sequence, ()))),
                later.superseded.get(one.sequence),
            )
            for one in entries
        )

    def _place(self, digest: str) -> Path:
        return self.folder / CERTIFICATES / f"{digest.removeprefix('sha256:')}.json"

    def _wrong_certificate(self, digest: str) -> str:
        try:
            with self._place(digest).open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except (OSError, ValueError):
            return "its certificate is missing"
        return "" if f"sha256:{found}" == digest else "its certificate is not the one written down"

    @contextlib.contextmanager
    def _kept(self, digest: str, content: bytes) -> Iterator[None]:
        """Keep a certificate while its entry is written; take it away where that fails."""
        path = self._place(digest)
        new = self._wrong_certificate(f"sha256:{digest}") != ""
        try:
            if new:
                readable_folder(path.parent, self._mode)
                with replaced(path, self._mode) as stream:
                    stream.write(content)
            yield
        except BaseException:
            if new:
                with contextlib.suppress(OSError):
                    path.unlink()
            raise

    def _drop_unreferenced(self, path: Path) -> None:
        """Remove certificates that no entry names any more, also after a crash."""
        named = {
            str(entry.body["certificate"]).removeprefix("sha256:")
            for entry in _entries(path)
            if entry.kind == DECISION and entry.body is not None
        }
        for file in (self.folder / CERTIFICATES).glob("*.json"):
            if file.stem not in named:
                file.unlink(missing_ok=True)


def _entries(path: Path) -> Iterator[Entry]:
    for number, line in enumerate(lines_of(path)):
        if not line.endswith(b"\n"):
            return  # torn: the next entry moves it aside, and `check` says so
        try:
            yield read_entry(line)
        except EntryError as problem:
            raise damaged(f"entry {number} cannot be read, {problem}") from None


def _without(log: LockedLog, due: set[int], last: Entry, who: str, now: str) -> Iterator[bytes]:
    """Give the lines of a log without the bodies of what is due, and the entries that say so."""
    for entry in _entries(log.path):
        yield (_bodiless(entry) if entry.sequence in due else entry).line()
    for targets in _pieces(sorted(due)):
        last = entry_after(last, Draft(EXPIRE, {"targets": targets, "who": who}), now)
        yield last.line()


def _bodiless(entry: Entry) -> Entry:
    return Entry(
        sequence=entry.sequence,
        time=entry.time,
        previous=entry.previous,
        kind=entry.kind,
        body_hash=entry.body_hash,
        body=None,
        retention=entry.retention,
        until=entry.until,
    )


def _pieces(numbers: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(numbers), _TARGETS_OF_A_LINE):
        yield list(numbers[start : start + _TARGETS_OF_A_LINE])


def _meant(entry: Entry, reference: str) -> bool:
    if _NUMBER.match(reference):
        return entry.sequence == int(reference)
    prefix = _PREFIX.match(reference)
    if prefix is None or entry.kind != DECISION or entry.body is None:
        return False
    return str(entry.body["identity"]).removeprefix("sha256:").startswith(prefix[1])


def require_supersedable(record: Record, goal: str) -> None:
    """Raise `ConstatError` unless a decision can be superseded by one about this goal."""
    entry = record.entry
    if entry.kind != DECISION or entry.body is None:
        reason = f"entry {entry.sequence} is no decision, or has expired"
    elif record.superseded_by is not None:
        reason = f"entry {entry.sequence} is superseded by {record.superseded_by} already"
    elif entry.body["goal"] != goal:
        reason = f"entry {entry.sequence} is about {entry.body['goal']}, not about {goal}"
    else:
        return
    raise ConstatError([Diagnostic("C0753", reason, help="`constat log list` shows the decisions")])


def _require_supersedable(records: Iterable[Record], number: int, goal: str) -> None:
    for record in records:
        if record.entry.sequence == number:
            require_supersedable(record, goal)
            return
    raise ConstatError([Diagnostic("C0753", f"there is no entry {number} to supersede")])


def _require_markable(record: Record | None, target: int, matter: str, kind: str) -> None:
    if record is None or record.entry.kind != DECISION:
        reason = f"there is no decision {target}"
    elif kind == HOLD and record.entry.body is None:
        reason = f"decision {target} has expired"
    elif (matter in record.matters) == (kind == HOLD):
        state = "held already" if kind == HOLD else "not held"
        reason = f"decision {target} is {state} for the matter `{matter}`"
    else:
        return
    raise ConstatError([Diagnostic("C0755", reason)])
