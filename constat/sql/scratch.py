"""Private folders for what is spilled, which go even when the process that had one was killed.

In: the folder to make them in. Out: a `Scratch`, removed when it is closed. Invariant: a folder
that somebody uses is locked by him, and the machine lets go of the lock when his process ends,
however it ends; so whoever makes the next folder can tell the left ones and takes them away.
Example: `Scratch(Path("/tmp"))` makes `/tmp/constat-k3_7x2` and removes what a killed run left.
Reference: https://man7.org/linux/man-pages/man2/flock.2.html
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "constat-"
_LOCK: Final = "in-use"


class Scratch:
    """A folder of our own, until it is closed."""

    def __init__(self, parent: Path) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        remove_left(parent)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        fresh = self.path / "fresh"
        self._lock = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Under its name it is locked from the first moment: nobody takes it for a left one.
        fresh.rename(self.path / _LOCK)

    def close(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_left(parent: Path) -> None:
    """Remove the folders of processes that ended without closing them."""
    # What cannot be looked at or removed belongs to others, and no result depends on it.
    with suppress(OSError):
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
