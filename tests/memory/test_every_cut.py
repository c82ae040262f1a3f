"""At every cut of every public log, in both formats, a context has no call without its result.

What stays word for word depends on the messages, their costs and the budget, and on no rule: so all
cuts are looked at here without the rules, and `test_any_log` looks at some of them with these.
What providers ask for is checked on the JSON that is sent, by code that knows nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from constat.memory import BudgetError, HeldAttachments, History, Policy, strays, to_openai
from constat.memory.compaction import Compacted, Material, compact
from constat.memory.decisions import Decided
from constat.memory.logs import from_anthropic, from_openai, to_anthropic
from constat.memory.tokens import message_tokens
from constat.memory.view import Ranked
from tests.memory.logs import airline_dialogues, coding_logs, request_logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory import Message

NOTHING = Ranked((), Decided(frozenset(), frozenset(), frozenset(), {}, {}))
POLICIES = (Policy(keep_last=4, keep_human=1), Policy())
SHARES = (3, 12)


@dataclass(frozen=True)
class Cut:
    """A log with the tokens of its messages, which is cut again and again."""

    history: History
    messages: tuple[Message, ...]
    costs: list[int]

    def compacted(self, end: int, policy: Policy, share: int) -> Compacted:
        """Compact what there was at a cut."""
        budget = sum(self.costs[:end]) // share + 200
        material = Material(self.history, self.messages[:end], self.costs[:end], (), NOTHING)
        try:
            return compact(material, policy, budget)
        except BudgetError as problem:
            return compact(material, policy, problem.needed)


def cut_of(messages: Sequence[Message]) -> Cut:
    history = History()
    history.extend(messages)
    return Cut(history, tuple(messages), [message_tokens(one) for one in messages])


def logs() -> list[list[Any]]:
    return [*airline_dialogues(), *request_logs(), *coding_logs()]


def as_anthropic(log: list[Any]) -> tuple[Message, ...]:
    """A log that came from the other provider."""
    held = HeldAttachments()
    system, written = to_anthropic(from_openai(log), held)
    return from_anthropic(written, held, system=system)


def check_openai(sent: Sequence[Any]) -> None:
    """Each result follows the message with its call, and each call has its result there."""
    waiting: set[str] = set()
    for one in sent:
        if one["role"] == "tool":
            assert one["tool_call_id"] in waiting
            waiting.discard(one["tool_call_id"])
        else:
            assert not waiting
            waiting = {call["id"] for call in one.get("tool_calls") or ()}


def check_anthropic(sent: Sequence[Any]) -> None:
    """The results of a message are those of all calls in the message before it."""
    waiting: set[str] = set()
    for one in sent:
        blocks = one["content"] if isinstance(one["content"], list) else []
        given = {part["tool_use_id"] for part in blocks if part["type"] == "tool_result"}
        assert given == waiting
        waiting = {part["id"] for part in blocks if part["type"] == "tool_use"}


def check(found: Sequence[Message], before: Sequence[Message]) -> None:
    lost, there = strays(found), strays(before)
    assert set(lost.calls) <= set(there.calls)
    assert set(lost.results) <= set(there.results)
    if not there.calls and not there.results:
        check_openai(to_openai(found))
        check_anthropic(to_anthropic(found, HeldAttachments())[1])


def check_cuts(messages: Sequence[Message], step: int = 1) -> int:
    """Cut a log everywhere, for each policy and budget."""
    log = cut_of(messages)
    count = 0
    for end in range(1, len(messages) + 1, step):
        for policy in POLICIES:
            for share in SHARES:
                made = log.compacted(end, policy, share)
                check(made.messages(log.messages[:end]), log.messages[:end])
                count += 1
    return count


def check_later(messages: Sequence[Message], step: int = 1) -> int:
    """Go on behind each cut to each later one, as a context does until it is compacted again."""
    log = cut_of(messages)
    count = 0
    for end in range(1, len(messages) + 1, step):
        if strays(log.messages[:end]).calls:
            # A switch is never made while a call is open.
            continue
        made = log.compacted(end, POLICIES[0], SHARES[0])
        for later in range(end, len(messages) + 1, step):
            check(made.messages(log.messages[:later]), log.messages[:later])
            count += 1
    return count


@pytest.mark.data
def test_no_context_has_an_orphan_at_some_cuts() -> None:
    for log in logs()[::45]:
        assert check_cuts(from_openai(log), 5)
        assert check_cuts(as_anthropic(log), 7)
        check_later(from_openai(log), 9)


@pytest.mark.data
@pytest.mark.slow
def test_no_context_has_an_orphan_at_any_cut_in_either_format() -> None:
    ours = sum(check_cuts(from_openai(log)) for log in logs())
    theirs = sum(check_cuts(as_anthropic(log)) for log in logs())
    assert min(ours, theirs) > 10_000


@pytest.mark.data
@pytest.mark.slow
def test_no_context_that_grows_behind_a_cut_has_an_orphan() -> None:
    assert sum(check_later(from_openai(log)) for log in logs()) > 30_000


def test_the_checks_see_an_orphan() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked: Any = {"role": "assistant", "content": None, "tool_calls": [call]}
    given: Any = {"role": "tool", "tool_call_id": "1", "content": "7"}
    so: Any = {"role": "user", "content": "so?"}
    check_openai([asked, given])
    for wrong in ([given], [asked, so], [asked, given, given]):
        with pytest.raises(AssertionError):
            check_openai(wrong)
    use: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "1"}]}
    result: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}
    check_anthropic([use, result])
    for wrong in ([result], [use, so]):
        with pytest.raises(AssertionError):
            check_anthropic(wrong)
