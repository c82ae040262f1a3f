"""Totals that grow: what is given out, how surely, and when it is lifted."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from constat.engine.batch import Batch
from constat.engine.relation import Texts
from constat.engine.steps import NO_VALUE, Totals
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, Kind
from constat.plan import Beyond, Call, Fold, Literally, Slot

# Outer bindings are (group, bound); inner ones (group, who, share).
GROUP, BOUND = 0, 1


def totals(
    *,
    operator: str = ">",
    proven: bool = True,
    target: int | None = 2,
    told: list[str] | None = None,
) -> Totals:
    beyond = Beyond(operator, Slot(BOUND), proven)
    summed = None if target is None else Slot(target)
    step = Fold("sum", Kind.NUMBER, (GROUP,), (), (), summed, (0, 1, 2), beyond)
    reasons = [] if told is None else told
    return Totals(step, beyond, lambda _, reason: reasons.append(reason), Texts())


def sure(*rows: tuple[object, ...]) -> Batch:
    return Batch(list(rows))  # type: ignore[arg-type]


def weak(strength: int, *rows: tuple[object, ...]) -> Batch:
    return Batch([], [(row, strength) for row in rows])  # type: ignore[misc]


def given(batch: Batch) -> Sequence[tuple[object, int]]:
    return [(one[0], CERTAIN) for one in batch.sure] + [(one[0], s) for one, s in batch.weak]


def test_a_binding_is_given_once_and_as_soon_as_the_bound_is_exceeded() -> None:
    found = totals()
    released, new = found.wait(sure(("g", 50)))
    assert (given(released), new) == ([], [("g",)])
    assert not found.add(sure(("g", "a", 30)))
    assert not found.add(sure(("g", "b", 20)))
    batch = found.add(sure(("g", "c", 1)))
    assert batch.sure == [("g", 50, NO_VALUE)]
    assert not found.add(sure(("g", "d", 9)))


def test_the_bound_itself_is_enough_for_at_least() -> None:
    found = totals(operator=">=")
    found.wait(sure(("g", 50)))
    assert given(found.add(sure(("g", "a", 30), ("g", "b", 20)))) == [("g", CERTAIN)]


def test_an_assignment_counts_once_however_often_it_is_found() -> None:
    found = totals()
    found.wait(sure(("g", 50)))
    assert not found.add(sure(("g", "a", 30), ("g", "a", 30)))
    assert not found.add(sure(("g", "a", 30)))


@pytest.mark.parametrize("strength", [ACCEPTED, POSSIBLE, CONCEIVABLE])
def test_an_assignment_that_becomes_surer_counts_once_all_the_same(strength: int) -> None:
    found = totals()
    found.wait(sure(("g", 50)))
    assert not found.add(weak(strength, ("g", "a", 30)))
    assert not found.add(sure(("g", "a", 30)))


def test_an_unknown_summand_may_be_negative_where_nothing_says_otherwise() -> None:
    found = totals(proven=False)
    found.wait(sure(("g", 50)))
    found.add(weak(POSSIBLE, ("g", "b", OPEN)))
    assert given(found.add(sure(("g", "a", 60)))) == []
    assert given(found.lift()) == []


def test_each_binding_of_a_group_has_its_own_bound() -> None:
    found = totals()
    assert found.wait(sure(("g", 10), ("g", 20)))[1] == [("g",)]
    assert found.add(sure(("g", "a", 15))).sure == [("g", 10, NO_VALUE)]
    assert found.wait(sure(("g", 12)))[0].sure == [("g", 12, NO_VALUE)]
    assert found.wait(sure(("g", 12)))[0].sure == []


def test_nothing_is_enough_for_a_bound_below_zero() -> None:
    found = totals()
    assert given(found.wait(sure(("g", -1), ("g", 0)))[0]) == [("g", CERTAIN)]


@pytest.mark.parametrize("strength", [ACCEPTED, POSSIBLE, CONCEIVABLE])
def test_a_total_is_as_strong_as_the_rows_it_needs(strength: int) -> None:
    found = totals()
    found.wait(sure(("g", 50)))
    found.add(sure(("g", "a", 30)))
    assert given(found.add(weak(strength, ("g", "b", 30)))) == [("g", strength)]
    assert given(found.add(sure(("g", "b", 30)))) == [("g", CERTAIN)]


def test_a_binding_is_no_stronger_than_it_came_and_may_come_again_stronger() -> None:
    found = totals()
    found.wait(weak(ACCEPTED, ("g", 10)))
    assert given(found.add(sure(("g", "a", 30)))) == [("g", ACCEPTED)]
    assert given(found.wait(weak(ACCEPTED, ("g", 10)))[0]) == []
    assert given(found.wait(sure(("g", 10)))[0]) == [("g", CERTAIN)]


@pytest.mark.parametrize("row", [("g", OPEN, 1), ("g", "a", OPEN)])
def test_an_open_row_may_be_any_number_of_rows(row: tuple[object, ...]) -> None:
    found = totals()
    found.wait(sure(("g", 1_000)))
    assert given(found.add(weak(POSSIBLE, row))) == [("g", POSSIBLE)]
    assert given(found.add(sure(("g", "c", 1_001)))) == [("g", CERTAIN)]


def test_an_unknown_group_or_bound_is_perhaps_beyond() -> None:
    found = totals()
    released, new = found.wait(weak(ACCEPTED, (OPEN, 5), ("g", OPEN)))
    assert (given(released), new) == ([(OPEN, POSSIBLE), ("g", POSSIBLE)], [])


def test_what_is_not_proven_is_possible_until_it_is_lifted() -> None:
    found = totals(proven=False)
    found.wait(sure(("g", 50), ("h", 50)))
    assert given(found.add(sure(("g", "a", 60), ("h", "a", 10)))) == [("g", POSSIBLE)]
    assert given(found.lift()) == [("g", CERTAIN)]
    assert given(found.lift()) == []
    assert given(found.add(sure(("h", "b", 60)))) == [("h", CERTAIN)]


def test_a_group_that_comes_after_lifting_waits_to_be_lifted() -> None:
    found = totals(proven=False)
    found.lift()
    found.wait(sure(("g", 50)))
    assert given(found.add(sure(("g", "a", 60)))) == [("g", POSSIBLE)]
    assert given(found.lift()) == [("g", CERTAIN)]


@pytest.mark.parametrize(
    ("strength", "most"),
    [(CERTAIN, None), (ACCEPTED, None), (POSSIBLE, None), (CONCEIVABLE, ACCEPTED)],
)
def test_a_negative_row_keeps_its_group_open_as_far_as_it_is_possible(
    strength: int, most: int | None
) -> None:
    told: list[str] = []
    found = totals(proven=False, told=told)
    found.wait(sure(("g", 50)))
    row = ("g", "b", -1)
    batch = sure(row) if strength == CERTAIN else weak(strength, row)
    found.add(batch)
    assert given(found.add(sure(("g", "a", 60)))) == [("g", POSSIBLE)]
    assert given(found.lift()) == ([] if most is None else [("g", most)])
    assert told == ["-1 is negative, and a recursive sum must not fall"]


def test_a_negative_row_takes_nothing_from_what_is_possible() -> None:
    found = totals(proven=False)
    found.wait(sure(("g", 50)))
    assert given(found.add(sure(("g", "a", 60), ("g", "b", -20)))) == [("g", POSSIBLE)]


def test_where_it_is_proven_an_unknown_summand_takes_nothing() -> None:
    found = totals(proven=True)
    found.wait(sure(("g", 50)))
    found.add(weak(POSSIBLE, ("g", "b", OPEN)))
    assert given(found.add(sure(("g", "a", 60)))) == [("g", CERTAIN)]


def test_a_summand_that_errs_is_unknown_and_told() -> None:
    told: list[str] = []
    beyond = Beyond(">", Slot(BOUND), proven=True)
    kinds = (Kind.NUMBER, Kind.NUMBER)
    ratio = Call("/", (Literally(10, Kind.NUMBER), Slot(2)), kinds, Kind.NUMBER)
    step = Fold("sum", Kind.NUMBER, (GROUP,), (), (), ratio, (0, 1, 2), beyond)
    found = Totals(step, beyond, lambda _, reason: told.append(reason), Texts())
    found.wait(sure(("g", 50)))
    assert given(found.add(sure(("g", "a", 0)))) == [("g", POSSIBLE)]
    assert len(told) == 1


def test_a_count_adds_ones() -> None:
    found = totals(operator=">=", target=None)
    found.wait(sure(("g", 2)))
    assert not found.add(sure(("g", "a", 7)))
    assert given(found.add(sure(("g", "a", 8)))) == [("g", CERTAIN)]


def test_totals_are_exact_beyond_every_kind() -> None:
    found = totals()
    found.wait(sure(("g", 2**64 - 1), ("h", Decimal(10**37))))
    assert given(found.add(sure(("g", "a", 2**64 - 1), ("g", "b", 1)))) == [("g", CERTAIN)]
    least = Decimal(1).scaleb(-38)
    assert not found.add(sure(("h", "a", Decimal(10**37))))
    assert given(found.add(sure(("h", "b", least)))) == [("h", CERTAIN)]


def test_an_assignment_that_comes_again_weaker_keeps_its_strength_and_counts_once() -> None:
    found = totals()
    found.wait(sure(("g", 50)))
    for batch in (sure(("g", "a", 30)), weak(POSSIBLE, ("g", "a", 30)), sure(("g", "a", 30))):
        assert not found.add(batch)
    assert given(found.add(sure(("g", "b", 21)))) == [("g", CERTAIN)]


def test_a_negative_row_is_told_once_however_often_it_comes() -> None:
    told: list[str] = []
    found = totals(proven=False, told=told)
    found.wait(sure(("g", 50)))
    found.add(sure(("g", "a", -1)))
    found.add(sure(("g", "a", -1)))
    assert told == ["-1 is negative, and a recursive sum must not fall"]


def test_a_row_of_zero_is_not_negative() -> None:
    found = totals(proven=False)
    found.wait(sure(("g", 50)))
    found.add(sure(("g", "a", 60), ("g", "b", 0)))
    assert given(found.lift()) == [("g", CERTAIN)]


def test_a_little_below_zero_takes_nothing_from_what_is_possible() -> None:
    found = totals(proven=False)
    found.wait(sure(("g", Decimal(50))))
    rows = sure(("g", "a", Decimal("50.3")), ("g", "b", Decimal("-0.5")))
    assert given(found.add(rows)) == [("g", POSSIBLE)]


@pytest.mark.parametrize("strength", [CONCEIVABLE, POSSIBLE, ACCEPTED])
def test_one_more_than_the_bound_is_enough_at_every_strength(strength: int) -> None:
    found = totals()
    found.wait(sure(("g", 50)))
    assert not found.add(weak(strength, ("g", "a", 50)))
    assert given(found.add(weak(strength, ("g", "b", 1)))) == [("g", strength)]


def test_a_bound_that_errs_is_perhaps_exceeded_and_told() -> None:
    told: list[str] = []
    kinds = (Kind.NUMBER, Kind.NUMBER)
    ratio = Call("/", (Literally(10, Kind.NUMBER), Slot(BOUND)), kinds, Kind.NUMBER)
    beyond = Beyond(">", ratio, proven=True)
    step = Fold("sum", Kind.NUMBER, (GROUP,), (), (), Slot(2), (0, 1, 2), beyond)
    found = Totals(step, beyond, lambda _, reason: told.append(reason), Texts())
    released, new = found.wait(sure(("g", 0)))
    assert (given(released), new, len(told)) == ([("g", POSSIBLE)], [], 1)
