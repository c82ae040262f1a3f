"""Other people's agents: their messages go in and come out, whatever format they have."""

from __future__ import annotations

import asyncio
import json
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from constat.memory import (
    AsyncMemory,
    Conversation,
    Memory,
    MessageFormatError,
    Policy,
    following,
    following_async,
    messages_tokens,
    strays,
)
from constat.memory.messages import Role
from constat.memory.quotations import MARKER
from tests.extras import Late
from tests.loopback.server import ModelServer, Written
from tests.memory.rounds import session, user

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.loopback.server import Asked

anthropic, openai = Late("anthropic"), Late("openai")
WISH = "Refund what was paid for O-7. Never refund more than was paid."
NOTE = "The customer has waited for three weeks and is not pleased about it. " * 12


def anthropic_round(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "get", "input": {"id": f"O-{number}"}}
    content = json.dumps({"order": f"O-{number}", "paid": 100 + number, "note": NOTE})
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"Order O-{number} was paid."},
        {"role": "user", "content": f"Now look at O-{number + 1}."},
    ]


def openai_round(number: int) -> list[dict[str, Any]]:
    function = {"name": "get", "arguments": json.dumps({"id": f"O-{number}"})}
    content = json.dumps({"order": f"O-{number}", "paid": 100 + number, "note": NOTE})
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"t{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"t{number}", "content": content},
        {"role": "assistant", "content": f"Order O-{number} was paid."},
        {"role": "user", "content": f"Now look at O-{number + 1}."},
    ]


def responses_round(number: int) -> list[Any]:
    arguments = json.dumps({"id": f"O-{number}"})
    content = json.dumps({"order": f"O-{number}", "paid": 100 + number, "note": NOTE})
    return [
        {"type": "reasoning", "id": f"r{number}", "summary": [], "encrypted_content": "xyz"},
        openai.types.responses.ResponseFunctionToolCall(
            type="function_call", call_id=f"t{number}", name="get", arguments=arguments
        ),
        {"type": "function_call_output", "call_id": f"t{number}", "output": content},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": f"Order O-{number} was paid."}],
        },
        {"role": "user", "content": [{"type": "input_text", "text": f"Now O-{number + 1}."}]},
    ]


ROUNDS = {
    "anthropic": anthropic_round,
    "openai": openai_round,
    "openai responses": responses_round,
}


def calls_and_results(messages: list[Any]) -> tuple[list[str], list[str]]:
    """The ids of calls and of results, whatever the format is."""
    calls: list[str] = []
    results: list[str] = []
    for one in messages:
        members = one if isinstance(one, dict) else one.to_dict()
        calls += [call["id"] for call in members.get("tool_calls") or ()]
        if members.get("type") == "function_call":
            calls.append(members["call_id"])
        if members.get("type") == "function_call_output":
            results.append(members["call_id"])
        if members.get("role") == "tool":
            results.append(members["tool_call_id"])
        content = members.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                calls.append(block["id"])
            if block.get("type") == "tool_result":
                results.append(block["tool_use_id"])
    return calls, results


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("form", ROUNDS)
@pytest.mark.parametrize("goes_on", ["with all of it", "with the context"])
def test_a_conversation_of_any_format_is_followed(tmp_path: Path, form: str, goes_on: str) -> None:
    messages: list[Any] = [{"role": "user", "content": WISH}]
    every: list[Any] = list(messages)
    found: list[Any] = []
    with Memory(tmp_path, "s") as memory:
        conversation = Conversation(memory, budget=1_500)
        for number in range(12):
            found = conversation.context(messages)
            calls, results = calls_and_results(found)
            assert calls == results
            assert "Never refund more than was paid." in json.dumps(found, default=str)
            every += ROUNDS[form](number)
            base = messages if goes_on == "with all of it" else found
            messages = [*base, *every[len(every) - len(ROUNDS[form](number)) :]]
        assert conversation.form == form
        conversation.take(messages)
        # All of it was kept once, and what stays is the very object that was given.
        assert conversation.last is not None
        assert conversation.last.compacted
        said = [one for one in memory.history.messages if one.role is Role.USER and one.text]
        assert len(said) == 13
        assert not strays(memory.history.messages).results
        assert any(one is other for one in found for other in every)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("form", ROUNDS)
@pytest.mark.parametrize("goes_on", ["with all of it", "with the context"])
def test_another_program_goes_on_with_it(tmp_path: Path, form: str, goes_on: str) -> None:
    first: list[Any] = [{"role": "user", "content": WISH}]
    for number in range(6):
        first += ROUNDS[form](number)
    with Memory(tmp_path, "s") as memory:
        found = Conversation(memory, form, budget=1_200).context(first)
        count = len(memory.history.messages)
    base = first if goes_on == "with all of it" else found
    # As a program that was started again reads it: other objects, equal as JSON.
    base = json.loads(json.dumps([one if isinstance(one, dict) else one.to_dict() for one in base]))
    with Memory(tmp_path, "s") as memory:
        conversation = Conversation(memory, form, budget=1_200)
        assert conversation.take(base) == 0
        later = {"role": "user", "content": "And what of O-9?"}
        again = conversation.context([*base, later])
        assert len(memory.history.messages) == count + 1
        assert again[-1] is later


def test_a_message_that_is_none_is_told(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        for wrong in ([object()], ["text"], [{"role": "user", "content": 3}]):
            with pytest.raises(MessageFormatError):
                Conversation(memory).context(wrong)
        deep: Any = []
        for _ in range(100):
            deep = [deep]
        with pytest.raises(MessageFormatError, match="too deep"):
            Conversation(memory).context([{"role": "user", "content": deep}])
        with pytest.raises(MessageFormatError, match="none of"):
            Conversation(memory, "yaml")
        assert not memory.history.messages


@pytest.mark.examples
def test_objects_of_the_sdks_are_read_as_they_come(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Written:
        return Written("Looking.", calls=(("get", {"id": "O-7"}),))

    with (
        ModelServer(answer) as server,
        Memory(tmp_path, "s") as memory,
        anthropic.Anthropic(base_url=server.address, api_key="k") as ours,
        openai.OpenAI(base_url=server.chat_address, api_key="k") as theirs,
    ):
        asked: Any = [{"role": "user", "content": WISH}]
        reply = ours.messages.create(model="m", max_tokens=9, messages=asked)
        conversation = Conversation(memory)
        sent = conversation.context([*asked, reply])
        # No request takes what a response says beside the message.
        assert sent[1].keys() == {"role", "content"}
        more = [*asked, reply, {"role": "user", "content": "And O-8?"}]
        assert conversation.take(more) == 1
        said = theirs.chat.completions.create(model="m", messages=asked).choices[0].message
        other = Conversation(Memory(tmp_path, "t"))
        other.take([*asked, said])
        other.memory.close()
        for one in (memory, other.memory):
            assert [call.name for call in one.history.messages[1].calls] == ["get"]
            assert one.history.messages[1].text == "Looking."


def look(id: str) -> str:  # noqa: A002  as the model calls it
    """Look an order up."""
    return json.dumps({"order": id, "paid": 120, "note": NOTE})


def clerk(asked: Asked) -> Written:
    """Asks for one order after the other, as a script, and says when it is through."""
    number = sum(body["role"] == "assistant" for body in asked.body["messages"])
    said = json.dumps(asked.body["messages"])
    if "O-29" in said:
        return Written("All of them were looked at.")
    last = max((at for at in range(30) if f"O-{at}" in said), default=9)
    return Written(f"({number})", calls=(("look", {"id": f"O-{last + 1}"}),))


def test_a_tool_runner_is_kept_short(tmp_path: Path) -> None:
    asked: Any = [{"role": "user", "content": WISH}]
    options: Any = {
        "model": "m",
        "max_tokens": 99,
        "system": "Be exact.",
        "tools": [anthropic.beta_tool(look)],
    }
    with (
        ModelServer(clerk) as server,
        Memory(tmp_path, "s") as memory,
        anthropic.Anthropic(base_url=server.address, api_key="k") as client,
    ):
        runner = client.beta.messages.tool_runner(messages=asked, **options)
        conversation = Conversation(memory, budget=2_000)
        replies = list(following(runner, conversation))
        assert replies[-1].content[0].text == "All of them were looked at."
        sent = [one.body for one in server.asked]
    check_run(memory, sent)


def check_run(memory: Memory, sent: list[Mapping[str, Any]]) -> None:
    assert len(sent) == 23
    # 22 results of some 200 tokens each would be in the last request.
    whole = [one for one in sent if MARKER in json.dumps(one["messages"])]
    assert len(whole) > 10
    assert max(len(json.dumps(one["messages"])) for one in whole) < 8_000
    for body in whole:
        calls, results = calls_and_results(body["messages"])
        assert calls == results
        assert "Never refund more than was paid." in json.dumps(body["messages"])
        assert body["system"] == "Be exact."
    kept = memory.history.messages
    assert [one.role for one in kept[:2]] == [Role.SYSTEM, Role.USER]
    assert [one.arguments for message in kept for one in message.calls] == [
        f'{{"id":"O-{number}"}}' for number in range(8, 30)
    ]
    assert kept[-1].text == "All of them were looked at."


def test_an_asynchronous_one_too(tmp_path: Path) -> None:
    async def main() -> None:
        options: Any = {"model": "m", "max_tokens": 99, "system": "Be exact.", "tools": [tool]}
        asked: Any = [{"role": "user", "content": WISH}]
        async with (
            anthropic.AsyncAnthropic(base_url=server.address, api_key="k") as client,
            AsyncMemory(memory, budget=2_000) as remembering,
        ):
            runner = client.beta.messages.tool_runner(messages=asked, **options)
            async for _ in following_async(runner, remembering):
                pass
            assert await remembering.search("waited weeks")
            assert (await remembering.open("m1")).decode() == WISH
        check_run(memory, [one.body for one in server.asked])

    async def look_(id: str) -> str:  # noqa: A002  as the model calls it
        """Look an order up."""
        return look(id)

    tool = anthropic.beta_async_tool(look_, name="look")
    memory = Memory(tmp_path, "s")
    with ModelServer(clerk) as server:
        asyncio.run(main())


def test_eight_writers_lose_nothing(tmp_path: Path) -> None:
    async def write(number: int) -> None:
        async with AsyncMemory(Memory(tmp_path, "s")) as remembering:
            for at in range(6):
                pair = [user(f"{number}-{at} asks"), user(f"{number}-{at} asks again")]
                assert len(set(await remembering.append(pair))) == 2

    async def all_of_them() -> None:
        await asyncio.gather(*(write(number) for number in range(4)))

    threads = [threading.Thread(target=asyncio.run, args=(all_of_them(),)) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with Memory(tmp_path, "s") as memory:
        said = [one.text for one in memory.history.messages]
    assert len(said) == 96
    # Each pair is whole, and each writer's are in the order in which they were written.
    assert all(other == f"{one} again" for one, other in zip(said[::2], said[1::2], strict=True))
    for number in range(4):
        own = [one for one in said[::2] if one.startswith(f"{number}-")]
        assert sorted(own) == sorted([f"{number}-{at} asks" for at in range(6)] * 2)


@pytest.mark.parametrize("rounds", [30, pytest.param(60, marks=pytest.mark.laws)])
def test_a_context_in_use_grows_as_it_would_anew(tmp_path: Path, rounds: int) -> None:
    policy = Policy(cap=1_500)
    with Memory(tmp_path, "s", policy=policy) as memory:
        found = []
        for one in session(rounds):
            memory.append([one])
            context = memory.context()
            found.append(context)
            if len(found) % 9:
                continue
            with Memory(tmp_path, "s", policy=policy) as other:
                again = other.context()
                assert (again.messages, again.tokens) == (context.messages, context.tokens)
                assert (again.before, again.end) == (context.before, context.end)
        changes = sum(one.checkpoint != other.checkpoint for one, other in pairwise(found))
        assert changes > rounds // 20


@pytest.mark.parametrize("cached", [0, 700])
def test_what_a_provider_counts_mends_estimates(cached: int) -> None:
    """Tools and the system's text, 900 tokens here, are in each report and change nothing."""
    with Memory() as memory:
        conversation = Conversation(memory, "anthropic")
        messages: list[dict[str, Any]] = []
        for number in range(12):
            messages.append({"role": "user", "content": f"Look at order O-{number}. " * 40})
            conversation.context(messages)
            sent = messages_tokens(memory.history.messages)
            taken = 900 + int(1.5 * sent)
            used = {"input_tokens": taken - cached, "cache_read_input_tokens": cached}
            content = [{"type": "text", "text": "I did."}]
            reply = {"type": "message", "role": "assistant", "content": content, "usage": used}
            messages.append(reply)
        assert 1.4 < memory.calibration.factor < 1.6
        conversation.reported({"prompt_tokens": 3})
        conversation.reported(None)
        assert 1.4 < memory.calibration.factor < 1.6
