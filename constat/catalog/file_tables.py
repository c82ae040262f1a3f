"""Find the files behind the tables of a folder, and name their state.

In: a table's file or pattern, and the project's folder. Out: `FileTable`: the files in order with
what tells their states apart, or why there are none. Invariants (semantics 29): every file lies in
the project after resolving links; a missing file is a failure and never an empty table. A file that
has just been written is looked at again a moment later, because a second writing within the same
tick of the clock leaves the same time. What files hold is not compared (decision 0060). Example:
`data/orders-*.parquet` gives its files by name.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.catalog.connection import SourceFailureError
from constat.frozen import frozen
from constat.project import inside
from constat.project.settings import split_sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WILD: Final = frozenset("*?[")
_MOST_FILES: Final = 10_000
_ATTEMPTS: Final = 3
_TICK_SECONDS: Final = 0.02
# Where times are whole seconds; some file systems count in twos.
_LONG_TICK_SECONDS: Final = 2.0
# What is later than that was written before somebody set the clock back.
_MOST_AHEAD_SECONDS: Final = 60.0
_NANOSECONDS: Final = 1_000_000_000

Mark = tuple[int, int, int, int, int]
"""Device, inode, size, time and time of the last change of a file; the last nobody can choose."""


@frozen
class FileTable:
    """The files of one table, in the order of their names, or the reason why it has none."""

    files: tuple[Path, ...] = ()
    marks: tuple[Mark, ...] = ()
    failure: str = ""


def find_tables(patterns: Mapping[str, str], folder: Path) -> dict[str, FileTable]:
    """Look at all files, and again where one was written just now.

    A file that is written all the time has no state: its table gets no marks, and is like no other.
    """
    found = _looked(patterns, folder)
    for _ in range(_ATTEMPTS):
        if not settle([mark for table in found.values() for mark in table.marks]):
            return found
        before, found = found, _looked(patterns, folder)
        if found == before:
            return found
    return {
        name: replace(table, marks=()) if _unsettled(table.marks) else table
        for name, table in found.items()
    }


def _looked(patterns: Mapping[str, str], folder: Path) -> dict[str, FileTable]:
    return {name: find_table(pattern, folder) for name, pattern in patterns.items()}


def settle(marks: Sequence[Mark]) -> bool:
    """Wait where a file was written so lately that a second writing could leave the same time."""
    seconds = _unsettled(marks)
    if seconds:
        time.sleep(seconds)
    return seconds > 0


def _unsettled(marks: Sequence[Mark]) -> float:
    """Give the seconds until whatever is written to these files must leave another time."""
    return max((_seconds_left(mark[-1]) for mark in marks), default=0)


def _seconds_left(changed: int) -> float:
    tick = _TICK_SECONDS if changed % _NANOSECONDS else _LONG_TICK_SECONDS
    ago = time.time() - changed / _NANOSECONDS
    # A server's clock may be ahead of ours: then a tick has passed when we have waited for one.
    return tick - max(ago, 0) if -_MOST_AHEAD_SECONDS < ago < tick else 0


def find_table(pattern: str, folder: Path) -> FileTable:
    """Look at the files of one table."""
    try:
        files = _resolved(pattern, folder)
        return FileTable(files, tuple(mark_of(file) for file in files))
    except SourceFailureError as problem:
        return FileTable(failure=problem.reason)
    except (OSError, ValueError) as problem:
        return FileTable(failure=f"a file of `{pattern}` cannot be read ({type(problem).__name__})")


def state_name(tables: Mapping[str, FileTable]) -> str:
    """Give a short text that differs when any file does."""
    listed = [(name, *table.marks, table.failure) for name, table in sorted(tables.items())]
    return f"files {hashlib.sha256(repr(listed).encode()).hexdigest()[:16]}"


def _resolved(pattern: str, folder: Path) -> tuple[Path, ...]:
    pattern, _ = split_sheet(pattern)
    listed = [folder / pattern]
    if _WILD & set(pattern):
        listed = sorted(folder.glob(pattern))[: _MOST_FILES + 1]
        if not listed:
            raise SourceFailureError(f"no file matches `{pattern}`")
        if len(listed) > _MOST_FILES:
            raise SourceFailureError(f"more than {_MOST_FILES} files match `{pattern}`")
    files = []
    for one in listed:
        found = inside(str(one), folder)
        if found is None:
            raise SourceFailureError(f"a file of `{pattern}` leads out of the project")
        if not found.is_file():
            raise SourceFailureError(f"there is no file {one.name}")
        if _WILD & set(str(found)):
            raise SourceFailureError(f"the path of {one.name} holds one of `*?[`")
        files.append(found)
    return tuple(files)


def mark_of(file: Path) -> Mark:
    """Give what tells the states of a file apart; raises `OSError`."""
    about = file.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
