"""Logs of conversations, as programs write them.

In: the bytes of a file: JSON or JSON Lines, messages of either provider, or requests and runs that
hold them.  Out: our messages, and the format they were in.  Invariants: a log is read whole or
refused with the reason; of several requests of one conversation the last counts, which holds those
before it; conversations that have nothing in common follow each other.

Example: ``[{"role": "user", "content": "Where is order 17?"}]`` is one message.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from constat.memory.anthropic_messages import from_anthropic, to_anthropic
from constat.memory.messages import MessageFormatError
from constat.memory.openai_messages import from_openai, to_openai

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.memory.attachments import Attachments
    from constat.memory.messages import Message

ANTHROPIC: Final = "anthropic"
OPENAI: Final = "openai"
# Where programs keep the messages of a conversation, the plainest name first.
_HOLDERS: Final = ("messages", "raw_messages", "traj", "history", "conversation")
_ONLY_THERE: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Log:
    """Messages, and the format in which they came."""

    format: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
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
    plain = True
    for conversation in conversations:
        if conversation.system is not None:
            return ANTHROPIC
        for message in conversation.messages:
            if not isinstance(message, dict):
                continue
            if message.get("role") in {"tool", "developer", "function"} or "tool_calls" in message:
                return OPENAI
            plain = plain and not _has_blocks(message)
    return OPENAI if plain else ANTHROPIC


def _has_blocks(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if not isinstance(content, list):
        return False
    kinds = {one.get("type") for one in content if isinstance(one, dict)}
    return bool(kinds & _ONLY_THERE) or any(
        isinstance(one, dict) and one.get("type") == "image" and "source" in one for one in content
    )
