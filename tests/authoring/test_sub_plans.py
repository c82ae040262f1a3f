"""The sub-plan tier: rules for what nothing answers, only where asked for, and never certain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import ModelAwaited, ModelReplied, Verdict
from constat.model import Task
from constat.session import Session
from constat.session.answers import Settled
from constat.store.drafts import Decision
from tests.authoring.live import ENVIRONMENT, ask_server
from tests.authoring.scripted import Scripted, proposed
from tests.loopback.server import ModelServer, Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from constat.evaluation import Event
    from constat.model import Client, Prompt, Reply

PLAN = proposed(
    "contract_value(?c, ?v)",
    'contract_value(?c, ?total) :- customer_revenue(?c, ?total), customer_tier(?c, "gold").',
)

PLANNED = Written(calls=(("propose", PLAN.calls[0].arguments),))


class Planned(Session):
    """A session whose models are one client."""

    def __init__(self, project: Path, client: Client) -> None:
        super().__init__(project)
        self.tasks: list[Task] = []
        self.left: list[float] = []

        def given(task: Task, left: Callable[[], float] | None = None) -> Client:
            self.tasks.append(task)
            self.left += [] if left is None else [left()]
            return client

        setattr(self.models, "client", given)  # noqa: B010  a method


def configured(shop: Path, text: str) -> Path:
    config = shop / "constat.yaml"
    config.write_text(config.read_text() + f"\nsub_plans: {text}\n")
    return shop


def test_a_plan_joins_the_program_and_is_assumed(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        found = session.prove("is_strategic(C004)")
        assert found.verdict is Verdict.PROVED_UNDER
        assert [one.kind for one in found.assumptions] == ["rule"]
        assert session.tasks == [Task.SUB_PLAN]
        assert session.verify(found.certificate).accepted


def test_a_plan_is_asked_for_only_where_the_goal_is_open(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        assert session.prove("is_vip(C001)").verdict is Verdict.PROVED
        assert session.prove("is_vip(C002)").verdict is Verdict.DISPROVED
        assert session.prove("is_regular(C001)").verdict is Verdict.UNRESOLVED
        assert client.prompts == []


def test_without_a_word_of_the_project_nothing_is_planned(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(shop, client) as session:
        assert session.prove("is_strategic(C004)").verdict is Verdict.UNRESOLVED
        assert client.prompts == []


def test_a_plan_is_paid_for_once(shop: Path) -> None:
    client = Scripted(PLAN)
    project = configured(shop, "{predicates: [contract_value]}")
    for _ in range(2):
        with Planned(project, client) as session:
            assert session.prove("is_strategic(C004)").verdict is Verdict.PROVED_UNDER
    assert len(client.prompts) == 1


class Late(Scripted):
    """Writes for so many seconds of a time that nobody waits for."""

    def __init__(self, seconds: float) -> None:
        super().__init__(PLAN)
        self.seconds = seconds
        self.at = 1_000.0

    def ask(self, prompt: Prompt) -> Reply:
        self.at += self.seconds
        return super().ask(prompt)


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(50, Verdict.PROVED_UNDER), (70, Verdict.UNRESOLVED)]
)
def test_what_a_model_writes_takes_of_the_time_of_the_goal(
    shop: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, verdict: Verdict
) -> None:
    client = Late(seconds)
    monkeypatch.setattr("constat.session.session.moment", lambda: client.at)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        found = session.prove("is_strategic(C004)")
        rows = session.query("is_strategic(?c)", engine="reference").rows
        most = session.project.limits.seconds
        assert session.left == [most]
    assert most == 60
    assert found.verdict is verdict
    limited = "the time limit of 60 seconds was reached; `seconds` of `limits` in constat.yaml"
    assert (limited in found.decision.outcome.stopped) is (verdict is Verdict.UNRESOLVED)
    # The draft is kept: what is asked next need not wait for it.
    assert any(one.verdict is Verdict.PROVED_UNDER for one in rows)


def test_what_a_plan_does_not_derive_stays_unknown_and_stated_facts_count(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        found = session.prove("is_strategic(C009)")
        assert found.verdict is Verdict.UNRESOLVED
        assert found.missing == ("contract_value(C009, ?amount)",)
        session.facts.add("contract_value(C009, 250000)", author="alice")
        told = session.prove("is_strategic(C009)")
        assert [one.text for one in told.assumptions] == [
            "user alice says contract_value(C009, 250000)"
        ]


@pytest.mark.parametrize(
    ("goal", "rules"),
    [
        ("is_vip(C001)", ""),
        ("contract_value(?c, ?v)", ""),
        ("other(?c)", ".decl other(c: CustomerId)\nother(?c) :- customer(?c)."),
        ("contract_value(?c, ?v)", 'contract_value("C004", 1000000.0).'),
        ("contract_value(?c, ?v)", "is_vip(?c) :- customer(?c)."),
        (
            "contract_value(?c, ?v)",
            "contract_value(?c, ?v) :- contract_value(?c, ?w), ?v = ?w + 1.",
        ),
    ],
)
def test_a_plan_that_is_none_leaves_the_goal_open(shop: Path, goal: str, rules: str) -> None:
    client = Scripted(proposed(goal, rules))
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        found = session.prove("is_strategic(C004)")
        assert found.verdict is Verdict.UNRESOLVED
        assert [one.code for one in session.warnings] == ["C0877"]
        assert session.drafts.list() == ()


def test_a_plan_cannot_hide_a_negative_cycle(shop: Path) -> None:
    rules = "contract_value(?c, ?t) :- customer_revenue(?c, ?t), !is_strategic(?c)."
    client = Scripted(proposed("contract_value(?c, ?v)", rules))
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        assert session.prove("is_strategic(C004)").verdict is Verdict.UNRESOLVED
        assert "C0250" in client.prompts[1].turns[-1].results[0].text


def test_plans_that_do_not_go_together_are_not_joined(shop: Path) -> None:
    (shop / "more.dl").write_text(
        '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n.include "vocabulary.dl"\n.once\n'
        '@[says = "{c} is a"]\n.decl a(c: CustomerId)\n'
        '@[says = "{c} is b"]\n.decl b(c: CustomerId)\n'
        '@[says = "{c} is both"]\n.decl both(c: CustomerId)\n'
        '@[says = "{c} is a and b"]\nboth(?c) :- a(?c), b(?c).\n'
    )
    config = shop / "constat.yaml"
    config.write_text(config.read_text().replace("  - drafts.dl", "  - drafts.dl\n  - more.dl"))

    class Either:
        def ask(self, prompt: Prompt) -> Reply:
            mine, other = ("a", "b") if "predicate a(" in prompt.turns[0].text else ("b", "a")
            return proposed(f"{mine}(?c)", f"{mine}(?c) :- customer(?c), !{other}(?c).")

    with Planned(configured(shop, "{predicates: [a, b]}"), Either()) as session:
        found = session.prove("both(C001)")
        assert found.verdict is Verdict.UNRESOLVED
        assert [one.code for one in session.warnings] == ["C0877"]
        assert len(session.drafts.list()) == 2


@pytest.mark.parametrize(("depth", "verdict"), [(1, "UNRESOLVED"), (2, "PROVED_UNDER")])
def test_a_plan_may_need_another_as_deep_as_is_allowed(
    shop: Path, depth: int, verdict: str
) -> None:
    (shop / "more.dl").write_text(
        '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n.include "vocabulary.dl"\n.once\n'
        '@[says = "{c} is a"]\n.decl a(c: CustomerId)\n'
        '@[says = "{c} is b"]\n.decl b(c: CustomerId)\n'
    )
    config = shop / "constat.yaml"
    config.write_text(config.read_text().replace("  - drafts.dl", "  - drafts.dl\n  - more.dl"))

    class Both:
        def ask(self, prompt: Prompt) -> Reply:
            if "predicate a(" in prompt.turns[0].text:
                return proposed("a(?c)", "a(?c) :- b(?c), customer(?c).")
            return proposed("b(?c)", "b(?c) :- blocked(?c).")

    project = configured(shop, f"{{predicates: [a, b], depth: {depth}}}")
    with Planned(project, Both()) as session:
        found = session.prove("a(C004)")
        assert found.verdict.value == verdict
        assert session.verify(found.certificate).accepted


def test_where_only_approved_rules_count_nothing_is_planned(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        with session.approved_only() as other:
            assert other.prove("is_strategic(C004)").verdict is Verdict.UNRESOLVED
        asked = Scripted(
            proposed(
                "close(C004)",
                ".decl close(c: CustomerId)\nclose(?c) :- is_strategic(?c), !blocked(?c).",
            )
        )
        found = session.ask("Is C004 close?", client=asked, require_approved=True)
        assert found.verdict is Verdict.UNRESOLVED
        assert client.prompts == []


def test_a_question_may_need_a_plan(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        asked = Scripted(proposed("is_strategic(C004)"))
        found = session.ask("Is C004 strategic?", client=asked)
        assert found.verdict is Verdict.PROVED_UNDER
        assert session.tasks == [Task.SUB_PLAN]
        assert session.verify(found.result.certificate).accepted


@pytest.mark.parametrize("name", ["is_vip", "customer", "no_such"])
def test_what_has_an_answer_cannot_be_planned(shop: Path, name: str) -> None:
    client = Scripted(PLAN)
    project = configured(shop, f"{{predicates: [{name}]}}")
    with Planned(project, client) as session, pytest.raises(ConstatError) as caught:
        session.prove("is_strategic(C004)")
    assert [one.code for one in caught.value.diagnostics] == ["C0876"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["auto", "forward", "reference"])
def test_a_query_has_planned_what_leaves_its_answers_open(shop: Path, engine: str) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        found = session.query("is_strategic(?c)", engine=engine)
        strategic = {row.values[0]: row.verdict for row in found.rows}
        assert strategic["C004"] is Verdict.PROVED_UNDER
        assert session.tasks == [Task.SUB_PLAN]
        # What the plan does not derive is as unknown as it was.
        assert found.settled is Settled.OPEN
        assert session.query("is_vip(?c)", engine=engine).settled is Settled.FOR_CERTAIN
        assert len(client.prompts) == 1


def test_a_query_that_is_settled_or_of_approved_rules_only_plans_nothing(shop: Path) -> None:
    client = Scripted(PLAN)
    with Planned(configured(shop, "{predicates: [contract_value]}"), client) as session:
        session.query("is_vip(?c)")
        with session.approved_only() as other:
            assert other.query("is_strategic(?c)").settled is Settled.OPEN
        assert client.prompts == []


def test_who_observes_a_query_hears_that_a_plan_is_awaited(shop: Path) -> None:
    with ModelServer(lambda _: PLANNED) as server:
        ask_server(configured(shop, "{predicates: [contract_value]}"), server)
        heard: list[Event] = []
        with mock.patch.dict(os.environ, ENVIRONMENT), Session(shop) as session:
            found = session.query("is_strategic(?c)", observe=heard.append)
            assert session.models.usage.calls == 1
            assert found.usage == session.models.usage
            # The plan is there now; a goal that needs another one has paid for that one.
            (plan,) = session.drafts.list()
            session.drafts.decide(plan.identity, Decision("rejected", "ada", "revenue is none"))
            proved = session.prove("is_strategic(C004)")
            assert proved.usage is not None
            assert proved.usage.calls == len(server.asked) - 1 > 0
    assert found.count(Verdict.PROVED_UNDER)
    names = [one.task for one in heard if isinstance(one, ModelAwaited | ModelReplied)]
    assert names == ["sub-plan", "sub-plan"]
