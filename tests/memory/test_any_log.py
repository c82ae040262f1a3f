"""Whatever a log holds, a context of it is one that providers take, and every line is quoted."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.memory import (
    BudgetError,
    HeldAttachments,
    Memory,
    Policy,
    Role,
    from_anthropic,
    from_openai,
    messages_tokens,
    safe_cuts,
    strays,
    to_anthropic,
    to_openai,
)
from constat.memory.policy import is_human
from tests.memory.logs import (
    airline_dialogues,
    anthropic_logs,
    coding_logs,
    openai_logs,
    request_logs,
)
from tests.memory.rounds import answered, called, check_quotes, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory import Message

FACTORS = st.floats(0.65, 2.0)
FEW = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))


def alone(memory: Memory, messages: Sequence[Message]) -> int:
    """What the system says takes with the message to be answered: the last one of a person.

    Where a call is open at the end, it is all from that call on.
    """
    system = list(takewhile(lambda one: one.role is Role.SYSTEM, messages))
    last = safe_cuts(messages)[-1]
    spoken = [one for one in messages[len(system) :] if is_human(one)]
    current = messages[last:] or spoken[-1:]
    return memory.calibration.applied(messages_tokens([*system, *current]))


def check_cut(memory: Memory, messages: Sequence[Message], budget: int) -> None:
    """A context is within its budget, and refused for the current message alone."""
    try:
        context = memory.context(budget)
    except BudgetError as problem:
        needed = problem.needed
        assert budget < needed <= alone(memory, messages)
        with pytest.raises(BudgetError):
            memory.context(needed - 1)
        context = memory.context(needed)
        budget = needed
    assert context.tokens <= budget
    lost = strays(messages)
    found = strays(context.messages)
    assert set(found.results) <= set(lost.results)
    assert set(found.calls) <= set(lost.calls)


@settings(FEW, max_examples=20)
@given(openai_logs(), st.sampled_from(("", "asked", "open")), st.integers(1, 150), FACTORS)
def test_a_context_is_refused_for_the_current_message_alone(
    log: list[dict[str, Any]], end: str, budget: int, factor: float
) -> None:
    wishes = [user(f"You must never open door {number}.") for number in range(9)]
    ends = {
        "": [],
        "asked": [user("Which doors are open? " * 20)],
        "open": [called("get", 1, id="O-1"), called("get", 2, id="O-2"), answered(2, "x " * 99)],
    }
    messages = (*from_openai(log), *wishes, *ends[end])
    with Memory(policy=Policy(keep_last=2)) as memory:
        memory.append(messages)
        memory.calibration.factor = factor
        check_cut(memory, messages, budget)


@FEW
@given(anthropic_logs())
def test_any_log_of_one_provider_gives_a_context(log: list[dict[str, Any]]) -> None:
    with Memory(policy=Policy(keep_last=2)) as memory:
        messages = from_anthropic(log, memory.attachments)
        memory.append(messages)
        check_quotes(memory)
        check_cut(memory, messages, 150)
        system, written = to_anthropic(memory.context().messages, memory.attachments)
        assert system is None
        assert len(from_anthropic(written, HeldAttachments())) == len(written)


@pytest.mark.laws
@FEW
@given(openai_logs())
def test_any_log_of_the_other_does_too(log: list[dict[str, Any]]) -> None:
    messages = from_openai(log)
    with Memory(policy=Policy(keep_last=2)) as memory:
        memory.append(messages)
        check_quotes(memory)
        check_cut(memory, messages, 150)
        assert from_openai(to_openai(memory.context().messages))


@pytest.mark.data
def test_public_logs_have_no_orphan_at_some_cuts() -> None:
    for log in (airline_dialogues()[3], request_logs()[0]):
        messages = from_openai(log)
        with Memory(policy=Policy(keep_last=3)) as memory:
            for end in range(13, len(messages), 13):
                memory.append(messages[len(memory.history.messages) : end])
                check_cut(memory, messages[:end], 2_500)


@pytest.mark.data
@pytest.mark.slow
def test_every_public_log_has_no_orphan_and_every_line_its_quote() -> None:
    """All cuts are looked at in `test_every_cut`; here some of them, with the rules."""
    count = 0
    for log in [*airline_dialogues(), *request_logs(), *coding_logs()]:
        messages = from_openai(log)
        with Memory(policy=Policy(keep_last=4)) as memory:
            for end in (len(messages) // 2, len(messages)):
                memory.append(messages[len(memory.history.messages) : end])
                check_cut(memory, messages[:end], 2_500)
                # What some agents are told by their system is pinned: thousands of tokens.
                count += check_quotes(memory, 20_000)
    assert count > 5_000
