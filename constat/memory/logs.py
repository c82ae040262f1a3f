"""Logs of conversations, read from and written in the formats of providers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import frozen
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

    from constat.memory.messages import Attachments, Block

ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
_PROVIDERS: Final = frozenset({ANTHROPIC, OPENAI})


def text_of(value: object) -> str:
    """Return a value as compact JSON; raises ``MessageFormatError`` for what JSON cannot say."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise MessageFormatError("a log holds a value that JSON cannot say") from None


def value_of(text: str) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a text that ``text_of`` has written."""
    return json.loads(text)


def rest_of(provider: str, members: Mapping[str, object], *known: str) -> str:
    """Return the members that are not known, with whose they are; empty where there are none."""
    rest = {name: value for name, value in members.items() if name not in known}
    return text_of({provider: rest}) if rest else ""


def own_rest(provider: str, extra: str) -> dict[str, Any]:
    """Return the members that ``rest_of`` has put aside for a provider, not those of another."""
    rest: dict[str, Any] = value_of(extra) if extra else {}
    # Members without an owner are from an archive of before they had one.
    found: dict[str, Any] = rest.get(provider, {}) if rest.keys() <= _PROVIDERS else rest
    return found


def with_rest(provider: str, members: dict[str, Any], extra: str) -> dict[str, Any]:
    """Return members together with those that are the provider's own."""
    return {**members, **own_rest(provider, extra)}


def member(members: Mapping[str, object], name: str, kind: type, where: str) -> Any:  # noqa: ANN401
    """Return a member of that type; raises ``MessageFormatError`` where it is missing."""
    found = members.get(name)
    if not isinstance(found, kind):
        raise MessageFormatError(f"{where}: `{name}` is missing or has another type")
    return found


def an_object(value: object, where: str) -> Mapping[str, object]:
    """Return a value that has to be an object; raises ``MessageFormatError``."""
    if not isinstance(value, dict):
        raise MessageFormatError(f"{where} is not an object")
    return value


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


_ANTHROPIC_ROLES = frozenset({"user", "assistant", "system"})
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
        if role not in _ANTHROPIC_ROLES:
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
        system = _anthropic_content(messages[0], attachments)
        messages = messages[1:]
    written = []
    for message in _without_tools(messages):
        members = {"role": message.role.value, "content": _anthropic_content(message, attachments)}
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


def _anthropic_content(message: Message, attachments: Attachments) -> object:
    if message.plain and len(message.blocks) == 1 and isinstance(message.blocks[0], Text):
        return message.blocks[0].text
    return [_anthropic_written(block, attachments) for block in message.blocks]


def _anthropic_written(block: Block, attachments: Attachments) -> dict[str, Any]:
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
        case Opaque(kind, content) if kind in PARTS:
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
        members["content"] = [_anthropic_written(part, attachments) for part in result.parts]
    elif result.parts:
        members["content"] = result.text
    if result.failed:
        members["is_error"] = True
    return with_rest(ANTHROPIC, members, result.extra)


# Where programs keep the messages of a conversation, the plainest name first.
_HOLDERS: Final = ("messages", "raw_messages", "traj", "history", "conversation")
_ONLY_THERE: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


@frozen
class Log:
    """Messages, and the format in which they came."""

    format: str
    messages: tuple[Message, ...]


@frozen
class _Conversation:
    messages: Sequence[Any]
    system: object = None


def read_log(content: bytes, attachments: Attachments, format_: str = "") -> Log:
    """Read a log; raises ``MessageFormatError``. Without a format it is found out."""
    conversations = _conversations(_values(content))
    if not conversations:
        raise MessageFormatError("it holds no messages")
    found = format_ or _format(conversations)
    messages: list[Message] = []
    for one in conversations:
        if found == ANTHROPIC:
            messages += from_anthropic(one.messages, attachments, system=one.system)
        else:
            messages += from_openai(one.messages)
    return Log(found, tuple(messages))


def write_log(log: Log, attachments: Attachments) -> bytes:
    """Write messages in the format of a log, as the members of a request."""
    if log.format == ANTHROPIC:
        system, messages = to_anthropic(log.messages, attachments)
        value = (
            {"messages": messages} if system is None else {"system": system, "messages": messages}
        )
    else:
        value = {"messages": to_openai(log.messages)}
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace")


def _values(content: bytes) -> list[Any]:
    """Read one JSON text, or one on each line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise MessageFormatError(f"byte {problem.start} is no UTF-8") from None
    try:
        return [json.loads(text)]
    except RecursionError:
        raise MessageFormatError("it is too deep") from None
    except ValueError as problem:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004  one line was one JSON text already
            raise MessageFormatError(f"it is no JSON: {_reason(problem)}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as problem:
            raise MessageFormatError(f"line {number} is no JSON: {_reason(problem)}") from None
    return found


def _reason(problem: BaseException) -> str:
    if isinstance(problem, json.JSONDecodeError):
        return f"{problem.msg} at character {problem.pos}"
    return "a value that cannot be read"


def _conversations(values: Sequence[Any]) -> list[_Conversation]:
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if values and all(isinstance(one, dict) and "role" in one for one in values):
        return [_Conversation(values)]
    found: list[_Conversation] = []
    for number, one in enumerate(values, 1):
        conversation = _conversation(one)
        if conversation is None:
            raise MessageFormatError(f"value {number} is neither a message nor holds messages")
        # The next request of a conversation begins with all that the last one held.
        if found and _goes_on(found[-1], conversation):
            found.pop()
        found.append(conversation)
    return found


def _conversation(value: object) -> _Conversation | None:
    if not isinstance(value, dict):
        return None
    for name in _HOLDERS:
        messages = value.get(name)
        if isinstance(messages, list) and messages:
            return _Conversation(messages, value.get("system"))
    request = value.get("request") or value.get("body")
    return _conversation(request) if isinstance(request, dict) else None


def _goes_on(before: _Conversation, after: _Conversation) -> bool:
    count = len(before.messages)
    return after.messages[:count] == before.messages


def _format(conversations: Sequence[_Conversation]) -> str:
    """Tell the provider by what only its messages have."""
    if any(conversation.system is not None for conversation in conversations):
        return ANTHROPIC
    return format_of(one for each in conversations for one in each.messages) or OPENAI


def format_of(messages: Iterable[object]) -> str:
    """Tell the provider by what only its messages have; empty where both write them so."""
    plain = True
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") in {"tool", "developer", "function"} or "tool_calls" in message:
            return OPENAI
        plain = plain and not _has_blocks(message)
    return "" if plain else ANTHROPIC


def _has_blocks(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if not isinstance(content, list):
        return False
    kinds = {one.get("type") for one in content if isinstance(one, dict)}
    return bool(kinds & _ONLY_THERE) or any(
        isinstance(one, dict) and one.get("type") == "image" and "source" in one for one in content
    )
