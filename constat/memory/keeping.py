"""What of a history stays word for word: its system, its end, and the last things people said.

In: messages and a policy.  Out: numbers of messages, and messages whose long texts are shown by
their ends.  Invariants: a call and its result stay together; the last message stays; what is shown
by its ends says where all of it can be read, and is not shortened again.

Example: with ``keep_last=10`` the last ten messages stay, and the call that the first of them
answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Final

from constat.memory.calls import safe_cuts
from constat.memory.history import MAIN, text_name
from constat.memory.messages import Call, Message, Result, Role, Text, Thinking
from constat.memory.preview import sandwich
from constat.memory.quotations import blanked, compacted, own, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from constat.memory.messages import Block
    from constat.memory.policy import Policy

_SAVED: Final = "[Full result saved as ref:"
_PREVIEW: Final = 1_500


@dataclass(frozen=True, slots=True)
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
    cuts = [cut for cut in safe_cuts(messages) if cut >= len(system)] or [len(system)]
    wanted = max(len(messages) - policy.keep_last, len(system))
    start = max((cut for cut in cuts if cut <= wanted), default=cuts[0])
    later = [cut for cut in cuts if start <= cut < len(messages)] or [start]
    start = next((cut for cut in later if sum(costs[cut:]) <= room), later[-1])
    people = [at for at in range(len(system), start) if is_human(messages[at])]
    missing = policy.keep_human - sum(is_human(one) for one in messages[start:])
    chosen = people[-missing:] if missing > 0 else []
    return Kept(system, tuple(chosen), tuple(range(start, len(messages))))


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
    message: Message, number: int, heavy: Callable[[str, bool], bool], branch: str = MAIN
) -> Message:
    """Return a message whose heavy texts are shown by their ends, with where all of them is.

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
                other = _light(block, next(names), heavy, said=True, person=person)
            case Call():
                next(names)
            case Result(_, parts):
                shown = tuple(
                    _light(part, next(names), heavy, said=False) if isinstance(part, Text) else part
                    for part in parts
                )
                other = replace(block, parts=shown) if shown != parts else block
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
    part: Text, name: str, heavy: Callable[[str, bool], bool], *, said: bool, person: bool = False
) -> Text:
    if not heavy(part.text, said) or is_saved(part.text[-200:]):
        return part
    # The end of a quotation without its beginning would look like the person's own words.
    text = own(part.text) if person and quoted(part.text) else part.text
    return replace(part, text=f"{sandwich(text, _PREVIEW)}\n{marker(name)}".lstrip())


def _system(messages: Sequence[Message]) -> tuple[int, ...]:
    found = []
    for number, message in enumerate(messages):
        if message.role is not Role.SYSTEM:
            break
        found.append(number)
    return tuple(found)
