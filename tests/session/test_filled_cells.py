"""Null cells that a word fills (26e): written into certificates, checked, shown, read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.proof.rebuilding import rebuild
from constat.proof.report.checker_text import checker_source
from tests.cli.running import run
from tests.report.checker.second_checker import SecondChecker, node
from tests.session.test_unknown_values import shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAID = "user alice says orders(3, 5, 8, south)"
FILLED = ("late(3)", "sent(3)", "waiting(3)", "orders(3, 5, 6, south)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Session(shop(tmp_path)) as session:
        session.facts.add("orders(3, 5, 8, south)", author="alice")
    return tmp_path


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    if node() is None:
        pytest.skip("no Node.js: neither on the path nor here")
    process = SecondChecker(checker_source())
    yield process
    process.close()


def members_of(certificate: bytes) -> Any:  # noqa: ANN401  JSON
    return json.loads(certificate)


@pytest.mark.parametrize("goal", FILLED)
def test_the_certificate_names_the_cell_and_who_says_it(
    folder: Path, goal: str, second: SecondChecker
) -> None:
    with Session(folder) as session:
        result = session.prove(goal)
    # One assumption: whose word it is.
    assert [one.text for one in result.assumptions] == [SAID]
    members = members_of(result.certificate)
    (filling,) = members["filled"]
    group = members["facts"][filling["facts"]]
    assert group["rows"][filling["row"]] == ["3", "5", ["maybe", 0], "south"]
    assert (filling["column"], filling["value"]) == (2, "8")
    assert members["sources"][filling["source"]]["author"] == "alice"
    assert members["sources"][group["source"]]["origin"] == "DATABASE"
    assert members["open"] == []
    report = check_certificate(result.certificate)
    assert report.accepted, report.reason
    assert second.check(result.certificate)["accepted"]
    again = rebuild(result.certificate)
    assert again.same, (again.reason, again.members)


def test_each_word_is_accepted_by_itself(tmp_path: Path) -> None:
    folder = shop(tmp_path, region="unknown")
    with Session(folder) as session:
        session.facts.add("orders(2, 5, 3, north)", author="alice")
        session.facts.add("orders(4, 5, 9, south)", author="bob")
        # Who accepts alice's word has bob's row as its source gave it, and needs nothing of bob.
        result = session.prove("beside(1, 2)")
        both = session.prove("beside(2, 4)")
        rows = session.prove("many(5)")
    assert result.verdict is Verdict.PROVED_UNDER
    assert [one.text for one in result.assumptions] == ["user alice says orders(2, 5, 3, north)"]
    assert len(members_of(result.certificate)["filled"]) == 1
    assert both.verdict is Verdict.DISPROVED_UNDER
    assert {one.text[:9] for one in both.assumptions} == {"user alic", "user bob "}
    assert len(members_of(both.certificate)["filled"]) == 2
    assert (rows.verdict, members_of(rows.certificate)["filled"]) == (Verdict.PROVED, [])


def test_verify_reads_the_word_again(folder: Path) -> None:
    certificate = folder / "late.json"
    assert run("prove", "late(3)", "--project", folder, "--certificate", certificate).code == 3
    assert run("verify", certificate).code == 3
    found = run("verify", certificate, "--source", "--project", folder)
    assert (found.code, "0 changed" in found.out) == (3, True), found.out
    fact = "orders(3, 5, 8, south)"
    assert run("facts", "retract", fact, "--by", "alice", "--project", folder).code == 0
    found = run("verify", certificate, "--source", "--project", folder)
    assert found.code == 1
    assert "gone: orders(3, 5, 8, south)" in found.out


@pytest.mark.parametrize("form", ["html", "prov-json", "csv", "markdown"])
@pytest.mark.parametrize("goal", ["many(5)", "regions(2)", "orders(4, _, _, _)"])
def test_exports_list_rows_with_null_cells(tmp_path: Path, goal: str, form: str) -> None:
    folder = shop(tmp_path, region="unknown")
    certificate, out = folder / "goal.json", folder / f"out.{form}"
    run("prove", goal, "--project", folder, "--certificate", certificate)
    found = run("export", certificate, "--to", form, "--output", out)
    assert found.code == 0, found.err
    assert "unknown" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["html", "prov-json", "csv", "markdown"])
def test_exports_say_who_filled_the_cell(folder: Path, form: str) -> None:
    certificate, out = folder / "late.json", folder / f"out.{form}"
    run("prove", "late(3)", "--project", folder, "--certificate", certificate)
    found = run("export", certificate, "--to", form, "--output", out)
    assert found.code == 0, found.err
    text = out.read_text(encoding="utf-8")
    assert SAID in text
    assert "shop" in text
