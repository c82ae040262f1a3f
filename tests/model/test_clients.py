"""Both providers' own libraries, speaking to a server of ours."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.model import ModelError, Prompt, Task, ToolCall, ToolResult, Turn, Usage
from constat.model.anthropic_client import AnthropicProvider
from constat.model.prompts import request_of
from tests.loopback.server import ModelServer, Raw, Written
from tests.model.speaking import COUNT, KEY, SETTING, chat, counting, prompt, table

if TYPE_CHECKING:
    from pathlib import Path

    from constat.project import ModelSetting

BOTH = pytest.mark.parametrize("setting", [SETTING, chat()], ids=lambda one: one.provider)
CALL = ToolCall("id_1", "count", {"n": 2})
HISTORY = (
    Turn("user", "How many?"),
    Turn("assistant", "I look.", (CALL,)),
    Turn("user", "And now?", results=(ToolResult("id_1", "no such thing", failed=True),)),
)


@BOTH
def test_a_reply_is_read_from_a_stream_with_its_calls_and_usage(
    tmp_path: Path, setting: ModelSetting
) -> None:
    written = Written("As you say: " + "é" * 90, (("count", {"n": 3}),), cached=4)
    with table(tmp_path, written, setting=setting) as at:
        reply = at.client.ask(prompt())
        (asked,) = at.server.asked
    assert reply.text == written.text
    assert [(call.name, call.arguments) for call in reply.calls] == [("count", {"n": 3})]
    assert (reply.stop, reply.model, reply.replayed) == ("tools", "written-answers", False)
    usage = reply.usage
    assert (usage.calls, usage.read + usage.cached, usage.cached) == (1, asked.tokens, 4)
    assert usage.cost == (usage.read * 3 + usage.cached * Decimal("0.3") + usage.written * 15) / (
        Decimal(1_000_000)
    )
    assert asked.body["stream"] is True


@BOTH
def test_a_text_without_calls_ends_the_turn(tmp_path: Path, setting: ModelSetting) -> None:
    with table(tmp_path, Written("Two."), setting=setting) as at:
        reply = at.client.ask(prompt(must=False))
    assert (reply.text, reply.calls, reply.stop) == ("Two.", (), "end")


@BOTH
def test_the_history_reaches_the_model_turn_by_turn(tmp_path: Path, setting: ModelSetting) -> None:
    asked_for = Prompt(Task.DRAFT, "You count.", HISTORY, (COUNT,))
    with table(tmp_path, Written("ok"), setting=setting) as at:
        at.client.ask(asked_for)
        (asked,) = at.server.asked
    assert asked.system == "You count."
    assert asked.turns[0].text == "How many?"
    assert asked.turns[1].calls == ("count",)
    assert "no such thing" in "".join(one for said in asked.turns for one in said.results)
    assert asked.turns[-1].text == "And now?"


def test_system_and_tools_are_marked_for_the_cache_of_the_provider(tmp_path: Path) -> None:
    with table(tmp_path, counting()) as at:
        at.client.ask(prompt())
        body = at.server.asked[0].body
    mark = {"type": "ephemeral"}
    assert [block["cache_control"] for block in body["system"]] == [mark]
    assert [tool.get("cache_control") for tool in body["tools"]] == [mark]
    assert body["tool_choice"]["name"] == "count"
    assert body["tool_choice"]["disable_parallel_tool_use"] is True


def test_tokens_that_the_provider_stores_have_their_own_price(tmp_path: Path) -> None:
    with table(tmp_path, Written(calls=(("count", {"n": 1}),), stored=40, cached=2)) as at:
        usage = at.client.ask(prompt()).usage
    assert (usage.stored, usage.cached) == (40, 2)
    million = Decimal(1_000_000)
    expected = usage.read * 3 + 2 * Decimal("0.3") + 40 * Decimal("3.75") + usage.written * 15
    assert usage.cost == expected / million


def test_the_effort_is_sent_and_is_part_of_the_request(tmp_path: Path) -> None:
    with table(tmp_path, counting(), setting=replace(SETTING, effort="low")) as at:
        at.client.ask(prompt())
        assert at.server.asked[0].body["output_config"] == {"effort": "low"}
    assert request_of(prompt(), "big").hash != request_of(prompt(), "big", "low").hash


def test_the_provider_counts_tokens_without_asking_a_model() -> None:
    with ModelServer(lambda _: counting()) as server:
        provider = AnthropicProvider(server.address, KEY)
        try:
            count = provider.count(request_of(prompt(), "big"), 10.0)
        finally:
            provider.close()
        assert server.asked == []
        assert count == server.counted[0].tokens


def test_a_server_that_tells_no_usage_is_taken_to_have_read_every_byte(tmp_path: Path) -> None:
    body = (
        b'data: {"id":"x","object":"chat.completion.chunk","created":0,"model":"big","choices":'
        b'[{"index":0,"delta":{"content":"Two."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    with table(tmp_path, Raw(chunks=(body,)), setting=chat()) as at:
        reply = at.client.ask(prompt(must=False))
    assert reply.usage.read == len(request_of(prompt(must=False), "big").text)
    assert reply.usage.written == len("Two.")


def test_without_its_library_a_provider_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with table(tmp_path, counting(), setting=chat()) as at:
        with pytest.raises(ModelError, match=r"constat\[openai\]") as caught:
            at.client.ask(prompt())
        assert caught.value.code == "C0831"
        assert at.ledger.usage == Usage()


def test_an_organisation_of_the_environment_is_not_told_to_other_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-somebody")
    with table(tmp_path, counting(), setting=chat()) as at:
        at.client.ask(prompt())
        assert "of-somebody" not in str(at.server.asked[0].headers)


def test_the_hash_of_a_request_is_that_of_what_it_says_and_of_nothing_else() -> None:
    one = request_of(prompt(), "big")
    assert one.hash == request_of(prompt(), "big").hash
    others = [
        request_of(prompt(), "small"),
        request_of(prompt("Or?"), "big"),
        request_of(prompt(must=False), "big"),
        request_of(prompt(most=101), "big"),
        request_of(replace(prompt(), system="You sum."), "big"),
    ]
    assert len({one.hash, *(other.hash for other in others)}) == len(others) + 1
    # The task decides which model is asked, and is not told to it.
    assert request_of(replace(prompt(), task=Task.PLAN), "big").hash == one.hash


def test_a_prompt_that_json_cannot_say_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    endless = replace(prompt(), turns=(Turn("assistant", "", (ToolCall("a", "b", {"n": 1e999}),)),))
    with table(tmp_path, counting()) as at:
        with pytest.raises(ModelError) as caught:
            at.client.ask(endless)
        assert caught.value.code == "C0824"
        assert at.server.asked == []


def test_usage_adds_up() -> None:
    one = Usage(1, 2, 3, 4, Decimal("0.5"), 6)
    assert one + one == Usage(2, 4, 6, 8, Decimal(1), 12)
    assert one.tokens == 15
