"""Ground facts about what was said, the passages that say them, and the bytes they stand in."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.memory.messages import Call, Result, Role, Text, digest
from constat.memory.quotations import announces, compacted, pages, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.memory.messages import Message


class Author(IntEnum):
    """Who says something; the greater one's word stands against a lesser one's."""

    EXTRACTED = 0
    ASSISTANT = 1
    TOOL = 2
    HUMAN = 3
    SYSTEM = 4


@frozen
class Span:
    """Bytes of a text in the archive, from ``start`` to before ``end``."""

    archive: str
    start: int
    end: int


@frozen
class Fact:
    """A predicate about a subject: ``key`` has ``value``; ``kind`` and ``unit`` say how to read it.

    ``message`` is the number of the message, ``method`` the extractor.
    """

    predicate: str
    subject: str
    key: str
    value: str
    kind: str
    unit: str
    span: Span
    message: int
    author: Author
    method: str

    @property
    def content(self) -> tuple[str | int, ...]:
        """What the fact says, and the bytes that say it: equal facts have equal contents."""
        said = (self.predicate, self.subject, self.key, self.value, self.kind, self.unit)
        return (*said, self.span.archive, self.span.start, self.span.end)

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name the content."""
        text = json.dumps(self.content, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


Path = tuple[str | int, ...]

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_TEXT: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_OTHER: Final = re.compile(
    rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null"
)
_DEEPEST: Final = 200


class JsonSpanError(ValueError):
    """Bytes that are no JSON text, or one that is too deep; ``place`` is the byte."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(f"byte {place}: {reason}")
        self.place = place


@frozen
class Leaf:
    """A value without parts: ``data[start:end]`` is its JSON."""

    path: Path
    start: int
    end: int


def json_leaves(data: bytes) -> tuple[Leaf, ...]:
    """Return the leaves in their order; raises ``JsonSpanError``."""
    try:
        data.decode()
    except UnicodeDecodeError as problem:
        raise JsonSpanError("this is not UTF-8", problem.start) from None
    return tuple(_Reader(data).leaves())


class _Reader:
    """Reads from left to right; ``path`` names the value that comes next."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.path: list[str | int] = []

    def leaves(self) -> Iterator[Leaf]:
        while True:
            leaf = self.value()
            if leaf is not None:
                yield leaf
            if not self.move_on():
                return

    def value(self) -> Leaf | None:
        """Read a leaf, or go into an array or object until something is there to read."""
        while True:
            self.skip()
            match self.data[self.place : self.place + 1]:
                case b"{":
                    self.enter("")
                    if self.took(b"}"):
                        self.path.pop()
                        return None
                    self.path[-1] = self.name()
                case b"[":
                    self.enter(0)
                    if self.took(b"]"):
                        self.path.pop()
                        return None
                case b'"':
                    return self.leaf(_TEXT, "a text that does not end, or with a wrong escape")
                case _:
                    return self.leaf(_OTHER, "no value begins here")

    def move_on(self) -> bool:
        """Go to the next value; tell whether there is one."""
        while self.path:
            if self.took(b","):
                last = self.path[-1]
                self.path[-1] = last + 1 if isinstance(last, int) else self.name()
                return True
            if not self.took(b"]" if isinstance(self.path[-1], int) else b"}"):
                raise JsonSpanError("neither a comma nor the end", self.place)
            self.path.pop()
        self.skip()
        if self.place < len(self.data):
            raise JsonSpanError("something follows the value", self.place)
        return False

    def enter(self, first: str | int) -> None:
        if len(self.path) >= _DEEPEST:
            raise JsonSpanError("the value is too deep", self.place)
        self.place += 1
        self.path.append(first)

    def name(self) -> str:
        """Read the name of a member and the colon behind it."""
        self.skip()
        leaf = self.leaf(_TEXT, "a member has no name")
        if not self.took(b":"):
            raise JsonSpanError("a colon is missing", self.place)
        found: str = json.loads(self.data[leaf.start : leaf.end])
        return found

    def leaf(self, pattern: re.Pattern[bytes], otherwise: str) -> Leaf:
        found = pattern.match(self.data, self.place)
        if found is None:
            raise JsonSpanError(otherwise, self.place)
        self.place = found.end()
        return Leaf(tuple(self.path), found.start(), found.end())

    def took(self, mark: bytes) -> bool:
        self.skip()
        if self.data[self.place : self.place + 1] != mark:
            return False
        self.place += 1
        return True

    def skip(self) -> None:
        found = _SPACE.match(self.data, self.place)
        if found is not None:
            self.place = found.end()


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
