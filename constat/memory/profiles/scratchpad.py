"""Seed 001, an agent with a scratchpad: archive first, heavy nodes, the sandwich, a rolling window.

In: messages that a memory keeps.  Out: messages with one block for the older ones.  Invariants: the
block names the reference under which all of it is archived; earlier blocks and texts that are saved
already are left out of what is compressed; system and last two human messages are never touched;
pieces for a model end where something ends.

Example: the block begins ``[CONVERSATION SUMMARY] (source: ref:history-40)``.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.messages import Message, Result, Role, Text, safe_cuts
from constat.memory.narrative import Scratchpad, narrative, told
from constat.memory.policy import Policy, Window, is_human, is_saved, marker, without_results
from constat.memory.tokens import chunks, message_tokens, messages_tokens, sandwich

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from constat.memory.messages import Block
    from constat.memory.remembering import Memory

NAME: Final = "seed001"
MARKER: Final = "[CONVERSATION SUMMARY]"
HEAVY_SHARE: Final = 0.75
KEEP_HUMAN: Final = 2
TEMPERATURE: Final = 0.1
POLICY: Final = Policy(NAME, keep_human=KEEP_HUMAN, heavy_share=HEAVY_SHARE)
WINDOW: Final = Window()
_FRAGMENT: Final = 8_000
_KEEP_LAST: Final = 4


@frozen
class Compressed:
    """The messages to go on with, and the reference under which the history is archived."""

    messages: tuple[Message, ...]
    ref: str
    heavy: tuple[str, ...] = ()


class ContextCompressor:
    """Compresses for one memory; without a model everything is made of facts and ends of texts.

    ``write`` is a model that puts a fragment in fewer words, at a temperature of 0.1.
    """

    def __init__(
        self, memory: Memory, window: Window = WINDOW, write: Callable[[str], str] | None = None
    ) -> None:
        self._memory = memory
        self._window = window
        self._write = write
        self.scratchpad = Scratchpad(memory.archive, memory.session, memory.open)

    def is_needed(self, messages: Sequence[Message]) -> bool:
        """Tell whether the messages take more than the window has for them."""
        return messages_tokens(messages) > self._window.available

    def heavy(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Return the heavy nodes: messages of more than three quarters of the window."""
        most = int(self._window.limit * HEAVY_SHARE)
        return tuple(one for one in messages if message_tokens(one) > most)

    def reduced(self, text: str, key: str) -> str:
        """Return a heavy text by its ends, or by its fragments in a model's words; all is saved."""
        if is_saved(text):
            return text
        self.scratchpad.write(key, text)
        fragments = list(smart_chunk(text, _FRAGMENT))
        if self._write is None:
            return f"{sandwich(text, _FRAGMENT)}\n{marker(key)}"
        # Each fragment is given by itself, then all together, so that what stands twice goes once.
        mapped = "\n".join(self._shorter(one, self._write) for one in fragments)
        return f"{self._shorter(mapped, self._write)}\n{marker(key)}"

    def compress(self, messages: Sequence[Message]) -> Compressed:
        """Return the messages with one block in place of the older ones."""
        ref = self._archived(messages)
        kept = self._kept(messages)
        known, decided = self._memory.decided()
        claims = [claim for history in known.histories for claim in history.claims]
        facts = narrative(claims, decided)
        block = f"{MARKER} (source: {ref})\n{told(facts, self._write).text}"
        summary = Message(Role.SYSTEM, (Text(block),))
        system = [one for one in messages[:1] if one.role is Role.SYSTEM and not is_block(one)]
        heavy: list[str] = []
        tail = [self._light(one, at, heavy) for at, one in kept]
        return Compressed((*system, summary, *tail), ref, tuple(heavy))

    @staticmethod
    def _shorter(text: str, write: Callable[[str], str]) -> str:
        found = told(text, write)
        return found.text if found.by == "model" else sandwich(text, _FRAGMENT // 4)

    def _kept(self, messages: Sequence[Message]) -> list[tuple[int, Message]]:
        """Return the end, which parts no call from its result, and the last two human messages."""
        wanted = max(0, len(messages) - _KEEP_LAST)
        start = max((cut for cut in safe_cuts(messages) if cut <= wanted), default=0)
        people = [at for at, one in enumerate(messages) if is_human(one)][-KEEP_HUMAN:]
        before = [(at, without_results(messages[at])) for at in people if at < start]
        after = [(at, messages[at]) for at in range(start, len(messages))]
        return [(at, one) for at, one in (*before, *after) if one.role is not Role.SYSTEM]

    def _archived(self, messages: Sequence[Message]) -> str:
        """Save the history before anything is left out of it; gives the reference."""
        lines = [
            f"[{at}] {one.role.value}: {one.text}{''.join(x.text for x in one.results)}"
            for at, one in enumerate(messages)
            if not is_block(one)
        ]
        return self.scratchpad.write(_key(lines), "\n".join(lines), "history")

    def _light(self, message: Message, at: int, heavy: list[str]) -> Message:
        if message_tokens(message) <= int(self._window.limit * HEAVY_SHARE):
            return message
        if is_human(message):
            return message
        blocks: list[Block] = []
        for number, block in enumerate(message.blocks):
            if isinstance(block, Result) and not is_saved(block.text):
                key = f"heavy-{at}-{number}"
                heavy.append(key)
                blocks.append(replace(block, parts=(Text(self.reduced(block.text, key)),)))
            else:
                blocks.append(block)
        return replace(message, blocks=tuple(blocks))


def is_block(message: Message) -> bool:
    """Tell whether a message is a block of an earlier compression."""
    return message.role is Role.SYSTEM and message.text.startswith(MARKER)


def smart_chunk(text: str, characters: int) -> Iterable[str]:
    """Yield a text in pieces that end at lines, sentences or words."""
    return chunks(text, characters)


def _key(lines: Sequence[str]) -> str:
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    return f"history-{len(lines)}-{hashlib.sha256(content).hexdigest()[:8]}"
