"""What a conversation with a language model is made of, in the notation of no provider.

In: nothing.  Out: messages of blocks; calls and their results are paired by id, block by block.
Invariants: values never change; what a provider adds and we do not read is kept as JSON text in
``extra``, so that a log can be written again as it was read; an image is a digest and never bytes.

Example: ``Message(Role.USER, (Text("Where is order 17?"),))``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Who a message is from, as providers write it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a model thought; ``signature`` lets its provider see that nobody changed it."""

    text: str
    signature: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """An image, by the digest of its bytes (``sha256:...``) or by its address."""

    media_type: str
    reference: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A model asks for a tool; ``arguments`` is the JSON text that the model wrote."""

    id: str
    name: str
    arguments: str
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that we do not read; ``content`` is its JSON."""

    kind: str
    content: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to the call of that id.

    ``plain`` tells that the provider had one text here and no list of parts.
    """

    call: str
    parts: tuple[Text | Image | Opaque, ...]
    failed: bool = False
    plain: bool = True
    extra: str = ""

    @property
    def text(self) -> str:
        """The texts of the answer, one after the other."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


Block = Text | Thinking | Image | Call | Result | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``plain`` tells that the provider had one text here and no list of blocks."""

    role: Role
    blocks: tuple[Block, ...]
    plain: bool = True
    extra: str = ""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the message."""
        return tuple(block for block in self.blocks if isinstance(block, Call))

    @property
    def results(self) -> tuple[Result, ...]:
        """The results in the message."""
        return tuple(block for block in self.blocks if isinstance(block, Result))

    @property
    def text(self) -> str:
        """The texts of the message itself, one after the other."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))


class MessageFormatError(ValueError):
    """A log that is not in the provider's format; the text says where and why."""
