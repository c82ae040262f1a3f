"""Answers that outlive their program: whom they serve, what they say, what they never do."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import Answer, Clock, LimitReachedError, Origin, Portion
from constat.logic import OPEN
from constat.tiers import CACHE, UNREACHED
from constat.tiers.cache import answer_text, read_answer
from tests.engine.tables import EVIDENCE
from tests.tiers.building import assumptions, declare, open_rows, reasons, rows
from tests.tiers.kept import QUERY, TIER, Place, place

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Predicate

C1, C2, C9 = ("C001",), ("C002",), ("C009",)
CRM = '{factory: "tests.tiers.sample_tiers:Sample", options: '


def tier(max_age: str = "10m", key: str = "") -> Predicate:
    parameters = {"max_age": max_age}
    if key:
        return declare(TIER, QUERY, parameters=parameters, key=key)
    return declare(TIER, QUERY, parameters=parameters)


def change(found: Place, statement: str) -> None:
    with closing(sqlite3.connect(found.folder / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def age(found: Place, seconds: int) -> None:
    """Make everything that is kept older."""
    with closing(sqlite3.connect(found.state / "answers.sqlite")) as connection, connection:
        connection.execute("UPDATE answers SET fetched_at = fetched_at - ?", (seconds,))


def test_without_max_age_nothing_is_kept_and_no_file_is_made(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(declare(TIER, QUERY)) as run:
        run.ask("tier", (0,), C1)
        assert run.queries == 1
    assert not found.state.exists()


def test_the_next_program_is_served_without_a_query(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        first = run.ask("tier", (0,), C1, C9)
    with found.run(tier()) as run:
        again = run.ask("tier", (0,), C1, C9)
        assert run.queries == 0
        assert run.said[0][0] == "complete"
    assert rows(again, assumed=False) == rows(first) == {("C001", "silver")}
    assert again.answered == {C1, C9}


def test_evidence_keeps_everything_but_the_tier(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        first = run.ask("tier", (0,), C1)
    with found.run(tier()) as run:
        again = run.ask("tier", (0,), C1)
    then, now = first.portions[0].evidence, again.portions[0].evidence
    assert (then.tier, now.tier) == ("database", CACHE)
    assert now.origin is Origin.DATABASE
    for name in ("source", "query", "parameters", "executed_at", "content_hash", "snapshot"):
        assert getattr(now, name) == getattr(then, name)
    assert (now.row_count, now.confidence) == (then.row_count, Decimal(1))
    assert again.authorities[0] == now


@pytest.mark.parametrize(
    ("columns", "key"), [((0,), C1), ((1,), ("gold",)), ((0, 1), ("C001", "silver")), ((), ())]
)
def test_a_wider_answer_serves_narrower_questions(
    tmp_path: Path, columns: tuple[int, ...], key: tuple[str, ...]
) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        everything = run.ask("tier")
    with found.run(tier()) as run:
        narrow = run.ask("tier", columns, key)
        assert run.queries == 0
    wanted = {row for row in rows(everything) if tuple(row[c] for c in columns) == key}
    assert rows(narrow) == wanted
    assert narrow.answered == {key}


def test_a_narrower_answer_never_serves_a_wider_question(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0, 1), ("C001", "silver"))
        run.ask("tier", (0,), C1)
    with found.run(tier()) as run:
        assert len(rows(run.ask("tier"))) == 3
        assert len(rows(run.ask("tier", (0,), C2))) == 1
        assert run.queries >= 1
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (1,), ("silver",))) == {("C001", "silver")}
        assert run.queries == 0


def test_only_the_keys_that_are_not_kept_are_asked(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    change(found, "UPDATE accounts SET t = 'new'")
    with found.run(tier()) as run:
        answer = run.ask("tier", (0,), C1, C2)
        assert run.queries == 1
    # The first is as old as the user allows, the second was asked now.
    assert rows(answer) == {("C001", "silver"), ("C002", "new")}
    assert {one.evidence.tier for one in answer.portions} == {CACHE, "database"}


def test_an_answer_that_is_too_old_is_asked_again(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    change(found, "UPDATE accounts SET t = 'new'")
    age(found, 599)
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (0,), C1)) == {("C001", "silver")}
    age(found, 2)
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (0,), C1)) == {("C001", "new")}


def test_a_served_answer_grows_old_within_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier")
    now = time.time()
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == CACHE
        monkeypatch.setattr("time.time", lambda: now + 601)
        age(found, 601)
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == "database"


def test_what_the_source_says_now_is_preferred_within_a_program(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == "database"
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == "database"
        assert run.queries == 1


def test_everything_is_asked_anew_where_nothing_may_be_served(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    change(found, "UPDATE accounts SET t = 'new'")
    with found.run(tier(), serve=False) as run:
        assert rows(run.ask("tier", (0,), C1)) == {("C001", "new")}
    # And what was asked anew has been kept.
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (0,), C1)) == {("C001", "new")}
        assert run.queries == 0


def test_whoever_only_looks_is_served_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    with found.run(tier()) as run, run.tiers.anew():
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == "database"
        run.ask("tier", (0,), C2)
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == CACHE
        assert run.ask("tier", (0,), C2).portions[0].evidence.tier == "database"


def test_eight_programs_at_the_same_time_agree(tmp_path: Path) -> None:
    found, problems = place(tmp_path), []

    def work() -> None:
        for _ in range(5):
            with found.run(tier()) as run:
                answers = [run.ask("tier", (0,), key) for key in (C1, C2, C9)]
                counts = [len(rows(one)) for one in answers]
                if counts != [1, 1, 0] or run.tiers.troubles():
                    problems.append((counts, run.tiers.troubles()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_stated_facts_are_never_kept_and_never_hidden(tmp_path: Path) -> None:
    found = place(tmp_path)
    found.facts.add("tier", ("C009", "gold"), "alice")
    with found.run(tier()) as run:
        run.ask("tier", (0,), C9)
    found.facts.retract("tier", ("C009", "gold"), "alice")
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (0,), C9)) == set()
        assert run.queries == 0
    found.facts.add("tier", ("C009", "iron"), "bob")
    with found.run(tier()) as run:
        answer = run.ask("tier", (0,), C9)
        assert run.queries == 0
    assert rows(answer, assumed=True) == {("C009", "iron")}
    assert b"iron" not in (found.state / "answers.sqlite").read_bytes()


def test_a_source_that_failed_is_asked_again(tmp_path: Path) -> None:
    found = place(tmp_path)
    (tmp_path / "shop.sqlite").rename(tmp_path / "away")
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).answered == frozenset()
    (tmp_path / "away").rename(tmp_path / "shop.sqlite")
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).answered == {C1}


def test_a_partial_answer_is_not_kept(tmp_path: Path) -> None:
    found = place(tmp_path)
    found.configure("limits: {query_rows: 2}")
    for _ in range(2):
        with found.run(tier()) as run:
            assert run.ask("tier").answered == frozenset()
            assert run.queries == 1


@pytest.mark.parametrize(("key", "column"), [("", 0), ("c", 0), ("c", 1)])
def test_rows_below_a_tier_that_failed_are_not_kept(tmp_path: Path, key: str, column: int) -> None:
    config = f"tiers: {{crm: {CRM}{{mode: fail}}, after: config}}}}"
    found = place(tmp_path, config=config)
    for _ in range(2):
        with found.run(tier(key=key)) as run:
            answer = run.ask("tier", (column,), ("C001", "silver")[column : column + 1])
            assert rows(answer, assumed=True) == {("C001", "silver")}
            assert {kind for kind, _ in assumptions(answer)} == {"fall-through"}
            assert (("C001", OPEN), (OPEN, "silver"))[column] in open_rows(answer)
            assert run.queries >= 1


def test_the_openings_of_a_null_policy_belong_to_the_answer(tmp_path: Path) -> None:
    found = place(tmp_path)
    change(found, "INSERT INTO accounts VALUES ('C009', NULL)")
    predicate = declare(TIER, QUERY, parameters={"max_age": "1h"})
    with found.run(predicate) as run:
        first = run.ask("tier", (0,), C9)
    with found.run(predicate) as run:
        again = run.ask("tier", (0,), C9)
        assert run.queries == 0
    assert open_rows(again) == open_rows(first) == {("C009", OPEN)}
    assert reasons(again) == reasons(first)
    assert again.answered == {C9}


def test_a_source_that_is_gone_does_not_take_its_answers_with_it(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    (tmp_path / "shop.sqlite").unlink()
    with found.run(tier()) as run:
        answer = run.ask("tier", (0,), C1)
        assert rows(answer, assumed=False) == {("C001", "silver")}
        assert answer.answered == {C1}
        # The reader learns that nobody could look at the tables.
        assert answer.portions[0].evidence.tier == UNREACHED
        assert run.ask("tier", (0,), C2).answered == frozenset()


def test_the_cache_is_no_tier_that_is_fallen_through(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    (found.state / "answers.sqlite").write_bytes(b"garbage" * 1_000)
    with found.run(tier()) as run:
        answer = run.ask("tier", (0,), C1)
        assert assumptions(answer) == set()
        assert answer.answered == {C1}
        assert [outcome for outcome, _ in run.said].count("unknown") == 1
        assert [code for code, _ in run.tiers.troubles()] == ["C0561"]


@pytest.mark.parametrize("key", ["", "c"])
def test_configured_rows_are_united_or_shadow_as_without_a_cache(tmp_path: Path, key: str) -> None:
    found = place(tmp_path, config="facts: {tier: [[C001, gold], [C009, gold]]}")
    with found.run(tier(key=key)) as run:
        first = [run.ask("tier", (0,), C1, C9), run.ask("tier"), run.ask("tier", (1,), ("gold",))]
    with found.run(tier(key=key)) as run:
        again = [run.ask("tier", (0,), C1, C9), run.ask("tier"), run.ask("tier", (1,), ("gold",))]
        # Where tiers contradict each other, they are asked again: the conflict is told anew.
        assert bool(run.queries) == bool(key)
    for one, other in zip(first, again, strict=True):
        assert rows(one) == rows(other)
        assert one.conflicts == other.conflicts
        assert one.answered == other.answered
        assert open_rows(one) == open_rows(other)
    origins = {one.evidence.origin for answer in again for one in answer.portions}
    assert origins == {Origin.CONFIG, Origin.DATABASE}


def test_a_tier_of_the_project_is_kept_with_its_assumptions(tmp_path: Path) -> None:
    config = f"tiers: {{crm: {CRM}{{complete: 'yes', rows: C001/gold}}}}}}"
    found = place(tmp_path, config=config)
    # The sample says that it fetched its rows long ago.
    predicate = declare(TIER, source="crm", parameters={"max_age": "3650d"})
    with found.run(predicate) as run:
        first = run.ask("tier", (0,), C1)
    with found.run(predicate) as run:
        again = run.ask("tier", (0,), C1)
    assert assumptions(again) == assumptions(first) != set()
    assert rows(again, assumed=True) == rows(first)
    assert [one.evidence.tier for one in again.portions] == [CACHE] * len(again.portions)


def test_age_counts_from_when_a_row_was_fetched_and_not_from_when_it_was_kept(
    tmp_path: Path,
) -> None:
    config = f"tiers: {{crm: {CRM}{{complete: 'yes', rows: C001/gold}}}}}}"
    found = place(tmp_path, config=config)
    # The sample says that it fetched its rows long before this day.
    predicate = declare(TIER, source="crm", parameters={"max_age": "1d"})
    for _ in range(2):
        with found.run(predicate) as run:
            assert {one.evidence.tier for one in run.ask("tier").portions} == {"crm"}


@pytest.mark.parametrize("written", ["", "soon", "0", "-1", "1w2d", "99999999999", "1.5h", "1 h x"])
def test_a_max_age_that_means_nothing_is_reported(tmp_path: Path, written: str) -> None:
    found = place(tmp_path)
    with pytest.raises(ConstatError, match="C0560"), found.run(tier(written)):
        pass


def test_the_configuration_takes_no_max_age(tmp_path: Path) -> None:
    found = place(tmp_path, config="facts: {limit: 3}")
    predicate = declare("limit(x: number)", source="config", parameters={"max_age": "1h"})
    with pytest.raises(ConstatError, match="C0560"), found.run(predicate):
        pass


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET body = replace(body, 'silver', 'gold')",
        "UPDATE answers SET body = '{}'",
        "UPDATE answers SET pattern = '1'",
        "UPDATE answers SET tables = 'x'",
        "UPDATE keys SET pattern = '7,8'",
    ],
)
def test_a_tampered_answer_is_not_used(tmp_path: Path, damage: str) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    with closing(sqlite3.connect(found.state / "answers.sqlite")) as connection, connection:
        connection.execute(damage)
    with found.run(tier()) as run:
        answer = run.ask("tier", (0,), C1)
        assert rows(answer) == {("C001", "silver")}
        assert answer.portions[0].evidence.tier == "database"
    # The new answer has taken the place of the damaged one.
    with found.run(tier()) as run:
        assert run.ask("tier", (0,), C1).portions[0].evidence.tier == CACHE


def test_a_rewritten_row_of_another_kind_is_a_warning(tmp_path: Path) -> None:
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    with closing(sqlite3.connect(found.state / "answers.sqlite")) as connection, connection:
        connection.execute("UPDATE answers SET body = replace(body, '\"C001\"', '3')")
    with found.run(tier()) as run:
        assert rows(run.ask("tier", (0,), C1)) == {("C001", "silver")}
        assert [code for code, _ in run.tiers.troubles()] == ["C0562"]


def test_a_locked_file_costs_a_question_and_one_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.store.answers._WAIT_SECONDS", 0.05)
    found = place(tmp_path)
    with found.run(tier()) as run:
        run.ask("tier", (0,), C1)
    with closing(sqlite3.connect(found.state / "answers.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with found.run(tier()) as run:
            assert run.ask("tier", (0,), C2).answered == {C2}
            assert len(run.tiers.troubles()) == 1


def test_reading_and_writing_many_rows_look_at_the_clock() -> None:
    kept = tier()
    answer = Answer((Portion(tuple((f"C{n}", "gold") for n in range(9_000)), EVIDENCE),))
    looks = iter(range(1_000))
    clock = Clock(500, "late", lambda: next(looks))
    text = answer_text(answer, kept, (), clock)
    assert read_answer(text, kept, (), clock) == answer
    assert next(looks) >= 6
    late = Clock(-1, "late", lambda: 0)
    with pytest.raises(LimitReachedError, match="late"):
        answer_text(answer, kept, (), late)
    with pytest.raises(LimitReachedError, match="late"):
        read_answer(text, kept, (), late)
