"""Bound what a library may take from the process's memory while it works.

DuckDB's own limit counts its buffers and not what one function makes of its arguments, so the
system is asked to refuse more. Its limit is that of the whole process: it holds while work is
running, and where another thread's work gave it back, whoever waits puts it there again.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if sys.platform == "linux":
    import resource

    _BEFORE: Final = resource.getrlimit(resource.RLIMIT_DATA)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _Result = TypeVar("_Result")

_USED: Final = Path("/proc/self/statm")
_DATA: Final = 5


class Heap:
    """The memory of the process while a library works; elsewhere than on Linux without bound."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._most = 0
        self._lock = threading.Lock()

    def bounded(self, work: Callable[[], _Result]) -> Callable[[], _Result]:
        """Give work that may take so much more memory than is used when it begins."""

        def bounded() -> _Result:
            self.begin()
            try:
                return work()
            finally:
                self.end()

        return bounded

    def begin(self) -> None:
        """Measure what is used, and set the limit."""
        if sys.platform == "linux":
            with suppress(OSError, ValueError, IndexError):
                pages = int(_USED.read_bytes().split()[_DATA])
                self._most = pages * resource.getpagesize() + self._room
            self.keep()

    def keep(self) -> None:
        """Set the limit again, where another thread's work has ended and taken it away."""
        if sys.platform != "linux":
            return
        with self._lock:
            present, most = resource.getrlimit(resource.RLIMIT_DATA)
            if self._most and (present == resource.RLIM_INFINITY or present > self._most):
                with suppress(ValueError):
                    resource.setrlimit(resource.RLIMIT_DATA, (self._most, most))

    def end(self) -> None:
        """Give back the limit that the process had."""
        if sys.platform != "linux":
            return
        with self._lock, suppress(ValueError):
            self._most = 0
            most = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (_BEFORE[0], most))
