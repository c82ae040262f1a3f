"""When what is shown takes too much: more steps than allowed, or more time."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from constat.evaluation import LimitReachedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.evaluation import Clock

_One = TypeVar("_One")
_ROWS: Final = 4_096


class TooLargeError(Exception):
    """The slice takes more steps than allowed."""


class LateError(TooLargeError):
    """The slice takes more time than allowed; the text names the limit."""


def look_at(clock: Clock) -> None:
    """Raise ``LateError`` where the time is up."""
    try:
        clock.check()
    except LimitReachedError as limit:
        raise LateError(str(limit)) from None


def timely(clock: Clock, rows: Iterable[_One]) -> Iterator[_One]:
    """Yield rows one by one, with a look at the clock behind every few thousand."""
    left = iter(rows)
    while block := tuple(islice(left, _ROWS)):
        yield from block
        if len(block) == _ROWS:
            look_at(clock)
