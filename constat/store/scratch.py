"""Private folders, which go even when the process that had one was killed.

Who uses one holds a lock in it, and the machine lets go of the lock when his process ends, however
it ends: what has our name and mark and is not locked was left, and whoever looks next removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

_LOCK: Final = "in-use"
_FRESH: Final = "fresh"
_MARK: Final = b"constat\n"
_NAME: Final = re.compile(r"\.?constat-[0-9a-f]{16}")
_MOST_ENTRIES: Final = 20_000
_SECONDS_TO_LOCK: Final = 60.0


class Scratch:
    """A folder of our own, in that for temporary files or in another one, until it is closed."""

    def __init__(self, parent: Path | None = None, *, hidden: bool = False) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        place.mkdir(parents=True, exist_ok=True)
        remove_left(place)
        self.path = place / f"{'.' if hidden else ''}constat-{secrets.token_hex(8)}"
        # Promised before it is there: an interruption finds nothing that nobody will take away.
        self._remove = weakref.finalize(self, _removed, self.path)
        self.path.mkdir(mode=0o700)
        fresh = self.path / _FRESH
        self._lock = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.write(self._lock, _MARK)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Under its name it is locked from the first moment: nobody takes it for a left one.
        fresh.rename(self.path / _LOCK)

    def close(self) -> None:
        """Take the folder away."""
        self._remove()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def remove_left(parent: Path | None = None) -> None:
    """Remove the folders of processes that ended without closing them.

    By default those in the folder for temporary files.
    """
    # What cannot be looked at or removed belongs to others, and no result depends on it.
    with contextlib.suppress(OSError), os.scandir(parent or tempfile.gettempdir()) as entries:
        for entry in islice(entries, _MOST_ENTRIES):
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _remove_if_left(folder: Path) -> None:
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        # Whoever makes a folder has locked it at once, or was killed in that moment.
        if time.time() - about.st_mtime > _SECONDS_TO_LOCK:
            with contextlib.suppress(FileNotFoundError):
                (folder / _FRESH).unlink()
            folder.rmdir()
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.read(lock, len(_MARK) + 1) == _MARK:
            _removed(folder)
    finally:
        os.close(lock)


def _removed(folder: Path) -> None:
    """Remove a folder, its lock last.

    Whoever is killed on the way leaves one that is known as left, whatever is still in it.
    """
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK:
                with contextlib.suppress(OSError):
                    path.unlink()
        if [path.name for path in folder.iterdir()] == [_LOCK]:
            (folder / _LOCK).unlink()
        folder.rmdir()
