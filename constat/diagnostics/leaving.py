"""How a process ends while a function of a library still runs in it, which nothing can stop.

A normal end takes apart what that function uses: a library may wait for it, or write about objects
that are still there. So such a process tidies up what is its own, and ends at once.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from typing import Final

LEFT_BEHIND: Final = "left behind"
"""The name of a thread whose work did not end when it was told to."""


def leave(code: int) -> int:
    """End the process with a code where a thread was left behind; else give the code."""
    if any(one.name == LEFT_BEHIND for one in threading.enumerate()):
        atexit._run_exitfuncs()  # noqa: SLF001  nothing else runs them; they remove our own files
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    return code
