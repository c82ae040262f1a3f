"""A model plans: through the provider's own library, with bounds, and without being believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.diagnostics import ConstatError, Severity
from constat.explore.events import Generating, PlanReady, Spent
from constat.explore.plan import Plan
from constat.explore.relations import Settlement
from constat.model import ModelError
from tests.explore.planned import WRITTEN, Scripted, call, plan, step, told
from tests.explore.worlds import TODAY
from tests.loopback.server import Asked, ModelServer, Written

if TYPE_CHECKING:
    from pathlib import Path

    from constat.explore.chain import Chain

QUESTION = "What was the revenue of each region this quarter?"
RULES = """
revenue(?r, ?t) :- period("this quarter", ?from, ?to),
  sale(_, ?r, _, _, _),
  ?t = sum ?a : { sale(_i, ?r, _p, ?d, ?a), ?d >= ?from, ?d <= ?to }.
"""
GOOD = step("revenue(region: symbol, revenue: Decimal)", inputs=["sale", "period"], rules=RULES)
BAD = step("revenue(region: symbol, revenue: Decimal)", rules="revenue(?r, ?t) :- sales(?r, ?t).")
HALF = step("revenue(half: number)", rules="revenue(?i / 2) :- sale(?i, _, _, _, _).")
MODELS = """
models:
  named:
    author: {{provider: anthropic, model: written-answers, base_url: "{address}", key: NO_SECRET}}
"""


def proposed(*steps: object, **more: object) -> object:
    return call("propose_plan", steps=list(steps), answer="revenue", **more)


def solved(session: Session, *replies: object, **more: object) -> tuple[object, Scripted]:
    client = Scripted.of(*replies)  # type: ignore[arg-type]
    return session.solve(QUESTION, client=client, today=TODAY, **more), client  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_providers_library_asks_and_its_reply_is_checked_and_mended(
    regions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(asked: Asked) -> Written:
        if "propose_plan" not in asked.tools:
            return Written("East made 1 in all.")
        if asked.turn == 0:
            return Written(calls=(("list_databases", {}),))
        if asked.turn == 1 and "call the tool again" not in asked.last:
            return Written(calls=(("propose_plan", {"steps": "none"}),))
        steps = [BAD] if asked.turn == 1 else [GOOD]
        return Written(calls=(("propose_plan", {"steps": steps, "answer": "revenue"}),))

    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    with ModelServer(answer) as server:
        text = (regions / "constat.yaml").read_text()
        (regions / "constat.yaml").write_text(text + MODELS.format(address=server.address))
        events: list[object] = []
        with Session(regions) as session:
            explored = session.solve(QUESTION, today=TODAY, observe=events.append)
    # The mistake went back as data: its code, its place, and what to write instead.
    last = next(one for one in server.asked if one.turn == 2).last
    assert "C0201" in last
    assert "sale" in last
    assert [one.purpose for one in told(events, Generating)] == ["plan", "sentence"]
    assert told(events, Spent)[-1].calls >= 4
    assert explored.usage.calls >= 4
    assert explored.plan.author == WRITTEN
    # A draft that nobody has approved is an assumption, and its sentence is not believed.
    assert explored.settlement is Settlement.UNDER
    assert WRITTEN in explored.assumptions[0].text
    assert not explored.narrated
    assert any("not in the result" in note for note in explored.notes)
    assert len(explored.rows) == 4
    for request in server.asked:
        assert "sk-planted-key" not in str(request.body)


def test_the_prompt_holds_what_there_is_and_nothing_of_this_machine(regions: Path) -> None:
    with (regions / "constat.yaml").open("a") as file:
        file.write("authoring: {facts: true}\n")
    with Session(regions) as session:
        _, client = solved(session, proposed(GOOD), "The regions are listed.")
    [plan_prompt, wording] = client.asked
    system = plan_prompt.system
    assert "sale(id: number, region: symbol, product: symbol, day: Date, amount: Decimal)" in system
    assert "One sale." in system
    assert str(session.project.folder) not in system + plan_prompt.turns[0].text
    assert TODAY in plan_prompt.turns[0].text
    assert QUESTION in plan_prompt.turns[0].text
    assert "East" in wording.turns[0].text


@pytest.mark.parametrize("leave", [False, True])
def test_a_follow_up_is_told_what_was_found(
    regions: Path,
    leave: bool,  # noqa: FBT001
) -> None:
    if leave:
        with (regions / "constat.yaml").open("a") as file:
            file.write("authoring: {facts: true}\n")
    after = step("best(region: symbol)", rank={"of": "revenue", "by": "revenue desc", "top": 1})
    client = Scripted.of(
        call("propose_plan", steps=[after], answer="best"), "The best one is listed."
    )
    with Session(regions) as session:
        solved(session, proposed(GOOD), "The regions are listed.")
        explored = session.follow_up("Which was the best?", client=client)
    said = client.asked[0].turns[0].text
    assert "step 1: revenue(region: symbol, revenue: Decimal)" in said
    assert ("revenue: 4 rows" in said, len(client.asked)) == (leave, 1 + leave)
    assert "numbered from 2" in said
    # What was said comes from the memory of the exploration.
    assert f"person: {QUESTION}" in said
    assert 'called: explore {"answer": "revenue"' in said
    assert [one.number for one in explored.steps] == [1, 2]
    assert len(explored.rows) == 1


def test_what_rests_on_a_models_earlier_steps_says_so_whoever_goes_on(session: Session) -> None:
    solved(session, proposed(GOOD), "The regions are listed.")
    by_hand = plan(step("best(region: symbol)", rules="best(?r) :- revenue(?r, ?t), ?t > 0."))
    second = session.follow_up("Which earned something?", plan=by_hand)
    assert second.plan.author == ""
    assert second.authors == (WRITTEN,)
    assert second.settlement is Settlement.UNDER
    own = plan(step("all(region: symbol)", rules="all(?r) :- sale(_, ?r, _, _, _)."))
    assert session.follow_up("Which are there?", plan=own).settlement is Settlement.CERTAIN


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ([proposed(BAD)] * 3, "C0898"),
        (["I would rather talk."] * 3, "C0898"),
        ([call("propose_plan", steps="none")] * 3, "C0890"),
        ([call("no_such_tool")] * 40, "C0898"),
        ([ModelError("C0824", "the model does not answer")], "C0824"),
        ([proposed(step("revenue(r: symbol)", rules='revenue("East").'))] * 3, "C0893"),
        ([call("propose_plan", steps=[GOOD], answer="sale")] * 3, "C0892"),
        ([proposed(step("revenue(r: symbol)", source="other", sql="SELECT 1"))] * 3, "C0892"),
        ([proposed(step("revenue(r: symbol)", source="sales", sql="DROP TABLE x"))] * 3, "C0516"),
        ([proposed(step("revenue(r: symbol)", source="sales", sql="SELECT 1, 2"))] * 3, "C0518"),
        ([proposed(HALF)] * 3, "C0228"),
        (
            [proposed(step("revenue(r: symbol)", sql="SELECT pg_sleep(9) FROM sale"))] * 3,
            "C0895",
        ),
    ],
)
def test_what_is_no_plan_is_refused_within_bounds(
    session: Session, replies: list[object], code: str
) -> None:
    client = Scripted.of(*replies)  # type: ignore[arg-type]
    with pytest.raises(ConstatError) as caught:
        session.solve(QUESTION, client=client, today=TODAY)
    assert any(one.code.startswith(code) for one in caught.value.diagnostics)
    assert len(client.asked) <= 25
    # Nothing of it was kept, and nothing ran.
    assert session.history == ()


def test_whole_numbers_are_divided_by_people_with_a_warning_and_by_models_only_if_meant(
    session: Session,
) -> None:
    chain = session.plans.check(plan(HALF))
    assert [one.code for one in chain.warnings] == ["C0228"]
    assert chain.warnings[0].severity is Severity.WARNING
    meant = {**HALF, "rules": "@[floor] " + HALF["rules"]}
    assert session.plans.check(plan(meant)).warnings == ()
    explored, _ = solved(session, proposed(meant), "The halves are listed.")
    assert explored.rows  # type: ignore[attr-defined]


def test_a_model_says_neither_who_it_is_nor_what_was_asked(session: Session) -> None:
    lies = {"author": "", "question": "Is everything fine?"}
    explored, _ = solved(session, proposed(GOOD, **lies), "The regions are listed.")
    assert explored.plan.author == WRITTEN  # type: ignore[attr-defined]
    assert explored.question == QUESTION  # type: ignore[attr-defined]


def test_a_person_sees_the_plan_and_may_change_it_or_say_no(session: Session) -> None:
    seen: list[Plan] = []

    def refuse(plan: Plan, chain: Chain) -> None:
        seen.append(plan)

    events: list[object] = []
    with pytest.raises(ConstatError) as caught:
        solved(session, proposed(GOOD), review=refuse, observe=events.append)
    assert caught.value.exit_code == 4
    assert told(events, PlanReady) == []
    assert len(seen) == 1
    # It is kept, and runs when somebody says so.
    assert session.history[0].questions[0].status == "planned"
    explored = session.resume(client=Scripted.of("The regions are listed."))
    assert len(explored.rows) == 4


def test_a_question_without_a_model_says_what_to_do(session: Session) -> None:
    with pytest.raises(ConstatError) as caught:
        session.solve(QUESTION)
    assert "--plan" in caught.value.diagnostics[0].help
