"""Name the state of an SQLite file that is being read, without opening the file.

When a process closes any descriptor of a file, POSIX drops all locks that the process has on that
file, SQLite's among them, and writers would come in between two queries. So the files are looked
at, never opened; the index of a write-ahead log is read through the descriptor that SQLite keeps.
References: https://www.sqlite.org/howtocorrupt.html (2.2),
https://www.sqlite.org/walformat.html (2.1).
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.catalog.file_tables import mark_of, settle

if TYPE_CHECKING:
    from constat.catalog.file_tables import Mark

_DESCRIPTORS: Final = Path("/dev/fd")
_INDEX_HEADER: Final = 48
# From the count of changes to the checksum and the salts of the log's last frame.
_IDENTITY: Final = slice(8, 40)
_FRAMES: Final = slice(16, 20)


def file_mark(path: Path) -> Mark | None:
    """Give what tells states of a file apart while nobody may write it."""
    try:
        return mark_of(path)
    except OSError:
        return None


def file_name(mark: Mark) -> str:
    """Name a state by the mark of a file that has no log, or that is locked against writers."""
    return f"file {_digest(mark)}"


def log_name(mark: Mark, header: bytes) -> str:
    """Name the state at the end of a log: the salts and the checksum stand for all its frames.

    With an empty log, the file itself is the state; nothing changes it but a log.
    """
    (frames,) = struct.unpack("=I", header[_FRAMES])
    if not frames:
        settle([mark])
    return f"log {_digest((mark[:2] if frames else mark, header[_IDENTITY]))}"


def log_header(path: Path) -> bytes | None:
    """Read what the index of the log says of its end; `None` where SQLite has none open.

    It stands there twice, so that a torn read is noticed.
    """
    try:
        wanted = mark_of(path.with_name(path.name + "-shm"))[:2]
        numbers = [int(one.name) for one in _DESCRIPTORS.iterdir()]
    except (OSError, ValueError):
        return None
    for number in numbers:
        content = _content(number, wanted)
        if content is not None:
            first, second = content[:_INDEX_HEADER], content[_INDEX_HEADER:]
            return first if first == second and len(first) == _INDEX_HEADER else None
    return None


def _content(number: int, wanted: tuple[int, ...]) -> bytes | None:
    """Read through a descriptor that is that file's before and after; other threads have theirs."""
    try:
        if not _is_of(number, wanted):
            return None
        content = os.pread(number, 2 * _INDEX_HEADER, 0)
        return content if _is_of(number, wanted) else None
    except OSError:
        return None


def _is_of(number: int, wanted: tuple[int, ...]) -> bool:
    about = os.fstat(number)
    return (about.st_dev, about.st_ino) == wanted


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
