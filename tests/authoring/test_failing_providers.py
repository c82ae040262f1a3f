"""A provider that fails in the middle of a question: a clear error, no effect, nothing lost."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest
import yaml

from constat.session import Session
from tests.authoring.live import ANSWERS, ENVIRONMENT, ask_server
from tests.authoring.test_asking import CLOSED
from tests.cli.running import run
from tests.loopback.server import ModelServer, Raw, Written, message_start
from tests.loopback.written import written_answers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback.server import Answer, Answerer, Asked

JSON = {"content-type": "application/json"}
DISPROVED_UNDER = 6


def refused(status: int, kind: str, **headers: str) -> Raw:
    error = {"type": kind, "message": "not now \x1b[2J"}
    body = json.dumps({"type": "error", "error": error}).encode()
    return Raw(status, {**JSON, **{k.replace("_", "-"): v for k, v in headers.items()}}, (body,))


def cut_short(asked: Asked) -> Answer:
    first = b'data: {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "written-'
    begun = first + b'answers", "choices": [{"index": 0, "delta": {"content": "I pro"}}]}\n\n'
    return Raw(chunks=(begun if asked.chat else message_start(asked, Written()),), cut=True)


def late(_: Asked) -> Answer:
    time.sleep(5)
    return Raw(500)


# What the provider does the second time it is asked, with the code, and the calls that it costs.
FAILURES: dict[str, tuple[Answerer, str, int]] = {
    "a rate limit": (lambda _: refused(429, "rate_limit_error", retry_after="999"), "C0825", 1),
    "an overload": (lambda _: refused(529, "overloaded_error", retry_after="0"), "C0825", 3),
    "a broken server": (lambda _: refused(500, "api_error", retry_after="0"), "C0825", 3),
    "a gateway": (lambda _: Raw(502, {"retry-after": "0"}, (b"<html>bad</html>",)), "C0825", 3),
    "no answer in time": (late, "C0825", 1),
    "a wrong key": (lambda _: refused(401, "authentication_error"), "C0824", 1),
    "a stream that stops": (cut_short, "C0826", 1),
    "half a call": (lambda _: Written("", (("propose", '{"goal": "had_ac'),)), "C0826", 2),
    "another tool": (lambda _: Written("", (("run_shell", {"command": "rm"}),)), "C0826", 2),
    "arguments that do not fit": (lambda _: Written("", (("propose", {"go": 1}),)), "C0826", 2),
    "another model": (
        lambda _: Written("", (("propose", {"goal": "is_vip(C001)"}),), model="other"),
        "C0827",
        1,
    ),
}


@pytest.mark.sampled(2, "laws")
@pytest.mark.sampled(12)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_question_in_whose_middle_the_provider_fails(
    shop: Path, failure: str, provider: str
) -> None:
    fails, code, calls = FAILURES[failure]
    healthy, answer = [False], written_answers(ANSWERS)

    def answering(asked: Asked) -> Answer:
        return answer(asked) if healthy[0] or not asked.turn else fails(asked)

    with mock.patch.dict(os.environ, ENVIRONMENT), ModelServer(answering) as server:
        path = ask_server(shop, server, provider=provider) / "constat.yaml"
        config = yaml.safe_load(path.read_text("utf-8"))
        config["models"]["named"]["author"]["seconds"] = 4 if fails is late else 200
        path.write_text(yaml.safe_dump(config), "utf-8")
        ran = run("ask", CLOSED, "--project", shop, "--format", "json")
        assert (ran.code, ran.out) == (2, "")
        (told,) = json.loads(ran.err)["diagnostics"]
        assert (told["code"], "\x1b" in ran.err) == (code, False)
        assert len(server.asked) == 1 + calls
        with Session(shop) as session:
            assert session.drafts.list() == ()
            (record,) = map(session.transcript, session.transcripts())
            assert record["outcome"]["error"][0]["code"] == code
            # What came before it failed is in the books.
            assert sum(one.calls for one in session.models.kept.spent()) >= 1
        paid = [json.dumps(one.body) for one in server.asked][:1]
        server.asked.clear()
        healthy[0] = True
        again = run("ask", CLOSED, "--project", shop, "--quiet")
    assert again.code == DISPROVED_UNDER, again.err
    assert server.asked, "the rest is asked for"
    assert not {json.dumps(one.body) for one in server.asked} & set(paid)


def test_a_reply_that_is_cut_off_proposes_nothing(shop: Path) -> None:
    cut = Written("", (("propose", '{"goal": "is_vip(C001)", "rules": ""}'),), stop="max_tokens")
    with mock.patch.dict(os.environ, ENVIRONMENT), ModelServer(lambda _: cut) as server:
        ran = run("ask", "Is C001 a VIP?", "--project", ask_server(shop, server))
        assert (ran.code, "C0867" in ran.err, "cut off" in ran.err) == (2, True, True)
        assert len(server.asked) == 3
