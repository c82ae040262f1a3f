"""The client that everybody asks with: what is there already, what may be spent, then a provider.

In: a prompt. Out: a `Reply` or `ModelError`. Invariants: a reply that is on the tape or was paid
for is never paid for again; of two programs that ask the same at once one pays, and the other is
served its reply; nothing is sent that might exceed a budget; a reply is kept before anybody looks
at it, and what was paid for one that is of no use is in the books. Example:
`AskingClient(setting, parts).ask(prompt).replayed` is true the second time.
"""

from __future__ import annotations

import json
import math
import threading
import time
from contextlib import contextmanager
from dataclasses import field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Protocol

from constat.evaluation import ModelAwaited, ModelReplied, ignore_event
from constat.frozen import frozen, slotted
from constat.model.prompts import ModelError, Reply, Usage, answered_of, hash_of, request_of, since
from constat.model.retrying import (
    BrokenReplyError,
    Clock,
    MisfitReplyError,
    check_model,
    checked_calls,
    corrected,
    send_within,
    within,
)
from constat.model.tapes import DAMAGED, MISSING, WRITTEN, WRITTEN_MODEL, Tape, Taped
from constat.store.clock import now
from constat.store.model_answers import ModelAnswerError, ModelAnswers, PaidReply, in_flight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from constat.evaluation import Observer
    from constat.model.prompts import Answered, Prompt, Request
    from constat.model.retrying import Provider
    from constat.project import ModelSetting
    from constat.project.settings import Budget, Prices
    from constat.store.model_answers import Flight

# What may be spent on models, and what was: nothing is asked that might go beyond.

OVERSPENT: Final = "C0823"
_MILLION: Final = 1_000_000


@slotted
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


UNKEPT: Final = "C0830"
UNDER_WAY: Final = "C0935"
CUT_SHORT: Final = "C0936"
_COUNT_SECONDS: Final = 20.0
# Roles, names and brackets around the texts, of which a request has its canonical bytes in full.
_FRAME_TOKENS: Final = 600


class Warn(Protocol):
    """Takes what went wrong and changed no answer."""

    def __call__(self, code: str, reason: str) -> None:
        """Note it."""


@frozen
class Surroundings:
    """What the clients of a session share.

    `serve` is false where everything is asked anew; `keep` are the seconds that a paid reply is
    served again, `None` for ever. With a tape that only replays no provider is ever made.
    """

    provider: Callable[[ModelSetting], Provider]
    ledger: Ledger
    kept: ModelAnswers
    warn: Warn
    tape: Tape | None = None
    replaying: bool = False
    serve: bool = True
    keep: int | None = None
    clock: Clock = field(default_factory=Clock)
    observe: Observer = ignore_event


@frozen
class _AskBounds:
    """How long one asking may take, and how old a reply that is served again may be."""

    seconds: float | None
    max_age: int | None


class AskingClient:
    """Asks one model for one task; implements `Client`."""

    def __init__(
        self,
        setting: ModelSetting,
        around: Surroundings,
        left: Callable[[], float] | None = None,
    ) -> None:
        self._setting = setting
        self._around = around
        self._left = left

    def ask(
        self, prompt: Prompt, *, seconds: float | None = None, max_age: int | None = None
    ) -> Reply:
        """Ask, within so many seconds where that is told, or what is left; raises `ModelError`.

        A reply that was paid for is served again up to `max_age` seconds, or as long as the
        project says. A model whose call does not fit is told so and asked once more.
        """
        if seconds is None and self._left is not None:
            seconds = self._left()
        bounds = _AskBounds(seconds, self._around.keep if max_age is None else max_age)
        try:
            return self._ask_once(prompt, bounds)
        except MisfitReplyError as problem:
            return self._ask_once(corrected(prompt, problem), bounds)

    def _ask_once(self, prompt: Prompt, bounds: _AskBounds) -> Reply:
        try:
            request = request_of(prompt, self._setting.model, self._setting.effort)
        except (TypeError, ValueError, RecursionError):
            raise ModelError("C0824", "the prompt holds something that JSON cannot say") from None
        found = self._taped(request) or self._kept(request, bounds.max_age)
        if found is None:
            return self._awaited(request, bounds)
        self._around.ledger.replay()
        return found

    def _awaited(self, request: Request, bounds: _AskBounds) -> Reply:
        """Have a reply that is not there yet; tell whoever observes that it is waited for."""
        told = self._setting.name, request.prompt.task.value
        started, failed = time.monotonic(), True
        self._around.observe(ModelAwaited(*told))
        try:
            reply = self._asked_once(request, bounds)
            failed = False
        finally:
            self._around.observe(ModelReplied(*told, time.monotonic() - started, failed=failed))
        return reply

    def _asked_once(self, request: Request, bounds: _AskBounds) -> Reply:
        """Ask unless another program asks the same: then wait for what it pays for."""
        around, limits = self._around, [self._setting.seconds, self._around.ledger.seconds_left]
        shares = around.serve and around.keep != 0
        patience = min(limits if bounds.seconds is None else [*limits, bounds.seconds])
        with in_flight(around.kept.folder, request.hash, patience if shares else 0.0) as flight:
            around.ledger.wait(flight.waited)
            found = self._kept(request, bounds.max_age)
            if found is not None:
                around.ledger.replay()
                return found
            self._check_flight(flight, shares=shares)
            left = None if bounds.seconds is None else max(bounds.seconds - flight.waited, 0.0)
            return self._asked(request, left)

    def _check_flight(self, flight: Flight, *, shares: bool) -> None:
        """Refuse to pay for what another program is paying for; say what a dead one has paid."""
        name = self._setting.name
        if shares and not flight.ours:
            message = (
                f"another program asks `{name}` the same, and has no reply after "
                f"{flight.waited:.3g} seconds"
            )
            raise ModelError(UNDER_WAY, message, retryable=True)
        if flight.left:
            reason = (
                f"a program asked `{name}` the same at {flight.left} and ended before a reply was "
                "kept: it may have been paid for, and is asked again"
            )
            self._around.warn(CUT_SHORT, reason)

    def _taped(self, request: Request) -> Reply | None:
        tape = self._around.tape
        if tape is None:
            return None
        taped = tape.find(request.hash)
        if taped is not None:
            # Written answers have a name of their own, whatever model was to be asked.
            names = (WRITTEN_MODEL,) if tape.answers == WRITTEN else self._names
            return self._reply(request, taped.answered, taped.at, names, replayed=True)
        if self._around.replaying:
            raise ModelError(
                MISSING,
                f"the tape {tape.path.name} has no reply to this prompt ({request.hash[:23]}), "
                "and no model may be asked",
            )
        if tape.entries and tape.answers == WRITTEN and WRITTEN_MODEL not in self._names:
            # Before it is paid for: the reply could not be put beside these.
            message = (
                f"the tape {tape.path.name} has written answers; replies need one of their own"
            )
            raise ModelError(DAMAGED, message)
        return None

    def _kept(self, request: Request, max_age: int | None) -> Reply | None:
        if not self._around.serve or self._around.keep == 0:
            return None
        try:
            kept = self._around.kept.find(request.hash, since(max_age))
            if kept is None:
                return None
            answered = answered_of(kept.response)
        except ModelAnswerError as problem:
            self._around.warn(UNKEPT, f"kept replies cannot be read: {problem}")
            return None
        except ValueError as problem:
            self._around.warn(UNKEPT, f"a kept reply {problem}")
            return None
        try:
            reply = self._reply(request, answered, kept.at, self._names, replayed=True)
        except ModelError:
            # What counts as a reply has changed since: it is asked for anew.
            return None
        self._record(request, replace(answered, usage=_usage_of(kept)), kept.at)
        return reply

    @property
    def _names(self) -> tuple[str, ...]:
        return self._setting.answers_as

    def _asked(self, request: Request, most_seconds: float | None) -> Reply:
        provider = self._around.provider(self._setting)
        reserved = self._reserved(request, provider)
        used, clock = reserved.worst, self._around.clock
        started = clock.monotonic()
        bounds = (self._setting.seconds, reserved.seconds, most_seconds)
        seconds = min(one for one in bounds if one is not None)
        try:
            answered = send_within(provider, request, seconds, clock)
            used = priced(answered.usage, self._setting.prices)
        except BrokenReplyError as problem:
            used = priced(problem.usage, self._setting.prices)
            self._keep(request, problem.answered, used, clock.monotonic() - started, now())
            raise
        except ModelError as problem:
            # A refused request costs nothing; one that nobody answered may have been worked on.
            used = used if problem.unsettled else Usage()
            raise
        finally:
            share = (request.prompt.task.value, self._setting.name)
            self._around.ledger.settle(reserved, used, clock.monotonic() - started, share)
        at = now()
        answered = replace(answered, usage=used)
        try:
            reply = self._usable(request, answered, at, clock.monotonic() - started)
        except MisfitReplyError:
            # What was said next rests on it: a replay needs both.
            self._record(request, answered, at)
            raise
        self._record(request, answered, at)
        return reply

    def _usable(self, request: Request, answered: Answered, at: str, seconds: float) -> Reply:
        """Keep a reply, then give it; one that is of no use is kept for the books."""
        try:
            reply = self._reply(request, answered, at, self._names)
        except ModelError:
            self._keep(request, replace(answered, whole=False), answered.usage, seconds, at)
            raise
        self._keep(request, answered, answered.usage, seconds, at)
        return reply

    def _reply(
        self,
        request: Request,
        answered: Answered,
        at: str,
        names: tuple[str, ...],
        *,
        replayed: bool = False,
    ) -> Reply:
        check_model(request, answered, names)
        calls, stop = checked_calls(request, answered)
        return Reply(
            model=answered.model,
            text=answered.text,
            calls=calls,
            stop=stop,
            usage=Usage() if replayed else answered.usage,
            prompt_hash=request.hash,
            response_hash=hash_of(answered.form),
            at=at,
            replayed=replayed,
        )

    def _reserved(self, request: Request, provider: Provider) -> Reservation:
        """Set aside the worst case; where the bound of its bytes is too much, count its tokens."""
        ledger, written = self._around.ledger, request.prompt.most_tokens
        # No token has less than a byte.
        worst = worst_case(len(request.text) + _FRAME_TOKENS, written, self._setting)
        if not ledger.fits(worst):
            least = worst_case(len(request.text) // 20, written, self._setting)
            if ledger.fits(least):
                counted = self._counted(request, provider)
                if counted is not None:
                    worst = worst_case(counted, written, self._setting)
        return ledger.reserve(worst)

    def _counted(self, request: Request, provider: Provider) -> int | None:
        """Let the provider count; without an answer the bound of the bytes stays."""
        seconds = min(_COUNT_SECONDS, self._setting.seconds)
        try:
            return within(lambda: provider.count(request, seconds), seconds)
        except ModelError:
            return None

    def _keep(
        self, request: Request, answered: Answered, used: Usage, seconds: float, at: str
    ) -> None:
        paid = PaidReply(
            prompt=request.hash,
            task=request.prompt.task.value,
            model=self._setting.name,
            at=at,
            request=request.text,
            response=answered.form,
            usable=answered.whole,
            read=used.read,
            cached=used.cached,
            stored=used.stored,
            written=used.written,
            cost=used.cost,
            seconds=seconds,
        )
        try:
            self._around.kept.add(paid)
        except ModelAnswerError as problem:
            self._around.warn(UNKEPT, f"a reply that was paid for could not be kept: {problem}")

    def _record(self, request: Request, answered: Answered, at: str) -> None:
        """Put a reply on the tape, where there is one."""
        if self._around.tape is not None:
            self._around.tape.add(Taped(request.hash, json.loads(request.text), answered, at))


def _usage_of(kept: PaidReply) -> Usage:
    counts = kept.read, kept.cached, kept.written
    return Usage(1, *counts, cost=kept.cost, stored=kept.stored)
