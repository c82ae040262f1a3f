"""Every JSON result fits the schema that is printed for it, and so does every failure."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click
import jsonschema
import pytest

from constat.cli.entry import cli
from constat.cli.help import schema_names
from tests.cli.running import Ran, run
from tests.cli.test_help import Example, Workplace, every_command, examples, workplace
from tests.session.querying import make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.sampled(2)

__all__ = ["workplace"]

VERDICTS = {
    "PROVED": "is_vip(C001)",
    "PROVED_UNDER": "may_leave(C005)",
    "UNRESOLVED": "is_strategic(C009)",
    "DISPROVED": "is_vip(C002)",
    "DISPROVED_UNDER": "gets_partner_price(C003)",
}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = run("schema", *name.split("-")).json
    return found


def check(value: object, name: str) -> None:
    told = schema(name)
    jsonschema.Draft202012Validator(told).validate(value)


def json_commands() -> Iterator[tuple[str, ...]]:
    """Yield the commands with `--format json`."""
    for words, command in every_command():
        for option in command.params:
            if (
                isinstance(option, click.Option)
                and "--format" in option.opts
                and isinstance(option.type, click.Choice)
                and "json" in option.type.choices
            ):
                yield words


def test_every_command_that_prints_json_has_a_schema() -> None:
    found = list(json_commands())
    assert ("query",) in found
    assert [words for words in found if "-".join(words) not in schema_names()] == []


def test_every_schema_is_of_a_command_or_of_failures() -> None:
    commands = ["-".join(words) for words in json_commands()]
    for name in schema_names():
        assert name in {"constat.yaml", "error"} or any(
            name == command or name.startswith(f"{command}-") for command in commands
        ), name


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_one_and_says_what_it_describes(name: str) -> None:
    told = schema(name)
    jsonschema.Draft202012Validator.check_schema(told)
    assert told["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert told["title"]
    assert told["description"]


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_refuses_what_it_does_not_describe(name: str) -> None:
    validator = jsonschema.Draft202012Validator(schema(name))
    for wrong in ({"no-such-member": 1}, "text", [{"no-such-member": 1}], 7):
        assert not validator.is_valid(wrong), wrong


def test_an_unknown_schema_names_the_nearest() -> None:
    ran = run("schema", "proove")
    assert (ran.code, ran.out) == (2, "")
    assert "constat schema prove" in ran.err


def json_examples() -> list[Example]:
    return [one for one in examples() if "--format json" in one.line]


def test_every_command_with_json_shows_it_in_an_example() -> None:
    shown = [tuple(shlex.split(one.line)) for one in json_examples()]
    for words in json_commands():
        assert any(line[1 : len(words) + 1] == words for line in shown), words


@pytest.mark.sampled(10, "examples")
@pytest.mark.parametrize("example", json_examples(), ids=lambda one: one.line)
def test_the_json_of_the_examples_fits_its_schema(workplace: Workplace, example: Example) -> None:
    ran = workplace.run(example)
    name = "-".join(example.words)
    if "--engine pydatalog" in example.line:
        name += "-engine"
    if "--profile" in example.line:
        name += "-profile"
    assert ran.out, ran.err
    assert ran.code == (example.code or 0), ran.err
    check(ran.json, name)


@pytest.mark.parametrize(("verdict", "goal"), list(VERDICTS.items()))
def test_every_verdict_fits_the_schemas(
    still_shop: Path, tmp_path: Path, verdict: str, goal: str
) -> None:
    file = tmp_path / "certificate.json"
    project = ("--project", still_shop)
    best = ("--minimal", "confidence")
    proved = run("prove", goal, *project, "--format", "json", "--certificate", file, *best)
    assert proved.json["verdict"] == verdict
    check(proved.json, "prove")
    verified = run("verify", file, "--format", "json")
    assert verified.json["verdict"] == verdict
    check(verified.json, "verify")
    reread = run("verify", file, "--format", "json", "--source", *project)
    assert reread.json["leaves_reread"]
    later = {"leaves", "drift", "leaves_reread", "rules_changed"}
    assert later <= reread.json.keys()
    assert not later & verified.json.keys()
    check(reread.json, "verify")
    found = run("query", goal, *project, "--format", "json", "--confidence")
    check(found.json, "query")


def test_rejected_certificates_fit_the_schema(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text("{}")
    for more in ((), ("--source", "--project", still_shop)):
        ran = run("verify", file, "--format", "json", *more)
        assert ran.code == 1
        check(ran.json, "verify")


def test_stated_facts_fit_the_schemas(shop: Path) -> None:
    by = ("--by", "alice", "--format", "json", "--project", shop)
    check(run("facts", "list", "--format", "json", "--project", shop).json, "facts-list")
    check(run("facts", "add", "customer_tier(C009, gold)", *by).json, "facts-add")
    check(run("facts", "list", "--format", "json", "--project", shop).json, "facts-list")
    check(run("facts", "retract", "customer_tier(C009, gold)", *by).json, "facts-retract")
    told = run("facts", "list", "--history", "--format", "json", "--project", shop).json
    check(told, "facts-list")
    assert told[0]["retracted_by"] == "alice"


def test_mistakes_in_rules_fit_the_schema(tmp_path: Path) -> None:
    file = tmp_path / "wrong.dl"
    file.write_text("p(1) :- q(x).\n.functor f(x: number): number\n")
    ran = run("rules", "check", file, "--format", "json")
    assert ran.json["errors"]
    check(ran.json, "rules-check")


@pytest.mark.parametrize(
    "goal",
    [
        "is_regular(?c)",
        "is_strategic(?c)",
        "may_leave(?c)",
        "gets_partner_price(?c)",
        "customer_revenue(?c, ?r), ?r > 150000",
        "is_vip(C002)",
    ],
)
def test_every_kind_of_answers_fits_the_schema(still_shop: Path, goal: str) -> None:
    told = run("query", goal, "--format", "json", "--project", still_shop).json
    check(told, "query")
    rows = run("query", goal, "--format", "jsonl", "--project", still_shop)
    form = {**schema("query"), "$ref": "#/$defs/query-row"}
    for key in ("type", "required", "properties", "additionalProperties"):
        del form[key]
    for line in rows.out.splitlines():
        jsonschema.Draft202012Validator(form).validate(json.loads(line))


def test_values_of_every_kind_fit_the_schema(tmp_path: Path) -> None:
    project = make_project(tmp_path / "things")
    goal = "thing(?name, ?n, ?u, ?f, ?d, ?day, ?at, ?ok)"
    check(run("query", goal, "--format", "json", "--project", project).json, "query")


def failures(still_shop: Path) -> list[Ran]:
    nowhere = still_shop / "nowhere"
    form = ("--format", "json")
    return [
        run("prove", "is_vip(C001", *form, "--project", still_shop),
        run("prove", "is_vop(C001)", *form, "--project", still_shop),
        run("prove", "is_vip(C001)", "--format=json", "--project", nowhere),
        run("query", "?x < 3", *form, "--project", still_shop),
        run("query", "is_vip(?c)", "--format", "jsonl", "--order", "x", "--project", still_shop),
        run("verify", nowhere, *form),
        run("explain", "C9999", *form),
        run("facts", "add", "is_vip(C001)", "--by", "x", *form, "--project", still_shop),
        run(
            "facts", "retract", "customer_tier(C9, x)", "--by", "x", *form, "--project", still_shop
        ),
        run("prove", *form),
        run("prove", "x", "y", *form),
        run("prove", "is_vip(C001)", *form, "--no-such-option"),
        run("no-such-command", *form),
    ]


def test_failures_are_one_object_on_stderr(still_shop: Path) -> None:
    for ran in failures(still_shop):
        assert (ran.code, ran.out) == (2, "")
        told = json.loads(ran.err)
        check(told, "error")
        assert told["exit_code"] == 2
        assert told["error"]


def test_an_internal_error_is_json_too(still_shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("constat.session.session.decide", broken)
    monkeypatch.delenv("CONSTAT_DEBUG", raising=False)
    ran = run("prove", "is_vip(C001)", "--format", "json", "--project", still_shop)
    assert (ran.code, ran.out) == (70, "")
    check(json.loads(ran.err), "error")
    assert "secret" not in ran.err


def test_an_interruption_is_json_too(still_shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("constat.session.session.decide", interrupted)
    ran = run("prove", "is_vip(C001)", "--format", "json", "--project", still_shop)
    assert json.loads(ran.err) == {"error": "interrupted", "exit_code": 130, "diagnostics": []}


def test_without_json_failures_are_for_people(still_shop: Path) -> None:
    ran = run("prove", "--project", still_shop, "--", "is_vip(C001", "--format", "json")
    assert ran.code == 2
    assert not ran.err.startswith("{")
    assert isinstance(cli, click.Group)
