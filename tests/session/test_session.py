"""The SDK: what a program gets from `Session`."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Result, Session, Verdict
from constat.evaluation import CallFinished, Event

if TYPE_CHECKING:
    from pathlib import Path


def change(shop: Path, statement: str) -> None:
    with closing(sqlite3.connect(shop / "data" / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def test_a_result_says_what_the_verdict_rests_on(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("may_leave(C005)")
    assert isinstance(result, Result)
    assert result.verdict is Verdict.PROVED_UNDER
    assert result.exit_code == 3
    assert result.confidence == Decimal(1)
    assert [assumption.kind for assumption in result.assumptions] == ["rule"]
    assert result.missing == ()
    assert {call.demand.predicate.name for call in result.calls} >= {"placed_order"}


def test_tree_and_certificate_are_made_after_the_session_has_closed(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    assert result.goal == "is_vip(C001)"
    assert result.tree.verdict == "PROVED"
    assert result.certificate is result.certificate
    with Session() as other:
        assert other.verify(result.certificate).verdict == "PROVED"


def test_a_result_cannot_be_changed(still_shop: Path) -> None:
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)")
    with pytest.raises(FrozenInstanceError):
        result.verdict = Verdict.DISPROVED  # type: ignore[misc]


def test_nothing_is_read_before_the_first_question(tmp_path: Path) -> None:
    session = Session(tmp_path / "nowhere")
    session.close()
    with pytest.raises(ConstatError, match="C0500"):
        session.prove("p(1)")


def test_every_evaluation_sees_the_database_as_it_is_then(shop: Path) -> None:
    with Session(shop) as session:
        assert session.prove("is_vip(C001)").verdict is Verdict.PROVED
        change(shop, "INSERT INTO blocked_customers VALUES ('C001', 'test', NULL)")
        assert session.prove("is_vip(C001)").verdict is Verdict.DISPROVED
        change(shop, "DELETE FROM blocked_customers WHERE customer_id = 'C001'")
        assert session.prove("is_vip(C001)").verdict is Verdict.PROVED


def test_a_session_does_not_keep_writers_waiting(shop: Path) -> None:
    with Session(shop) as session:
        session.prove("is_vip(C001)")
        change(shop, "PRAGMA journal_mode = DELETE")
        change(shop, "UPDATE accounts SET tier = 'gold' WHERE customer_id = 'C002'")
        assert session.prove("is_vip(C002)").verdict is Verdict.PROVED


def test_a_stated_fact_counts_from_the_next_question_on(shop: Path) -> None:
    with Session(shop) as session, Session(shop) as other:
        goal = "is_strategic(C009)"
        assert session.prove(goal).verdict is Verdict.UNRESOLVED
        fact = other.facts.add("contract_value(C009, 250000.00)", author="alice", note="by phone")
        assert (fact.row, fact.author) == (("C009", "250000"), "alice")
        result = session.prove(goal)
        assert result.verdict is Verdict.PROVED_UNDER
        assert "alice" in result.assumptions[0].text
        other.facts.retract("contract_value(C009, 250000)", by="bob")
        assert session.prove(goal).verdict is Verdict.UNRESOLVED
        assert other.facts.list() == ()
        assert [one.retracted_by for one in other.facts.list(history=True)] == ["bob"]


def test_what_rules_derive_cannot_be_stated(shop: Path) -> None:
    with Session(shop) as session:
        with pytest.raises(ConstatError) as caught:
            session.facts.add("is_vip(C009)", author="alice")
        assert caught.value.diagnostics[0].code == "C0407"
        assert "customer_tier" in caught.value.diagnostics[0].help
        with pytest.raises(ConstatError, match="C0406"):
            session.facts.retract("customer_tier(C009, gold)", by="bob")


def test_events_go_to_the_observer_of_the_evaluation(still_shop: Path) -> None:
    events: list[Event] = []
    with Session(still_shop) as session:
        result = session.prove("is_vip(C001)", observe=events.append)
        finished = [event for event in events if isinstance(event, CallFinished)]
        assert [event.number for event in finished] == [call.number for call in result.calls]
        before = len(events)
        session.prove("is_vip(C001)")
        assert len(events) == before


def test_a_session_in_each_thread(still_shop: Path) -> None:
    verdicts: list[Verdict] = []

    def ask(goal: str) -> None:
        with Session(still_shop) as session:
            verdicts.extend(session.prove(goal).verdict for _ in range(3))

    threads = [threading.Thread(target=ask, args=("is_vip(C001)",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [Verdict.PROVED] * 12


def test_a_closed_session_opens_anew(still_shop: Path) -> None:
    session = Session(still_shop)
    first = session.prove("is_vip(C001)")
    session.close()
    session.close()
    assert session.prove("is_vip(C001)").verdict is first.verdict
    session.close()


def test_rules_are_checked_without_a_project(still_shop: Path) -> None:
    with Session("/nowhere") as session:
        checked = session.check_rules([still_shop.parent.parent / "rules"])
    assert checked.diagnostics == ()
    assert checked.rules >= 11
