"""What may be spent on models, and what was: nothing is asked that might go beyond.

In: the budgets of a question and of a session, the worst case of each call. Out: permission, or
`ModelError` C0823; afterwards the usage by task and model. Invariants: what is allowed and what is
under way together never exceed a budget, whoever asks at the same time; a call counts at its worst
until it is known. Example: with 100 tokens left a call of at most 120 is refused before it is sent.
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.model.prompts import ModelError, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.project import ModelSetting
    from constat.project.settings import Budget, Prices

OVERSPENT: Final = "C0823"
_MILLION: Final = 1_000_000


@dataclass(slots=True)
class Spending:
    """What one question or session has used, and what its calls under way may use at worst."""

    budget: Budget
    usage: Usage = field(default_factory=Usage)
    pending: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    replayed: int = 0

    def misfit(self, worst: Usage) -> str:
        """Tell which budget a call might exceed; empty where none."""
        budget, at_worst = self.budget, self.usage + self.pending + worst
        if budget.tokens is not None and at_worst.tokens > budget.tokens:
            left = max(budget.tokens - (self.usage + self.pending).tokens, 0)
            return f"{left:,} of {budget.tokens:,} tokens are left, it may take {worst.tokens:,}"
        if budget.money is not None and at_worst.cost > budget.money:
            left_money = budget.money - (self.usage + self.pending).cost
            shown = max(left_money, Decimal(0)).quantize(Decimal("0.0001"))
            cost = worst.cost.quantize(Decimal("0.0001"))
            return f"{shown} of {budget.money} in money is left, it may cost {cost}"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return f"the {budget.seconds:g} seconds for waiting are over"
        return ""


@frozen
class Reservation:
    """What was set aside for a call, and the seconds it may take at most."""

    worst: Usage
    spendings: tuple[Spending, ...]
    seconds: float | None


class Ledger:
    """Keeps the books of a session; may be used by several threads."""

    def __init__(self, question: Budget, session: Budget) -> None:
        self._lock = threading.RLock()
        self._question_budget = question
        self._session = Spending(session)
        self._last = Spending(question)
        self._depth = 0
        self._shares: dict[tuple[str, str], Usage] = {}

    @property
    def usage(self) -> Usage:
        """What the session has used."""
        with self._lock:
            return self._session.usage

    @property
    def replayed(self) -> int:
        """How many replies of the session were there already."""
        with self._lock:
            return self._session.replayed

    @property
    def shares(self) -> Mapping[tuple[str, str], Usage]:
        """The usage by task and model."""
        with self._lock:
            return dict(self._shares)

    @property
    def last(self) -> Spending:
        """The question that is open, or else the last one."""
        with self._lock:
            return self._last

    @contextmanager
    def question(self) -> Iterator[Spending]:
        """Let everything that is asked meanwhile count as one question; the outermost counts."""
        with self._lock:
            if not self._depth:
                self._last = Spending(self._question_budget)
            self._depth += 1
            spending = self._last
        try:
            yield spending
        finally:
            with self._lock:
                self._depth -= 1

    def fits(self, worst: Usage) -> bool:
        """Tell whether a call may be made."""
        with self._lock:
            return not any(one.misfit(worst) for one in self._open())

    def reserve(self, worst: Usage) -> Reservation:
        """Set aside what a call may use; raises `ModelError` where that is too much."""
        with self._lock:
            spendings = self._open()
            for spending, noun in zip(spendings, ("session", "question"), strict=True):
                problem = spending.misfit(worst)
                if problem:
                    message = f"the budget of the {noun} does not allow the call: {problem}"
                    raise ModelError(OVERSPENT, message)
            bounds = []
            for spending in spendings:
                spending.pending += worst
                if spending.budget.seconds is not None:
                    bounds.append(spending.budget.seconds - spending.seconds)
            return Reservation(worst, spendings, min(bounds, default=None))

    def settle(
        self, reserved: Reservation, used: Usage, seconds: float, share: tuple[str, str]
    ) -> None:
        """Put what a call has used in the place of what was set aside for it."""
        with self._lock:
            for spending in reserved.spendings:
                spending.pending = spending.pending - reserved.worst
                spending.usage += used
                spending.seconds += seconds
            self._shares[share] = self._shares.get(share, Usage()) + used

    @property
    def seconds_left(self) -> float:
        """The seconds that may still be waited in what is open; infinite where none bounds them."""
        with self._lock:
            bounds = ((one.budget.seconds, one.seconds) for one in self._open())
            left = [most - spent for most, spent in bounds if most is not None]
            return max(min(left, default=math.inf), 0.0)

    def wait(self, seconds: float) -> None:
        """Count seconds that went by without a call."""
        with self._lock:
            for spending in self._open():
                spending.seconds += seconds

    def replay(self) -> None:
        """Count a reply that was there already."""
        with self._lock:
            for spending in self._open():
                spending.replayed += 1

    def _open(self) -> tuple[Spending, ...]:
        # What is asked outside of any question is one by itself.
        question = self._last if self._depth else Spending(self._question_budget)
        return (self._session, question)


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Give the usage with its cost; where the project tells no prices it has none."""
    if prices is None:
        return usage
    cost = (
        usage.read * prices.read
        + usage.cached * prices.cached
        + usage.stored * prices.stored
        + usage.written * prices.written
    )
    return Usage(
        usage.calls, usage.read, usage.cached, usage.written, cost / _MILLION, usage.stored
    )


def worst_case(read: int, written: int, setting: ModelSetting) -> Usage:
    """Give the most that a call may use: everything it reads at the dearest price."""
    prices = setting.prices
    if prices is not None and prices.stored > max(prices.read, prices.cached):
        return priced(Usage(calls=1, stored=read, written=written), prices)
    return priced(Usage(calls=1, read=read, written=written), prices)
