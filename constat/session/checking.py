"""Checks of answers in bulk that go on beside other work.

In: an answer whose inputs the check has read. Out: what counting it again came to. Invariants: no
source is asked any more, so that the check sees the state that the answer is of; checks of one
session run one after the other; a difference is told to whoever waits, else logged, and is kept in
the project's state until the same query passes; what was stopped is computed and not checked.

Example: `answers = session.query("reach(?a, ?b)")`, then `answers.checked()` waits for the check.
"""

from __future__ import annotations

import atexit
import logging
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.diagnostics.interruption import LEFT_BEHIND
from constat.recount import Prepared, Recount, State
from constat.store.checks import CheckStore

if TYPE_CHECKING:
    from pathlib import Path

_SECONDS_TO_END: Final = 30.0
"""How long a program that ends waits for a check that goes on: it is interrupted all the while."""
_SECONDS_TO_LEAVE: Final = 1.0
"""The same where somebody has stopped the check: then the command ends without it."""


class Checks:
    """The checks of one session, which run one after the other; `state` is where it writes."""

    def __init__(self, state: Path) -> None:
        self.store = CheckStore(state)
        self.turn = Lock()

    def begin(self, query: str, prepared: Prepared) -> Checking:
        """Let a check go on beside what comes next."""
        checking = Checking(self, query, prepared)
        checking.begin()
        return checking

    def heed(self, query: str, found: Recount) -> None:
        """Keep a difference in the project's state, until the same query passes."""
        # Where nothing can be written, whoever waits is told all the same.
        with suppress(ConstatError):
            if found.differs:
                self.store.note(query, found.why)
            elif found.passed:
                self.store.passed(query)


class Checking:
    """A check that goes on; several threads may wait for it."""

    def __init__(self, checks: Checks, query: str, prepared: Prepared) -> None:
        self._checks = checks
        self._query = query
        self._prepared = prepared
        self._found = Recount(State.NOT_CHECKED, "it was stopped")
        self._waiting = 0
        self._thread = Thread(target=self._run, name="check", daemon=True)

    def begin(self) -> None:
        """Begin; at the end of the program it is stopped."""
        self._thread.start()
        atexit.register(self._leave)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> Recount | None:
        """Wait until it has ended, so many seconds at most; `None` where it goes on."""
        self._waiting += 1
        try:
            self._thread.join(seconds)
        finally:
            self._waiting -= 1
        return self._found if self.done else None

    def stop(self) -> None:
        """End it soon: the answer stays computed and not checked."""
        self._prepared.stop()
        # A command does not wait long for what somebody has stopped; see `leave`.
        self._thread.name = LEFT_BEHIND

    def _run(self) -> None:
        try:
            with self._checks.turn:
                # A check that is stopped before its turn still closes what it holds.
                found = self._prepared.finish()
            self._checks.heed(self._query, found)
            self._found = found
            if found.differs and not self._waiting:
                text = "DIFFERENCE: %s was counted again from the rules, and %s"
                logging.getLogger("constat").error(text, self._query, found.why)
        finally:
            atexit.unregister(self._leave)

    def _leave(self) -> None:
        # A thread in a library of C must not outlive what it calls.
        was_stopped = self._thread.name == LEFT_BEHIND
        self.stop()
        self._thread.join(_SECONDS_TO_LEAVE if was_stopped else _SECONDS_TO_END)
