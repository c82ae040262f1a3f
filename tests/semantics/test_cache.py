"""Sentence 27 of the contract, and what 6 and 18 say about the cache: answers that are kept."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.check import check_certificate
from tests.tiers.building import database

if TYPE_CHECKING:
    from pathlib import Path

    from constat import Result

RULES = """.pragma "constat" "0.1"
.decl tier(c: symbol, t: symbol)
.input tier(source="shop", query="SELECT c, t FROM accounts"AGE)
.decl vip(c: symbol)
vip(?c) :- tier(?c, "gold").
.decl known(t: symbol)
known(?t) :- tier(_, ?t).
"""
SCRIPT = """
    CREATE TABLE accounts (c TEXT PRIMARY KEY, t TEXT);
    INSERT INTO accounts VALUES ('ann', 'gold'), ('bob', 'silver');
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    database(tmp_path / "shop.sqlite", SCRIPT)
    (tmp_path / "constat.yaml").write_text(
        "rules: [r.dl]\ndatabases: {shop: {uri: 'sqlite:///shop.sqlite'}}\n"
    )
    write_rules(tmp_path, "10m")
    return tmp_path


def write_rules(folder: Path, max_age: str) -> None:
    age = f', max_age="{max_age}"' if max_age else ""
    (folder / "r.dl").write_text(RULES.replace("AGE", age))


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def proved(folder: Path, goal: str) -> Result:
    """Prove in a session of its own, as another program would."""
    with Session(folder) as session:
        result = session.prove(goal)
    report = check_certificate(result.certificate)
    assert report.accepted, report.reason
    return result


def tiers(result: Result) -> set[str]:
    """Name how the leaves of a certificate were fetched."""
    return {source["tier"] for source in json.loads(result.certificate)["sources"]}


def origins(result: Result) -> set[str]:
    return {source["origin"] for source in json.loads(result.certificate)["sources"]}


def test_s27_without_max_age_an_answer_lives_for_one_evaluation_or_session(folder: Path) -> None:
    write_rules(folder, "")
    with Session(folder) as session:
        assert session.prove("vip(ann)").verdict.value == "PROVED"
        change(folder, "UPDATE accounts SET t = 'iron'")
        assert session.prove("vip(ann)").verdict.value == "DISPROVED"
    assert tiers(proved(folder, "vip(ann)")) == {"database"}
    assert not (folder / ".constat").exists()


def test_s27_with_max_age_an_answer_lives_across_processes(folder: Path) -> None:
    assert tiers(proved(folder, "vip(ann)")) == {"database"}
    change(folder, "UPDATE accounts SET t = 'iron'")
    again = proved(folder, "vip(ann)")
    assert (again.verdict.value, tiers(again)) == ("PROVED", {"cache"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('query="SELECT c, t FROM accounts"', 'query="SELECT c, t FROM accounts WHERE c <> 1"'),
        (".decl tier(c: symbol, t: symbol)", '@[key = "c"]\n.decl tier(c: symbol, t: symbol)'),
    ],
)
def test_s27_another_query_or_declaration_is_another_key(folder: Path, old: str, new: str) -> None:
    proved(folder, "vip(ann)")
    file = folder / "r.dl"
    file.write_text(file.read_text().replace(old, new))
    assert tiers(proved(folder, "vip(ann)")) == {"database"}


def test_s27_another_source_or_configuration_is_another_key(folder: Path) -> None:
    proved(folder, "vip(ann)")
    file = folder / "constat.yaml"
    before = file.read_text()
    file.write_text(before + "facts: {tier: [[zoe, gold]]}\n")
    assert tiers(proved(folder, "vip(ann)")) == {"database"}
    (folder / "shop.sqlite").rename(folder / "store.sqlite")
    file.write_text(before.replace("shop.sqlite", "store.sqlite"))
    assert tiers(proved(folder, "vip(ann)")) == {"database"}


def test_s27_a_wider_answer_serves_a_narrower_question_and_never_the_reverse(folder: Path) -> None:
    proved(folder, "vip(ann)")
    assert "database" in tiers(proved(folder, "known(silver)"))
    proved(folder, "tier(?c, ?t)")
    assert tiers(proved(folder, "tier(bob, silver)")) == {"cache"}
    assert tiers(proved(folder, "known(silver)")) == {"cache"}


def test_s27_an_empty_answer_is_kept_and_disproves(folder: Path) -> None:
    proved(folder, "vip(nobody)")
    again = proved(folder, "vip(nobody)")
    assert (again.verdict.value, tiers(again)) == ("DISPROVED", {"cache"})


def test_s27_unknown_is_never_cached(folder: Path) -> None:
    (folder / "shop.sqlite").rename(folder / "away")
    assert proved(folder, "vip(ann)").verdict.value == "UNRESOLVED"
    (folder / "away").rename(folder / "shop.sqlite")
    assert proved(folder, "vip(ann)").verdict.value == "PROVED"


def test_s27_stated_facts_are_united_and_never_hidden_by_a_cached_empty_answer(
    folder: Path,
) -> None:
    assert proved(folder, "vip(zoe)").verdict.value == "DISPROVED"
    with Session(folder) as session:
        session.facts.add("tier(zoe, gold)", author="alice")
    stated = proved(folder, "vip(zoe)")
    assert (stated.verdict.value, "USER_PROVIDED" in origins(stated)) == ("PROVED_UNDER", True)
    with Session(folder) as session:
        session.cache.clear()
        session.facts.retract("tier(zoe, gold)", by="alice")
    assert proved(folder, "vip(zoe)").verdict.value == "DISPROVED"


def test_s6_a_broken_cache_is_no_tier_that_is_fallen_through(folder: Path) -> None:
    proved(folder, "vip(ann)")
    (folder / ".constat" / "answers.sqlite").write_bytes(b"garbage" * 1_000)
    result = proved(folder, "vip(ann)")
    assert (result.verdict.value, result.assumptions) == ("PROVED", ())


def test_s6_a_cached_answer_is_as_complete_as_the_original(folder: Path) -> None:
    first = [proved(folder, goal).verdict for goal in ("vip(ann)", "vip(bob)", "vip(zoe)")]
    again = [proved(folder, goal) for goal in ("vip(ann)", "vip(bob)", "vip(zoe)")]
    assert [one.verdict for one in again] == first
    assert all(tiers(one) == {"cache"} for one in again)


def test_s18_the_cache_tells_how_it_was_fetched_and_never_replaces_the_origin(
    folder: Path,
) -> None:
    first, again = proved(folder, "vip(ann)"), proved(folder, "vip(ann)")
    assert (tiers(again), origins(again)) == ({"cache"}, origins(first))
    then, now = (json.loads(one.certificate) for one in (first, again))
    assert now["record"]["executed"] == then["record"]["executed"]
    for name in ("name", "query", "parameters", "rows", "hash", "snapshot"):
        assert [one[name] for one in now["sources"]] == [one[name] for one in then["sources"]]
