"""What a question costs is bounded before each call, and told with each result and each failure."""

from __future__ import annotations

import json
import os
import shutil
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from unittest import mock

import jsonschema
import pytest
import yaml

from constat.evaluation import Verdict
from constat.session import Session
from tests.authoring.live import ANSWERS, ENVIRONMENT, ask_server
from tests.authoring.test_sub_plans import PLANNED, configured
from tests.cli.running import run
from tests.loopback.server import ModelServer, Written
from tests.loopback.written import written_answers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback.server import Answer, Asked

CLOSED = "Does customer C001 have an account that was closed?"


@pytest.fixture(autouse=True)
def key() -> Iterator[None]:
    with mock.patch.dict(os.environ, ENVIRONMENT):
        yield


def bounded(shop: Path, server: ModelServer, **budget: object) -> Path:
    """Let the project ask the server, within a budget for each question."""
    path = ask_server(shop, server) / "constat.yaml"
    config = yaml.safe_load(path.read_text("utf-8"))
    config["models"]["budget"] = {"question": budget}
    path.write_text(yaml.safe_dump(config), "utf-8")
    return shop


def check(value: object, name: str) -> None:
    jsonschema.Draft202012Validator(run("schema", name).json).validate(value)


def cost(server: ModelServer, told: dict[str, Any]) -> Decimal:
    """Work out by hand what the provider asks for: three a million read, fifteen written."""
    read = sum(one.tokens for one in server.asked)
    assert told["read"] == read
    return (3 * Decimal(read) + 15 * Decimal(told["written"])) / 1_000_000


def test_a_result_tells_what_all_of_the_question_has_cost(shop: Path) -> None:
    with ModelServer(written_answers(ANSWERS)) as server:
        told = run("ask", CLOSED, "--project", ask_server(shop, server), "--format", "json").json
    check(told, "ask")
    usage = told["usage"]
    assert usage["calls"] == len(server.asked) > 1
    assert Decimal(usage["cost"]) == cost(server, usage) > 0
    assert usage["currency"] == "USD"


def test_a_plan_for_the_question_is_part_of_its_price(shop: Path) -> None:
    def answer(asked: Asked) -> Answer:
        if "Nothing answers the predicate" in asked.question:
            return PLANNED
        return Written(calls=(("propose", {"goal": "is_strategic(C004)", "rules": ""}),))

    with ModelServer(answer) as server:
        project = configured(ask_server(shop, server), "{predicates: [contract_value]}")
        with Session(project) as session:
            found = session.ask("Is C004 strategic?")
    assert found.verdict is Verdict.PROVED_UNDER
    assert found.usage.calls == len(server.asked) == 2
    assert found.usage.cost > 0


def test_a_question_that_fails_tells_what_it_has_cost(shop: Path) -> None:
    wrong = Written(calls=(("propose", {"goal": "no_such(C001)", "rules": ""}),))
    with ModelServer(lambda _: wrong) as server:
        project = ask_server(shop, server)
        ran = run("ask", "Is it so?", "--project", project)
        assert (ran.code, "C0867" in ran.err) == (2, True)
        asked = len(server.asked)
        assert f"models: {asked} calls" in ran.err
        assert " USD" in ran.err
        told = json.loads(run("ask", "Is it?", "--project", project, "--format", "json").err)
    check(told, "error")
    assert told["models"]["calls"] == len(server.asked) - asked > 0
    assert Decimal(told["models"]["cost"]) > 0


@pytest.mark.parametrize("budget", [{"tokens": 500}, {"money": "0.001"}], ids=str)
def test_what_might_exceed_the_budget_of_a_question_is_not_asked(
    shop: Path, budget: dict[str, object]
) -> None:
    with ModelServer(written_answers(ANSWERS)) as server:
        ran = run("ask", CLOSED, "--project", bounded(shop, server, **budget), "--format", "json")
    assert ran.code == 2
    (told,) = json.loads(ran.err)["diagnostics"]
    assert told["code"] == "C0823"
    assert server.asked == []


@pytest.mark.slow
def test_a_budget_ends_a_question_between_its_calls_and_keeps_what_was_paid(shop: Path) -> None:
    with ModelServer(written_answers(ANSWERS)) as server:
        assert run("ask", CLOSED, "--project", ask_server(shop, server)).code == 6
        whole = [one.body for one in server.asked]
        enough_for_one = server.asked[0].tokens + whole[0]["max_tokens"]
        server.asked.clear()
        shutil.rmtree(shop / ".constat")
        ran = run("ask", CLOSED, "--project", bounded(shop, server, tokens=enough_for_one))
        assert (ran.code, "C0823" in ran.err) == (2, True)
        assert [one.body for one in server.asked] == whole[:1]
        again = run("ask", CLOSED, "--project", bounded(shop, server, tokens=200_000))
    assert again.code == 6
    assert [one.body for one in server.asked] == whole


def test_facts_that_are_told_have_their_price_in_the_result(shop: Path) -> None:
    said = {"facts": [{"goal": 'contract_value("C009", 250000)', "quote": "C009 pays 250000"}]}
    with ModelServer(lambda asked: Written(calls=((asked.tools[0], said),))) as server:
        project = ask_server(shop, server)
        tell = ("facts", "tell", "C009 pays 250000 a year.", "--by", "eve", "--yes")
        ran = run(*tell, "--project", project, "--format", "json")
    told = ran.json if ran.out else json.loads(ran.err)
    check(told, "facts tell" if ran.out else "error")
    assert told["models"]["calls"] == len(server.asked) > 0
