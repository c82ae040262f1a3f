"""Messages are read and written again as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from constat.memory import (
    Call,
    HeldAttachments,
    Image,
    Message,
    MessageFormatError,
    Result,
    Role,
    Text,
    from_anthropic,
    from_openai,
    to_anthropic,
    to_openai,
)
from tests.memory.logs import airline_dialogues, anthropic_logs, openai_logs, request_logs


def same(one: Any, other: Any) -> bool:  # noqa: ANN401  any JSON
    """Tell whether two values are the same JSON; Python takes 1 for true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def names(value: Any) -> list[str]:  # noqa: ANN401  any JSON
    """The names of all members, but not those of a call's arguments."""
    if isinstance(value, list):
        return [name for one in value for name in names(one)]
    if not isinstance(value, dict):
        return []
    return [*value, *(name for key in value if key != "input" for name in names(value[key]))]


@given(anthropic_logs())
def test_a_log_of_one_provider_is_written_as_it_was_read(log: list[dict[str, Any]]) -> None:
    attachments = HeldAttachments()
    read = from_anthropic(log, attachments, system="be exact")
    system, written = to_anthropic(read, attachments)
    assert system == "be exact"
    assert same(written, log)


@given(openai_logs())
def test_a_log_of_the_other_is_too(log: list[dict[str, Any]]) -> None:
    assert same(to_openai(from_openai(log)), log)


@pytest.mark.data
def test_public_logs_are_too() -> None:
    dialogues = [*airline_dialogues(), *request_logs()]
    assert sum(map(len, dialogues)) > 2_500
    for log in dialogues:
        assert same(to_openai(from_openai(log)), log)


@given(openai_logs())
def test_calls_keep_their_results_from_one_format_to_the_other(log: list[dict[str, Any]]) -> None:
    attachments = HeldAttachments()
    read = from_openai([*log, {"role": "user", "content": "and then?"}])
    calls = [call.id for message in read for call in message.calls]
    texts = {result.call: result.text for message in read for result in message.results}
    # What a model wrote as arguments need not be JSON; this format wants an object.
    spelled = [
        replace(
            one,
            blocks=tuple(
                replace(block, arguments="{}") if isinstance(block, Call) else block
                for block in one.blocks
            ),
        )
        for one in read
    ]
    system, written = to_anthropic(spelled, attachments)
    # What only one provider knows is not sent to the other, which would refuse it.
    assert not [one for one in names(written) if one.startswith("x_")]
    again = from_anthropic(written, attachments, system=system)
    assert [call.id for message in again for call in message.calls] == calls
    assert texts == {one.call: one.text for message in again for one in message.results}
    for one, other in pairwise(again):
        if one.calls:
            assert {call.id for call in one.calls} == {result.call for result in other.results}


def test_results_beside_a_question_become_messages_of_their_own() -> None:
    given = (
        Message(Role.ASSISTANT, (Call("1", "f", "{}"), Call("2", "g", "{}")), plain=False),
        Message(
            Role.USER,
            (Result("1", (Text("one"),)), Result("2", (Text("two"),)), Text("go on")),
            plain=False,
        ),
    )
    roles = [(one["role"], one.get("tool_call_id")) for one in to_openai(given)]
    assert roles == [("assistant", None), ("tool", "1"), ("tool", "2"), ("user", None)]


def test_an_image_is_a_digest_and_its_bytes_are_kept_elsewhere() -> None:
    attachments = HeldAttachments()
    source = {"type": "base64", "media_type": "image/png", "data": "AAEC"}
    log = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    (message,) = from_anthropic(log, attachments)
    (image,) = message.blocks
    assert isinstance(image, Image)
    assert image.reference.startswith("sha256:")
    assert "AAEC" not in repr(message)
    assert attachments.get(image.reference) == b"\x00\x01\x02"
    assert image.reference in str(to_openai([message]))


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ([7], "message 0 is not an object"),
        ([{"role": "user", "content": "a"}, {"content": "b"}], "message 1: `role`"),
        ([{"role": "robot", "content": "a"}], "`robot` is no role"),
        ([{"role": "user", "content": 7}], "neither a text nor a list"),
        ([{"role": "user", "content": [{"text": "a"}]}], "message 0, block 0: `type`"),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], "`tool_use_id`"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}], "`input`"),
    ],
)
def test_what_is_no_log_is_refused_with_its_place(log: list[Any], words: str) -> None:
    with pytest.raises(MessageFormatError, match=words):
        from_anthropic(log, HeldAttachments())


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (["a"], "message 0 is not an object"),
        ([{"role": "tool", "content": "a"}], "`tool_call_id`"),
        ([{"role": "assistant", "tool_calls": [{"id": "1"}]}], "call 0: `function`"),
        ([{"role": "robot", "content": "a"}], "`robot` is no role"),
    ],
)
def test_the_other_format_refuses_as_well(log: list[Any], words: str) -> None:
    with pytest.raises(MessageFormatError, match=words):
        from_openai(log)


def test_what_one_provider_adds_is_not_sent_to_the_other() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "index": 0}
    log = [
        {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "7", "name": "f"},
    ]
    _, written = to_anthropic(from_openai(log), HeldAttachments())
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "7"}
    assert written == [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    cached = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    (message,) = from_anthropic([{"role": "user", "content": cached, "id": "m"}], HeldAttachments())
    assert to_openai([message]) == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_an_image_of_the_other_format_is_an_image() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAEC"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AAEC", "format": "wav"}},
    ]
    given = from_openai([{"role": "user", "content": parts}])
    (written,) = to_anthropic(given, HeldAttachments())[1]
    png = {"type": "base64", "media_type": "image/png", "data": "AAEC"}
    assert written["content"] == [
        {"type": "image", "source": png},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "text", "text": "[input_audio]"},
    ]
