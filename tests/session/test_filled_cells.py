"""Null cells that a word fills (26e): written into certificates, checked, shown, read again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.proof.rebuilding import rebuild
from constat.proof.report.markup import checker_source
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


# A row with two null cells, and people who say one each.


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    folder = shop(tmp_path)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.execute("INSERT INTO o VALUES (8, 5, NULL, NULL)")
    return folder


BOTH = "late(8), in_region(8, north)"
SHIPPED, REGION = "orders(id = 8, shipped = 9)", "orders(id = 8, region = north)"


def test_words_for_cells_of_one_row_are_accepted_one_by_one(
    bare: Path, second: SecondChecker
) -> None:
    with Session(bare) as session:
        session.facts.add(SHIPPED, author="alice")
        assert session.prove("late(8)").verdict is Verdict.PROVED_UNDER
        assert session.prove("in_region(8, north)").verdict is Verdict.UNRESOLVED
        session.facts.add(REGION, author="bob")
        for goal, needed in (
            ("late(8)", [SHIPPED]),
            ("in_region(8, north)", [REGION]),
            ("in_region(8, south)", [REGION]),
            (BOTH, [SHIPPED, REGION]),
        ):
            result = session.prove(goal)
            texts = [one.text for one in result.assumptions]
            assert [text.partition(" says ")[2] for text in texts] == needed
            assert len(members_of(result.certificate)["filled"]) == len(needed)
            assert check_certificate(result.certificate).accepted, goal
            assert second.check(result.certificate)["accepted"], goal
            again = rebuild(result.certificate)
            assert again.same, (goal, again.reason, again.members)
        # Who says all that others say is enough.
        session.facts.add("orders(8, 5, 9, north)", author="carol")
        assert len(session.prove(BOTH).assumptions) == 1
        # Who contradicts another makes all of their words count for nothing.
        session.facts.add("orders(id = 8, region = south)", author="dan")
        result = session.prove("late(8)")
        assert (result.verdict, len(result.conflicts)) == (Verdict.UNRESOLVED, 1)


def test_verify_reads_each_word_of_a_row_again(bare: Path) -> None:
    both, one = bare / "both.json", bare / "one.json"
    for fact, name in ((SHIPPED, "alice"), (REGION, "bob")):
        assert run("facts", "add", fact, "--by", name, "--project", bare).code == 0
    assert run("prove", BOTH, "--project", bare, "--certificate", both).code == 3
    assert run("prove", "late(8)", "--project", bare, "--certificate", one).code == 3
    for certificate in (both, one):
        found = run("verify", certificate, "--source", "--project", bare)
        assert (found.code, "0 changed" in found.out) == (3, True), found.out
    assert run("facts", "retract", REGION, "--by", "bob", "--project", bare).code == 0
    assert run("verify", one, "--source", "--project", bare).code == 3
    found = run("verify", both, "--source", "--project", bare)
    assert found.code == 1
    assert "gone: orders(8, 5, 9, north)" in found.out


def test_what_is_stated_without_a_row_to_fill_is_a_row_only_where_cells_may_be_missing(
    tmp_path: Path,
) -> None:
    with Session(shop(tmp_path, shipped="unknown")) as session:
        session.facts.add("orders(id = 9, due = 5, region = north)", author="alice")
        session.facts.add("orders(id = 10, due = 5, shipped = 6)", author="alice")
        goals = ("orders(9, _, _, _)", "orders(10, _, _, _)", "late(10)", "in_region(10, north)")
        results = [session.prove(goal) for goal in goals]
    assert [one.verdict for one in results] == [
        Verdict.UNRESOLVED,
        Verdict.PROVED_UNDER,
        Verdict.PROVED_UNDER,
        Verdict.UNRESOLVED,
    ]
    assert all(check_certificate(one.certificate).accepted for one in results)
    reason = "who states it leaves its shipped out, and no source has a row that it agrees with"
    assert [gap.reason for gap in results[0].tree.gaps] == [reason]


def test_columns_are_left_out_only_beside_the_key(bare: Path) -> None:
    listed = run("facts", "add", SHIPPED, "--by", "alice", "--project", bare)
    assert listed.out == f"added: {SHIPPED}, stated by alice\n"
    assert f"{SHIPPED}, stated by alice" in run("facts", "list", "--project", bare).out
    refused = run("facts", "add", "orders(due = 5)", "--by", "alice", "--project", bare)
    assert (refused.code, "C0188" in refused.err) == (2, True)
    assert "columns are left out only where the key of the row is given: `id`" in refused.err
    taken = run("facts", "retract", SHIPPED, "--by", "alice", "--project", bare)
    assert taken.out == f"retracted: {SHIPPED}, stated by alice\n"


@pytest.mark.parametrize("fact", [SHIPPED, "orders(id = 9, due = 5)", "orders(id = 8, due = 6)"])
def test_supposing_cells_gives_what_stating_them_gives(bare: Path, fact: str) -> None:
    goals = ("late(8)", BOTH, "orders(9, _, _, _)", "many(6)")
    with Session(bare) as session:
        supposed = [session.what_if(goal, add=[fact]).after for goal in goals]
        session.facts.add(fact, author="alice")
        stated = [session.prove(goal) for goal in goals]
    assert [one.verdict for one in supposed] == [one.verdict for one in stated]
    assert all(check_certificate(one.certificate).accepted for one in supposed)


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
