"""The decision log of a project: entries chained by hashes, appended under a lock, checked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen, slotted
from constat.project import KEPT
from constat.store.replacing import replaced
from constat.store.state_file import WAIT_SECONDS, lock_within

if TYPE_CHECKING:
    from collections.abc import Sequence

# A line has one spelling; `read_entry(line).line() == line`. Example of a line::
# Reference: RFC 5848, section 1 (hash chains of log entries and what they cannot show).

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


@frozen
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


@frozen
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
        raise EntryError(
            "it has not exactly the members that entries have: a later version of Constat wrote it,"
            " or it was changed"
        )
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


LOG_NAME: Final = "log.jsonl"
LOCK_NAME: Final = "lock"


def damaged(what: str) -> ConstatError:
    """Say that a log is not what was written."""
    help_ = "`constat log verify` says where; put the log back from a copy"
    return ConstatError(
        [Diagnostic("C0752", f"the log of decisions is damaged: {what}", help=help_)]
    )


def unwritable(problem: OSError | str) -> ConstatError:
    """Say that nothing was written down."""
    reason = problem if isinstance(problem, str) else problem.strerror or type(problem).__name__
    message = f"the log of decisions cannot be written: {reason}"
    note = "what is not written down is not given out; the log is as it was"
    return ConstatError([Diagnostic("C0750", message, note=note)])


@contextlib.contextmanager
def locked(folder: Path, mode: int = 0o600) -> Iterator[LockedLog]:
    """Hold the log for writing; an `OSError` becomes the diagnostic that nothing was written."""
    try:
        readable_folder(folder, mode)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise unwritable(problem) from problem
    try:
        _wait(descriptor, shared=False)
        _give_rights(folder, descriptor, mode)
        yield LockedLog(folder, descriptor, mode)
    except OSError as problem:
        raise unwritable(problem) from problem
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[Path | None]:
    """Give the file while nobody writes; `None` where no log was begun."""
    path = folder / LOG_NAME
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY)
    except FileNotFoundError:
        yield path if path.exists() else None
        return
    except OSError as problem:
        raise unreadable(problem) from problem
    try:
        _wait(descriptor, shared=True)
        if not path.exists():
            if os.fstat(descriptor).st_size:
                raise damaged("the file is missing, although it was begun")
            yield None
            return
        yield path
    except OSError as problem:
        raise unreadable(problem) from problem
    finally:
        os.close(descriptor)


def readable_folder(folder: Path, mode: int) -> None:
    """Create a folder that whoever may read the files in it may enter; give it that right."""
    folder.mkdir(parents=True, exist_ok=True)
    entering = (mode & 0o444) >> 2  # who reads a file has to get through its folder
    rights = stat.S_IMODE(folder.stat().st_mode)
    if rights | (mode & 0o444) | entering != rights:
        folder.chmod(rights | (mode & 0o444) | entering)


def _give_rights(folder: Path, lock: int, mode: int) -> None:
    """Give what was written under another setting the rights of this one; the lock comes last."""
    if stat.S_IMODE(os.fstat(lock).st_mode) == mode:
        return
    for file in folder.rglob("*"):
        if file.is_dir():
            readable_folder(file, mode)
        elif file.name != LOCK_NAME and not file.is_symlink():
            file.chmod(mode)
    os.fchmod(lock, mode)


def unreadable(problem: OSError) -> ConstatError:
    """Say that the log cannot be read."""
    reason = problem.strerror or type(problem).__name__
    return ConstatError([Diagnostic("C0754", f"the log of decisions cannot be read: {reason}")])


def _wait(descriptor: int, *, shared: bool) -> None:
    if not lock_within(descriptor, WAIT_SECONDS, shared=shared):
        message = "another program holds the log of decisions"
        note = "what is not written down is not given out"
        raise ConstatError([Diagnostic("C0751", message, note=note)])


class LockedLog:
    """The log while its lock is held."""

    def __init__(self, folder: Path, lock: int, mode: int) -> None:
        self.folder = folder
        self._mode = mode
        self.path = folder / LOG_NAME
        self._lock = lock

    def add(self, drafts: Sequence[Draft], now: str) -> list[Entry]:
        """Put entries on the disk, all or none; begins the log where there is none."""
        last = self.last(now)
        entries = []
        for draft in drafts:
            try:
                last = entry_after(last, draft, now)
            except EntryError as problem:
                raise unwritable(f"the entry cannot be written, {problem}") from None
            entries.append(last)
        self._write(b"".join(entry.line() for entry in entries))
        return entries

    def last(self, now: str) -> Entry:
        """Give the last entry; begins the log, or moves a torn line aside, where it has to."""
        if not self.path.exists():
            return self._begin(now)
        self._sign_in()
        tail = self._tail()
        whole = tail[: tail.rfind(b"\n") + 1]
        if not whole:
            raise damaged("it ends in something that is no entry")
        line = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        try:
            last = read_entry(line)
        except EntryError as problem:
            raise damaged(f"its last entry cannot be read, {problem}") from None
        return self._repaired(last, tail[len(whole) :], now) if len(whole) < len(tail) else last

    def replace(self, lines: Iterator[bytes]) -> None:
        """Write the whole log anew."""
        with replaced(self.path, self._mode) as stream:
            stream.writelines(lines)

    def _begin(self, now: str) -> Entry:
        if os.fstat(self._lock).st_size:
            raise damaged("the file is missing, although it was begun")
        first = entry_after(None, Draft(BEGIN, {"log": os.urandom(16).hex()}), now)
        with replaced(self.path, self._mode) as stream:
            stream.write(first.line())
        self._sign_in()
        return first

    def _sign_in(self) -> None:
        """Note in the lock that the log was begun, so that its absence is noticed."""
        if not os.fstat(self._lock).st_size:
            os.pwrite(self._lock, b"begun\n", 0)
            os.fsync(self._lock)

    def _tail(self) -> bytes:
        """Read the end of the file, in which a last whole line and a torn one have room."""
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = max(0, size - 2 * MOST_LINE_BYTES)
            stream.seek(start)
            tail = stream.read()
        # What begins in the middle of a line begins with the next one.
        return tail if not start else tail[tail.find(b"\n") + 1 :]

    def _repaired(self, last: Entry, torn: bytes, now: str) -> Entry:
        """Move a torn line aside, and write down that it was."""
        name = f"torn-{last.sequence + 1}-{hashlib.sha256(torn).hexdigest()[:12]}"
        with replaced(self.folder / name, self._mode) as stream:
            stream.write(torn)
        body = {
            "bytes": len(torn),
            "file": name,
            "sha256": hashlib.sha256(torn).hexdigest(),
        }
        entry = entry_after(last, Draft(REPAIR, body), now)
        size = self.path.stat().st_size - len(torn)
        with replaced(self.path, self._mode) as stream, self.path.open("rb") as old:
            # At every moment the torn bytes or the entry about them are in the log.
            shutil.copyfileobj(old, stream)
            stream.seek(size)
            stream.truncate()
            stream.write(entry.line())
        return entry

    def _write(self, content: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            size = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, content)
                os.fsync(descriptor)
            except BaseException:
                # Half an entry, or one nobody was told of, must not be taken for a decision.
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                    os.fsync(descriptor)
                raise
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


MOST_PROBLEMS: Final = 100


@frozen
class Anchor:
    """The state of a log at some time, kept where the log's keeper cannot change it."""

    log: str
    sequence: int
    hash: str
    time: str


@frozen
class LogReport:
    """What became of a log. `log` is the id that it began with; `hash` that of its last entry."""

    problems: tuple[str, ...]
    entries: int
    decisions: int
    expired: int
    held: int
    log: str
    hash: str
    time: str
    repairs: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def anchor(self) -> Anchor:
        """Give the head, to be signed and kept elsewhere."""
        return Anchor(self.log, self.entries - 1, self.hash, self.time)


@slotted
class _Checking:
    """One pass over one log."""

    anchor: Anchor | None
    problems: list[str] = field(default_factory=list)
    last: Entry | None = None
    lost: bool = False
    log: str = ""
    count: int = 0
    decisions: int = 0
    repairs: int = 0
    holds: dict[int, set[str]] = field(default_factory=dict)
    gone: dict[int, Entry] = field(default_factory=dict)
    keeping: dict[int, str | None] = field(default_factory=dict)
    expired: int = 0
    anchored: bool = False

    def take(self, line: bytes) -> None:
        """Take the next line."""
        place = f"entry {self.count}"
        self.count += 1
        if not line.endswith(b"\n"):
            self.complain(f"{place}: the last line is torn; the next entry moves it aside")
            return
        try:
            entry = read_entry(line)
        except EntryError as problem:
            self.complain(f"{place}: {problem}")
            self.lost = True
            return
        self._chained(entry, place)
        self._meant(entry, place)
        self.last, self.lost = entry, False

    def _chained(self, entry: Entry, place: str) -> None:
        previous = NOTHING if self.last is None else self.last.hash
        if entry.sequence != self.count - 1:
            self.complain(f"{place}: it has the number {entry.sequence}")
        elif entry.previous != previous and not self.lost:
            self.complain(f"{place}: it does not follow the entry before it")
        if self.last is not None and entry.time < self.last.time:
            self.complain(f"{place}: it is older than the entry before it")
        if (entry.kind == BEGIN) != (self.count == 1):
            self.complain(f"{place}: a log begins once, with its first entry")
        if entry.body is None and entry.kind != DECISION:
            self.complain(f"{place}: only the body of a decision may be missing")
        anchor = self.anchor
        if anchor is not None and entry.sequence == anchor.sequence:
            self.anchored = True
            if entry.hash != anchor.hash:
                self.complain(f"{place}: it is not the one of the anchor")

    def _meant(self, entry: Entry, place: str) -> None:
        if entry.kind == BEGIN and entry.body is not None:
            self.log = str(entry.body["log"])
        elif entry.kind == DECISION:
            self.decisions += 1
            self.keeping[entry.sequence] = entry.until
            if entry.body is None:
                self.gone[entry.sequence] = entry
        elif entry.kind in {HOLD, RELEASE} and entry.body is not None:
            self._held(entry, str(entry.body["matter"]), place)
        elif entry.kind == EXPIRE:
            self._expire(entry, place)
        elif entry.kind == REPAIR:
            self.repairs += 1

    def _held(self, entry: Entry, matter: str, place: str) -> None:
        for target in entry.targets:
            matters = self.holds.setdefault(target, set())
            if target not in self.keeping or (matter in matters) == (entry.kind == HOLD):
                self.complain(f"{place}: entry {target} cannot be held or released so")
            elif entry.kind == HOLD:
                matters.add(matter)
            else:
                matters.discard(matter)

    def _expire(self, entry: Entry, place: str) -> None:
        for target in entry.targets:
            until = self.keeping.get(target)
            if until is None or until > entry.time:
                self.complain(f"{place}: entry {target} was expired before its time")
            elif self.holds.get(target):
                self.complain(f"{place}: entry {target} was expired under hold")
            elif self.gone.pop(target, None) is None:
                self.complain(f"{place}: entry {target} has not expired, or twice")
            self.expired += 1

    def finish(self) -> LogReport:
        """Say what is wrong at the end."""
        for sequence in self.gone:
            self.complain(f"entry {sequence}: its body is missing and nothing says why")
        anchor = self.anchor
        if anchor is not None and anchor.log != self.log:
            self.complain("the anchor is of another log")
        elif anchor is not None and not self.anchored:
            self.complain(f"the log is cut off before entry {anchor.sequence} of the anchor")
        last = self.last
        return LogReport(
            problems=tuple(self.problems),
            entries=self.count,
            decisions=self.decisions,
            expired=self.expired,
            held=sum(bool(matters) for matters in self.holds.values()),
            log=self.log,
            hash=NOTHING if last is None else last.hash,
            time="" if last is None else last.time,
            repairs=self.repairs,
        )

    def complain(self, problem: str) -> None:
        """Note what is wrong."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


def check_log(lines: Iterable[bytes], anchor: Anchor | None = None) -> LogReport:
    """Check the lines of a log, each with its end."""
    checking = _Checking(anchor)
    for line in lines:
        checking.take(line)
    if not checking.count:
        checking.complain("the log is empty")
    return checking.finish()


def lines_of(path: Path) -> Iterator[bytes]:
    """Read the lines of a file; one that is too long comes in pieces, which are no entries."""
    with path.open("rb") as stream:
        while line := stream.readline(MOST_LINE_BYTES + 1):
            yield line


CERTIFICATES: Final = "certificates"
# So many numbers fit on a line, whatever they are.
_TARGETS_OF_A_LINE: Final = 4_000
_NUMBER: Final = re.compile(r"[0-9]{1,15}\Z", re.ASCII)
_PREFIX: Final = re.compile(r"(?:sha256:)?([0-9a-f]{8,64})\Z")


@frozen
class Decided:
    """A decision to be written down; `supersedes` is the number of an earlier one."""

    goal: str
    verdict: str
    identity: str
    who: str
    supersedes: int | None = None
    retention: str = KEPT
    until: str | None = None


@frozen
class Record:
    """An entry with what later entries say about it."""

    entry: Entry
    matters: tuple[str, ...] = ()
    superseded_by: int | None = None


@frozen
class Expiry:
    """How many decisions were expired now, and how many are over their time but held."""

    expired: tuple[int, ...]
    held: tuple[int, ...]


@slotted
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
        return self.decide_after(lambda _: (decided, certificate), now)

    def decide_after(self, make: Callable[[Entry], tuple[Decided, bytes]], now: str) -> Entry:
        """Write a decision down whose certificate may name the entry before it; see `decide`."""
        with locked(self.folder, self._mode) as log:
            decided, certificate = make(log.last(now))
            return self._decide(log, decided, certificate, now)

    def _decide(self, log: LockedLog, decided: Decided, certificate: bytes, now: str) -> Entry:
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
