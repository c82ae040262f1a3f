"""Who says that a plan's answer is what was asked: of plans of people, of models, of follow-ups."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from constat.diagnostics import ConstatError
from constat.proof.translation import Status
from tests.explore.planned import Scripted, call, plan, step
from tests.explore.test_certificates import BEST, TOTALS
from tests.explore.worlds import TODAY

if TYPE_CHECKING:
    from constat import Session
    from constat.explore.answered import Explored

GOAL = "best(?a, ?b, ?c)"
RECENT = step(
    "recent(region: symbol)",
    rules='recent(?r) :- totals(?r, _, _), period("this year", ?from, ?to), ?from <= ?to.',
)


def drafted(session: Session, *steps: dict[str, Any], **more: Any) -> Explored:  # noqa: ANN401
    made = steps or (TOTALS, BEST)
    answer = made[-1]["outputs"][0].partition("(")[0]
    written = call("propose_plan", steps=list(made), answer=answer)
    client = Scripted.of(written, "The result is in the table.")
    more = {"today": TODAY, "by": "bob", **more}
    question = more.pop("question", "which is best?")
    return session.solve(question, client=client, **more)


def status(explored: Explored) -> Status:
    assert explored.translation is not None
    return explored.translation.status


def test_a_plan_of_a_person_is_stated(session: Session) -> None:
    explored = session.solve("which is best?", plan=plan(TOTALS, BEST), today=TODAY)
    assert (status(explored), explored.exit_code) == (Status.STATED, 0)


def test_a_plan_of_a_model_is_confirmed_by_a_person_or_not_settled(session: Session) -> None:
    explored = drafted(session)
    assert status(explored) is Status.UNCONFIRMED
    assert explored.translation is not None
    assert explored.translation.goal.startswith("best(?")
    session.plans.approve(by="ada", reason="as agreed")
    approved = session.resume()
    assert (approved.assumptions, approved.exit_code) == ((), 3)
    assert session.resume(require_confirmed=True).exit_code == 4
    session.confirm(approved, by="ada")
    confirmed = session.resume(require_confirmed=True)
    assert (status(confirmed), confirmed.exit_code) == (Status.CONFIRMED, 0)
    assert confirmed.translation is not None
    assert confirmed.translation.by == "ada"


def test_the_accepted_answer_is_confirmed_and_another_plan_does_not_run(session: Session) -> None:
    with pytest.raises(ConstatError, match="C0980") as caught:
        drafted(session, accept_goal="totals(?a, ?b)")
    assert caught.value.exit_code == 2
    assert session.history[-1].questions[0].status == "planned"
    assert status(drafted(session, accept_goal=GOAL)) is Status.CONFIRMED
    assert status(drafted(session)) is Status.CONFIRMED, "the same plan for the same question"
    assert status(drafted(session, question="which one is best?")) is Status.UNCONFIRMED


def test_an_edited_step_ends_a_confirmation(session: Session) -> None:
    drafted(session, accept_goal=GOAL)
    _, made, _ = session.plans.of()
    four = {**BEST, "rank": {**BEST["rank"], "top": 4}}
    session.plans.edit(replace(made, steps=plan(TOTALS, four).steps))
    explored = session.resume()
    assert status(explored) is Status.UNCONFIRMED
    assert explored.translation is not None
    assert "have changed since" in explored.translation.ended


def test_another_day_ends_it_where_the_plan_reads_the_day(session: Session) -> None:
    for steps, ends in (((TOTALS, BEST), False), ((TOTALS, RECENT), True)):
        explored = drafted(session, *steps)
        session.confirm(explored, by="ada")
        assert status(drafted(session, *steps)) is Status.CONFIRMED
        other = drafted(session, *steps, today="2025-11-20")
        assert (status(other) is Status.UNCONFIRMED) is ends


def test_a_follow_up_of_a_person_on_steps_of_a_model_is_not_stated(session: Session) -> None:
    drafted(session)
    more = plan(step("one(region: symbol)", rules="one(?r) :- best(?r, _, _)."))
    explored = session.follow_up("which?", plan=more)
    assert status(explored) is Status.UNCONFIRMED
    session.confirm(explored, by="ada")
    assert status(session.resume()) is Status.CONFIRMED


def test_what_the_question_says_and_the_plan_does_not_is_told(session: Session) -> None:
    explored = drafted(session, question="which are the best 7 regions that are not closed?")
    assert explored.translation is not None
    told = " ".join(explored.translation.lacks)
    assert "“7”" in told
    assert "“not”" in told


def test_the_answer_of_an_exploration_keeps_its_translation(session: Session) -> None:
    drafted(session, accept_goal=GOAL)
    [question] = session.history[-1].questions
    assert json.loads(question.answer)["translation"]["status"] == "confirmed"
