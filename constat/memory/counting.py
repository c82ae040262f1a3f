"""How many tokens messages take: their texts, calls and results, and a little for each role.

In: messages.  Out: estimates.  Invariant: the count of messages is the sum over them, so that it
can be kept up to date message by message.

Example: ``message_tokens(Message(Role.USER, (Text("Where is order 17?"),)))`` is 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from constat.memory.messages import Call, Image, Opaque, Result, Text, Thinking
from constat.memory.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from constat.memory.messages import Block, Message

ROLE_TOKENS: Final = 2
# An image costs by its size, which a digest does not tell; providers scale it down to about this.
_IMAGE_TOKENS: Final = 1_600


def message_tokens(message: Message, counted: Callable[[str], int] = estimate) -> int:
    """Return about how many tokens a message takes."""
    return ROLE_TOKENS + sum(_block(block, counted) for block in message.blocks)


def messages_tokens(messages: Iterable[Message], counted: Callable[[str], int] = estimate) -> int:
    """Return about how many tokens messages take together."""
    return sum(message_tokens(message, counted) for message in messages)


def _block(block: Block, counted: Callable[[str], int]) -> int:
    match block:
        case Text(text) | Thinking(text):
            return counted(text)
        case Call(_, name, arguments):
            return counted(name) + counted(arguments)
        case Result(_, parts):
            return sum(_block(part, counted) for part in parts)
        case Image():
            return _IMAGE_TOKENS
        case Opaque(_, content):
            return counted(content)
        case _:
            assert_never(block)
