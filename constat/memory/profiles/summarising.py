"""Seed 003, the compaction layer of an agent: its functions, thresholds, markers and sections.

In: messages, or the memory that keeps them.  Out: the messages to go on with, and an event.
Invariants: the numbers are the seed's, four characters to a token included; where it was wrong it
is mended: a window smaller than its reserves has a positive threshold, pairs are found by id
wherever results stand, the task is the first that was archived, a summary is known again under
either heading, and no summary is made of a summary, since each is made of facts.

Example: ``threshold(CompactionConfig())`` is 93,600.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.memory.messages import Call, Message, Result, Role, Text, safe_cuts
from constat.memory.narrative import SUMMARY, narrative, told
from constat.memory.policy import Policy, Window, context_limit
from constat.memory.tokens import ROLE_TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.remembering import Memory

NAME: Final = "seed003"
LIMITS: Final = (
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("claude-3-5-sonnet-20240620", 200_000),
    ("claude-3-haiku-20240307", 200_000),
)
TARGET_TOKENS: Final = 800
MOST_TOKENS: Final = 1_000
TEMPERATURE: Final = 0.3
RESULT_PREVIEW: Final = 500
MESSAGE_PREVIEW: Final = 2_000
HUGE: Final = 10_000
TRUNCATED: Final = "\n[...truncated...]"
UNKNOWN_TASK: Final = "Unknown task"


@frozen
class CompactionConfig:
    """The numbers of the seed."""

    model_context_limit: int = 128_000
    system_reserve: int = 2_000
    output_reserve: int = 4_000
    safety_buffer: int = 5_000
    threshold_percent: float = 0.80
    recent_messages_to_keep: int = 10

    @property
    def window(self) -> Window:
        """The same as a window."""
        return Window(
            self.model_context_limit, self.system_reserve, self.output_reserve, self.safety_buffer
        )

    @property
    def policy(self) -> Policy:
        """The same as a policy."""
        share = self.threshold_percent
        keep = self.recent_messages_to_keep
        return Policy(
            NAME,
            soft=share,
            hard=share,
            cap=_NO_CAP,
            keep_last=keep,
            keep_human=0,
            heavy_characters=HUGE,
        )


_NO_CAP: Final = 1 << 40
POLICY: Final = CompactionConfig().policy
WINDOW: Final = CompactionConfig().window


@frozen
class CompactionSelection:
    """What would be compacted, what is kept, and the summary of an earlier round."""

    messages_to_compact: tuple[Message, ...]
    messages_to_keep: tuple[Message, ...]
    previous_summary: str | None


@frozen
class CompactionEvent:
    """What one round did; ``round`` is 0 where nothing was to be done."""

    round: int
    tokens_before: int
    tokens_after: int
    summary_content: str = ""
    compacted_message_ids: tuple[str, ...] = ()

    @property
    def log_line(self) -> str:
        """The line that is logged."""
        count = len(self.compacted_message_ids)
        return (
            f"[Compaction] Round {self.round}: {self.tokens_before} → {self.tokens_after} tokens "
            f"({count} messages summarized)"
        )


@frozen
class CompactionResult:
    """The messages to go on with, and what was done."""

    compacted_messages: tuple[Message, ...]
    compaction_event: CompactionEvent


def get_context_limit(model: str) -> int:
    """Return the window of a model; 128,000 for one that is not known."""
    return dict(LIMITS).get(model) or context_limit(model)


def config_for(model: str) -> CompactionConfig:
    """Return the configuration for a model: the seed never handed its limit on."""
    return CompactionConfig(model_context_limit=get_context_limit(model))


def threshold(config: CompactionConfig) -> int:
    """Return from how many tokens on there is compaction."""
    return max(1, int(config.window.available * config.threshold_percent))


def estimate_tokens(text: object) -> int:
    """Return a quarter of the length; 0 for what is no text."""
    return -(-_length(text) // 4) if isinstance(text, str) else 0


def estimate_messages_tokens(messages: Iterable[Message]) -> int:
    """Return the sum over messages: two for the role, and texts, calls and results."""
    return sum(
        ROLE_TOKENS + sum(_block_tokens(block) for block in message.blocks) for message in messages
    )


def should_compact(messages: Sequence[Message], config: CompactionConfig | None = None) -> bool:
    """Tell whether it is time."""
    config = config or CompactionConfig()
    if len(messages) <= config.recent_messages_to_keep + 1:
        return False
    return estimate_messages_tokens(messages) >= threshold(config)


def adjust_boundary_for_tool_pairs(messages: Sequence[Message], initial: int) -> int:
    """Return the last place at or before a boundary where no call is parted from its result."""
    cuts = [cut for cut in safe_cuts(messages) if cut <= initial]
    return max(cuts, default=0)


def is_summary(message: Message) -> bool:
    """Tell whether a message is a summary of an earlier round, under either heading."""
    text = message.text.lstrip("#").lstrip()
    return message.role is Role.ASSISTANT and text.startswith(SUMMARY.lstrip("# "))


def select_messages_to_compact(
    messages: Sequence[Message], keep_last: int = 10
) -> CompactionSelection:
    """Return what is kept: the system and the last messages, and what would be compacted."""
    unchanged = CompactionSelection((), tuple(messages), None)
    if len(messages) <= keep_last + 1:
        return unchanged
    start = 1 if messages[0].role is Role.SYSTEM else 0
    boundary = adjust_boundary_for_tool_pairs(messages, len(messages) - keep_last)
    previous = None
    first = start
    if is_summary(messages[first]):
        previous = messages[first].text
        first += 1
    if boundary <= first:
        return CompactionSelection((), tuple(messages), previous)
    kept = (*messages[:start], *messages[boundary:])
    return CompactionSelection(tuple(messages[first:boundary]), kept, previous)


def extract_original_task(memory: Memory) -> str:
    """Return the first thing that a person asked in the session, whatever is still shown of it."""
    claims = memory.history.claims
    return next((one.fact.value for one in claims if one.fact.predicate == "task"), UNKNOWN_TASK)


def format_messages_for_summary(messages: Sequence[Message]) -> str:
    """Write messages for a person to look through; what is cut says where all of it is."""
    return "\n\n---\n\n".join(_formatted(at, one) for at, one in enumerate(messages))


def generate_summary(memory: Memory, number: int, write: Callable[[str], str] | None = None) -> str:
    """Return the summary of a session, made of its facts; ``write`` may put it in other words.

    ``write`` is a model: it is given the facts and no earlier summary, and its words are taken only
    where they say nothing exact that is not in the facts.
    """
    known, decided = memory.decided()
    claims = [claim for history in known.histories for claim in history.claims]
    facts = narrative(
        claims, decided, number=number, most_tokens=TARGET_TOKENS, counted=estimate_tokens
    )
    if number > 1:
        facts += f"\n(made of the facts of all {number} rounds)"
    return told(facts, write, MOST_TOKENS).text


def compact(
    memory: Memory,
    messages: Sequence[Message],
    number: int,
    config: CompactionConfig | None = None,
    write: Callable[[str], str] | None = None,
) -> CompactionResult:
    """Compact messages that the memory keeps; ``number`` is that of the round before, first 0."""
    config = config or CompactionConfig()
    before = estimate_messages_tokens(messages)
    selection = select_messages_to_compact(messages, config.recent_messages_to_keep)
    if not selection.messages_to_compact:
        return CompactionResult(tuple(messages), CompactionEvent(0, before, before))
    summary = generate_summary(memory, number + 1, write)
    said = Message(Role.ASSISTANT, (Text(summary),))
    kept = selection.messages_to_keep
    system = [one for one in kept[:1] if one.role is Role.SYSTEM]
    found = (*system, said, *kept[len(system) :])
    ids = tuple(str(at) for at in _numbers(messages, selection))
    after = estimate_messages_tokens(found)
    return CompactionResult(found, CompactionEvent(number + 1, before, after, summary, ids))


def safe_compact(
    memory: Memory,
    messages: Sequence[Message],
    number: int,
    config: CompactionConfig | None = None,
    report: Callable[[str], None] = lambda _text: None,
) -> tuple[Message, ...]:
    """Compact, or return the messages as they are where that fails; the loop goes on."""
    try:
        result = compact(memory, messages, number, config)
    except (ConstatError, OSError, ValueError) as problem:
        report(f"[Compaction] Failed, continuing without compaction: {type(problem).__name__}")
        return tuple(messages)
    if result.compaction_event.round:
        report(result.compaction_event.log_line)
    return result.compacted_messages


def prepare_step(
    memory: Memory, messages: Sequence[Message], number: int, config: CompactionConfig | None = None
) -> tuple[Message, ...]:
    """Return the messages for the next step of an agent's loop."""
    if should_compact(messages, config):
        return safe_compact(memory, messages, number, config)
    return tuple(messages)


def _numbers(messages: Sequence[Message], selection: CompactionSelection) -> Iterable[int]:
    first = next(at for at, one in enumerate(messages) if one is selection.messages_to_compact[0])
    return range(first, first + len(selection.messages_to_compact))


def _length(text: str) -> int:
    """Return the length in the seed's language, which counts a character beyond 16 bits twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _block_tokens(block: object) -> int:
    match block:
        case Text(text):
            return estimate_tokens(text)
        case Call(_, name, arguments):
            return estimate_tokens(name) + estimate_tokens(_json(arguments))
        case Result():
            return estimate_tokens(_json(block.text))
        case _:
            return 0


def _json(text: str) -> str:
    """Return what the seed counts: JSON as its language writes it."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _formatted(at: int, message: Message) -> str:
    parts = []
    for block in message.blocks:
        match block:
            case Text(text):
                parts.append(text)
            case Call(_, name, arguments):
                parts.append(f"[Tool: {name}({_json(arguments)})]")
            case Result():
                parts.append(f"[Result: {_json(block.text)[:RESULT_PREVIEW]}...]")
            case _:
                pass
    content = "\n".join(parts)
    if len(content) > MESSAGE_PREVIEW:
        # What is cut here can be opened: the seed had to say that it was lost.
        content = f"{content[:MESSAGE_PREVIEW]}{TRUNCATED}"
    return f"[{at}] {message.role.value.upper()}:\n{content}"
