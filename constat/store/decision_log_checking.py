"""Check a decision log from its first line to its last.

In: the lines of a log. Out: a `LogReport`. Invariants: one pass that keeps a few words of each
decision; each changed, missing, moved or added line is a problem with its place, unless whoever
changed it wrote every later line anew, which only an `Anchor` kept elsewhere shows, as it shows a
tail that was cut off. A body may be missing only
where a later `expire` entry names it, its time was over and nothing held it. Example: two lines
that changed places give two problems. Reference: Schneier and Kelsey, Secure Audit Logs to Support
Computer Forensics, 1999.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from constat.store.decision_log_entries import (
    BEGIN,
    DECISION,
    EXPIRE,
    HOLD,
    MOST_LINE_BYTES,
    NOTHING,
    RELEASE,
    REPAIR,
    Entry,
    EntryError,
    read_entry,
)

MOST_PROBLEMS: Final = 100


@dataclass(frozen=True, slots=True)
class Anchor:
    """The state of a log at some time, kept where the log's keeper cannot change it."""

    log: str
    sequence: int
    hash: str
    time: str


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
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
