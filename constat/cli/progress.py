"""A line that moves while a long evaluation runs, on terminals only.

In: the events of engine, tiers and models. Out: one line on stderr that is rewritten at most five
times a second and removed at the end; while a model is awaited it counts the seconds. Invariant:
nothing is written where stderr is no terminal, nor in the first second.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

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
    from collections.abc import Iterator

    from constat.evaluation import Observer

_PATIENCE: Final = 1.0
_PAUSE: Final = 0.2


@contextmanager
def watching() -> Iterator[Observer]:
    """Give an observer that shows what happens, while it happens."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield ignore_event
        return
    line = _Line()
    try:
        yield line.tell
    finally:
        line.remove()


class _Line:
    """The moving line."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _PATIENCE
        self._shown = False
        self._calls = 0
        self._rows = 0
        self._doing = ""
        self._waiting: _Waiting | None = None

    def tell(self, event: Event) -> None:
        """Take one event."""
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
                self._doing = f"stage {number + 1} of {of}: {predicates[0]}, {rows:,} rows"
            case ModelAwaited():
                self._wait_no_longer()
                self._waiting = _Waiting(self, event)
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
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def wait_on(self, doing: str) -> None:
        """Draw the line for a wait, once the first second is over."""
        self._doing = doing
        if time.monotonic() >= self._due:
            self._draw()

    def _wait_no_longer(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.end()

    def _draw(self) -> None:
        self._due = time.monotonic() + _PAUSE
        self._shown = True
        # Before anything was asked outside a model is all that there is to wait for.
        asked = self._calls or self._waiting is None
        told = f"{self._calls:,} calls, {self._rows:,} rows; " if asked else ""
        sys.stderr.write(f"\r\x1b[K{told}{self._doing}")
        sys.stderr.flush()


class _Waiting:
    """Keeps the line moving while nothing happens but that a model is awaited."""

    def __init__(self, line: _Line, awaited: ModelAwaited) -> None:
        self._line = line
        self._told = f"waiting for {awaited.model} ({awaited.task})"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop; the line is the caller's again when this returns."""
        self._over.set()
        self._thread.join()

    def _run(self, since: float) -> None:
        while not self._over.wait(_PAUSE):
            self._line.wait_on(f"{self._told}, {time.monotonic() - since:.0f} s")
