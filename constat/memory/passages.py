"""The texts of a conversation with what is known about them: who, where, in answer to what.

In: messages.  Out: passages, in order.  Invariants: a passage is one whole text of the archive;
the answer of a tool knows the call it answers, by id; what stands in a tool's answer is the tool's
word, whatever role the provider gave its message.

Example: the answer to ``get_order(id=7)`` has the subject ``get_order({"id":7})``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from constat.memory.facts import Author, Span
from constat.memory.messages import Call, Result, Role, Text
from constat.memory.quotations import announces, compacted, pages, quoted
from constat.memory.spelling import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.messages import Message


class Place(Enum):
    """What a passage is in its message."""

    SAID = "said"
    ARGUMENTS = "arguments"
    ANSWER = "answer"


@dataclass(frozen=True)
class Passage:
    """One text; ``subject`` is the call that it belongs to, ``""`` for what was said.

    A line of a block that came back is a text within another: ``source`` names that in the archive,
    and ``offset`` is where in it the line begins.
    """

    text: str
    author: Author
    place: Place
    message: int
    call: str = ""
    tool: str = ""
    subject: str = ""
    failed: bool = False
    source: str = ""
    offset: int = 0
    pasted: bool = False
    """Whether a text before it in the same message says that another's words come."""

    @cached_property
    def content(self) -> bytes:
        """The text as it lies in the archive."""
        return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def archive(self) -> str:
        """The name of the text in the archive."""
        return self.source or digest(self.content)

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """The characters of it that are compacted text which came back: nobody's word here."""
        return compacted(self.text) if self._is_told else ()

    @cached_property
    def foreign(self) -> tuple[tuple[int, int], ...]:
        """The characters of it that are not its author's own words."""
        if self.pasted:
            return ((0, len(self.text)),)
        if self.is_of_person:
            return quoted(self.text)
        return pages(self.text) if self._is_told else self.blocks

    @property
    def is_of_person(self) -> bool:
        """Whether a person said it, pasted it or quoted it."""
        return self.place is Place.SAID and self.author is Author.HUMAN

    @property
    def _is_told(self) -> bool:
        asks = self.author in {Author.HUMAN, Author.SYSTEM}
        return asks and self.place is Place.SAID and not self.source

    @cached_property
    def _wide(self) -> tuple[list[int], list[int]]:
        """The places of characters beyond ASCII, and how many bytes more there are behind each."""
        places = [at for at, one in enumerate(self.text) if one > "\x7f"]
        more = (len(self.text[at].encode("utf-8", "surrogatepass")) - 1 for at in places)
        return places, [0, *accumulate(more)]

    def span(self, start: int, end: int) -> Span:
        """Return the bytes of characters ``start`` to ``end``."""
        return Span(self.archive, self.offset + self._byte(start), self.offset + self._byte(end))

    def quote(self, span: Span) -> bytes:
        """Return the bytes of a span of it."""
        return self.content[span.start - self.offset : span.end - self.offset]

    def _byte(self, character: int) -> int:
        if len(self.content) == len(self.text):
            return character
        places, more = self._wide
        return character + more[bisect_right(places, character - 1)]


def passages_of(
    messages: Sequence[Message], first: int = 0, calls: dict[str, Call] | None = None
) -> Iterator[Passage]:
    """Yield the texts of messages that are numbered from ``first``; thinking is nobody's word.

    ``calls`` are those of the messages before these; those of these are added to it.
    """
    calls = {} if calls is None else calls
    for number, message in enumerate(messages, first):
        author, pasted = _author(message.role), False
        for block in message.blocks:
            match block:
                case Text(text) if message.role is not Role.TOOL:
                    yield Passage(text, author, Place.SAID, number, pasted=pasted)
                    pasted = pasted or (author is Author.HUMAN and announces(text))
                case Call():
                    calls[block.id] = block
                    yield _passage(block, block.arguments, Place.ARGUMENTS, number)
                case Result():
                    yield from _answers(block, calls.get(block.call), number)


def _answers(result: Result, call: Call | None, number: int) -> Iterator[Passage]:
    asked = call or Call(result.call, "", "")
    for part in result.parts:
        if isinstance(part, Text):
            failed = result.failed
            yield _passage(asked, part.text, Place.ANSWER, number, failed=failed)


def _passage(call: Call, text: str, place: Place, number: int, *, failed: bool = False) -> Passage:
    author = Author.TOOL if place is Place.ANSWER else Author.ASSISTANT
    subject = f"{call.name}({call.arguments})" if call.name else ""
    return Passage(text, author, place, number, call.id, call.name, subject, failed)


def _author(role: Role) -> Author:
    match role:
        case Role.SYSTEM:
            return Author.SYSTEM
        case Role.USER:
            return Author.HUMAN
        case Role.ASSISTANT | Role.TOOL:
            return Author.ASSISTANT
