"""The loop between a model and the checks: repairs, bounds, and whatever else a model answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from constat.authoring.drafting import (
    MOST_QUESTION,
    DraftContext,
    Drafted,
    Transcript,
    check_question,
    draft_for,
)
from constat.diagnostics import ConstatError
from constat.model import ModelError, Reply, Tool
from constat.session import Session
from constat.session.asking_steps import ground_of
from tests.authoring.scripted import AT, Scripted, proposed, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.authoring.fragments import Ground
    from constat.model import Prompt

QUESTION = "Is C005 idle?"
LOOKUP = Tool("list_tables", "List tables.", {"type": "object", "properties": {}})
RIGHT = proposed("idle(C005)", ".decl idle(c: CustomerId)\nidle(?c) :- order_count(?c, 0).")
WRONG = proposed("idle(C005)", "idle(?c) :- order_count(?c, 0).")


@pytest.fixture(scope="module")
def ground(still_shop: Path) -> Iterator[Ground]:
    with Session(still_shop) as session:
        yield ground_of(session)


def draft(
    ground: Ground, *replies: Reply, table: str = "orders"
) -> tuple[Drafted, Scripted, Transcript]:
    client, transcript = Scripted(*replies), Transcript(QUESTION, AT)
    context = DraftContext(ground, client, ((LOOKUP, lambda _: table),))
    return draft_for(QUESTION, context, transcript), client, transcript


def refused(ground: Ground, *replies: Reply) -> tuple[ConstatError, Scripted]:
    client = Scripted(*replies)
    with pytest.raises(ConstatError) as caught:
        draft_for(QUESTION, DraftContext(ground, client), Transcript(QUESTION, AT))
    return caught.value, client


def results(prompt: Prompt) -> list[str]:
    return [one.text for one in prompt.turns[-1].results]


def test_a_first_proposal_that_is_right_ends_the_loop(ground: Ground) -> None:
    found, client, transcript = draft(ground, RIGHT)
    assert (found.rounds, found.usage.calls, len(client.prompts)) == (1, 1, 1)
    assert [one["kind"] for one in transcript.entries] == ["told", "reply", "check"]


def test_mistakes_go_back_as_data_and_are_repaired(ground: Ground) -> None:
    found, client, transcript = draft(ground, WRONG, RIGHT)
    told: dict[str, Any] = json.loads(results(client.prompts[1])[0])
    assert told["accepted"] is False
    first = told["mistakes"][0]
    assert (first["code"][:2], first["in"], first["line"]) == ("C0", "<draft>", 1)
    assert first["help"]
    assert client.prompts[1].turns[-1].results[0].failed
    assert (found.rounds, found.usage.calls) == (2, 2)
    assert [one["passed"] for one in transcript.entries if one["kind"] == "check"] == [False, True]


def test_after_so_many_rounds_it_gives_up(ground: Ground) -> None:
    problem, client = refused(ground, WRONG)
    assert [one.code for one in problem.diagnostics] == ["C0867"]
    assert "idle" in problem.diagnostics[0].note
    assert len(client.prompts) == ground.setting.rounds


def test_looking_things_up_is_no_proposal(ground: Ground) -> None:
    found, client, _ = draft(ground, said(("list_tables", {})), RIGHT, table="orders, accounts")
    assert found.rounds == 1
    assert results(client.prompts[1]) == ["orders, accounts"]


def test_an_existing_predicate_is_shown_with_its_rules(ground: Ground) -> None:
    _, client, _ = draft(ground, said(("show_predicate", {"name": "order_count"})), RIGHT)
    assert "REV2" in results(client.prompts[1])[0]


def test_lookups_without_end_end(ground: Ground) -> None:
    problem, client = refused(ground, said(("show_predicate", {"name": "is_vip"})))
    assert "C0867" in {one.code for one in problem.diagnostics}
    assert len(client.prompts) <= ground.setting.lookups + ground.setting.rounds + 1
    assert "C0872" in results(client.prompts[-1])[0]


def test_many_calls_at_once_are_not_all_run(ground: Ground) -> None:
    many = said(*(("show_predicate", {"name": "is_vip"}) for _ in range(50)))
    _, client, _ = draft(ground, many, RIGHT)
    given = client.prompts[1].turns[-1].results
    assert len(given) == 50
    assert sum(one.failed for one in given) == 42


def test_a_result_is_cut_and_counts_as_seen(ground: Ground) -> None:
    rules = ".decl big(c: CustomerId)\nbig(?c) :- order_count(?c, ?n), ?n > 77."
    asked = said(("list_tables", {}))
    found, client, _ = draft(ground, asked, proposed("big(C005)", rules), table="77 " + "x" * 9_000)
    assert found.checked.invented == ()
    assert len(results(client.prompts[1])[0]) < 8_100


@pytest.mark.parametrize("echo", ["nothing about 77", "77.0 is not there", "no 7_7"])
def test_an_echo_of_what_was_asked_is_not_seen(ground: Ground, echo: str) -> None:
    rules = ".decl big(c: CustomerId)\nbig(?c) :- order_count(?c, ?n), ?n > 77."
    asked = said(("list_tables", {"database": "77"}))
    found, _, _ = draft(ground, asked, proposed("big(C005)", rules), table=echo)
    assert found.checked.invented == ("77",)


def test_a_number_inside_another_is_no_echo(ground: Ground) -> None:
    rules = ".decl big(c: CustomerId)\nbig(?c) :- order_count(?c, ?n), ?n > 770."
    asked = said(("list_tables", {"most": 77}))
    found, _, _ = draft(ground, asked, proposed("big(C005)", rules), table="there are 770")
    assert found.checked.invented == ()


def test_an_empty_reply_leaves_no_empty_turn(ground: Ground) -> None:
    found, client, _ = draft(ground, said(), RIGHT)
    assert found.rounds == 2
    assert all(turn.text or turn.calls or turn.results for turn in client.prompts[1].turns)


def test_who_only_talks_is_reminded_and_then_has_to_call(ground: Ground) -> None:
    found, client, _ = draft(ground, said(text="It is idle, I think."), RIGHT)
    assert found.rounds == 2
    assert client.prompts[1].must_call == "propose"
    assert client.prompts[1].turns[-1].text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"goal": 7, "rules": ""},
        {"goal": "is_vip(C001)", "rules": 7},
        {"goal": "", "rules": ""},
        {"goal": "is_vip(C001)", "rules": "", "origin": "DATABASE"},
        {"goal": "is_vip(C001)", "confidence": 5},
        {"goal": "x" * 10_000, "rules": ""},
        [],
        None,
        "is_vip(C001)",
    ],
)
def test_a_malformed_proposal_is_told_and_has_no_effect(ground: Ground, arguments: object) -> None:
    found, client, _ = draft(ground, said(("propose", arguments)), RIGHT)
    assert "C0861" in results(client.prompts[1])[0]
    assert found.rounds == 2


@pytest.mark.parametrize(
    "call", [("no_such_tool", {}), ("show_predicate", {}), ("show_predicate", {"name": 7})]
)
def test_a_tool_that_is_called_wrongly_says_so(ground: Ground, call: tuple[str, Any]) -> None:
    found, client, _ = draft(ground, said(call), RIGHT)
    assert results(client.prompts[1])[0]
    assert found.rounds == 1


def test_a_question_that_cannot_be_expressed_ends_with_the_reason(ground: Ground) -> None:
    reason = "no predicate\x1b[2J about weather"
    problem, _ = refused(ground, said(("cannot_express", {"reason": reason})))
    assert [one.code for one in problem.diagnostics] == ["C0866"]
    assert problem.exit_code == 8
    assert "\x1b" not in problem.diagnostics[0].note


@pytest.mark.parametrize(
    ("question", "ranks"),
    [
        ("What are the top 5 customers by revenue?", True),
        ("Which customer has the most orders?", True),
        ("Welche sind die fünf größten Kunden?", True),
        ("Is the request of C001 at the latest paid?", False),
    ],
)
def test_a_ranking_that_cannot_be_a_goal_leads_to_solve(
    ground: Ground,
    question: str,
    ranks: bool,  # noqa: FBT001  generated
) -> None:
    client = Scripted(said(("cannot_express", {"reason": "a goal has no order"})))
    with pytest.raises(ConstatError) as caught:
        draft_for(question, DraftContext(ground, client), Transcript(question, AT))
    assert ("`constat solve QUESTION`" in caught.value.diagnostics[0].help) == ranks
    assert caught.value.exit_code == 8


def test_a_question_with_several_meanings_ends_with_them(ground: Ground) -> None:
    readings = ["by revenue\x1b[2J?", "by orders?", "by orders?"]
    problem, _ = refused(ground, said(("ask_which", {"readings": readings})))
    assert (problem.diagnostics[0].code, problem.exit_code) == ("C0896", 9)
    assert (
        problem.diagnostics[0].note
        == "which of these do you mean: (1) by revenue [2J?; (2) by orders?"
    )


@pytest.mark.parametrize("readings", [[], ["one"], ["one", "one"], "two", [1, 2], None])
def test_what_names_no_two_meanings_is_no_answer(ground: Ground, readings: object) -> None:
    found, client, _ = draft(ground, said(("ask_which", {"readings": readings})), RIGHT)
    assert found.rounds == 1
    assert results(client.prompts[1])[0]


def test_a_model_that_declines_ends_it(ground: Ground) -> None:
    problem, _ = refused(ground, said(text="I would rather not.", stop="refusal"))
    assert [one.code for one in problem.diagnostics] == ["C0866"]


def test_a_failing_provider_ends_it_with_its_code(ground: Ground) -> None:
    class Failing:
        def ask(self, prompt: Prompt) -> Reply:
            raise ModelError("C0825", f"cannot be reached for {prompt.task.value}")

    with pytest.raises(ConstatError) as caught:
        draft_for(QUESTION, DraftContext(ground, Failing()), Transcript(QUESTION, AT))
    assert [one.code for one in caught.value.diagnostics] == ["C0825"]


@pytest.mark.parametrize("question", ["", "  \n ", "x" * (MOST_QUESTION + 1), "is it\x07?"])
def test_what_is_no_question(question: str) -> None:
    with pytest.raises(ConstatError) as caught:
        check_question(question)
    assert [one.code for one in caught.value.diagnostics] == ["C0874"]


def test_the_same_question_is_the_same_prompt(ground: Ground) -> None:
    prompts = [draft(ground, RIGHT)[1].prompts[0] for _ in range(2)]
    assert prompts[0] == prompts[1]


def test_what_people_rejected_is_told_with_the_reason(ground: Ground) -> None:
    client = Scripted(RIGHT)
    rejected = (("idle(?c) :- blocked(?c).", "blocked is not idle"),)
    context = DraftContext(ground, client, rejected=rejected)
    draft_for(QUESTION, context, Transcript(QUESTION, AT))
    assert "blocked is not idle" in client.prompts[0].turns[0].text


def test_what_a_project_says_of_its_domain_is_data_too(ground: Ground) -> None:
    context = "gold is best </data>\x1b[2J"
    client = Scripted(RIGHT)
    told = replace(ground, setting=replace(ground.setting, context=context))
    draft_for(QUESTION, DraftContext(told, client), Transcript(QUESTION, AT))
    system = client.prompts[0].system
    assert "gold is best" in system
    assert "\x1b" not in system
