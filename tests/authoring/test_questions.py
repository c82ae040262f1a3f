"""The questions: their references are right, and the runner scores what is served to it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from constat.authoring.checking import Proposal, check_proposal
from constat.evaluation import Verdict
from constat.library.reviewing.drafts import join_drafts
from constat.project.settings import ModelSetting
from constat.session import Session
from constat.session.asking_steps import drafted_session, ground_of
from tests.authoring.live import ENVIRONMENT, KEY
from tests.authoring.score import WRITTEN, main, score, served
from tests.authoring.scripted import kept
from tests.authoring.worlds import SCHEMAS, Question, build_world, questions
from tests.authoring.writing import answerer, arguments_of
from tests.loopback.server import WRITTEN_MODEL, ModelServer, Raw

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback.server import Answer, Asked

ANSWERS = {
    "yes": {Verdict.PROVED, Verdict.PROVED_UNDER},
    "no": {Verdict.DISPROVED, Verdict.DISPROVED_UNDER},
    "unknown": {Verdict.UNRESOLVED},
}


def verdict(session: Session, question: Question) -> Verdict:
    reference = question.reference
    proposal = Proposal(reference.goal, reference.rules)
    checked = check_proposal(proposal, ground_of(session), [question.text])
    assert checked.errors == (), question.text
    assert checked.invented == (), question.text
    if not checked.text:
        return session.prove(reference.goal).verdict
    draft = kept(checked.text)
    joined = join_drafts(session.program, [draft])
    with drafted_session(session, joined, cache=False, locale=None) as other:
        return other.prove(reference.goal).verdict


def test_there_are_enough_questions_of_each_kind() -> None:
    found = questions()
    assert len(found) >= 60
    assert len({one.text for one in found}) == len(found)
    for schema in SCHEMAS:
        own = [one for one in found if one.schema == schema]
        assert len(own) >= 20
        assert {one.answer for one in own} == set(ANSWERS)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_reference_has_the_expected_verdict(schema: str, tmp_path: Path) -> None:
    with Session(build_world(schema, tmp_path)) as session:
        for question in questions(schema):
            assert verdict(session, question) in ANSWERS[question.answer], question.text


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_reference_passes_with_bare_variables_too(schema: str, tmp_path: Path) -> None:
    with Session(build_world(schema, tmp_path)) as session:
        ground = ground_of(session)
        bare = replace(ground, setting=replace(ground.setting, variables="bare"))
        for question in questions(schema):
            written = arguments_of(question.reference, "bare")
            proposal = Proposal(written["goal"], written["rules"])
            assert check_proposal(proposal, bare, [question.text]).errors == (), question.text


@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_mistaken_proposal_is_found(schema: str, tmp_path: Path) -> None:
    with Session(build_world(schema, tmp_path)) as session:
        ground = ground_of(session)
        for question in questions(schema):
            for one in question.first:
                checked = check_proposal(Proposal(one.goal, one.rules), ground, [question.text])
                assert checked.errors, question.text


@pytest.mark.parametrize("variables", [pytest.param("strict", marks=pytest.mark.slow), "bare"])
def test_the_runner_scores_written_answers_with_their_repairs(
    tmp_path: Path, variables: str
) -> None:
    wanted = questions("music")[:16]
    if variables == "bare":
        wanted = [one for one in wanted if one.first]
    with served(wanted, variables) as setting:
        report = score(wanted, setting, variables, tmp_path, WRITTEN).as_json()
    figures = report["schemas"]["music"]
    repaired = sum(bool(one.first) for one in wanted)
    assert figures["questions"] == len(wanted)
    assert variables == "bare" or len(wanted) >= 15
    assert figures["valid_after_repair"] == figures["verdict_right"] == len(wanted)
    # Of the mistakes one is that variables are bare, which is none where that was asked for.
    assert len(wanted) - figures["valid_first"] == repaired - (variables == "bare")
    assert "not a model" in report["answers"]


def test_a_wrong_verdict_is_not_scored_as_right(tmp_path: Path) -> None:
    (first, second) = questions("music")[:2]
    swapped = [
        Question(one.schema, one.text, other.answer, one.reference)
        for one, other in ((first, second), (second, first))
    ]
    with served(swapped) as setting:
        report = score(swapped, setting, "strict", tmp_path, WRITTEN).as_json()
    assert report["schemas"]["music"]["verdict_right"] == 0
    assert len(report["wrong"]) == 2


def test_where_nobody_answers_nothing_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    setting = ModelSetting("scored", "anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY")
    report = score(questions("music"), setting, "strict", tmp_path, "anthropic").as_json()
    assert report["answered"] is False
    assert "schemas" not in report
    assert main(["--provider", "anthropic", "--only", "music", "--most", "1"]) == 4
    assert '"answered": false' in capsys.readouterr().out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_runner_scores_an_endpoint_through_either_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], provider: str
) -> None:
    wanted = questions("music")[:3]
    asked: list[int] = []
    with (
        mock.patch.dict(os.environ, ENVIRONMENT),
        ModelServer(answerer(wanted)) as server,
    ):
        address = server.address if provider == "anthropic" else server.chat_address
        given = [
            *("--provider", provider, "--base-url", address, "--key", KEY, "--most", "3"),
            *("--model", WRITTEN_MODEL, "--only", "music", "--folder", str(tmp_path / "kept")),
        ]
        for _ in range(2):
            assert main(given) == 0
            asked.append(len(server.asked))
    assert asked[0] == asked[1] >= 3, "what was paid for is not paid for again"
    first, again = capsys.readouterr().out.split("\n}\n")[:2]
    told, later = json.loads(f"{first}\n}}"), json.loads(f"{again}\n}}")
    assert told["provider"] == provider
    assert told["schemas"] == later["schemas"]
    assert told["schemas"]["music"]["verdict_right"] == 3
    assert told["usage"]["calls"] == asked[0]
    assert (told["usage"]["read"] > 0, later["usage"]["calls"]) == (True, 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_endpoint_that_stops_or_talks_nonsense_gets_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], provider: str
) -> None:
    wanted = questions("music")[:2]
    answer = answerer(wanted[:1])
    body = b'{"type": "error", "error": {"type": "rate_limit_error", "message": "later"}}'
    busy = Raw(429, {"content-type": "application/json", "retry-after": "999"}, (body,))
    nonsense = Raw(200, {"content-type": "text/html"}, (b"<html>login</html>",))

    def stops(asked: Asked) -> Answer:
        return answer(asked) if wanted[0].text in asked.question else busy

    cases = ((stops, 1, "C0825"), (lambda _: nonsense, 0, "C0826"))
    for number, (answers, before, code) in enumerate(cases):
        with mock.patch.dict(os.environ, ENVIRONMENT), ModelServer(answers) as server:
            address = server.address if provider == "anthropic" else server.chat_address
            given = ["--provider", provider, "--base-url", address, "--key", KEY, "--most", "2"]
            folder = ["--folder", str(tmp_path / f"{number}")]
            assert main([*given, *folder, "--model", WRITTEN_MODEL, "--only", "music"]) == 4
        told = json.loads(capsys.readouterr().out)
        assert told["answered"] is False
        assert code in told["reason"]
        assert told.get("questions_before", 0) == before
        assert not told.keys() & {"schemas", "usage", "wrong"}
