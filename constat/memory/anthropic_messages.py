"""Messages in the format of Anthropic's Messages API.

In: the ``messages`` of a request or of a log, and its ``system``.  Out: our messages, and the same
back.  Invariants: results stand in messages of the user, beside other blocks, and are paired by id;
writing what was read gives the same JSON.  Reference:
https://docs.anthropic.com/en/api/messages
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Any, Final

from constat.memory.json_text import (
    ANTHROPIC,
    an_object,
    member,
    rest_of,
    text_of,
    value_of,
    with_rest,
)
from constat.memory.messages import (
    Call,
    Image,
    Message,
    MessageFormatError,
    Opaque,
    Result,
    Role,
    Text,
    Thinking,
)
from constat.memory.openai_messages import PARTS as OTHERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.memory.attachments import Attachments
    from constat.memory.messages import Block

_ROLES = frozenset({"user", "assistant", "system"})
_DATA: Final = re.compile(r"data:(?P<type>[\w.+/-]+);base64,(?P<data>[A-Za-z0-9+/=]*)")


def from_anthropic(
    messages: Iterable[object], attachments: Attachments, *, system: object = None
) -> tuple[Message, ...]:
    """Read messages; the bytes of images go to ``attachments``.

    Raises ``MessageFormatError`` with the place in the log.
    """
    found = [] if system is None else [_system(system, attachments)]
    for number, given in enumerate(messages):
        where = f"message {number}"
        members = an_object(given, where)
        role = member(members, "role", str, where)
        if role not in _ROLES:
            raise MessageFormatError(f"{where}: `{role}` is no role of this format")
        content = members.get("content")
        blocks = _blocks(content, where, attachments)
        extra = rest_of(ANTHROPIC, members, "role", "content")
        found.append(Message(Role(role), blocks, isinstance(content, str), extra))
    return tuple(found)


def to_anthropic(
    messages: Sequence[Message], attachments: Attachments
) -> tuple[object, list[dict[str, Any]]]:
    """Write messages; returns ``system`` (``None`` without one) and ``messages``.

    Only the first message may be the system's. Messages of tools, which this format does not know,
    become messages of the user, joined with what the user says next.
    """
    system = None
    if messages and messages[0].role is Role.SYSTEM:
        system = _content(messages[0], attachments)
        messages = messages[1:]
    written = []
    for message in _without_tools(messages):
        members = {"role": message.role.value, "content": _content(message, attachments)}
        written.append(with_rest(ANTHROPIC, members, message.extra))
    return system, written


def _system(given: object, attachments: Attachments) -> Message:
    return Message(Role.SYSTEM, _blocks(given, "system", attachments), isinstance(given, str), "")


def _without_tools(messages: Sequence[Message]) -> list[Message]:
    """Put the results of tool messages into messages of the user."""
    found: list[Message] = []
    open_to_more = False
    for message in messages:
        of_tool = message.role is Role.TOOL
        if open_to_more and (of_tool or message.role is Role.USER):
            joined = found[-1].blocks + message.blocks
            found[-1] = Message(Role.USER, joined, plain=False)
        elif of_tool:
            found.append(Message(Role.USER, message.blocks, plain=False))
        else:
            found.append(message)
        open_to_more = of_tool
    return found


def _blocks(content: object, where: str, attachments: Attachments) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise MessageFormatError(f"{where}: `content` is neither a text nor a list of blocks")
    return tuple(
        _block(an_object(one, f"{where}, block {place}"), f"{where}, block {place}", attachments)
        for place, one in enumerate(content)
    )


def _block(given: Mapping[str, object], where: str, attachments: Attachments) -> Block:
    kind = member(given, "type", str, where)
    match kind:
        case "text":
            return Text(
                member(given, "text", str, where), rest_of(ANTHROPIC, given, "type", "text")
            )
        case "thinking":
            rest = rest_of(ANTHROPIC, given, "type", "thinking", "signature")
            thought = member(given, "thinking", str, where)
            return Thinking(thought, member(given, "signature", str, where), rest)
        case "tool_use":
            arguments = text_of(member(given, "input", dict, where))
            rest = rest_of(ANTHROPIC, given, "type", "id", "name", "input")
            called = member(given, "id", str, where), member(given, "name", str, where)
            return Call(*called, arguments, rest)
        case "tool_result":
            return _result(given, where, attachments)
        case "image":
            return _image(given, where, attachments)
        case _:
            return Opaque(kind, text_of(given))


def _result(given: Mapping[str, object], where: str, attachments: Attachments) -> Result:
    content, failed = given.get("content"), given.get("is_error") is True
    parts: list[Text | Image | Opaque] = []
    for part in () if content is None else _blocks(content, where, attachments):
        if not isinstance(part, Text | Image | Opaque):
            raise MessageFormatError(f"{where}: a result holds a block that it cannot hold")
        parts.append(part)
    known = ["type", "tool_use_id"]
    known += [] if content is None else ["content"]
    known += ["is_error"] if failed else []
    return Result(
        member(given, "tool_use_id", str, where),
        tuple(parts),
        failed=failed,
        plain=not isinstance(content, list),
        extra=rest_of(ANTHROPIC, given, *known),
    )


def _image(given: Mapping[str, object], where: str, attachments: Attachments) -> Block:
    source = an_object(given.get("source"), f"{where}: `source`")
    content = _decoded(source)
    if content is None:
        return Opaque("image", text_of(given))
    reference = f"sha256:{hashlib.sha256(content).hexdigest()}"
    attachments.put(reference, content)
    return Image(str(source["media_type"]), reference, rest_of(ANTHROPIC, given, "type", "source"))


def _decoded(source: Mapping[str, object]) -> bytes | None:
    """Return the bytes of an image that can be written again letter by letter."""
    data = source.get("data")
    if set(source) != {"type", "media_type", "data"} or not isinstance(data, str):
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    same = base64.b64encode(content).decode() == data and source["type"] == "base64"
    return content if same and isinstance(source["media_type"], str) else None


def _content(message: Message, attachments: Attachments) -> object:
    if message.plain and len(message.blocks) == 1 and isinstance(message.blocks[0], Text):
        return message.blocks[0].text
    return [_written(block, attachments) for block in message.blocks]


def _written(block: Block, attachments: Attachments) -> dict[str, Any]:
    match block:
        case Text(text, extra):
            return with_rest(ANTHROPIC, {"type": "text", "text": text}, extra)
        case Thinking(text, signature, extra):
            members = {"type": "thinking", "thinking": text, "signature": signature}
            return with_rest(ANTHROPIC, members, extra)
        case Call(id_, name, arguments, extra):
            members = {"type": "tool_use", "id": id_, "name": name, "input": value_of(arguments)}
            return with_rest(ANTHROPIC, members, extra)
        case Result():
            return _written_result(block, attachments)
        case Image(media_type, reference, extra):
            content = base64.b64encode(attachments.get(reference)).decode()
            source = {"type": "base64", "media_type": media_type, "data": content}
            return with_rest(ANTHROPIC, {"type": "image", "source": source}, extra)
        case Opaque(kind, content) if kind in OTHERS:
            return _of_other(kind, value_of(content))
        case Opaque(_, content):
            known: dict[str, Any] = value_of(content)
            return known


def _of_other(kind: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Write a part of the other format: an image as one, and of anything else that it was there."""
    named = part.get("image_url")
    address = named.get("url") if isinstance(named, dict) else None
    if not isinstance(address, str):
        return {"type": "text", "text": f"[{kind}]"}
    held = _DATA.fullmatch(address)
    if held is None:
        return {"type": "image", "source": {"type": "url", "url": address}}
    source = {"type": "base64", "media_type": held["type"], "data": held["data"]}
    return {"type": "image", "source": source}


def _written_result(result: Result, attachments: Attachments) -> dict[str, Any]:
    members: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call}
    if not result.plain:
        members["content"] = [_written(part, attachments) for part in result.parts]
    elif result.parts:
        members["content"] = result.text
    if result.failed:
        members["is_error"] = True
    return with_rest(ANTHROPIC, members, result.extra)
