"""What servers do wrong or on purpose ends as an error with a code, and is never believed."""

from __future__ import annotations

import gzip
import json
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from constat.model import ModelError, Turn
from constat.model.retrying import bounded_client
from tests.loopback.server import WRITTEN_MODEL, Answer, Asked, ModelServer, Raw, Written, event
from tests.model.speaking import JSON, SETTING, chat, counting, prompt, table

if TYPE_CHECKING:
    from pathlib import Path

    from constat.project import ModelSetting

BOTH = pytest.mark.parametrize("setting", [SETTING, chat()], ids=lambda one: one.provider)
START = event(
    "message_start",
    message={
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": WRITTEN_MODEL,
        "content": [],
        "usage": {"input_tokens": 70, "output_tokens": 1},
    },
)
END = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1})
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": WRITTEN_MODEL}


def chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    return f"data: {json.dumps({**CHUNK, 'choices': [choice]})}\n\n".encode()


def failure(folder: Path, answer: Answer, setting: ModelSetting) -> ModelError:
    with table(folder, answer, setting=setting) as at, pytest.raises(ModelError) as caught:
        at.client.ask(prompt())
    return caught.value


def error(kind: str, message: str = "no") -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


REFUSED: list[tuple[Answer, str]] = [
    (Raw(400, JSON, (error("invalid_request_error"),)), "C0824"),
    (Raw(401, JSON, (error("authentication_error"),)), "C0824"),
    (Raw(404, JSON, (error("not_found_error"),)), "C0824"),
    (Raw(413, JSON, (b"<html>",)), "C0824"),
    (Raw(200, {"content-type": "text/html"}, (b"<html>nice</html>",)), "C0826"),
    (Raw(200, chunks=(b"",)), "C0826"),
    (Raw(200, chunks=(b"event: message_start\ndata: {\xff\xfe}\n\n",)), "C0826"),
    (Raw(200, chunks=(b"event: message_start\ndata: {nonsense\n\n",)), "C0826"),
    (Raw(200, chunks=(b'event: message_start\ndata: [1, "a"]\n\ndata: 7\n\n',)), "C0826"),
    (Raw(200, {**JSON, "content-encoding": "gzip"}, (b"\x1f\x8b",)), "C0826"),
    (Written(calls=(("drop_tables", {}),)), "C0826"),
    (Written("I would rather talk."), "C0826"),
    (Written(calls=(("count", {"n": 1}), ("count", {"n": 2}))), "C0826"),
    (Written(calls=(("count", '{"n": '),)), "C0826"),
    (Written(calls=(("count", '{"n": 1, "n": 2}'),)), "C0826"),
    (Written(calls=(("count", "[" * 5_000),)), "C0826"),
    (Written(calls=(("count", '{"n": NaN}'),)), "C0826"),
    (Written(calls=(("count", {"n": "three"}),)), "C0826"),
    (Written(calls=(("count", {}),)), "C0826"),
    (Written(calls=(("count", "null"),)), "C0826"),
    (Written(calls=(("count", {"n": 1}),), stop="pause_turn"), "C0826"),
    (Written(calls=(("count", {"n": 1}),), model="big-2"), "C0827"),
    (Written(calls=(("count", {"n": 1}),), model="big\x1b[31m"), "C0827"),
    (Written(calls=(("count", {"n": 1}),), model="bigger-20260101"), "C0827"),
    (Written(calls=(("count", {"n": 1}),), model=""), "C0827"),
]


@BOTH
def test_what_is_no_reply_is_refused(tmp_path: Path, setting: ModelSetting) -> None:
    now: list[Answer] = []
    with table(tmp_path, lambda _: now[0], setting=setting) as at:
        for answer, code in REFUSED:
            now[:] = [answer]
            with pytest.raises(ModelError) as caught:
                at.client.ask(prompt())
            found = caught.value
            assert (code, found.code) == (code, code), str(answer)[:200]
            assert found.code == "C0826" or not found.retryable
            assert str(found).isprintable()
            assert len(str(found)) < 600
            # Whatever was paid for is in the books, and none of it is ever served.
            assert at.ledger.usage.cost == sum(one.cost for one in at.kept.spent())
        assert at.ledger.replayed == 0


@BOTH
def test_a_dated_version_of_the_model_that_was_asked_is_that_model(
    tmp_path: Path, setting: ModelSetting
) -> None:
    for model in ("big", "big-20261121", "big-2026-11-21", "big-latest"):
        answer = replace(counting(), model=model)
        with table(tmp_path, answer, setting=setting, serve=False) as at:
            assert at.client.ask(prompt()).model == model
    newest = replace(setting, model="big-latest")
    with table(tmp_path, replace(counting(), model="big-20261121"), setting=newest) as at:
        assert at.client.ask(prompt()).model == "big-20261121"


@pytest.mark.parametrize(
    ("setting", "chunks"),
    [
        (SETTING, (START, event("content_block_start", index=0, content_block={"type": "text"}))),
        (SETTING, (START, event("message_stop"))),
        (SETTING, (START, END)),
        (SETTING, (START, event("error", error={"type": "overloaded_error", "message": "\x1b"}))),
        (SETTING, (START, b"event: content_block_delta\ndata: {broken\n\n")),
        (chat(), (chunk({"content": "Thr"}), chunk({"content": "ee"}))),
        (chat(), (chunk({"content": "Thr"}), b"data: {broken\n\n")),
    ],
    ids=str,
)
@pytest.mark.parametrize("cut", [False, True])
def test_a_stream_that_stops_midway_is_paid_for_and_never_served(
    tmp_path: Path, setting: ModelSetting, chunks: tuple[bytes, ...], *, cut: bool
) -> None:
    with table(tmp_path, Raw(chunks=chunks, cut=cut), setting=setting) as at:
        for _ in range(2):
            with pytest.raises(ModelError) as caught:
                at.client.ask(prompt(must=False))
            assert caught.value.code == "C0826"
            assert caught.value.usage.calls == 1
        # It was asked again, once for each question: a broken reply is not served.
        assert len(at.server.asked) == 2
        assert at.ledger.usage.calls == 2
        assert [one.calls for one in at.kept.spent()] == [2]
        assert at.kept.spent()[0].read == at.ledger.usage.read > 0


def test_what_came_of_a_broken_stream_counts_letter_by_letter(tmp_path: Path) -> None:
    block = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "x" * 30})
    with table(tmp_path, Raw(chunks=(START, block, delta))) as at:
        with pytest.raises(ModelError):
            at.client.ask(prompt(must=False))
        assert (at.ledger.usage.read, at.ledger.usage.written) == (70, 30)


def test_events_out_of_any_order_are_no_reply(tmp_path: Path) -> None:
    delta = {"type": "input_json_delta", "partial_json": '{"n": 3}'}
    events = (
        event("content_block_delta", index=9, delta=delta),
        event("content_block_stop", index=4),
        START,
        event("content_block_start", index=0, content_block={"type": "tool_use", "name": "count"}),
        event("content_block_delta", index=0, delta=delta),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": -5}),
        event("unknown_event", index="x"),
        event("message_stop"),
    )
    found = failure(tmp_path, Raw(chunks=events), SETTING)
    assert found.code == "C0826"


@BOTH
def test_what_was_being_called_when_the_reply_was_cut_off_is_not_called(
    tmp_path: Path, setting: ModelSetting
) -> None:
    answer = Written("It is", (("count", '{"n": 1'),), stop="max_tokens")
    with table(tmp_path, answer, setting=setting) as at:
        reply = at.client.ask(prompt())
    assert (reply.stop, reply.calls, reply.text) == ("length", (), "It is")


@BOTH
def test_a_refusal_is_a_reply_without_calls(tmp_path: Path, setting: ModelSetting) -> None:
    answer = Written("No.", (("count", {"n": 1}),), stop="refusal")
    with table(tmp_path, answer, setting=setting) as at:
        reply = at.client.ask(prompt())
    assert (reply.stop, reply.calls) == ("refusal", ())


@BOTH
def test_no_redirect_is_followed_so_that_the_key_stays_here(
    tmp_path: Path, setting: ModelSetting
) -> None:
    with ModelServer(lambda _: counting()) as elsewhere:
        for status in (301, 302, 307, 308):
            away = {"location": f"{elsewhere.address}/v1/messages"}
            assert failure(tmp_path, Raw(status, away), setting).code == "C0826"
        assert elsewhere.asked == []


def test_a_reply_that_never_ends_is_cut_at_its_size() -> None:
    big = Raw(200, JSON, tuple(b"x" * 65_536 for _ in range(20)))
    with ModelServer(lambda _: big) as server:
        client = bounded_client(server.address, most_bytes=1 << 20)
        try:
            with pytest.raises(Exception, match="more than 1048576 bytes"):
                client.post(f"{server.address}/v1/messages", json={"messages": []})
        finally:
            client.close()


def test_a_compressed_reply_is_refused_however_good_it_is(tmp_path: Path) -> None:
    """A few bytes would unfold into any number of them."""
    packed = gzip.compress(START + END + event("message_stop"))
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with table(tmp_path, Raw(200, headers, (packed,))) as at:
        with pytest.raises(ModelError, match="compressed"):
            at.client.ask(prompt(must=False))
        assert at.server.asked[0].headers["accept-encoding"] == "identity"


@BOTH
def test_bytes_that_drip_end_in_time(tmp_path: Path, setting: ModelSetting) -> None:
    over = threading.Event()

    def dripping(asked: Asked) -> Answer:
        over.wait(20.0)
        return counting()

    with table(tmp_path, dripping, setting=replace(setting, seconds=0.2)) as at:
        before = time.monotonic()
        with pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        assert time.monotonic() - before < 10
        over.set()
        # Nobody knows what the provider has done with it: it counts at its worst.
        assert at.ledger.usage.written == prompt().most_tokens
    assert (caught.value.code, caught.value.retryable) == ("C0825", True)


@BOTH
def test_a_busy_provider_is_asked_again_when_it_wants_to_be(
    tmp_path: Path, setting: ModelSetting
) -> None:
    wish = {**JSON, "retry-after": "7"}
    answers: list[Answer] = []
    with table(tmp_path, lambda _: answers.pop(0), setting=setting, serve=False) as at:
        for status in (408, 409, 429, 500, 503, 529):
            answers[:] = [Raw(status, wish, (error("overloaded_error"),)), counting()]
            assert at.client.ask(prompt()).calls[0].arguments == {"n": 3}
        assert at.time.pauses == [7.0] * 6
        assert len(at.server.asked) == 12


def test_without_a_wish_the_pauses_grow(tmp_path: Path) -> None:
    with table(tmp_path, Raw(529, JSON, (error("overloaded_error"),))) as at:
        with pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        first, second = at.time.pauses
        assert 0.375 <= first <= 0.5
        assert 0.75 <= second <= 1.0
        assert len(at.server.asked) == 3
        assert at.ledger.usage.tokens == 0
    assert (caught.value.code, caught.value.retryable) == ("C0825", True)


@pytest.mark.parametrize("wish", ["3600", "999999999", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_nobody_waits_beyond_the_time_there_is(tmp_path: Path, wish: str) -> None:
    busy = Raw(429, {**JSON, "retry-after": wish}, (error("rate_limit_error"),))
    with table(tmp_path, busy) as at:
        with pytest.raises(ModelError) as caught:
            at.client.ask(prompt())
        assert at.time.pauses == []
        assert len(at.server.asked) == 1
    assert caught.value.retry_after is not None
    assert caught.value.retry_after >= 3600
    assert "too late" in str(caught.value)


@BOTH
def test_a_closed_door_is_no_reply(tmp_path: Path, setting: ModelSetting) -> None:
    with table(tmp_path, counting(), setting=setting) as at:
        server = at.server
    with pytest.raises(ModelError) as caught:
        at.client.ask(prompt())
    assert (caught.value.code, caught.value.retryable) == ("C0825", True)
    assert server.asked == []


@BOTH
def test_half_a_surrogate_pair_cannot_be_sent(tmp_path: Path, setting: ModelSetting) -> None:
    with table(tmp_path, counting(), setting=setting) as at:
        with pytest.raises(ModelError) as caught:
            at.client.ask(replace(prompt(), turns=(Turn("user", "\ud800"),)))
        assert caught.value.code == "C0824"


@BOTH
def test_text_of_the_model_is_given_as_it_came(tmp_path: Path, setting: ModelSetting) -> None:
    text = "\x1b[31mred\x07 \u202e \ud800 {origin: DATABASE}"
    with table(tmp_path, Written(text), setting=setting) as at:
        reply = at.client.ask(prompt(must=False))
        again = at.client.ask(prompt(must=False))
    assert reply.text == text
    assert (again.text, again.response_hash) == (reply.text, reply.response_hash)
