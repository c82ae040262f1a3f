"""A cut never parts a call from its result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import (
    Call,
    HeldAttachments,
    Message,
    Result,
    Role,
    Text,
    from_anthropic,
    from_openai,
    safe_cuts,
    strays,
)
from tests.memory.logs import airline_dialogues, anthropic_logs, openai_logs, request_logs

QUESTION = Message(Role.USER, (Text("how many?"),))
ANSWER = Message(Role.ASSISTANT, (Text("7"),))


def call(*ids: str) -> Message:
    return Message(Role.ASSISTANT, tuple(Call(one, "f", "{}") for one in ids), plain=False)


def result(*ids: str) -> Message:
    return Message(Role.USER, tuple(Result(one, (Text("7"),)) for one in ids), plain=False)


def parts_nothing(messages: tuple[Message, ...], cut: int) -> bool:
    whole, head, tail = strays(messages), strays(messages[:cut]), strays(messages[cut:])
    lost = [*head.calls, *tail.calls], [*head.results, *tail.results]
    return lost == ([*whole.calls], [*whole.results])


@given(anthropic_logs())
def test_a_safe_cut_parts_nothing_and_any_other_does(log: list[dict[str, Any]]) -> None:
    messages = from_anthropic(log, HeldAttachments())
    cuts = safe_cuts(messages)
    for place in range(len(messages) + 1):
        assert parts_nothing(messages, place) == (place in cuts)


@pytest.mark.laws
@given(openai_logs(), st.randoms(use_true_random=False))
def test_what_is_lost_already_is_not_lost_again(log: list[dict[str, Any]], rng: Any) -> None:  # noqa: ANN401
    messages = tuple(one for one in from_openai(log) if rng.random() < 0.8)
    for cut in safe_cuts(messages):
        assert parts_nothing(messages, cut)


@pytest.mark.data
def test_every_cut_of_public_logs() -> None:
    for log in [*airline_dialogues(), *request_logs()]:
        messages = from_openai(log)
        cuts = safe_cuts(messages)
        assert len(cuts) > len(messages) // 3
        assert [cut for cut in cuts if not parts_nothing(messages, cut)] == []


def test_a_call_whose_answer_may_still_come_is_open() -> None:
    assert safe_cuts((QUESTION, call("a"))) == (0, 1)
    assert safe_cuts((QUESTION, call("a"), result("a"))) == (0, 1, 3)
    # The model went on without it.
    assert safe_cuts((QUESTION, call("a"), QUESTION, ANSWER)) == (0, 1, 2, 3, 4)


def test_calls_side_by_side_are_answered_one_by_one() -> None:
    messages = (QUESTION, call("a", "b"), result("b"), result("a"), ANSWER)
    assert safe_cuts(messages) == (0, 1, 4, 5)


def test_strays_are_named() -> None:
    found = strays((result("a"), call("b"), call("c"), result("c"), result("c")))
    assert (found.calls, found.results) == (("b",), ("a", "c"))
