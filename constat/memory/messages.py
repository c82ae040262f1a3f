"""Conversations as values: messages, calls, attachments, and their JSON for the archive."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Role(StrEnum):
    """Who a message is from, as providers write it."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@frozen
class Text:
    """A text."""

    text: str
    extra: str = ""


@frozen
class Thinking:
    """What a model thought; ``signature`` lets its provider see that nobody changed it."""

    text: str
    signature: str
    extra: str = ""


@frozen
class Image:
    """An image, by the digest of its bytes (``sha256:...``) or by its address."""

    media_type: str
    reference: str
    extra: str = ""


@frozen
class Call:
    """A model asks for a tool; ``arguments`` is the JSON text that the model wrote."""

    id: str
    name: str
    arguments: str
    extra: str = ""


@frozen
class Opaque:
    """A block that we do not read; ``content`` is its JSON."""

    kind: str
    content: str


@frozen
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


@frozen
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


# A conversation without strays has none on either side of a safe cut. Providers refuse a request
# with a result whose call is gone, and the session is lost.


@frozen
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


_FEW: Final = 64


def late_cuts(messages: Sequence[Message], before: int) -> tuple[int, ...]:
    """Return the last safe cuts, among them one that is not behind ``before``, if there is one.

    Only as many messages at the end are looked at as that takes.
    """
    length = _FEW
    while length < len(messages):
        start = len(messages) - length
        part = messages[start:]
        if _is_whole(part):
            cuts = [start + one for one in safe_cuts(part)]
            if cuts[0] <= before:
                return tuple(cuts)
        length *= 2
    return safe_cuts(messages)


def _is_whole(messages: Sequence[Message]) -> bool:
    """Tell whether all results answer calls among these messages, and a model speaks in them."""
    called: set[str] = set()
    for message in messages:
        if any(result.call not in called for result in message.results):
            return False
        called.update(call.id for call in message.calls)
    return any(message.role is Role.ASSISTANT for message in messages)


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


# A reference names one content for ever.  `KeyError` for a reference that nobody has put there.


class Attachments(Protocol):
    """Where bytes are kept."""

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes; the same bytes twice change nothing."""
        ...

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        ...


class HeldAttachments:
    """Attachments in memory."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def put(self, reference: str, content: bytes) -> None:
        """Keep bytes."""
        self._held[reference] = content

    def get(self, reference: str) -> bytes:
        """Return the bytes; raises ``KeyError``."""
        return self._held[reference]


def digest(content: bytes) -> str:
    """Return the name of a content in the archive."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def spelled(message: Message) -> tuple[str, dict[str, bytes]]:
    """Return the spelling of a message and the texts that it names."""
    texts: dict[str, bytes] = {}
    members = {
        "role": message.role.value,
        "plain": int(message.plain),
        "extra": message.extra,
        "blocks": [_block(block, texts) for block in message.blocks],
    }
    return json.dumps(members, ensure_ascii=True, sort_keys=True, separators=(",", ":")), texts


def read(spelling: str, text: Callable[[str], bytes]) -> Message:
    """Read a spelling; ``text`` gives what a digest names.

    Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what ``spelled`` has not written.
    """
    members = json.loads(spelling)
    blocks = tuple(_read_block(one, text) for one in members["blocks"])
    return Message(Role(members["role"]), blocks, bool(members["plain"]), str(members["extra"]))


def _apart(text: str, texts: dict[str, bytes]) -> str:
    # Half a surrogate pair is no character; JSON can write it, and a log may hold one.
    content = text.encode("utf-8", "surrogatepass")
    name = digest(content)
    texts[name] = content
    return name


def _block(block: Block, texts: dict[str, bytes]) -> list[Any]:
    match block:
        case Text(text, extra):
            return ["text", _apart(text, texts), extra]
        case Thinking(text, signature, extra):
            return ["thinking", _apart(text, texts), signature, extra]
        case Image(media_type, reference, extra):
            return ["image", media_type, reference, extra]
        case Call(id_, name, arguments, extra):
            return ["call", id_, name, _apart(arguments, texts), extra]
        case Result(call, parts, failed, plain, extra):
            inner = [_block(part, texts) for part in parts]
            return ["result", call, inner, int(failed), int(plain), extra]
        case Opaque(kind, content):
            return ["opaque", kind, _apart(content, texts)]
        case _:
            assert_never(block)


def _read_block(given: list[Any], text: Callable[[str], bytes]) -> Block:
    def apart(name: str) -> str:
        return text(name).decode("utf-8", "surrogatepass")

    match given:
        case ["text", name, extra]:
            return Text(apart(name), extra)
        case ["thinking", name, signature, extra]:
            return Thinking(apart(name), signature, extra)
        case ["image", media_type, reference, extra]:
            return Image(media_type, reference, extra)
        case ["call", id_, name, arguments, extra]:
            return Call(id_, name, apart(arguments), extra)
        case ["result", call, [*parts], failed, plain, extra]:
            inner = tuple(_read_part(part, text) for part in parts)
            return Result(call, inner, bool(failed), bool(plain), extra)
        case ["opaque", kind, name]:
            return Opaque(kind, apart(name))
        case _:
            raise ValueError("a message in the archive has another form")


def _read_part(given: list[Any], text: Callable[[str], bytes]) -> Text | Image | Opaque:
    part = _read_block(given, text)
    if not isinstance(part, Text | Image | Opaque):
        raise TypeError(given)
    return part
