"""When a context is compacted, what stays word for word, and how many tokens it may take."""

from __future__ import annotations

from dataclasses import field, fields, replace
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen, slotted
from constat.memory.extract import facts_of
from constat.memory.facts import passages_of
from constat.memory.history import MAIN, text_name
from constat.memory.messages import Call, Message, Result, Role, Text, Thinking, late_cuts
from constat.memory.quotations import blanked, compacted, own, quoted
from constat.memory.tokens import ends, estimate, message_tokens, sandwich

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from constat.memory.messages import Block

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


@frozen
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


@frozen
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


_SAVED: Final = "[Full result saved as ref:"
PREVIEW: Final = 1_500
_FEW: Final = 700


@frozen
class Kept:
    """Numbers of messages: those of the system, of people before the tail, and the tail's.

    ``words`` are those of others that stay in a message of theirs: the role, and what was said.
    """

    system: tuple[int, ...]
    human: tuple[int, ...]
    tail: tuple[int, ...]
    words: tuple[tuple[str, str], ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them, in order."""
        return (*self.system, *self.human, *self.tail)


def kept(messages: Sequence[Message], policy: Policy, room: int, costs: Sequence[int]) -> Kept:
    """Choose what stays; the tail takes ``room`` tokens, or is its last group where that is more.

    ``costs`` are the tokens of the messages.
    """
    system = _system(messages)
    wanted = max(len(messages) - policy.keep_last, len(system))
    cuts = [cut for cut in late_cuts(messages, wanted) if cut >= len(system)] or [len(system)]
    start = max((cut for cut in cuts if cut <= wanted), default=cuts[0])
    later = [cut for cut in cuts if start <= cut < len(messages)] or [start]
    start = next((cut for cut in later if sum(costs[cut:]) <= room), later[-1])
    missing = policy.keep_human - sum(is_human(one) for one in messages[start:])
    people = _people(messages, len(system), start)
    chosen = [*islice(people, max(0, missing))]
    return Kept(system, tuple(reversed(chosen)), tuple(range(start, len(messages))))


def _people(messages: Sequence[Message], first: int, end: int) -> Iterator[int]:
    """Yield the messages that people said, the last first."""
    return (at for at in range(end - 1, first - 1, -1) if is_human(messages[at]))


def alone(messages: Sequence[Message], keep: Kept) -> Kept:
    """Keep what people said last and no other message, unless a call is open at the end."""
    if late_cuts(messages, len(messages))[-1] != len(messages):
        return replace(keep, human=())
    people = _people(messages, len(keep.system), len(messages))
    return Kept(keep.system, tuple(islice(people, 1)), ())


def is_human(message: Message) -> bool:
    """Tell whether a message is something that a person said: no results of tools, no block."""
    texts = (block.text for block in message.blocks if isinstance(block, Text))
    return message.role is Role.USER and any(
        blanked(text, compacted(text)).strip() for text in texts
    )


def marker(text: str) -> str:
    """Return the words that stand where a long text was: they name the text."""
    return f"{_SAVED}{text}]"


def is_saved(text: str) -> bool:
    """Tell whether a text says already where all of it is."""
    return _SAVED in text


def lightened(
    message: Message,
    number: int,
    heavy: Callable[[str, bool], bool],
    branch: str = MAIN,
    shown: int = PREVIEW,
) -> Message:
    """Return a message whose heavy texts are shown by their ends, with where all of them is.

    So many characters are ``shown`` of each.
    ``heavy`` is asked about a text, and whether somebody said it; else a tool answered it.
    """
    found: list[Block] = []
    names = (text_name(branch, number, place) for place in count())
    changed = False
    for block in message.blocks:
        other: Block = block
        match block:
            case Text() if message.role is not Role.TOOL:
                person = message.role is Role.USER
                other = _light(block, next(names), heavy, shown, said=True, person=person)
            case Call():
                next(names)
            case Result(_, parts):
                lighter = tuple(
                    _light(part, next(names), heavy, shown, said=False)
                    if isinstance(part, Text)
                    else part
                    for part in parts
                )
                other = replace(block, parts=lighter) if lighter != parts else block
        changed = changed or other is not block
        found.append(other)
    return replace(message, blocks=tuple(found)) if changed else message


def without_thinking(message: Message) -> Message:
    """Return a message without what a model thought: its signature binds it to the old history."""
    return _without(message, Thinking)


def without_results(message: Message) -> Message:
    """Return what a person said, without results whose calls are not kept."""
    return _without(message, Result)


def _without(message: Message, kind: type[Block]) -> Message:
    if not any(isinstance(block, kind) for block in message.blocks):
        return message
    blocks = tuple(block for block in message.blocks if not isinstance(block, kind))
    return replace(message, blocks=blocks)


def _light(
    part: Text,
    name: str,
    heavy: Callable[[str, bool], bool],
    shown: int,
    *,
    said: bool,
    person: bool = False,
) -> Text:
    if not heavy(part.text, said):
        return part
    body, _, last = part.text.rpartition("\n")
    if is_saved(last[-200:]):
        # It says already where all of it is.
        return part if len(body) <= shown else replace(part, text=f"{_cut(body, shown)}\n{last}")
    # The end of a quotation without its beginning would look like the person's own words.
    text = own(part.text) if person and quoted(part.text) else part.text
    return replace(part, text=f"{_cut(text, shown)}\n{marker(name)}".lstrip())


def _cut(text: str, shown: int) -> str:
    """Return a text by its ends; of a few characters there is no middle to show."""
    return sandwich(text, shown) if shown >= _FEW else ends(text, shown // 2, " [...] ")


def _system(messages: Sequence[Message]) -> tuple[int, ...]:
    found = []
    for number, message in enumerate(messages):
        if message.role is not Role.SYSTEM:
            break
        found.append(number)
    return tuple(found)


PLAN: Final = "plan"
ERROR: Final = "error"
HUMAN_INPUT: Final = "human_input"
TOOL_RESULT: Final = "tool_result"
OTHER: Final = "message"


@frozen
class Timed:
    """A message with its number, its time in milliseconds, and its kind where somebody set one."""

    number: int
    message: Message
    at_ms: float
    kind: str = ""


@frozen
class PruneRules:
    """What is never pruned, and from when on results of tools are."""

    keep_last_messages: int = 10
    keep_recent_ms: float = 300_000
    always_keep: frozenset[str] = frozenset({PLAN, ERROR, HUMAN_INPUT})
    prune_tool_results_after_ms: float = 60_000
    summarize_before_prune: bool = True


@frozen
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


@frozen
class Reserved:
    """Tokens that are not for messages."""

    system_prompt: int = 0
    response_buffer: int = 0
    tool_results: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.system_prompt + self.response_buffer + self.tool_results


@slotted
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
