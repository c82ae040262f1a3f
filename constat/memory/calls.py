"""Where a conversation may be cut: never between a call and its result.

In: messages.  Out: the places before which a cut is safe, and the calls and results that have lost
each other.  Invariant: a conversation without strays has none on either side of a safe cut.
Providers refuse a request with a result whose call is gone, and the session is lost.

Example: in *question, call, result, answer* a cut is safe at 0, 1, 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.memory.messages import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory.messages import Message


@dataclass(frozen=True, slots=True)
class Strays:
    """Ids of calls without a result, and of results without a call before them."""

    calls: tuple[str, ...]
    results: tuple[str, ...]


def safe_cuts(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the indices before which the conversation may be cut; the end is one of them.

    A call that nobody has answered is open only as long as its answer may still come, which is
    until the model speaks again. While one is open at the end, the end is no place for a cut.
    """
    answered = {result.call for message in messages for result in message.results}
    last = max((i for i, one in enumerate(messages) if one.role is Role.ASSISTANT), default=-1)
    open_calls: dict[str, int] = {}
    cuts = []
    for place, message in enumerate(messages):
        if not open_calls:
            cuts.append(place)
        for result in message.results:
            _close(open_calls, result.call)
        for call in message.calls:
            if call.id in answered or place == last:
                open_calls[call.id] = open_calls.get(call.id, 0) + 1
    return tuple(cuts) if open_calls else (*cuts, len(messages))


def _close(open_calls: dict[str, int], call: str) -> None:
    left = open_calls.pop(call, 0) - 1
    if left > 0:
        open_calls[call] = left


def strays(messages: Sequence[Message]) -> Strays:
    """Return the calls and results that have lost each other, in their order."""
    waiting: dict[str, int] = {}
    lost = []
    for message in messages:
        for result in message.results:
            if result.call in waiting:
                _close(waiting, result.call)
            else:
                lost.append(result.call)
        for call in message.calls:
            waiting[call.id] = waiting.get(call.id, 0) + 1
    return Strays(tuple(waiting), tuple(lost))
