"""The values of aggregates over groups whose rows may be uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.engine.batch import Batch
from constat.engine.relation import Texts
from constat.engine.steps import Groups
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, Kind
from constat.plan import Call, Expression, Fold, Literally, Slot

if TYPE_CHECKING:
    from constat.engine.batch import Binding
    from constat.logic import Slot as SlotValue

# Inner bindings: the group, then two more slots; assignments are told apart by the second.
AMOUNT = Slot(2)


def groups(
    inner: Batch, *, function: str = "sum", target: Expression | None = AMOUNT, of: int = 1
) -> tuple[list[tuple[SlotValue, int]], list[str]]:
    """Give the values of one group, and the failures on the way."""
    failures: list[str] = []
    kind = None if target is None else Kind.NUMBER
    step = Fold(function, kind, (0,), (), (), target, (1,))
    made = Groups(step, {(1,), (2,)}, inner, failures.append, Texts())
    values = made.values((of,))
    assert made.values((of,)) == values
    return values, failures


def weak(*bindings: tuple[Binding, int]) -> Batch:
    return Batch([(1, 1, 10), (2, 1, 99)], list(bindings))


def test_certain_assignments_give_an_exact_value_each_counted_once() -> None:
    inner = Batch([(1, 1, 10), (1, 2, 10), (1, 1, 10), (2, 1, 5)])
    assert groups(inner) == ([(20, CERTAIN)], [])
    assert groups(inner, of=2) == ([(5, CERTAIN)], [])
    assert groups(inner, function="count", target=None) == ([(2, CERTAIN)], [])


@pytest.mark.parametrize(
    ("function", "value"), [("sum", [(0, CERTAIN)]), ("count", [(0, CERTAIN)]), ("max", [])]
)
def test_a_group_without_rows_has_a_sum_and_a_count_only(
    function: str, value: list[tuple[int, int]]
) -> None:
    target = None if function == "count" else AMOUNT
    assert groups(Batch([(2, 1, 1)]), function=function, target=target) == (value, [])


def test_assumed_rows_count_in_the_accepted_reading() -> None:
    assert groups(weak(((1, 2, 7), ACCEPTED)))[0] == [(17, ACCEPTED), (OPEN, CONCEIVABLE)]
    more = weak(((1, 2, 7), ACCEPTED), ((1, 3, 8), CONCEIVABLE))
    assert groups(more)[0] == [(25 - 8, ACCEPTED), (OPEN, CONCEIVABLE)]


def test_a_possible_row_leaves_no_exact_value_in_any_reading() -> None:
    assert groups(weak(((1, 2, 7), ACCEPTED), ((1, 3, 1), POSSIBLE)))[0] == [(OPEN, POSSIBLE)]


def test_weak_rows_of_other_groups_do_not_matter() -> None:
    assert groups(weak(((2, 2, 7), POSSIBLE)))[0] == [(10, CERTAIN)]


def test_an_assignment_that_is_certain_as_well_is_certain() -> None:
    assert groups(weak(((1, 1, 10), POSSIBLE)))[0] == [(10, CERTAIN)]


def test_an_assignment_found_twice_has_the_greater_strength() -> None:
    for one, other in ((ACCEPTED, CONCEIVABLE), (CONCEIVABLE, ACCEPTED)):
        inner = weak(((1, 2, 7), one), ((1, 2, 8), other))
        value = 17 if one == ACCEPTED else 18
        assert groups(inner)[0] == [(value, ACCEPTED), (OPEN, CONCEIVABLE)]


def test_a_value_that_is_not_known_leaves_the_aggregate_open() -> None:
    assert groups(weak(((1, 2, OPEN), ACCEPTED)))[0] == [(OPEN, POSSIBLE), (OPEN, CONCEIVABLE)]
    unread = groups(weak(((1, 2, OPEN), ACCEPTED)), function="count", target=None)
    assert unread[0] == [(2, ACCEPTED), (OPEN, CONCEIVABLE)]


def test_an_error_is_told_and_leaves_the_aggregate_open() -> None:
    quotient = Call(
        "/", (Literally(1, Kind.NUMBER), AMOUNT), (Kind.NUMBER, Kind.NUMBER), Kind.NUMBER
    )
    values, failures = groups(Batch([(1, 1, 0)]), target=quotient)
    assert values == [(OPEN, POSSIBLE)]
    assert len(failures) == 1
    assert "zero" in failures[0]
