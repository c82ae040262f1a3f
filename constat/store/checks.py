"""Differences that checks of answers in bulk have found, until such a check passes.

In: a query and what differed. Out: what nobody may overlook: a check that goes on beside other work
may end when nobody looks. Kept in the state folder, for its owner alone.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.store.clock import now
from constat.store.state_file import Form, NotOursError, StateFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME: Final = "checks.sqlite"
_SCHEMA: Final = (
    "CREATE TABLE differences (query TEXT PRIMARY KEY, why TEXT NOT NULL, found_at TEXT NOT NULL)"
)
_FORM: Final = Form("record of checks", 0x434E5343, 1, (_SCHEMA,))
_MOST: Final = 1_000


@frozen
class Difference:
    """An answer in bulk that was counted again and was not the same; `found_at` is UTC."""

    query: str
    why: str
    found_at: str


class CheckStore:
    """The differences of one project. Reading creates nothing."""

    def __init__(self, state: Path) -> None:
        self._file = StateFile(state / _NAME, _FORM)

    def note(self, query: str, why: str) -> None:
        """Keep a difference; of very many the oldest go. Raises `ConstatError`."""
        with _complaining(), self._file.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO differences VALUES (?, ?, ?)", (query, why, now())
            )
            connection.execute(
                "DELETE FROM differences WHERE query NOT IN"
                " (SELECT query FROM differences ORDER BY found_at DESC LIMIT ?)",
                (_MOST,),
            )

    def passed(self, query: str) -> None:
        """Forget what was kept of a query: its answer is what follows. Raises `ConstatError`."""
        if any(one.query == query for one in self.list()):
            with _complaining(), self._file.writing() as connection:
                connection.execute("DELETE FROM differences WHERE query = ?", (query,))

    def list(self) -> tuple[Difference, ...]:
        """Give what is kept, the oldest first. Raises `ConstatError`."""
        with _complaining(), self._file.reading() as connection:
            if connection is None:
                return ()
            found = connection.execute(
                "SELECT query, why, found_at FROM differences ORDER BY found_at, query"
            ).fetchall()
        return tuple(Difference(*map(str, one)) for one in found)


@contextmanager
def _complaining() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, NotOursError) as problem:
        reason = str(problem) if isinstance(problem, NotOursError) else type(problem).__name__
        message = f"the record of checks cannot be used: {reason}"
        hint = f"make room, or move `{_NAME}` out of the state folder"
        raise ConstatError([Diagnostic("C0663", message, help=hint)]) from None
