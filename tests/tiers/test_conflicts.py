"""Different values for one key: what counts, and that it is told (semantics 6 and 40)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tiers.building import Setting, assumptions, declare, open_rows, rows, setting

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "SELECT c, t FROM accounts"
C1 = ("C001",)
SOURCES = """
CREATE TABLE accounts (c, t);
INSERT INTO accounts VALUES ('C001', 'silver'), ('C002', 'gold');
"""
# A tier before the database whose word is only assumed.
TOLD = "{name}:\n    factory: tests.tiers.sample_tiers:Sample\n    after: {after}\n"
TOLD += "    options: {{rows: C001/gold}}\n"
BEFORE = "tiers:\n  " + TOLD.format(name="crm", after="config")
BEHIND = "tiers:\n  " + TOLD.format(name="crm", after="database")


def place(tmp_path: Path, config: str, script: str = SOURCES) -> Setting:
    return setting(
        tmp_path,
        declare("tier(c: symbol, t: symbol)", QUERY, key="c"),
        config=config,
        script=script,
    )


@pytest.mark.parametrize("policy", ["source", "user"])
def test_what_a_person_states_never_weakens_what_a_source_says(tmp_path: Path, policy: str) -> None:
    found = place(tmp_path, f"conflicts: {policy}")
    before = found.ask("tier", (0,), C1)
    found.store.add("tier", ("C001", "gold"), "alice")
    answer = found.ask("tier", (0,), C1)
    assert (answer.portions, answer.openings) == (before.portions, before.openings)
    assert answer.answered == {C1}
    [told] = answer.conflicts
    assert told.predicate == "tier"
    assert told.text == (
        "database sales says tier(C001, silver), user alice says tier(C001, gold): the first counts"
    )


def test_a_conflict_is_told_however_it_is_come_upon_and_however_often(tmp_path: Path) -> None:
    found = place(tmp_path, "facts: {tier: [[C001, gold]]}")
    for columns, key in (((0,), C1), ((), ()), ((1,), ("gold",)), ((0,), C1), ((), ())):
        assert len(found.ask("tier", columns, key).conflicts) == 1, columns
    assert found.ask("tier", (0,), ("C002",)).conflicts == ()


def test_who_agrees_is_in_no_conflict(tmp_path: Path) -> None:
    found = place(tmp_path, "facts: {tier: [[C001, silver]]}")
    found.store.add("tier", ("C001", "silver"), "alice")
    assert found.ask("tier", (0,), C1).conflicts == ()


def test_unresolved_opens_the_key_in_both_readings(tmp_path: Path) -> None:
    found = place(tmp_path, "conflicts: unresolved")
    found.store.add("tier", ("C001", "gold"), "alice")
    answer = found.ask("tier", (0,), C1, ("C002",))
    assert rows(answer) == {("C002", "gold")}
    assert open_rows(answer) == {("C001", "gold"), ("C001", "silver")}
    assert {one.assumption for one in answer.openings} == {None}
    assert answer.conflicts[0].text.endswith(": neither counts")


def test_an_assumed_value_of_a_higher_tier_gives_way_to_a_plain_one(tmp_path: Path) -> None:
    answer = place(tmp_path, BEFORE).ask("tier", (0,), C1)
    assert rows(answer, assumed=False) == {("C001", "silver")}
    assert rows(answer, assumed=True) == set()
    assert open_rows(answer) == set()
    [told] = answer.conflicts
    assert told.text == (
        "tier crm says tier(C001, gold), database sales says tier(C001, silver): the second counts"
    )


def test_of_two_assumed_values_the_higher_one_counts_or_the_persons_by_configuration(
    tmp_path: Path,
) -> None:
    found = place_without_source(tmp_path, "source")
    assert rows(found.ask("tier", (0,), C1), assumed=True) == {("C001", "gold")}
    found = place_without_source(tmp_path, "user")
    answer = found.ask("tier", (0,), C1)
    assert rows(answer, assumed=True) == {("C001", "silver")}
    # What the tier assumes stays possible until it is accepted that people are right.
    assert ("C001", "gold") in open_rows(answer)
    told = {text for _, text in assumptions(answer)}
    assert "what people state of tier counts before what tier crm assumes" in told
    found = place_without_source(tmp_path, "unresolved")
    answer = found.ask("tier", (0,), C1)
    assert rows(answer) == set()
    assert {("C001", "gold"), ("C001", "silver")} <= open_rows(answer)


def place_without_source(tmp_path: Path, policy: str) -> Setting:
    folder = tmp_path / f"without-{policy}"
    folder.mkdir()
    predicate = declare("tier(c: symbol, t: symbol)", key="c")
    found = setting(folder, predicate, config=f"conflicts: {policy}\n{BEHIND}")
    found.store.add("tier", ("C001", "silver"), "alice")
    return found


def test_two_rows_of_one_tier_are_a_conflict_of_its_own(tmp_path: Path) -> None:
    found = place(tmp_path, "", SOURCES + "INSERT INTO accounts VALUES ('C001', 'gold');")
    answer = found.ask("tier", (0,), C1)
    assert rows(answer) == set()
    assert open_rows(answer) == {("C001", "gold"), ("C001", "silver")}
    [told] = answer.conflicts
    assert told.text.endswith(": neither counts")
    assert told.text.count("database sales says") == 2


def test_the_one_value_of_the_configuration_stands_against_what_is_stated(tmp_path: Path) -> None:
    found = setting(tmp_path, declare("limit(n: number)"), config="facts: {limit: 5}", script="")
    found.store.add("limit", ("9",), "bob")
    for columns, key in (((), ()), ((0,), (9,)), ((0,), (5,))):
        answer = found.ask("limit", columns, key)
        assert rows(answer) == ({(5,)} if key != (9,) else set())
        assert answer.answered == {key}
        [told] = answer.conflicts
        assert told.text == (
            "the configuration says limit(5), user bob says limit(9): the first counts"
        )
