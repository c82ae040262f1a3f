"""`prove --keep` and `stale`: what is printed, and the exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import pytest

from constat.cli.schemas import json_schema
from tests.cli.running import Ran, run
from tests.tiers.kept import allow_age

if TYPE_CHECKING:
    from pathlib import Path


def stale(project: Path, *arguments: str | Path) -> Ran:
    return run("stale", *arguments, "--project", project)


def keep(project: Path, goal: str) -> Ran:
    return run("prove", goal, "--keep", "--project", project)


def test_keeping_says_under_which_name(shop: Path) -> None:
    ran = keep(shop, "is_vip(C001)")
    assert ran.code == 0
    name = ran.err.split()[-1]
    content = (shop / ".constat" / "certificates" / name).read_bytes()
    assert json.loads(content)["identity"] == f"sha256:{name.removesuffix('.json')}"
    assert run("verify", shop / ".constat" / "certificates" / name).code == 0


def test_a_proof_that_is_found_again_is_kept_once(shop: Path) -> None:
    for _ in range(2):
        keep(shop, "is_vip(C001)")
    assert len(list((shop / ".constat" / "certificates").iterdir())) == 1


def test_a_certificate_that_cannot_be_kept_does_not_hide_the_verdict(shop: Path) -> None:
    (shop / ".constat").write_text("in the way")
    ran = keep(shop, "controls(C001, C030)")
    assert ran.out.startswith("PROVED")
    assert "C0563" in ran.err
    assert ran.code == 2


def test_without_certificates_it_says_how_to_keep_one(shop: Path) -> None:
    ran = stale(shop)
    assert ran.code == 0
    assert "--keep" in ran.out


def test_current_stale_and_unknown_have_codes_of_their_own(shop: Path) -> None:
    keep(shop, "is_vip(C001)")
    keep(shop, "controls(C001, C030)")
    ran = stale(shop)
    assert (ran.code, ran.out) == (0, "2 looked at: 2 current, 0 stale, 0 cannot be told\n")
    file = shop / "constat.yaml"
    file.write_text(file.read_text().replace("vip_threshold: 100000", "vip_threshold: 1"))
    ran = stale(shop)
    assert ran.code == 1
    assert 'stale: is_vip("C001") (PROVED)' in ran.out
    assert "vip_threshold(100000) is not configured any more" in ran.out
    assert "controls" not in ran.out
    file.write_text(file.read_text().replace("vip_threshold: 1\n", "vip_threshold: 100000\n"))
    (shop / "data" / "shop.sqlite").rename(shop / "data" / "away")
    ran = stale(shop)
    assert ran.code == 4
    assert ran.out.count("cannot be told: ") == 2


def test_json_is_what_its_schema_says(shop: Path) -> None:
    keep(shop, "is_vip(C001)")
    broken = shop / "broken.json"
    broken.write_text('{"format": "constat-cert/1"}')
    ran = stale(shop, shop / ".constat" / "certificates", broken, "--format", "json")
    assert ran.code == 1
    jsonschema.Draft202012Validator(json_schema("stale")).validate(ran.json)
    assert [one["status"] for one in ran.json["conclusions"]] == ["current", "stale"]
    assert ran.json["conclusions"][1]["reasons"][0]["kind"] == "rejected"


@pytest.mark.parametrize("name", ["show", "stats", "clear"])
def test_json_of_the_cache_is_what_its_schema_says(shop: Path, name: str) -> None:
    allow_age(shop, "customer", "1h")
    run("prove", "customer(C001)", "--project", shop)
    ran = run("cache", name, "--format", "json", "--project", shop)
    jsonschema.Draft202012Validator(json_schema(f"cache-{name}")).validate(ran.json)
    assert "customer" in ran.out or ran.json["cleared"]


def test_a_file_that_is_not_there_is_bad_usage(shop: Path) -> None:
    ran = stale(shop, shop / "nothing.json")
    assert (ran.code, ran.out) == (2, "")
    assert "C0401" in ran.err


def test_a_hostile_file_is_rejected_and_quoted_safely(shop: Path) -> None:
    hostile = shop / "hostile.json"
    hostile.write_text('{"format": "\\u001b[2J"}')
    ran = stale(shop, hostile)
    assert ran.code == 1
    assert "\x1b" not in ran.out
