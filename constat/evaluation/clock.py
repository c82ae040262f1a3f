"""The clock of an evaluation: whoever goes over many rows looks at it now and then.

A demand carries it into the tiers, a relation into the joins, a reading into the proof. So a limit
of time holds in total, and not only between two steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final, TypeVar

from constat.diagnostics.interruption import check_interrupted

_One = TypeVar("_One")
# So many rows take a few milliseconds in Python.
_ROWS: Final = 4_096
_HELD: Final = frozenset({dict, frozenset, list, set, tuple})


def moment() -> float:
    """Tell the time that clocks count in."""
    return time.monotonic()


class LimitReachedError(Exception):
    """Evaluation ran into one of its limits; the text names it."""


class Clock:
    """Tells when the time is up; `reason` says which limit that is."""

    def __init__(
        self,
        until: float = math.inf,
        reason: str = "the time limit was reached",
        now: Callable[[], float] = moment,
    ) -> None:
        self.until = until
        self.now = now
        self._reason = reason

    @property
    def left(self) -> float:
        """How many seconds there still are."""
        return max(0.0, self.until - self.now())

    def check(self) -> None:
        """Stop where the time is up, and where an interruption was swallowed."""
        check_interrupted()
        if self.now() > self.until:
            raise LimitReachedError(self._reason)

    def later(self, seconds: float, then: str = "") -> Clock:
        """Give a clock that goes on for so long after this one; `then` says for what."""
        return Clock(self.until + seconds, self._reason + then, self.now)

    def anew(self, seconds: float) -> Clock:
        """Give a clock that begins now, of so many seconds."""
        return Clock(self.now() + seconds, self._reason, self.now)

    def release(self) -> None:
        """Bound nothing any more: what it was for is done."""
        self.until = math.inf

    def over(self, rows: Iterable[_One]) -> Iterator[_One]:
        """Yield rows one by one, with a look at the clock before every few thousand.

        Where there are fewer, whoever goes from one such loop to the next looks at it.
        """
        if type(rows) in _HELD and len(rows) <= _ROWS:  # type: ignore[arg-type]  # these have a length
            return iter(rows)
        return chain.from_iterable(self.blocks(rows))

    def blocks(self, rows: Iterable[_One], size: int = _ROWS) -> Iterator[tuple[_One, ...]]:
        """Yield rows in blocks, with a look at the clock before each."""
        left = iter(rows)
        self.check()
        while block := tuple(islice(left, size)):
            yield block
            self.check()


UNTIMED: Final = Clock()
"""The clock of what nobody bounds."""
