"""A budget of tokens that is kept while messages are added, and rules for what may be pruned.

In: messages with their times, as an agent adds them.  Out: what stays.  Invariants: a call and its
result stay or go together; what was pruned is in the archive, and a line says where; the count of
used tokens falls when something is pruned.

Example: ``TokenBudget(128_000, Reserved(2_000, 4_000, 5_000)).available`` is 117,000.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.memory.counting import message_tokens
from constat.memory.extract import facts_of
from constat.memory.keeping import is_human
from constat.memory.messages import Role
from constat.memory.passages import passages_of
from constat.memory.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.messages import Message

PLAN: Final = "plan"
ERROR: Final = "error"
HUMAN_INPUT: Final = "human_input"
TOOL_RESULT: Final = "tool_result"
OTHER: Final = "message"


@dataclass(frozen=True, slots=True)
class Timed:
    """A message with its number, its time in milliseconds, and its kind where somebody set one."""

    number: int
    message: Message
    at_ms: float
    kind: str = ""


@dataclass(frozen=True, slots=True)
class PruneRules:
    """What is never pruned, and from when on results of tools are."""

    keep_last_messages: int = 10
    keep_recent_ms: float = 300_000
    always_keep: frozenset[str] = frozenset({PLAN, ERROR, HUMAN_INPUT})
    prune_tool_results_after_ms: float = 60_000
    summarize_before_prune: bool = True


@dataclass(frozen=True, slots=True)
class Pruned:
    """What stays, what goes, and the line about each that goes."""

    kept: tuple[Timed, ...]
    pruned: tuple[Timed, ...]
    summarized: str


def kind_of(message: Message) -> str:
    """Return what a message is: an error of a tool, its result, what a person said, or a plan."""
    if message.results:
        facts = facts_of(passages_of([message]))
        return ERROR if any(one.predicate == "error" for one in facts) else TOOL_RESULT
    if is_human(message):
        return HUMAN_INPUT
    boxes = message.role is Role.ASSISTANT and ("- [ ]" in message.text or "- [x]" in message.text)
    return PLAN if boxes else OTHER


def apply_prune_rules(
    messages: Sequence[Timed], rules: PruneRules | None = None, *, now_ms: float
) -> Pruned:
    """Say what stays; the calls of a result that goes go with it, unless others of them stay."""
    rules = rules or PruneRules()
    going = {
        one.number
        for place, one in enumerate(messages)
        if _may_go(one, rules, now_ms, last=place >= len(messages) - rules.keep_last_messages)
    }
    going = _whole_groups(messages, going)
    pruned = tuple(one for one in messages if one.number in going)
    kept = tuple(one for one in messages if one.number not in going)
    summarized = ""
    if rules.summarize_before_prune:
        summarized = "\n".join(_line(one) for one in pruned if one.message.results)
    return Pruned(kept, pruned, summarized)


def _may_go(one: Timed, rules: PruneRules, now_ms: float, *, last: bool) -> bool:
    kind = one.kind or kind_of(one.message)
    age = now_ms - one.at_ms
    if last or age < rules.keep_recent_ms or kind in rules.always_keep:
        return False
    return kind == TOOL_RESULT and age > rules.prune_tool_results_after_ms


def _whole_groups(messages: Sequence[Timed], going: set[int]) -> set[int]:
    """Return what may go once calls and results are taken together: all of a group, or none."""
    calls: dict[str, int] = {}
    groups: dict[int, set[int]] = {}
    for one in messages:
        calls.update({call.id: one.number for call in one.message.calls})
        for result in one.message.results:
            asked = calls.get(result.call)
            if asked is not None:
                groups.setdefault(asked, {asked}).add(one.number)
    texts = {one.number for one in messages if one.message.text.strip()}
    found = set()
    for asked, members in groups.items():
        # What was said beside a call is no result of a tool, so it stays, and the group with it.
        if members - {asked} <= going and not members & texts:
            found |= members
    alone = {number for members in groups.values() for number in members}
    return found | {number for number in going - alone if number not in texts}


def _line(one: Timed) -> str:
    ids = ", ".join(result.call for result in one.message.results)
    return f"- result of {ids} (about {message_tokens(one.message):,} tokens): ref:m{one.number}"


@dataclass(frozen=True, slots=True)
class Reserved:
    """Tokens that are not for messages."""

    system_prompt: int = 0
    response_buffer: int = 0
    tool_results: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.system_prompt + self.response_buffer + self.tool_results


@dataclass(slots=True)
class TokenBudget:
    """What a context may take, what it takes, and the messages in it, the oldest first."""

    most: int
    reserved: Reserved = field(default_factory=Reserved)
    messages: list[Timed] = field(default_factory=list)
    counted: Callable[[str], int] = estimate

    @property
    def used(self) -> int:
        """The tokens of the messages that are in it now."""
        return sum(message_tokens(one.message, self.counted) for one in self.messages)

    @property
    def available(self) -> int:
        """The tokens that are left; negative where it is full beyond its reserves."""
        return self.most - self.used - self.reserved.total

    def can_add(self, text: str) -> bool:
        """Tell whether a text would fit."""
        return self.counted(text) <= self.available

    def add(self, message: Timed) -> bool:
        """Add a message, pruning the oldest results of tools for it; tells whether it fits now."""
        wanted = message_tokens(message.message, self.counted)
        left = self.available
        if wanted > left and self.prune_oldest_tool_results(wanted - left) < wanted - left:
            return False
        self.messages.append(message)
        return True

    def prune_oldest_tool_results(self, needed: int) -> int:
        """Take the oldest results out, with their calls, until so many tokens are free.

        Returns how many are; nothing is taken out where that would not be enough.
        """
        before = self.used
        left = list(self.messages)
        results = [one.number for one in left if kind_of(one.message) == TOOL_RESULT]
        for number in results:
            going = _whole_groups(left, _siblings(left, number))
            left = [one for one in left if one.number not in going]
            freed = before - replace(self, messages=left).used
            if freed >= needed:
                self.messages = left
                return freed
        return 0


def _siblings(messages: Iterable[Timed], number: int) -> set[int]:
    """Return the messages with results of the same call message as that one."""
    known: dict[str, int] = {}
    asked: dict[int, set[int]] = {}
    for one in messages:
        known.update({call.id: one.number for call in one.message.calls})
        asked[one.number] = {known.get(result.call, -1) for result in one.message.results}
    wanted = asked[number]
    return {one for one, calls in asked.items() if calls & wanted}
