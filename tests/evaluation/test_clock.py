"""The clock that goes with an evaluation through engine, tiers and proof."""

from __future__ import annotations

import itertools
import math

import pytest

from constat.evaluation import UNTIMED, Clock, LimitReachedError, Limits


def test_whoever_goes_over_many_rows_looks_at_the_clock_every_few_thousand() -> None:
    looks = itertools.count()
    clock = Clock(2, "time is up", lambda: next(looks))
    seen: list[int] = []
    with pytest.raises(LimitReachedError, match="time is up"):
        seen.extend(clock.over(range(100_000)))
    assert 0 < len(seen) < 20_000
    assert seen == list(range(len(seen)))


def test_all_rows_come_in_their_order_where_there_is_time() -> None:
    assert list(UNTIMED.over(range(10_000))) == list(range(10_000))
    assert list(UNTIMED.over([3, 1])) == [3, 1]
    assert [len(block) for block in UNTIMED.blocks(range(10), 4)] == [4, 4, 2]


def test_at_the_end_itself_there_is_still_time() -> None:
    Clock(5, "late", lambda: 5.0).check()
    with pytest.raises(LimitReachedError):
        Clock(5, "late", lambda: 5.1).check()


def test_a_clock_that_is_released_bounds_nothing() -> None:
    clock = Clock(0, "late", lambda: 1.0)
    clock.release()
    clock.check()
    assert clock.left == math.inf


def test_all_work_that_shares_limits_ends_together() -> None:
    now = iter([100.0, 103.0, 104.0]).__next__
    limits = Limits(seconds=10, now=now).begun()
    assert limits.begun() is limits
    assert limits.left == 7
    assert limits.running().left == 6


def test_a_part_of_the_work_has_no_more_time_than_is_left() -> None:
    times = [100.0]
    limits = Limits(seconds=10, now=lambda: times[0]).begun()
    times[0] = 108.0
    assert limits.at_most(5).seconds == 2
    assert limits.at_most(1).seconds == 1
    assert limits.at_most(5).reached("seconds") == "the time limit of 10 seconds was reached"


@pytest.mark.parametrize("seconds", [2.0, 60.0])
def test_a_proof_has_half_a_second_more(seconds: float) -> None:
    proving = Limits(seconds=seconds, now=lambda: 100.0, where="constat.yaml").begun().proving()
    assert proving.left == seconds + 0.5
    proving.until = 0
    with pytest.raises(LimitReachedError, match=r"shown; `seconds` of `limits` in constat\.yaml"):
        proving.check()
