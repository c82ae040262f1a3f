"""Who hears what a session does: one observer at a time, the one of the question under way.

In: an observer for the length of a question. Out: the events of engine, tiers and models, one at a
time though several sources may be asked at once. Invariant: whoever listens to a question hears
what is asked within it too, and when it ends, whoever listened before listens again. Example:
`with session.observing(print): session.models.client(task)`.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from constat.evaluation import ignore_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.evaluation import Event, Observer


class Observed:
    """The part of a session that is listened to."""

    _observe: Observer

    def __init__(self) -> None:
        self._observe = ignore_event
        self._telling = RLock()

    @contextmanager
    def observing(self, observe: Observer | None) -> Iterator[None]:
        """Let somebody hear what happens meanwhile; with `None` whoever listens goes on."""
        before = self._observe
        if observe is not None:
            self._observe = observe
        try:
            yield
        finally:
            self._observe = before

    def _tell(self, event: Event) -> None:
        # The tiers and models outlive one question; whoever observes the present one hears them.
        with self._telling:
            self._observe(event)
