"""Messages in the format of OpenAI's Chat Completions API and of the servers that follow it.

In: the ``messages`` of a request or of a log.  Out: our messages, and the same back.  Invariants:
calls stand beside a message's content, results are messages of the role ``tool``; writing what was
read gives the same JSON.  The arguments of a call are text, and need not be JSON at all.
Reference: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from constat.memory.json_text import (
    OPENAI,
    an_object,
    member,
    own_rest,
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.memory.messages import Block

# Parts that this format has and we do not read.
PARTS: Final = frozenset({"image_url", "input_audio", "file", "refusal"})
_ROLES = frozenset(role.value for role in Role)


def from_openai(messages: Iterable[object]) -> tuple[Message, ...]:
    """Read messages; raises ``MessageFormatError`` with the place in the log."""
    found = []
    for number, given in enumerate(messages):
        where = f"message {number}"
        members = an_object(given, where)
        role = member(members, "role", str, where)
        if role == Role.TOOL:
            found.append(_tool_message(members, where))
        elif role in _ROLES:
            found.append(_message(Role(role), members, where))
        elif role in {"developer", "function"}:
            # An older and a newer spelling: kept word for word, read as what they stand for.
            read_as = Role.SYSTEM if role == "developer" else Role.TOOL
            rest = rest_of(OPENAI, members, "content")
            blocks = _content(members.get("content"), where)
            plain = not isinstance(members.get("content"), list)
            found.append(Message(read_as, blocks, plain, rest))
        else:
            raise MessageFormatError(f"{where}: `{role}` is no role of this format")
    return tuple(found)


def to_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Write messages; results that stand in messages of the user become messages of tools.

    Thinking and blocks of other providers are left out: this format has no place for them.
    """
    return [one for message in messages for one in _written(message)]


def _message(role: Role, members: Mapping[str, object], where: str) -> Message:
    content, calls = members.get("content"), members.get("tool_calls")
    blocks: list[Block] = list(_content(content, where))
    known = ["role"] + ([] if content is None else ["content"])
    if isinstance(calls, list) and calls:
        blocks += [_call(one, f"{where}, call {place}") for place, one in enumerate(calls)]
        known.append("tool_calls")
    plain = not isinstance(content, list)
    return Message(role, tuple(blocks), plain, rest_of(OPENAI, members, *known))


def _content(content: object, where: str) -> tuple[Text | Opaque, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise MessageFormatError(f"{where}: `content` is neither a text nor a list of parts")
    return tuple(_part(one, f"{where}, part {place}") for place, one in enumerate(content))


def _part(given: object, where: str) -> Text | Opaque:
    members = an_object(given, where)
    kind = member(members, "type", str, where)
    if kind == "text":
        return Text(member(members, "text", str, where), rest_of(OPENAI, members, "type", "text"))
    return Opaque(kind, text_of(members))


def _call(given: object, where: str) -> Call:
    members = an_object(given, where)
    function = an_object(members.get("function"), f"{where}: `function`")
    outer = {name: value for name, value in members.items() if name not in {"id", "function"}}
    inner = {name: function[name] for name in function if name not in {"name", "arguments"}}
    if inner:
        outer["function"] = inner
    return Call(
        member(members, "id", str, where),
        member(function, "name", str, where),
        member(function, "arguments", str, where),
        rest_of(OPENAI, outer),
    )


def _tool_message(members: Mapping[str, object], where: str) -> Message:
    content = members.get("content")
    call = member(members, "tool_call_id", str, where)
    plain = not isinstance(content, list)
    result = Result(call, _content(content, where), plain=plain)
    known = ["role", "tool_call_id"] + ([] if content is None else ["content"])
    return Message(Role.TOOL, (result,), plain, rest_of(OPENAI, members, *known))


def _written(message: Message) -> Iterator[dict[str, Any]]:
    for result in message.results:
        members: dict[str, Any] = {"role": "tool", "tool_call_id": result.call}
        members |= _written_content(result.parts, plain=result.plain)
        yield with_rest(OPENAI, members, message.extra if message.role is Role.TOOL else "")
    others = [block for block in message.blocks if not isinstance(block, Result)]
    if others or not message.results:
        members = {"role": message.role.value}
        shown = [block for block in others if not isinstance(block, Call)]
        members |= _written_content(shown, plain=message.plain)
        if message.calls:
            members["tool_calls"] = [_written_call(call) for call in message.calls]
        yield with_rest(OPENAI, members, message.extra)


def _written_content(blocks: Sequence[Block], *, plain: bool) -> dict[str, Any]:
    parts = [part for block in blocks if (part := _written_part(block)) is not None]
    if not plain:
        return {"content": parts}
    if not parts:
        return {}
    return {"content": "".join(part["text"] for part in parts if part.get("type") == "text")}


def _written_part(block: Block) -> dict[str, Any] | None:
    match block:
        case Text(text, extra):
            return with_rest(OPENAI, {"type": "text", "text": text}, extra)
        case Opaque(kind, content) if kind in PARTS:
            part: dict[str, Any] = value_of(content)
            return part
        case Image(media_type, reference):
            return {"type": "text", "text": f"[image {media_type} {reference}]"}
        case Thinking() | Opaque() | Call() | Result():
            return None


def _written_call(call: Call) -> dict[str, Any]:
    members: dict[str, Any] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
    extra = own_rest(OPENAI, call.extra)
    function = members["function"] | extra.get("function", {})
    return members | extra | {"function": function}
