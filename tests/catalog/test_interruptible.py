"""What ends work in a thread, and what must never wait for one."""

from __future__ import annotations

import threading

from constat.catalog.interruptible import Worker


def test_closing_never_waits_for_the_thread() -> None:
    # Closed by the collector while a thread is being started, it would wait for ever.
    gate, worker = threading.Event(), Worker(lambda: None)
    assert worker.run(lambda: 7) == 7
    pool = worker._pool  # the thread is kept busy behind the worker's back
    assert pool is not None
    pool.submit(gate.wait)
    closing = threading.Thread(target=worker.close)
    closing.start()
    closing.join(5)
    waits = closing.is_alive()
    gate.set()
    closing.join()
    assert not waits
