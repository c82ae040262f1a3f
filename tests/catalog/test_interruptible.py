"""What ends work in a thread, and what must never wait for one."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from functools import partial

import pytest

from constat.catalog.interruptible import Worker

pytestmark = pytest.mark.faults


def test_closing_never_waits_for_the_thread() -> None:
    # Closed by the collector while a thread is being started, it would wait for ever.
    gate, worker = threading.Event(), Worker(lambda: None)
    pieces = worker._pieces  # the thread is kept busy behind the worker's back
    assert worker.run(lambda: 7) == 7
    pieces.put(_Busy(gate))  # type: ignore[arg-type]
    closing = threading.Thread(target=worker.close)
    closing.start()
    closing.join(5)
    waits = closing.is_alive()
    gate.set()
    closing.join()
    assert not waits


class _Busy:
    def __init__(self, gate: threading.Event) -> None:
        self.do = partial(gate.wait, 30)


def _interrupted_once(began: threading.Event) -> None:
    began.wait(30)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_an_interruption_comes_out_when_the_work_has_ended() -> None:
    began, stopped, ended = threading.Event(), threading.Event(), []

    def work() -> None:
        began.set()
        stopped.wait(30)
        ended.append(True)

    worker = Worker(stopped.set)
    stopper = threading.Thread(target=_interrupted_once, args=(began,))
    stopper.start()
    with pytest.raises(KeyboardInterrupt):
        worker.run(work)
    assert ended == [True]
    stopper.join()
    assert worker.run(lambda: 7) == 7
    worker.close()


def test_what_the_work_raises_comes_out_and_work_goes_on() -> None:
    worker = Worker(lambda: None)
    with pytest.raises(ValueError, match="no"):
        worker.run(_raising)
    assert worker.run(lambda: 7) == 7
    worker.close()


def _raising() -> None:
    raise ValueError("no")


def test_nothing_that_work_gave_is_kept() -> None:
    worker = Worker(lambda: None)
    given = weakref.ref(worker.run(_Given))
    gc.collect()
    assert given() is None
    worker.close()


class _Given:
    pass
