"""When a context is compacted, and what stays in use until it is compacted again.

In: a record, a policy, and what a context is made of.  Out: a ``Context``.  Invariants: compacting
is a function of what was said, and only the choice of the moment is made here; it never happens
while a call is open, nor where it would gain next to nothing, so it cannot go on for ever; a switch
is kept as a checkpoint before it is used.

Between two switches a context only grows at its end, so that a provider's cache of its beginning is
of use.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from constat.memory.calls import safe_cuts
from constat.memory.checkpoints import Checkpoint
from constat.memory.compacting import compact, put_together, read_kept
from constat.memory.contexts import Context
from constat.memory.view import BudgetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.memory.checkpoints import Checkpoints
    from constat.memory.compacting import Compacted, Material
    from constat.memory.messages import Message
    from constat.memory.policy import Policy, Window
    from constat.memory.record import Record
    from constat.memory.tokens import Calibration

_FITS: Final = "all of it fits"
_BEGINS: Final = "a branch begins with what was known"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a context is wanted for: how to make its material, and the name of that state."""

    material: Callable[[], Material]
    snapshot: Callable[[], str]
    boundary: bool = False


class Switching:
    """Decides for one session."""

    def __init__(
        self,
        record: Record,
        policy: Policy,
        window: Window,
        calibration: Calibration,
        checkpoints: Checkpoints,
    ) -> None:
        # What a branch has seen before it began stands in no message of its own.
        self._inherits = record.branch is not None
        self._record = record
        self._policy = policy
        self._window = window
        self._calibration = calibration
        self._checkpoints = checkpoints
        self._futile_at = 0

    def within(self, budget: int, wish: Wish) -> Context:
        """Return a context of at most so many tokens, and keep nothing of it."""
        shown = self._record.shown
        before = self._tokens(shown)
        if before <= budget and not self._inherits:
            return Context(tuple(shown), before, before, compacted=False, reason=_FITS)
        made = compact(wish.material(), self._policy, self._scaled(budget))
        reason = f"{before:,} tokens did not fit into {budget:,}"
        return self._context(made, before, _BEGINS if before <= budget else reason)

    def by_policy(self, wish: Wish) -> Context:
        """Return the context in use, or another one where its time has come."""
        current = self._current()
        begins = self._inherits and not current.compacted
        reason = "" if begins else self._no_reason(current.tokens, boundary=wish.boundary)
        if reason:
            return replace(current, reason=reason)
        made = self._compacted(wish.material())
        reason = _BEGINS if begins else f"{current.tokens:,} tokens reached the trigger"
        found = self._context(made, current.before, reason)
        gain = 1 - found.tokens / max(1, current.tokens)
        too_little = gain < self._policy.least_gain and not begins
        if too_little and current.tokens <= self._window.available:
            self._futile_at = sum(self._record.costs)
            return replace(current, reason=f"compacting would have saved {max(0.0, gain):.0%}")
        self._futile_at = 0
        number = self._keep(made, current, found, wish.snapshot())
        return replace(found, checkpoint=number)

    def _current(self) -> Context:
        shown, last = self._record.shown, self._checkpoints.last()
        before = self._tokens(shown)
        if last is None:
            return Context(tuple(shown), before, before, compacted=False, reason=_FITS)
        stays, light = read_kept(last.kept)
        messages = put_together(shown, stays, last.summary, last.end + 1, light=light)
        return Context(
            messages,
            self._tokens(messages),
            before,
            compacted=True,
            reason=_FITS,
            end=last.end + 1,
            checkpoint=last.number,
        )

    def _no_reason(self, tokens: int, *, boundary: bool) -> str:
        """Say why nothing is to be compacted now; empty where it is."""
        policy, record = self._policy, self._record
        limit = policy.soft_trigger(self._window) if boundary else policy.trigger(self._window)
        if len(record.shown) <= policy.keep_last + 1:
            return "there are no more messages than are kept"
        if tokens < limit:
            return f"{tokens:,} tokens are below the trigger of {limit:,}"
        if safe_cuts(record.shown)[-1] != len(record.shown):
            return "a call is open"
        grown = sum(record.costs) - self._futile_at
        if self._futile_at and grown < policy.least_gain * limit:
            return f"the last attempt would have saved less than {policy.least_gain:.0%}"
        return ""

    def _compacted(self, material: Material) -> Compacted:
        """Compact to the target; to whatever the window takes where the pins need more."""
        budget = self._scaled(self._policy.target(self._window))
        try:
            return compact(material, self._policy, budget)
        except BudgetError:
            most = self._scaled(self._window.available)
            if most <= budget:
                raise
            return compact(material, self._policy, most)

    def _context(self, made: Compacted, before: int, reason: str) -> Context:
        messages = made.messages(self._record.shown)
        return Context(
            messages,
            self._tokens(messages),
            before,
            compacted=True,
            reason=reason,
            view=made.view,
            end=len(self._record.shown),
        )

    def _keep(self, made: Compacted, current: Context, found: Context, snapshot: str) -> int:
        last = self._checkpoints.last()
        checkpoint = Checkpoint(
            start=0 if last is None else last.end + 1,
            end=found.end - 1,
            summary=made.block,
            key_facts=tuple(one.place for one in made.view.lines),
            before=current.tokens,
            after=found.tokens,
            view_sha=hashlib.sha256(made.view.text.encode()).hexdigest(),
            fact_count=len(self._record.history.claims),
            round=1 if last is None else last.round + 1,
            archive_ref=f"m0..m{found.end - 1}" if found.end else "",
            kept=made.spelled,
            snapshot=snapshot,
            compressed=found.end - len(made.kept.numbers),
        )
        return self._checkpoints.add(checkpoint)

    def _tokens(self, messages: Sequence[Message]) -> int:
        return self._calibration.applied(self._record.tokens(messages))

    def _scaled(self, budget: int) -> int:
        """Return a budget in estimated tokens; reports of the provider say what these are worth."""
        return int(budget / self._calibration.factor)
