"""What one stage may use, checked while it works: time, memory, rows, rounds, interruption.

In: `Resources` and a callable that raises when somebody wants to stop. Out: nothing, or
`ResourceError`. Invariant: `need` is asked before an array of that many bytes exists, so that the
machine never has to kill the process. Example: `bounds.need(8 * rows, "the index of edge")`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from constat.evaluation.bulk import MemoryNeededError, ResourceError, Resources

_SHARE = 0.6
_UNKNOWN_MACHINE = 4 << 30
# Bindings of one chunk: small enough for the processor's caches, large enough to be worth a call.
_CHUNK = 1 << 19
# A binding has a few live slots and as many temporary arrays: about this many bytes.
_BYTES_OF_A_BINDING = 160


class Bounds:
    """The bounds of one stage; `chunk` is how many bindings may exist at a time."""

    def __init__(
        self, resources: Resources, check: Callable[[], None], *, chunk: int = _CHUNK
    ) -> None:
        self._resources = resources
        self._check = check
        self._started = time.monotonic()
        self.memory = resources.memory or machine_memory()
        self.held = 0
        self.chunk = max(1, min(chunk, self.memory // (4 * _BYTES_OF_A_BINDING)))
        self.threads = resources.threads or os.cpu_count() or 1

    def tick(self) -> None:
        """Ask for time and interruption; called for each chunk and each round."""
        self._check()
        if self.seconds() > self._resources.seconds:
            raise ResourceError(
                f"the time limit of {self._resources.seconds:g} seconds was reached", "seconds"
            )

    def seconds(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._started

    def need(self, size: int, what: str) -> None:
        """Refuse to allocate more than is left. `size` is in bytes, `what` says what for."""
        if self.held + size > self.memory:
            megabytes = (self.held + size) >> 20
            raise MemoryNeededError(
                f"{what} would need {megabytes:,} MB of memory in all; the limit is "
                f"{self.memory >> 20:,} MB"
            )

    def fits(self, size: int) -> bool:
        """Whether so many bytes are left, for choosing between two ways."""
        return self.held + size <= self.memory

    def count(self, rows: int, rounds: int) -> None:
        """Check the rows of a relation and the rounds so far."""
        if rows > self._resources.rows:
            raise ResourceError(f"the limit of {self._resources.rows:,} rows was reached", "rows")
        if rounds > self._resources.rounds:
            raise ResourceError(f"the limit of {self._resources.rounds:,} rounds was reached")


def machine_memory() -> int:
    """The bytes that seem right for this machine: a share of what it has."""
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MACHINE
    return int(pages * size * _SHARE) if pages > 0 and size > 0 else _UNKNOWN_MACHINE
