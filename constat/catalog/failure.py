"""The two ways in which a source does not give what was asked.

`SourceFailureError`: the source is missing, locked, damaged, slow or gives too much; another time
it may answer. `QueryMistakeError`: the query cannot be right for this source. Invariant: `reason`
holds no address, no password and no value of the data.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


class SourceFailureError(Exception):
    """A source did not answer; what it had given before is true but not all there is."""

    def __init__(self, reason: str, code: str = "C0520") -> None:
        self.reason = reason
        self.code = code
        super().__init__(reason)


class QueryMistakeError(Exception):
    """A query that is refused or cannot run; `help` says what to write instead."""

    def __init__(self, reason: str, code: str = "C0515", *, hint: str = "") -> None:
        self.reason = reason
        self.code = code
        self.help = hint
        super().__init__(reason)


LEFT_BEHIND: Final = "an earlier query did not end, and the state that it read is lost"
_TO_DO: Final = "no limit raises that: shorten the query, and write a constant out, not computed"


@contextmanager
def preparing() -> Iterator[None]:
    """Say of what takes too long in the block that it read no row yet, and what helps."""
    try:
        yield
    except SourceFailureError as problem:
        if problem.code != "C0521" or "finish" not in problem.reason:
            raise
        reason = problem.reason.replace("it did not finish", "preparing it did not end")
        raise SourceFailureError(f"{reason}; {_TO_DO}", "C0521") from None
