"""`prove --all`, `prove --top-k`, `prove --minimal` and `diff`, as they are typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from constat import Session
from constat.check import check_certificate
from constat.session.options import LogAs
from tests.cli.running import Ran, run
from tests.examples.fixtures import shop, shop_database, still_shop

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["shop", "shop_database", "still_shop"]

TWICE = "is_vip(C500)"
"""By a gold account, and by revenue."""


def prove(folder: Path, *more: str | Path) -> Ran:
    return run("prove", *more, "--project", folder)


def fits(value: object, *words: str) -> None:
    jsonschema.Draft202012Validator(run("schema", *words).json).validate(value)


def test_all_proofs_are_numbered_and_counted(still_shop: Path) -> None:
    ran = prove(still_shop, TWICE, "--all", "--depth", "0")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"PROVED: {TWICE}"
    assert "\nproof 1: 2 facts, height 1, tree of 2\n" in ran.out
    assert "\nproof 2: 13 facts, height 2, tree of 13\n" in ran.out
    assert ran.out.endswith("\n2 proofs; there are no others\n")
    assert prove(still_shop, TWICE, "--all", "--quiet").out == f"PROVED: {TWICE}\n"


def test_a_number_of_proofs_says_that_there_may_be_others(still_shop: Path) -> None:
    ran = prove(still_shop, TWICE, "--top-k", "1", "--depth", "0")
    assert ran.out.endswith("\nat least 1 proof; there may be others\n")
    ran = prove(still_shop, TWICE, "--all", "--budget", "0", "--depth", "0")
    assert "there may be others: the time was up" in ran.out
    assert prove(still_shop, TWICE, "--top-k", "0").code == 2


def test_the_proofs_as_json_fit_their_schema(still_shop: Path) -> None:
    told = prove(still_shop, TWICE, "--all", "--format", "json").json
    fits(told, "prove-all")
    assert (told["count"], told["complete"], len(told["proofs"])) == (2, True, 2)
    assert [shape["height"] for shape in told["shapes"]] == [1, 2]
    for goal, code in (("is_vip(C002)", 5), ("is_strategic(C009)", 4), ("may_leave(C005)", 3)):
        ran = prove(still_shop, goal, "--all", "--format", "json")
        assert ran.code == code
        fits(ran.json, "prove-all")
        assert ran.json["count"] == (code == 3)
    open_goal = prove(still_shop, "is_vip(?c)", "--top-k", "2", "--format", "json").json
    fits(open_goal, "prove-all")
    assert open_goal["goal"] == "is_vip(?c)"
    assert all(one["goal"].startswith("is_vip(C") for one in open_goal["proofs"])


def test_each_of_several_proofs_is_printed_as_one_is() -> None:
    one, several = run("schema", "prove").json, run("schema", "prove-all").json
    assert several["properties"]["proofs"]["items"] == {"$ref": "#/$defs/prove-result"}
    result = several["$defs"]["prove-result"]
    assert (result["properties"], result["required"]) == (one["properties"], one["required"])
    assert {name: several["$defs"][name] for name in one["$defs"]} == one["$defs"]


def test_each_proof_has_a_certificate_of_its_own(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c500.json"
    ran = prove(shop, TWICE, "--all", "--certificate", file, "--keep", "--depth", "0")
    other = tmp_path / "c500.2.json"
    assert f"certificate of proof 2 written to {other}" in ran.err
    for one in (file, other):
        report = check_certificate(one.read_bytes())
        assert (report.accepted, report.verdict) == (True, "PROVED")
    assert file.read_bytes() != other.read_bytes()
    assert len(list(shop.rglob("certificates/*.json"))) == 2


@pytest.mark.parametrize("ranking", ["confidence", "height", "size"])
def test_one_proof_is_chosen_by_what_is_minimal(still_shop: Path, ranking: str) -> None:
    ran = prove(still_shop, TWICE, "--minimal", ranking, "--format", "json")
    assert ran.json["verdict"] == "PROVED"
    if ranking != "confidence":
        assert len(ran.json["proof"]["steps"]) == 3
    if ranking == "height":
        lowest = prove(still_shop, TWICE, "--lowest", "--format", "json")
        assert lowest.json["proof"]["steps"][0]["rule"] == ran.json["proof"]["steps"][0]["rule"]


def test_each_proof_is_written_into_the_log_before_it_is_given(shop: Path) -> None:
    with Session(shop) as session:
        numbers = [one.logged for one in session.proofs(TWICE, log=LogAs(by="alice"))]
        assert numbers == [1, 2]
        assert [session.decisions.find(str(one)).entry.sequence for one in numbers] == [1, 2]


def test_proofs_are_ranked_by_what_there_is(still_shop: Path) -> None:
    with Session(still_shop) as session, pytest.raises(ValueError, match="ranked by one of"):
        session.proofs(TWICE, ranking="beauty")


def test_differences_are_told_with_their_reasons(shop: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    prove(shop, "is_vip(C001)", "--certificate", before)
    configuration = shop / "constat.yaml"
    text = configuration.read_text()
    configuration.write_text(text.replace("vip_threshold: 100000", "vip_threshold: 180000"))
    prove(shop, "is_vip(C001)", "--certificate", after)
    told = (
        "is_vip(C001)\n"
        "what changed:\n"
        "  1. data: vip_threshold(100000)\n"
        "       now vip_threshold(180000)\n"
        "what follows:\n"
        "  2. verdict: PROVED, confidence 1, now DISPROVED, confidence 1 (because of 1)\n"
    )
    for ran in (
        run("diff", before, after, "--project", shop),
        run("diff", before, "--project", shop),
    ):
        assert (ran.code, ran.out) == (7, told)
    # Two certificates need no project.
    assert run("diff", before, after).out == told
    same = run("diff", after, "--project", shop)
    assert (same.code, same.out) == (0, "is_vip(C001)\nno difference\n")
    found = run("diff", before, after, "--format", "json").json
    fits(found, "diff")
    assert found["changes"][1]["because"] == [1]


def test_what_cannot_be_compared_is_said(still_shop: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    prove(still_shop, "is_vip(C001)", "--certificate", one)
    prove(still_shop, "is_vip(C002)", "--certificate", other)
    ran = run("diff", one, other)
    assert ran.code == 7
    assert "not aligned:" in ran.out
    assert "before: is_vip(C001) (the goals differ)" in ran.out
    document = json.loads(one.read_bytes())
    document["header"]["goal"] = ["is_vop", ["C001"]]
    one.write_text(json.dumps(document))
    assert run("diff", one, other).code == 1


def test_a_goal_that_the_project_does_not_have_is_not_proved_again(
    still_shop: Path, tmp_path: Path
) -> None:
    file, folder = tmp_path / "c.json", tmp_path / "empty"
    prove(still_shop, "is_vip(C001)", "--certificate", file)
    folder.mkdir()
    (folder / "constat.yaml").write_text("project: empty\n")
    ran = run("diff", file, "--project", folder)
    assert ran.code == 2
    assert "C0721" in ran.err
