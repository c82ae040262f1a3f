"""Work of libraries that Ctrl-C, a deadline and a bound of memory can end."""

from __future__ import annotations

import math
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from constat.diagnostics.interruption import LEFT_BEHIND

if TYPE_CHECKING:
    from collections.abc import Callable

# DuckDB's own limit counts its buffers and not what one function makes of its arguments, so the
# system is asked to refuse more. Its limit is that of the whole process: it holds while work is
# running, and where another thread's work gave it back, whoever waits puts it there again.

if sys.platform == "linux":
    import resource

    _BEFORE: Final = resource.getrlimit(resource.RLIMIT_DATA)

if TYPE_CHECKING:
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


# An interruption that comes before the query has begun, and is lost, is followed by another one.

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


# DuckDB looks for signals between its tasks, of which one may take minutes; SQLite never looks,
# and swallows an exception raised inside its callbacks. So their work is done in a thread, where
# no signal arrives. When an interruption comes out, the work has ended, or the worker is `stuck`:
# while one function of a query runs, neither looks whether it shall stop, and nobody waits for
# that. When it ends after all, its thread closes what it worked on, which would keep its locks
# otherwise.

_Given = TypeVar("_Given")
PATIENCE: Final = 2.0
"""The seconds in which work is to end that was told to; otherwise it is left behind."""
_SECONDS_TO_END: Final = 1.0
# Most of the patience is for work that ends by itself, the rest for being told once more.
_SHARE_TO_END: Final = 0.75
_LONGEST: Final = 1e6
_SECONDS_BETWEEN_LOOKS: Final = 0.05


class _Piece(Generic[_Given]):
    """One piece of work: what it gave or raised, once it is done."""

    def __init__(self, work: Callable[[], _Given]) -> None:
        self._work = work
        self._found: list[_Given] = []
        self._problem: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def do(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
            self._problem = problem
        finally:
            self._done.release()

    def wait(self, seconds: float = -1) -> bool:
        return self._done.acquire(timeout=seconds)

    def result(self) -> _Given:
        problem, self._problem = self._problem, None
        if problem is not None:
            try:
                raise problem
            finally:
                # A problem that knows this frame would keep itself and all its values alive.
                del problem
        return self._found[0]


class StuckError(Exception):
    """Work did not end when it was told to; its library can do nothing else any more."""


class Worker:
    """One thread, started when there is work for it. `stuck` once its work would not end.

    `stop` tells the work to end; `leave` closes what it used, once work that was stuck has ended.
    `patience` are the seconds that work may take behind its time.
    """

    def __init__(
        self,
        stop: Callable[[], None],
        leave: Callable[[], None] | None = None,
        heap: Heap | None = None,
    ) -> None:
        self.stuck = False
        self.patience = PATIENCE
        self._stop = stop
        self._leave = leave
        self._heap = heap
        self._pieces: SimpleQueue[_Piece[object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], _Given], seconds: float = math.inf) -> _Given:
        """Work in the thread, while this one listens for signals; other threads work themselves.

        Raises `StuckError` for work that does not end after so many seconds, though it is told to.
        """
        if self.stuck:
            raise StuckError
        bounded = seconds < _LONGEST
        if not bounded and threading.current_thread() is not threading.main_thread():
            return work()
        if self._thread is None:
            self._begin()
        piece = _Piece(work if self._heap is None else self._heap.bounded(work))
        try:
            self._pieces.put(piece)  # type: ignore[arg-type]  # its result is asked for here alone
            patience = _SHARE_TO_END * self.patience
            done = self._wait(piece, max(0.0, seconds) + patience if bounded else math.inf)
        except BaseException:
            # Whether the piece had been handed over is unknown.
            self._end()
            raise
        if not done and not self._end((1 - _SHARE_TO_END) * self.patience):
            raise StuckError
        return piece.result()

    def _wait(self, piece: _Piece[_Given], seconds: float) -> bool:
        """Wait for a piece, and look after the memory meanwhile."""
        if self._heap is None:
            return piece.wait(seconds if seconds < _LONGEST else -1)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if piece.wait(min(left, _SECONDS_BETWEEN_LOOKS)):
                return True
            self._heap.keep()
        return False

    def _end(self, seconds: float = _SECONDS_TO_END) -> bool:
        """Stop what runs; tells whether it has ended, which what is handed over behind it shows."""
        self._stop()
        last = _Piece(_nothing)
        self._pieces.put(last)  # type: ignore[arg-type]  # as in `run`
        self.stuck = not last.wait(seconds)
        if self.stuck and self._thread is not None:
            self._thread.name = LEFT_BEHIND
        if self.stuck and self._leave is not None:
            self._pieces.put(_Piece(self._leave))
        return not self.stuck

    def close(self) -> None:
        """Let the thread end; without waiting for it.

        A collection of garbage may close anywhere, also where a thread is just being started, which
        holds the lock that a thread needs to end.
        """
        self._pieces.put(None)

    def _begin(self) -> None:
        # It knows the queue alone: a worker that nobody closed can be collected.
        thread = threading.Thread(target=_work, args=(self._pieces,), name="library", daemon=True)
        thread.start()
        self._thread = thread


def _work(pieces: SimpleQueue[_Piece[object] | None]) -> None:
    while (piece := pieces.get()) is not None:
        piece.do()
        # What it gave is not kept until the next one comes.
        del piece


def _nothing() -> None:
    return None
