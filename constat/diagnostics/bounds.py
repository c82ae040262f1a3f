"""The bounds a child puts on itself before it reads anything.

In: the memory it may have, and its parent's process id. Out: nothing; afterwards the kernel ends
the process when it takes too much or when its parent is gone. Invariant: no bound depends on
Python code being run later, because compiled code may never come back to the interpreter.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_GRACE: Final = 2.0
"""Seconds after the parent's own limit: the parent should be the one that ends the child."""


def bind_process(memory: int, parent: int) -> None:
    """Bound memory, files and core dumps, and end with the parent."""
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # A lower hard limit of the machine stays.
        hard = resource.getrlimit(kind)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (limit, limit))
        except ValueError:
            # macOS knows the name of the bound and does not keep it; the clock still holds.
            if sys.platform != "darwin":
                raise
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # The parent may have gone before the line above.
    if os.getppid() != parent:
        os._exit(0)


def bind_time(seconds: float) -> None:
    """Let the kernel end this process some time after the limit, whatever code is running then."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)


def unbind_time() -> None:
    """Take that back."""
    signal.setitimer(signal.ITIMER_REAL, 0)
