"""Ask external predicates, those of different sources at the same time.

In: demands, with the predicate that answers each. Out: answers with the seconds each took, in the
order of the demands. Invariants: the demands go to different sources, so that no source is asked
twice at once; the first mistake (in the order of the demands) is raised once all have come back,
and nobody is waited for after an interruption. Example: two databases that need a second each
answer in one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Thread

from constat.evaluation import Answer, Demand, ExternalPredicate

Asked = tuple[ExternalPredicate | None, Demand]


class _Asking:
    """One demand under way."""

    def __init__(self, asked: Asked) -> None:
        self._external, self._demand = asked
        self.answer = Answer()
        self.seconds = 0.0
        self.problem: BaseException | None = None

    def run(self) -> None:
        """Ask; without a predicate outside nothing is known."""
        before = time.monotonic()
        try:
            if self._external is not None:
                self.answer = self._external.answer(self._demand)
        except BaseException as problem:  # noqa: BLE001  raised again where the answer is wanted
            self.problem = problem
        self.seconds = time.monotonic() - before


def ask_together(demands: Sequence[Asked]) -> list[tuple[Answer, float]]:
    """Ask all and wait; the last one is asked in the calling thread."""
    askings = [_Asking(one) for one in demands]
    # Daemons: a program that was interrupted ends without waiting for a far source.
    threads = [Thread(target=asking.run, daemon=True) for asking in askings[:-1]]
    for thread in threads:
        thread.start()
    if askings:
        last = askings[-1]
        last.run()
        if isinstance(last.problem, KeyboardInterrupt):
            raise last.problem
    for thread in threads:
        thread.join()
    for asking in askings:
        if asking.problem is not None:
            raise asking.problem
    return [(asking.answer, asking.seconds) for asking in askings]
