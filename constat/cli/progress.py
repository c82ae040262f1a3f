"""A line that moves while a long evaluation runs, on terminals only.

In: the events of engine, tiers and models. Out: one line on stderr that is rewritten at most five
times a second and removed at the end; while nothing happens, as in one long statement, it counts
the seconds. Invariant: nothing is written where stderr is no terminal, nor in the first second.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from constat.cli.output import note, wished
from constat.diagnostics import counted
from constat.evaluation import (
    CallFinished,
    CallStarted,
    Event,
    ModelAwaited,
    ModelReplied,
    QueryRun,
    RoundFinished,
    StageFinished,
    ignore_event,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.evaluation import Observer

_PATIENCE: Final = 1.0
_PAUSE: Final = 0.2


@contextmanager
def watching() -> Iterator[Observer]:
    """Give an observer that shows what happens, while it happens."""
    if wished("verbose"):
        yield _say
        return
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield ignore_event
        return
    line = _Line()
    try:
        yield line.tell
    finally:
        line.remove()


def _say(event: Event) -> None:
    """Write a line for what happens, without a value of a source."""
    from constat.service import what_happens  # noqa: PLC0415  loaded when it is used

    if told := what_happens(event):
        note(told)


class _Line:
    """The moving line."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _PATIENCE
        self._shown = False
        self._calls = 0
        self._rows = 0
        self._doing = ""
        self._since = time.monotonic()
        self._drawing = threading.Lock()
        self._waiting: _Waiting | None = None
        self._idle = _Waiting(self._count_idle)

    def tell(self, event: Event) -> None:
        """Take one event."""
        self._since = time.monotonic()
        match event:
            case CallStarted(predicate=predicate, keys=keys):
                self._doing = f"asking {predicate} for {keys:,} keys"
            case CallFinished(rows=rows):
                self._calls += 1
                self._rows += rows
            case RoundFinished(component=component, round=number):
                self._doing = f"round {number:,} of {component[0]}"
            case QueryRun(source=source):
                self._doing = f"reading {source}"
            case StageFinished(number=number, of=of, predicates=predicates, rows=rows):
                self._doing = f"stage {number + 1} of {of}: {predicates[0]}, {counted(rows, 'row')}"
            case ModelAwaited(model=model, task=task):
                self._wait_no_longer()
                self._waiting = _Waiting(partial(self._wait_on, f"waiting for {model} ({task})"))
            case ModelReplied(model=model, failed=failed):
                self._wait_no_longer()
                self._doing = f"{model} {'gave no reply' if failed else 'replied'}"
            case _:
                pass
        if time.monotonic() >= self._due:
            self._draw()

    def remove(self) -> None:
        """Clear the line."""
        self._wait_no_longer()
        self._idle.end()
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _wait_on(self, awaited: str, seconds: float) -> None:
        """Draw the line for a wait, once the first second is over."""
        self._doing = f"{awaited}, {seconds:.0f} s"
        if time.monotonic() >= self._due:
            self._draw()

    def _count_idle(self, seconds: float) -> None:
        """Draw the line where nothing has happened for a second: what was last, and since when."""
        del seconds
        silent = time.monotonic() - self._since
        if self._waiting is None and silent >= _PATIENCE:
            last = f"{self._doing}; {silent:.0f} s since" if self._doing else f"{silent:.0f} s"
            self._write(last)

    def _wait_no_longer(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.end()

    def _draw(self) -> None:
        self._due = time.monotonic() + _PAUSE
        self._write(self._doing)

    def _write(self, doing: str) -> None:
        # Before anything was asked outside a model is all that there is to wait for.
        asked = self._calls or self._waiting is None
        told = f"{counted(self._calls, 'call')}, {counted(self._rows, 'row')}; " if asked else ""
        with self._drawing:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{told}{doing}")
            sys.stderr.flush()


class _Waiting:
    """Keeps the line moving while nothing happens: a thread that tells the seconds of a wait."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop; the line is the caller's again when this returns."""
        self._over.set()
        self._thread.join()

    def _run(self, since: float) -> None:
        while not self._over.wait(_PAUSE):
            self._tell(time.monotonic() - since)
