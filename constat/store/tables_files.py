"""The Parquet files of a store of tables: written before their rows, swept after a crash.

In: the folder, and which files the database names. Out: the names of files that are there. Files
come first, so that no row ever lacks its file; a program that dies in between leaves a file that
nobody names. Invariants: stores at two addresses share no file; only what a writer of this very
store has marked as its own and never finished is taken away, and only while nobody writes: whoever
adds a file holds the lock shared until its row is kept, whoever sweeps holds it alone. Example:
`.adding-<hash>.parquet` beside `<hash>.parquet` means that both are waste unless a row names it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from typing import TYPE_CHECKING, Final

from constat.store.locking import lock_within
from constat.store.tables_parquet import NEW, write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from constat.store.tables_format import Table

LOCK: Final = ".files.lock"
_MARK: Final = ".adding-"
_WAIT_SECONDS: Final = 60.0
_DIGITS: Final = 8
DEFAULT_ADDRESS: Final = "sqlite:///tables.sqlite"
"""Where tables lie unless a project says otherwise; its files have no more in their names."""


class Adding:
    """One commit that may add files."""

    def __init__(self, folder: Path, ending: str, named: Callable[[], frozenset[str]]) -> None:
        self._folder = folder
        self._ending = ending
        self._named = named
        self._lock = -1
        self._marks: list[Path] = []

    def write(self, table: Table, sha256: str) -> str:
        """Have the file of a table and give its name. Raises `OSError`."""
        if self._lock < 0:
            self._begin()
        target = self._folder / f"{sha256}{self._ending}"
        if not target.exists():
            mark = self._folder / f"{_MARK}{target.name}"
            mark.touch(mode=0o600)
            self._marks.append(mark)
        write_parquet(table, target, sha256)
        return target.name

    def settle(self) -> None:
        """Take the marks away: the rows are kept."""
        for mark in self._marks:
            # What cannot be unmarked is looked at again by the next one who adds.
            with contextlib.suppress(OSError):
                mark.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others sweep."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _begin(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        options = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._lock = os.open(self._folder / LOCK, options, 0o600)
        self._sweep()
        if not lock_within(self._lock, _WAIT_SECONDS, shared=True):
            raise OSError("another program sweeps its files and does not end")

    def _sweep(self) -> None:
        """Take away what crashes have left, unless somebody writes now."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        own = re.compile(f"{re.escape(_MARK)}([0-9a-f]{{64}}{re.escape(self._ending)})")
        with os.scandir(self._folder) as entries:
            left = [one.name for one in entries if one.name.startswith((NEW, _MARK))]
        files = [found[1] for one in left if (found := own.fullmatch(one))]
        named = self._named() if files else frozenset()
        for file in files:
            if file not in named:
                self._remove(file)
            self._remove(f"{_MARK}{file}")
        for one in left:
            if one.startswith(NEW):
                self._remove(one)

    def _remove(self, name: str) -> None:
        # Waste that cannot be removed is still no more than waste.
        with contextlib.suppress(OSError):
            (self._folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def adding(folder: Path, address: str, named: Callable[[], frozenset[str]]) -> Iterator[Adding]:
    """Add files for one commit; the block ends when their rows are kept.

    `named` gives the files that the database names, of all sessions.
    """
    store = hashlib.sha256(address.encode()).hexdigest()[:_DIGITS]
    ending = ".parquet" if address == DEFAULT_ADDRESS else f"-{store}.parquet"
    found = Adding(folder, ending, named)
    try:
        yield found
        found.settle()
    finally:
        found.close()
