"""What a model notes counts if a text says it; the rest is kept as refused and never shown."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from constat.memory import Author, Memory, Message, Passage, Place, Role, Text
from constat.memory.extract.by_model import TOOL, extract_by_model
from constat.model import ModelError, Prompt, Reply, ToolCall, Usage

SAID = "My sister Ann lives in Utrecht. I would rather not be called before 9 am."


@dataclass
class Scripted:
    """A client whose replies were written for the test."""

    facts: list[Any]
    code: str = ""
    asked: list[Prompt] = field(default_factory=list)

    def ask(self, prompt: Prompt) -> Reply:
        self.asked.append(prompt)
        if self.code:
            raise ModelError(self.code, "there is no reply", retryable=self.code == "C0824")
        call = ToolCall("1", TOOL, {"facts": self.facts})
        usage = Usage(calls=1, read=10)
        return Reply("scripted", "", (call,), "tools", usage, "", "", "2026-01-01T00:00:00Z")


def noted(**changes: object) -> dict[str, object]:
    fact = {"kind": "user_fact", "subject": "Ann", "key": "lives", "value": "Utrecht"}
    return {**fact, "text": 0, "quote": "lives in Utrecht", "denied": False, **changes}


def passage(text: str = SAID, author: Author = Author.HUMAN, place: Place = Place.SAID) -> Passage:
    return Passage(text, author, place, 3)


def test_a_fact_that_the_text_says_has_the_sentence_that_says_it() -> None:
    found = extract_by_model([passage()], Scripted([noted()]))
    (fact,) = found.facts
    assert (fact.predicate, fact.subject, fact.key, fact.value) == (
        "user_fact",
        "Ann",
        "lives",
        "Utrecht",
    )
    assert (fact.author, fact.message) == (Author.EXTRACTED, 3)
    content = SAID.encode()
    assert content[fact.span.start : fact.span.end] == b"My sister Ann lives in Utrecht."
    assert (found.rejected, found.usage.calls) == ((), 1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": "Amsterdam"}, "constant"),
        ({"subject": "Eve"}, "constant"),
        ({"quote": "lives in Amsterdam"}, "not_found"),
        ({"denied": True}, "polarity"),
        ({"kind": "preference", "value": "9 am", "subject": "", "key": ""}, "not_found"),
        ({"quote": ""}, "empty"),
    ],
)
def test_what_no_text_says_is_kept_as_refused(changes: dict[str, object], reason: str) -> None:
    quote = {"quote": "is called at 9 am"} if changes.get("kind") else {}
    found = extract_by_model([passage()], Scripted([noted(**{**changes, **quote})]))
    assert found.facts == ()
    (rejected,) = found.rejected
    assert (rejected.predicate, rejected.key) == ("rejected", reason)


@pytest.mark.parametrize(
    "given",
    ["a text", 7, {}, noted(kind="constraint"), noted(text=1), noted(text=True), noted(value=5)],
)
def test_what_is_no_fact_is_left_out(given: object) -> None:
    found = extract_by_model([passage()], Scripted([given]))
    assert (found.facts, found.rejected) == ((), ())


def test_a_denial_is_never_read_as_what_it_denies() -> None:
    text = "Ann does not live in Utrecht."
    given = noted(key="live", quote="does not live in Utrecht", denied=True)
    (fact,) = extract_by_model([passage(text)], Scripted([given])).facts
    assert fact.value == "not Utrecht"


def test_only_prose_of_people_and_models_is_asked_about_in_batches() -> None:
    client = Scripted([])
    short, answer = passage("ok then"), passage(author=Author.TOOL, place=Place.ANSWER)
    extract_by_model([*(passage(f"{SAID} {one}") for one in range(90)), short, answer], client)
    texts = [json.loads(prompt.turns[0].text) for prompt in client.asked]
    assert [len(one) for one in texts] == [40, 40, 10]
    assert all(prompt.must_call == TOOL for prompt in client.asked)


def test_a_batch_without_a_reply_is_told_and_the_others_go_on() -> None:
    many = [passage(f"{SAID} {one}") for one in range(90)]
    assert len(extract_by_model(many, Scripted([], "C0824")).failures) == 3
    lost = Scripted([], "C0822")
    assert len(extract_by_model(many, lost).failures) == len(lost.asked) == 1


def test_neither_what_is_refused_nor_what_nobody_may_say_is_ever_in_sight() -> None:
    rejected = noted(value="Amsterdam")
    injected = noted(kind="preference", subject="", key="", value="refund", quote="want a refund")
    texts = [passage(), passage("Customers always want a refund twice.", Author.ASSISTANT)]
    client = Scripted([noted(), rejected, {**injected, "text": 1}])
    with Memory() as memory:
        memory.append(
            [
                Message(Role.USER, (Text("Hello there."),)),
                Message(Role.USER, (Text(SAID),)),
                Message(Role.ASSISTANT, (Text(texts[1].text),)),
            ]
        )
        given = [one.passage for one in memory.history.texts[1:]]
        found = extract_by_model(given, client)
        memory.note((*found.facts, *found.rejected))
        view = memory.view(2_000)
    assert (len(found.facts), len(found.rejected)) == (1, 2)
    assert "Amsterdam" not in view.text
    assert {"user_fact", "rejected"} <= {one.fact.predicate for one in memory.history.claims}
