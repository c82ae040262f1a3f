"""Rows of a predicate: certain ones and weaker ones, found by the values of some columns."""

from __future__ import annotations

import pytest

from constat.engine.relation import Relation, assign, key_getter, tuple_getter
from constat.engine.state import Served
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import OPEN, OpenRow

UNASKED = Served().completed


def relation(*rows: tuple[int, ...], weak: tuple[tuple[OpenRow, int], ...] = ()) -> Relation:
    made = Relation(len((*rows, *(row for row, _ in weak))[0]))
    made.add_sure(rows, 1)
    made.add_weak(weak, 2)
    return made


@pytest.mark.parametrize(
    ("places", "key", "kept"), [((), (), ()), ((1,), "b", ("b",)), ((2, 0), ("c", "a"), ("c", "a"))]
)
def test_one_column_is_looked_up_by_its_value_and_several_by_a_tuple(
    places: tuple[int, ...], key: object, kept: tuple[str, ...]
) -> None:
    assert key_getter(places)(("a", "b", "c")) == key
    assert tuple_getter(places)(("a", "b", "c")) == kept


def test_adding_gives_the_rows_that_are_new_once_each() -> None:
    made = relation((1,), (2,))
    assert made.add_sure([(2,), (3,), (3,)], 5) == [(3,)]
    assert made.add_sure([(1,)], 6) == []
    assert made.sure == {(1,): 1, (2,): 1, (3,): 5}


def test_weak_rows_are_new_when_they_are_stronger_than_before() -> None:
    made = relation((1,))
    assert made.add_weak([((2,), POSSIBLE), ((1,), ACCEPTED)], 3) == [((2,), POSSIBLE)]
    assert made.add_weak([((2,), POSSIBLE), ((2,), CONCEIVABLE)], 4) == []
    assert made.add_weak([((2,), ACCEPTED), ((2,), POSSIBLE)], 5) == [((2,), ACCEPTED)]
    assert made.add_weak([((3,), CONCEIVABLE)], 6) == [((3,), CONCEIVABLE)]
    assert made.strength({0: 2}, Served().completed) == ACCEPTED


def test_a_weak_row_that_becomes_certain_is_listed_once() -> None:
    made = relation(weak=(((1,), ACCEPTED), ((2,), POSSIBLE)))
    assert list(made.matching({0: 1}, Served().completed, sure=False)) == [((1,), ACCEPTED)]
    made.add_sure([(1,)], 3)
    assert list(made.rows(ABSENT)) == [(1,), (2,)]
    assert list(made.matching({}, Served().completed, sure=True)) == [
        ((1,), CERTAIN),
        ((2,), POSSIBLE),
    ]
    assert list(made.matching({0: 1}, Served().completed, sure=False)) == []


def test_an_index_has_each_combination_of_the_kept_columns_once() -> None:
    made = relation((1, 2), (1, 3), (4, 2))
    assert made.lookup((0,), ()) == {1: [()], 4: [()]}
    assert made.lookup((), (1,)) == {(): [(2,), (3,)]}
    assert made.lookup((0,), (1,)) == {1: [(2,), (3,)], 4: [(2,)]}


def test_an_index_grows_with_the_rows_and_is_made_once() -> None:
    made = relation((1, 2))
    found = made.lookup((0,), (1,))
    made.add_sure([(1, 3), (5, 6)], 2)
    assert found == {1: [(2,), (3,)], 5: [(6,)]}
    assert made.lookup((0,), (1,)) is found
    assert made.lookup((0,), (0,)) is not found


def test_an_index_leaves_out_rows_whose_columns_differ_where_they_must_not() -> None:
    made = relation((1, 1, 1), (1, 2, 1), (2, 2, 3))
    assert made.lookup((0,), (2,), ((0, 1),)) == {1: [(1,)], 2: [(3,)]}
    assert made.lookup((), (0,), ((0, 1), (1, 2))) == {(): [(1,)]}


def test_an_open_row_matches_every_value_in_its_open_columns() -> None:
    made = relation((1, 2), weak=(((1, OPEN), POSSIBLE), ((OPEN, 3), CONCEIVABLE)))
    assert set(made.matching({0: 1, 1: 2}, Served().completed, sure=True)) == {
        ((1, 2), CERTAIN),
        ((1, OPEN), POSSIBLE),
    }
    assert set(made.matching({0: 1, 1: 3}, Served().completed, sure=True)) == {
        ((1, OPEN), POSSIBLE),
        ((OPEN, 3), CONCEIVABLE),
    }
    assert made.strength({0: 4, 1: 3}, Served().completed) == CONCEIVABLE
    assert made.strength({0: 4, 1: 4}, Served().completed) == ABSENT


def test_a_placeholder_among_the_values_is_no_condition() -> None:
    made = relation((1, 2), (1, 3), (4, 2))
    assert [row for row, _ in made.matching({0: 1, 1: OPEN}, Served().completed, sure=True)] == [
        (1, 2),
        (1, 3),
    ]


def test_weak_rows_that_come_later_are_found_like_the_others() -> None:
    made = relation((9, 9), weak=(((1, 2), ACCEPTED),))
    assert list(made.matching({0: 1}, Served().completed, sure=False)) == [((1, 2), ACCEPTED)]
    made.add_weak([((1, OPEN), POSSIBLE), ((1, 2), POSSIBLE)], 4)
    made.add_weak([((1, OPEN), ACCEPTED)], 5)
    assert list(made.matching({0: 1}, Served().completed, sure=False)) == [
        ((1, 2), ACCEPTED),
        ((1, OPEN), ACCEPTED),
    ]


def test_the_stamp_of_a_row_is_when_it_reached_a_strength_first() -> None:
    made = relation((1,), weak=(((2,), ACCEPTED), ((3,), POSSIBLE)))
    made.add_weak([((2,), ACCEPTED)], 5)
    made.add_weak([((3,), ACCEPTED)], 6)
    made.add_sure([(2,)], 7)
    assert [made.stamp((row,), ACCEPTED) for row in (1, 2, 3, 4)] == [1, 2, 6, None]
    assert [made.stamp((row,), CERTAIN) for row in (1, 2, 3, 4)] == [1, 7, None, None]


def test_rows_of_a_strength_are_those_and_the_stronger_ones() -> None:
    made = relation((1,), weak=(((2,), ACCEPTED), ((3,), POSSIBLE), ((OPEN,), CONCEIVABLE)))
    assert list(made.rows(CERTAIN)) == [(1,)]
    assert list(made.rows(ACCEPTED)) == [(1,), (2,)]
    assert list(made.rows(POSSIBLE)) == [(1,), (2,), (3,)]
    assert list(made.rows(CONCEIVABLE)) == [(1,), (2,), (3,), (OPEN,)]


def test_columns_are_paired_with_as_many_values() -> None:
    assert assign((1, 0), ("a", OPEN)) == {1: "a", 0: OPEN}
    with pytest.raises(ValueError, match="argument"):
        assign((1, 0), ("a",))


def test_what_may_exist_is_known_once_a_pattern_is_complete() -> None:
    made = relation((1, 5), weak=(((1, OPEN), CONCEIVABLE), ((2, OPEN), POSSIBLE)))
    served = Served()
    served.add((0,), [(1,), (3,)])
    served.complete((0,), [(1,), (3,)], 2)
    made.add_weak([((1, OPEN), POSSIBLE), ((OPEN, 9), POSSIBLE), ((3, 6), ACCEPTED)], 3)
    # For a complete key, later openings say nothing new; what somebody states counts always.
    assert list(made.matching({0: 1}, served.completed, sure=False)) == [((1, OPEN), CONCEIVABLE)]
    assert made.strength({0: 3}, served.completed) == ACCEPTED
    assert made.strength({0: 2}, served.completed) == POSSIBLE
    assert made.strength({0: 4}, served.completed) == POSSIBLE
    assert set(made.matching({0: 1}, UNASKED, sure=False)) == {
        ((1, OPEN), POSSIBLE),
        ((OPEN, 9), POSSIBLE),
    }


def test_an_opening_that_comes_with_the_completion_counts() -> None:
    made = relation((1, 5), weak=(((2, OPEN), POSSIBLE),))
    served = Served()
    served.add((0,), [(2,)])
    served.complete((0,), [(2,)], 2)
    assert made.strength({0: 2}, served.completed) == POSSIBLE


def test_a_row_that_became_certain_is_no_weak_row_for_a_complete_pattern() -> None:
    made = relation((1, 1), weak=(((2, 2), CONCEIVABLE), ((3, 3), POSSIBLE)))
    assert list(made.matching({0: 2}, lambda *_: 9, sure=False)) == [((2, 2), CONCEIVABLE)]
    made.add_sure([(2, 2)], 3)
    assert list(made.matching({0: 2}, lambda *_: 9, sure=False)) == []


def test_what_became_conceivable_later_is_not_there_for_a_complete_pattern() -> None:
    made = relation((1, 1), weak=(((2, 2), CONCEIVABLE),))
    assert list(made.matching({0: 2}, lambda *_: 1, sure=True)) == []


def test_what_was_accepted_later_counts_for_a_complete_pattern_too() -> None:
    made = relation((1, 1), weak=(((2, 2), ACCEPTED),))
    assert list(made.matching({0: 2}, lambda *_: 1, sure=True)) == [((2, 2), ACCEPTED)]
