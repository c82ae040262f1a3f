"""Forty exploratory questions, answered by written plans, held against independent SQL."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.explore.relations import Settlement
from tests.explore import score
from tests.explore.asking import DAYS, plain, questions
from tests.explore.planned import Scripted, call
from tests.explore.worlds import make_example, oracle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def sessions(
    still_regions: Path, small_shop: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Session]]:
    found = {"regions": Session(still_regions), "shop": Session(small_shop)}
    folder = tmp_path_factory.mktemp("repositories")
    for world in ("access", "ownership"):
        found[world] = Session(make_example(world, folder / world))
    yield found
    for one in found.values():
        one.close()


@pytest.fixture(scope="module")
def raw(sessions: dict[str, Session]) -> dict[str, Any]:
    files = {
        "regions": "sales.sqlite",
        "shop": "data/shop.sqlite",
        "access": "data/directory.sqlite",
        "ownership": "data/register.sqlite",
    }
    return {name: oracle(one.project.folder / files[name]) for name, one in sessions.items()}


def test_there_are_forty_questions_and_five_at_least_of_each_database() -> None:
    listed = [one["question"] for world in DAYS for one in questions(world)]
    assert len(set(listed)) == len(listed) >= 40
    assert all(len(questions(world)) >= 5 for world in DAYS)


@pytest.mark.sampled(4, "laws")
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("world", "asked"),
    [(world, one) for world in DAYS for one in questions(world)],
    ids=lambda one: one if isinstance(one, str) else one["question"][:60],
)
def test_an_answer_is_that_of_independent_sql(
    sessions: dict[str, Session], raw: dict[str, Any], world: str, asked: dict[str, Any]
) -> None:
    written = call("propose_plan", steps=asked["steps"], answer=asked["answer"])
    client = Scripted.of(written, "The result is in the table.")
    explored = sessions[world].solve(asked["question"], client=client, today=DAYS[world])
    expected = raw[world].execute(asked["sql"]).fetchall()
    assert plain(explored.rows) == plain(expected)
    assert len(expected) > 0 or asked.get("open") or asked.get("nothing")
    # Whatever a model has planned rests on its plan.
    wanted = Settlement.OPEN if asked.get("open") else Settlement.UNDER
    assert explored.settlement is wanted
    # So does its proof, which the independent checker follows.
    report = check_certificate(explored.certificate)
    assert (report.accepted, report.reason) == (True, None)
    verdict = Verdict.UNRESOLVED if asked.get("open") else Verdict.PROVED_UNDER
    assert (explored.proof.verdict, report.goal) == (
        verdict,
        f"explored_answer({len(explored.rows)})",
    )


@pytest.mark.slow
def test_the_score_of_written_plans_is_about_the_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert score.main(["--only", "regions"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["regions"]["right"] == report["regions"]["questions"] == 16
    assert "not a model" in report["answers"]


def test_without_a_provider_there_are_no_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert (
        score.main(["--provider", "anthropic", "--model", "some-model", "--only", "regions"]) == 1
    )
    report = json.loads(capsys.readouterr().out)
    assert report.keys() == {"provider", "model", "answered", "reason"}
    assert not report["answered"]


def test_an_answer_covers_what_was_asked_in_any_order_of_columns() -> None:
    wanted = [("a", Decimal(1)), ("b", Decimal(2))]
    assert score.covers([(2, "b", 2), (1, "a", 1)], wanted)
    assert not score.covers([(1, "b", 2), (2, "a", 2)], wanted)
    assert not score.covers([("a", 1)], wanted)
    assert score.covers([], [])
