"""Stop a query of a driver that has no time limit of its own.

In: seconds, and what interrupts the query. Out: while the block runs a thread waits beside it, and
from the deadline on (or once cancelled) it interrupts until the block ends. Invariant: an
interruption that comes before the query has begun, and is lost, is followed by another one.
Example: `with Deadline(30, connection.interrupt): rows = cursor.fetchall()`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS_BETWEEN: Final = 0.02


class Deadline:
    """Interrupts what runs inside its block when the time is up, or when it is cancelled."""

    def __init__(self, seconds: float, interrupt: Callable[[], None]) -> None:
        self.seconds = seconds
        self.cancelled = False
        self._interrupt = interrupt
        self._until = time.monotonic() + seconds
        self._wake = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="deadline", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._wake.set()
        # The connection may be closed next: nothing may interrupt it any more.
        self._thread.join()

    @property
    def late(self) -> bool:
        """Whether what runs ought to have ended, for work that nothing interrupts."""
        return self.cancelled or time.monotonic() > self._until

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def cancel(self) -> None:
        """Interrupt now; from any thread."""
        self.cancelled = True
        self.end()

    def end(self) -> None:
        """Interrupt now, as if the time were up; from any thread."""
        self._wake.set()

    def _watch(self) -> None:
        self._wake.wait(self.seconds)
        while not self._over.is_set():
            self._interrupt()
            self._over.wait(_SECONDS_BETWEEN)
