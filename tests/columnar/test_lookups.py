"""A look-up finds what a pass over all rows finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.columnar.relations import Lookup

VALUES = st.integers(-3, 3) | st.sampled_from([2**62, -(2**62)])
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.sets(st.tuples(*[VALUES] * width), max_size=30).map(lambda one: (width, one))
)


@given(ROWS, st.data())
def test_rows_with_values_below_a_height_are_those_of_a_pass(
    given_rows: tuple[int, set[tuple[int, ...]]], data: st.DataObject
) -> None:
    width, rows = given_rows
    orders = (sorted(rows), sorted(rows, key=lambda row: row[::-1]))
    listed = data.draw(st.sampled_from(orders) | st.permutations(sorted(rows)))
    heights = {row: data.draw(st.integers(0, 4)) for row in listed}
    columns = [np.array([row[place] for row in listed], np.int64) for place in range(width)]
    lookup = Lookup(columns, np.array([heights[row] for row in listed], np.int64))
    places = data.draw(st.sets(st.integers(0, width - 1)))
    bound = {place: data.draw(VALUES) for place in sorted(places)}
    below = data.draw(st.integers(0, 5))
    matching = {row for row in rows if all(row[place] == one for place, one in bound.items())}
    assert set(lookup.rows(bound, below)) == {row for row in matching if heights[row] < below}
    assert lookup.count(bound) >= len(matching)
    asked = data.draw(st.tuples(*[VALUES] * width))
    assert lookup.height(asked) == heights.get(asked)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2, 0), (2, 0, 3, 1)])
def test_rows_are_found_in_whatever_order_they_come(order: tuple[int, ...]) -> None:
    rows = [(1, 5), (2, 2), (2, 4), (3, 1)]
    ordered = [rows[place] for place in order]
    columns = [np.array([row[place] for row in ordered], np.int64) for place in (0, 1)]
    lookup = Lookup(columns, np.array(order, np.int64))
    assert [lookup.height(row) for row in rows] == [0, 1, 2, 3]
    assert sorted(lookup.rows({0: 2}, 9)) == [(2, 2), (2, 4)]
    assert lookup.count({0: 2}) == 2


@pytest.mark.parametrize("below", [0, 1, 2])
def test_one_height_for_all_rows_is_that_of_each(below: int) -> None:
    lookup = Lookup([np.array([5, 7], np.int64)], 1)
    assert lookup.height((7,)) == 1
    assert lookup.height((6,)) is None
    assert list(lookup.rows({0: 5}, below)) == ([(5,)] if below > 1 else [])
