"""Whatever a stream says, it becomes a reply or an error of ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from constat.model import ModelError, ToolCall
from constat.model.anthropic_client import Accumulating as Events
from constat.model.openai_client import Accumulating as Chunks
from constat.model.prompts import answered_of, request_of
from constat.model.retrying import BrokenReplyError, checked_calls
from tests.model.speaking import prompt

ODD: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=4)
NAMES = (
    "tool_use",
    "text",
    "text_delta",
    "input_json_delta",
    "end_turn",
    "max_tokens",
    "count",
    "stop",
)
WORD = st.sampled_from(NAMES) | ODD


def told(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give something with some of the members, each as it should be or not."""
    odd = {name: inner | ODD for name, inner in members.items()}
    return st.fixed_dictionaries({}, optional=odd).map(lambda found: SimpleNamespace(**found))


PART = st.sampled_from(['{"n": 3}', '{"n":', " 3}", "[", "\ud800"]) | ODD
BLOCK = told(type=WORD, id=WORD, name=WORD, input=st.just({"n": 3}), text=PART)
DELTA = told(type=WORD, text=PART, partial_json=PART, stop_reason=WORD)
USAGE = told(input_tokens=ODD, output_tokens=ODD, cache_read_input_tokens=ODD)
KINDS = ("message_start", "content_block_start", "content_block_delta", "content_block_stop")
EVENT = told(
    type=st.sampled_from((*KINDS, "message_delta", "message_stop")),
    index=st.integers(-1, 2),
    message=told(model=WORD, usage=USAGE),
    content_block=BLOCK,
    delta=DELTA,
    usage=USAGE,
)
CALL = told(index=st.integers(-1, 2), id=WORD, function=told(name=WORD, arguments=PART))
CHUNK = told(
    model=WORD,
    usage=told(
        prompt_tokens=ODD, completion_tokens=ODD, prompt_tokens_details=told(cached_tokens=ODD)
    ),
    choices=st.lists(
        told(
            finish_reason=WORD,
            delta=told(content=PART, refusal=PART, tool_calls=st.lists(CALL, max_size=2)),
        ),
        max_size=2,
    ),
)


def read(gathered: Events | Chunks, events: list[Any]) -> None:
    for event in events:
        gathered.take(event)
    partial = gathered.answered(whole=False)
    assert min(partial.usage.read, partial.usage.cached, partial.usage.written) >= 0
    # What is kept of it is read again as it was.
    assert answered_of(partial.form, partial.usage).form == partial.form
    found = outcome(gathered)
    if isinstance(found, ModelError):
        assert found.code == "C0826"
        assert not isinstance(found, BrokenReplyError) or found.answered == partial
    else:
        calls, stop = found
        assert [call.arguments for call in calls] == ([{"n": 3}] if stop == "tools" else [])


def outcome(gathered: Events | Chunks) -> ModelError | tuple[tuple[ToolCall, ...], str]:
    """Give the calls and how the reply stopped, or the error."""
    try:
        return checked_calls(request_of(prompt(), "big"), gathered.finished())
    except ModelError as problem:
        return problem


@given(st.lists(EVENT, max_size=12))
def test_any_events_are_a_reply_or_an_error_of_ours(events: list[Any]) -> None:
    read(Events(), events)


@given(st.lists(CHUNK, max_size=8))
def test_any_chunks_are_a_reply_or_an_error_of_ours(chunks: list[Any]) -> None:
    read(Chunks(100), chunks)
