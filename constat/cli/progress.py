"""A line that moves while a long evaluation runs, on terminals only.

In: the events of engine and tiers. Out: one line on stderr that is rewritten at most five times a
second and removed at the end. Invariant: nothing is written where stderr is no terminal, nor in the
first second.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    CallFinished,
    CallStarted,
    Event,
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
            case _:
                pass
        if time.monotonic() >= self._due:
            self._draw()

    def remove(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self) -> None:
        self._due = time.monotonic() + _PAUSE
        self._shown = True
        sys.stderr.write(f"\r\x1b[K{self._calls:,} calls, {self._rows:,} rows; {self._doing}")
        sys.stderr.flush()
