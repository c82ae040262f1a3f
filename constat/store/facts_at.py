"""The stated facts as they stood at a time.

In: the store of facts and a time. Out: the facts that had been stated and not yet taken back.
Invariant: reads only. Example: a fact that was added on Monday and retracted on Wednesday stands on
Tuesday, whatever day it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.store.facts import FactStore

if TYPE_CHECKING:
    from pathlib import Path

    from constat.store.facts import StoredFact


class FactsAt(FactStore):
    """The facts of a project at a time, spelled as a `Timestamp`."""

    def __init__(self, folder: Path, moment: str) -> None:
        super().__init__(folder)
        self._moment = moment

    def list(
        self, predicate: str | None = None, *, history: bool = False
    ) -> tuple[StoredFact, ...]:
        """Give the facts that stood then; with `history` those that had been taken back, too."""
        return tuple(
            fact
            for fact in super().list(predicate, history=True)
            if fact.added_at <= self._moment
            and (history or fact.retracted_at is None or fact.retracted_at > self._moment)
        )
