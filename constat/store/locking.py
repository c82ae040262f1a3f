"""Wait for a lock on an open file, but not for ever.

In: a descriptor, and whether others may read meanwhile. Out: whether the lock is held. Invariant:
the lock ends with the descriptor, also when the program dies. Example:
`lock_within(descriptor, 10.0, shared=False)`. Reference: flock(2).
"""

from __future__ import annotations

import fcntl
import time
from typing import Final

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
