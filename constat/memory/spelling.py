"""Messages as JSON for the archive: each text apart, named by its digest.

In: a message.  Out: one JSON text in which digests stand for texts, and the texts.  Invariants:
reading it with the same texts gives the same message; equal messages have equal spellings, so a
message is known again.  A text that is apart can be cited by its bytes.

Example: ``Message(Role.USER, (Text("a"),))`` is
``{"blocks":[["text","sha256:...",""]],"extra":"","plain":1,"role":"user"}``.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, assert_never

from constat.memory.messages import Call, Image, Message, Opaque, Result, Role, Text, Thinking

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.memory.messages import Block


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
