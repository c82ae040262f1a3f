"""When a context is compacted, what is kept of it word for word, and how much may stand in it.

In: numbers, or the name of a model.  Out: a ``Policy`` and its thresholds.  Invariants: a threshold
is positive, also where the window is smaller than what is usually reserved, for then the reserves
are scaled down with it; the target lies below the trigger, so compacting once is enough.

Example: ``Policy().trigger(Window(128_000))`` is 80,000, and ``Policy().target(...)`` 40,000.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

from constat.diagnostics import ConstatError, Diagnostic

_UNKNOWN: Final = 128_000
_LIMITS: Final = MappingProxyType(
    {
        "gpt-4o": 128_000,
        "gpt-4-turbo": 128_000,
        "gpt-4": 8_192,
        "claude-3-5-sonnet-20240620": 200_000,
        "claude-3-haiku-20240307": 200_000,
    }
)
# A reserve takes no more than this of a window, so that something is left to talk in.
_MOST_RESERVED: Final = 0.5


def context_limit(model: str) -> int:
    """Return how many tokens a model takes; 128,000 for one that is not known."""
    if model.startswith("claude"):
        return 200_000
    return _LIMITS.get(model, _UNKNOWN)


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that a model takes, and what of them is not for messages.

    ``tools`` is reserved for results that are still to come.
    """

    limit: int = _UNKNOWN
    system: int = 2_000
    output: int = 4_000
    safety: int = 5_000
    tools: int = 0

    def __post_init__(self) -> None:
        if self.limit < 1 or min(self.reserves) < 0:
            raise ConstatError([_wrong("a window has at least one token, and no negative reserve")])

    @property
    def reserves(self) -> tuple[int, ...]:
        """What is not for messages."""
        return (self.system, self.output, self.safety, self.tools)

    @property
    def available(self) -> int:
        """The tokens for messages: at least half of the window, and at least one."""
        return max(1, self.limit - min(sum(self.reserves), int(self.limit * _MOST_RESERVED)))


@dataclass(frozen=True, slots=True)
class Policy:
    """How to compact; the defaults reconcile four designs (`profiles`).

    ``soft`` and ``hard`` are shares of the available tokens, ``cap`` bounds the trigger whatever
    the window is, ``target`` is the share of the trigger that a compacted context may take.
    ``keep_last`` messages and the last ``keep_human`` of people are kept word for word, and what
    people said before as far as ``human_tokens`` go. A text of more than ``heavy_share`` of the
    window or ``heavy_characters`` is shown by its ends. Compaction that would gain less than
    ``least_gain`` is not made, unless the window would overflow.
    """

    name: str = "reconciled"
    soft: float = 0.70
    hard: float = 0.80
    cap: int = 80_000
    target_share: float = 0.50
    keep_last: int = 10
    keep_human: int = 2
    human_tokens: int = 20_000
    heavy_share: float = 0.75
    heavy_characters: int = 10_000
    verbatim_characters: int = 8_000
    least_gain: float = 0.10
    checkpoints: int = 5

    def __post_init__(self) -> None:
        shares = (self.soft, self.hard, self.target_share, self.heavy_share)
        if not all(0 < one <= 1 for one in shares) or self.soft > self.hard:
            raise ConstatError([_wrong("shares lie from 0 to 1, `soft` not above `hard`")])
        counts = [getattr(self, one.name) for one in fields(self) if one.type == "int"]
        if min(counts) < 0 or self.cap < 1:
            raise ConstatError([_wrong("numbers are not negative, and `cap` is above 0")])

    def trigger(self, window: Window) -> int:
        """Return from how many tokens on a context is compacted."""
        return max(1, min(int(window.available * self.hard), self.cap))

    def soft_trigger(self, window: Window) -> int:
        """Return from how many tokens on it may be compacted where that costs nothing."""
        return max(1, min(int(window.available * self.soft), self.cap))

    def target(self, window: Window) -> int:
        """Return how many tokens a compacted context may have."""
        return max(1, int(self.trigger(window) * self.target_share))

    def heavy(self, window: Window) -> int:
        """Return from how many tokens on one text is too heavy for the window."""
        return max(1, int(window.limit * self.heavy_share))


def _wrong(message: str) -> Diagnostic:
    return Diagnostic("C0804", message, help="`Policy()` and `Window(128_000)` are right")
