"""No sequence of calls, nested or at the same time, spends more than it may."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.model import ModelError, Task, Usage
from constat.model.asking import Ledger, Reservation
from constat.project.settings import TASKS, Budget

SHARE = ("draft", "m")
USED = st.integers(0, 60)


@given(st.lists(st.tuples(st.sampled_from("rsqe"), USED, USED), max_size=40))
def test_what_is_spent_and_under_way_stays_within_both_budgets(
    steps: list[tuple[str, int, int]],
) -> None:
    ledger = Ledger(Budget(tokens=100), Budget(tokens=250))
    under_way: list[tuple[Reservation, int]] = []
    questions: list[AbstractContextManager[object]] = []
    in_question = 0
    for step, worst, part in steps:
        if step == "r":
            spent = ledger.usage.tokens + sum(one.worst.tokens for one, _ in under_way)
            allowed = spent + worst <= 250 and (not questions or in_question + worst <= 100)
            assert ledger.fits(Usage(calls=1, read=worst)) == allowed
            if not allowed:
                with pytest.raises(ModelError, match="budget"):
                    ledger.reserve(Usage(calls=1, read=worst))
                continue
            under_way.append((ledger.reserve(Usage(calls=1, read=worst)), min(worst, part)))
            in_question += worst if questions else 0
        elif step == "s" and under_way:
            reserved, used = under_way.pop()
            ledger.settle(reserved, Usage(calls=1, read=used), 0.0, SHARE)
            if questions and ledger.last in reserved.spendings:
                in_question -= reserved.worst.tokens - used
        elif step == "q":
            question = ledger.question()
            question.__enter__()
            in_question = in_question if questions else 0
            questions.append(question)
        elif step == "e" and questions:
            questions.pop().__exit__(None, None, None)
    for reserved, used in under_way:
        ledger.settle(reserved, Usage(calls=1, read=used), 0.0, SHARE)
    assert ledger.usage.tokens <= 250
    assert ledger.shares.get(SHARE, Usage()) == ledger.usage


def test_callers_at_the_same_time_do_not_exceed_it_together() -> None:
    ledger = Ledger(Budget(), Budget(tokens=100))
    gate = threading.Barrier(8)
    allowed = []

    def ask() -> None:
        gate.wait()
        for _ in range(20):
            try:
                reserved = ledger.reserve(Usage(read=7))
            except ModelError:
                continue
            allowed.append(reserved)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 100 // 7


def test_a_question_inside_a_question_shares_its_budget() -> None:
    ledger = Ledger(Budget(tokens=10), Budget())
    with ledger.question() as outer, ledger.question() as inner:
        assert outer is inner
        ledger.reserve(Usage(read=10))
        with pytest.raises(ModelError, match="question"):
            ledger.reserve(Usage(read=1))
    with ledger.question():
        ledger.reserve(Usage(read=10))


def test_what_is_asked_outside_of_any_question_is_one_by_itself() -> None:
    ledger = Ledger(Budget(tokens=10), Budget(tokens=35))
    for _ in range(2):
        ledger.reserve(Usage(read=10))
    with pytest.raises(ModelError, match="question"):
        ledger.reserve(Usage(read=11))
    with pytest.raises(ModelError, match="session"):
        ledger.reserve(Usage(read=16))


def test_a_call_under_way_when_its_question_ends_is_settled_where_it_began() -> None:
    ledger = Ledger(Budget(tokens=10), Budget(tokens=20))
    with ledger.question() as first:
        reserved = ledger.reserve(Usage(read=10))
    with ledger.question() as second:
        ledger.settle(reserved, Usage(read=4), 2.0, SHARE)
    assert (first.usage.read, first.pending.read, first.seconds) == (4, 0, 2.0)
    assert second.usage == Usage()


def test_a_budget_of_nothing_allows_nothing_that_costs() -> None:
    ledger = Ledger(Budget(), Budget(money=Decimal(0)))
    assert ledger.fits(Usage(read=5))
    with pytest.raises(ModelError, match="money"):
        ledger.reserve(Usage(cost=Decimal("0.000001")))


def test_projects_and_prompts_have_the_same_tasks() -> None:
    assert [task.value for task in Task] == list(TASKS)
