"""Wait for a lock on an open file, but not for ever.

In: a descriptor, and whether others may read meanwhile. Out: whether the lock is held. Invariant:
the lock ends with the descriptor, also when the program dies. Example:
`lock_within(descriptor, 10.0, shared=False)`. Reference: flock(2).
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE_SECONDS: Final = 0.02


def lock_within(descriptor: int, seconds: float, *, shared: bool) -> bool:
    """Take the lock; `False` where others hold it for longer than so many seconds."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def locked_file(path: Path, seconds: float, *, shared: bool = False) -> int | None:
    """Open and lock the file that has this name, which another program may remove meanwhile."""
    until = time.monotonic() + seconds
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if not lock_within(descriptor, max(until - time.monotonic(), 0.0), shared=shared):
                os.close(descriptor)
                return None
            if _is_named(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_named(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
