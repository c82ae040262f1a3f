"""Work that Ctrl-C can end, although the library that does it looks for signals too seldom.

DuckDB looks for signals between its tasks, of which one may take minutes; SQLite never looks, and
swallows an exception raised inside its callbacks. So their work is done in a thread, where no
signal arrives. When an interruption comes out, the work has ended, or the worker is `stuck`: while
one function of a query runs, neither looks whether it shall stop, and nobody waits for that. When
it ends after all, its thread closes what it worked on, which would keep its locks otherwise.
"""

from __future__ import annotations

import math
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from constat.diagnostics.leaving import LEFT_BEHIND

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.catalog.heap import Heap

_Result = TypeVar("_Result")
_SECONDS_TO_END: Final = 1.0
_LONGEST: Final = 1e6
_SECONDS_BETWEEN_LOOKS: Final = 0.05


class _Piece(Generic[_Result]):
    """One piece of work: what it gave or raised, once it is done."""

    def __init__(self, work: Callable[[], _Result]) -> None:
        self._work = work
        self._found: list[_Result] = []
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

    def result(self) -> _Result:
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
    """

    def __init__(
        self,
        stop: Callable[[], None],
        leave: Callable[[], None] | None = None,
        heap: Heap | None = None,
    ) -> None:
        self.stuck = False
        self._stop = stop
        self._leave = leave
        self._heap = heap
        self._pieces: SimpleQueue[_Piece[object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], _Result], seconds: float = math.inf) -> _Result:
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
            done = self._wait(piece, max(0.0, seconds) + _SECONDS_TO_END if bounded else math.inf)
        except BaseException:
            # Whether the piece had been handed over is unknown.
            self._end()
            raise
        if not done and not self._end():
            raise StuckError
        return piece.result()

    def _wait(self, piece: _Piece[_Result], seconds: float) -> bool:
        """Wait for a piece, and look after the memory meanwhile."""
        if self._heap is None:
            return piece.wait(seconds if seconds < _LONGEST else -1)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if piece.wait(min(left, _SECONDS_BETWEEN_LOOKS)):
                return True
            self._heap.keep()
        return False

    def _end(self) -> bool:
        """Stop what runs; tells whether it has ended, which what is handed over behind it shows."""
        self._stop()
        last = _Piece(_nothing)
        self._pieces.put(last)  # type: ignore[arg-type]  # as in `run`
        self.stuck = not last.wait(_SECONDS_TO_END)
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
