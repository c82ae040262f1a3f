"""Ask a provider until it answers, within a time, as often and as late as it asks for.

In: what to do, the seconds there are. Out: its result or `ModelError`. Invariants: the time holds
whatever hangs, name resolution included; a provider's `retry-after` is honoured, and where it lies
beyond the time nobody waits for it; a reply that broke off is not asked for again, since it was
paid for. Example: status 529, then an answer, takes half a second longer.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from constat.model.failures import UNREACHED
from constat.model.prompts import ModelError

if TYPE_CHECKING:
    from constat.model.canonical import Answered, Request
    from constat.model.provider import Provider

Found = TypeVar("Found")

ATTEMPTS: Final = 3
_FIRST_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, and waiting; tests bring their own."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def send_within(provider: Provider, request: Request, seconds: float, clock: Clock) -> Answered:
    """Ask, and ask again where that may help; raises `ModelError`."""
    until = clock.monotonic() + seconds
    attempt = 1
    while True:
        left = until - clock.monotonic()
        if left <= 0:
            raise ModelError(UNREACHED, "no time is left to ask in", retryable=True)
        try:
            return within(lambda: provider.send(request, left), left)  # noqa: B023  called at once
        except ModelError as problem:
            if problem.code != UNREACHED or attempt == ATTEMPTS:
                raise
            pause = _pause(problem, attempt)
            if pause >= until - clock.monotonic():
                raise _too_late(problem, pause) from None
            clock.sleep(pause)
            attempt += 1


def within(function: Callable[[], Found], seconds: float) -> Found:
    """Run a function in a thread of its own and give what it gives, unless it takes too long."""
    running = _Running(function)
    # A daemon: what hangs in a system call cannot be ended, and must not keep the program.
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if running.problem is not None:
        raise running.problem
    if running.result is None:
        reason = f"the provider did not answer within {seconds:.3g} seconds"
        raise ModelError(UNREACHED, reason, retryable=True, unsettled=True)
    return running.result[0]


class _Running(Generic[Found]):
    def __init__(self, function: Callable[[], Found]) -> None:
        self._function = function
        self.result: tuple[Found] | None = None
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = (self._function(),)
        except BaseException as problem:  # noqa: BLE001  raised again where it is waited for
            self.problem = problem


def _pause(problem: ModelError, attempt: int) -> float:
    if problem.retry_after is not None:
        return problem.retry_after
    # Clients that failed together are not to come back together.
    return _FIRST_PAUSE * 2.0 ** (attempt - 1) * random.uniform(0.75, 1.0)  # noqa: S311  no secret


def _too_late(problem: ModelError, pause: float) -> ModelError:
    message = f"{problem}; asking again in {pause:.3g} seconds would be too late"
    return ModelError(
        UNREACHED, message, retryable=True, retry_after=pause, unsettled=problem.unsettled
    )
