"""Work that Ctrl-C can end, although the library that does it looks for signals too seldom.

In: pieces of work, and what stops them. Out: its result. Invariant: when an interruption comes out,
the work has ended. DuckDB looks for signals only between its tasks, of which one may take minutes.
Example: `Worker(connection.interrupt).run(lambda: connection.execute(statement))`.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


class Worker:
    """One thread, started when the main thread has work for it."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._pool: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[], _Result]) -> _Result:
        """Work in the thread, while this one listens for signals; other threads work themselves."""
        if threading.current_thread() is not threading.main_thread():
            return work()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "duckdb")
        future = self._pool.submit(work)
        try:
            wait([future])
        except BaseException:
            self._stop()
            wait([future])
            raise
        return future.result()

    def close(self) -> None:
        """Let the thread end; without waiting for it.

        A collection of garbage may close anywhere, also where a thread is just being started, which
        holds the lock that a thread needs to end.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=False)
