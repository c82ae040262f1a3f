"""The file of the decision log: added to under a lock, on the disk before anybody is told.

In: a folder. Out: a `LockedLog` while the lock is held. Invariants: one program writes at a time
and readers see whole entries; `add` has either put its lines on the disk or raised, and what a
failed write left is cut off again; a last line that a crash has torn is moved aside and an entry
says so; a log that was begun and is missing is not begun anew. Example:
`with locked(folder) as log: log.add(drafts, now)`. Reference: flock(2), fsync(2).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.decision_log_entries import (
    BEGIN,
    MOST_LINE_BYTES,
    REPAIR,
    Draft,
    Entry,
    EntryError,
    entry_after,
    read_entry,
)
from constat.store.locking import lock_within
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG_NAME: Final = "log.jsonl"
LOCK_NAME: Final = "lock"
_WAIT_SECONDS: Final = 10.0


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
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
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
    if not lock_within(descriptor, _WAIT_SECONDS, shared=shared):
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
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
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
