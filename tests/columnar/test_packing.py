"""Rows as keys: equal rows have equal keys, and the rows come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.columnar.arrays import (
    Columns,
    Domain,
    Packing,
    Widths,
    contains,
    distinct,
    missing,
    union,
)
from constat.columnar.relations import Layout
from constat.evaluation import StrategyError

LOW, HIGH = -(1 << 63), (1 << 63) - 1
VALUES = st.one_of(st.integers(-3, 3), st.integers(LOW, HIGH), st.sampled_from([LOW, HIGH]))
WIDTHS = st.sampled_from([Widths(), Widths(key=12, number=8), Widths(key=40, number=10)])


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    arity = draw(st.integers(1, 5))
    rows = draw(st.lists(st.tuples(*[VALUES] * arity), min_size=1, max_size=12))
    return tuple(np.array(one, np.int64) for one in zip(*rows, strict=True))


def domains(found: Columns, *, closed: bool = True) -> list[Domain]:
    return [Domain(int(one.min()), int(one.max()), closed) for one in found]


def rows(found: Columns) -> list[tuple[int, ...]]:
    return list(zip(*(one.tolist() for one in found), strict=True))


@settings(deadline=None)
@given(columns(), WIDTHS, st.booleans())
def test_rows_come_back_and_keys_tell_them_apart(
    found: Columns,
    widths: Widths,
    closed: bool,  # noqa: FBT001
) -> None:
    packing = Packing(domains(found, closed=closed), widths)
    keys = packing.pack(found)
    assert rows(packing.unpack(keys)) == rows(found)
    assert len(set(keys.tolist())) == len(set(rows(found)))
    assert keys.min() >= 0
    assert packing.pack(found).tolist() == keys.tolist()


@settings(deadline=None)
@given(columns(), columns(), WIDTHS)
def test_rows_are_found_exactly_if_they_were_packed(
    found: Columns, other: Columns, widths: Widths
) -> None:
    arity = min(len(found), len(other))
    found, other = found[:arity], other[:arity]
    packing = Packing(domains(found), widths)
    keys = dict(zip(rows(found), packing.pack(found).tolist(), strict=True))
    asked = packing.find(other).tolist()
    if packing.simple:
        # Without a dictionary any row inside the domains has a key.
        inside = [
            all(
                one.low <= value <= one.high for one, value in zip(domains(found), row, strict=True)
            )
            for row in rows(other)
        ]
        assert [key >= 0 for key in asked] == inside
    else:
        assert all(
            keys.get(row, -1) == key or row not in keys
            for row, key in zip(rows(other), asked, strict=True)
        )
    assert all(keys[row] == key for row, key in zip(rows(other), asked, strict=True) if row in keys)
    assert packing.find(found).tolist() == list(packing.pack(found))


@given(columns())
def test_without_a_dictionary_keys_are_ordered_like_rows(found: Columns) -> None:
    packing = Packing(domains(found), Widths())
    if packing.simple:
        keys = packing.pack(found).tolist()
        order = sorted(range(len(keys)), key=keys.__getitem__)
        assert [rows(found)[n] for n in order] == sorted(rows(found))


def test_a_dictionary_that_is_full_gives_up() -> None:
    packing = Packing([Domain(0, 0, closed=False)], Widths(key=12, number=2))
    with pytest.raises(StrategyError, match="more than 4"):
        packing.pack((np.arange(5),))


@settings(deadline=None)
@given(columns(), WIDTHS, st.data())
def test_a_segment_finds_the_rows_of_each_key(
    found: Columns, widths: Widths, data: st.DataObject
) -> None:
    arity = len(found)
    key = tuple(data.draw(st.permutations(range(arity)))[: data.draw(st.integers(0, arity))])
    unique = sorted(set(rows(found)))
    found = tuple(np.array(one, np.int64) for one in zip(*unique, strict=True))
    layout = Layout(key, domains(found), widths)
    half = len(unique) // 2
    parts = [tuple(c[:half] for c in found), tuple(c[half:] for c in found)]
    segment = layout.merge([layout.segment(part) for part in parts if len(part[0])])
    codes = layout.find([found[place] for place in key], len(unique))
    searched = segment.ranges(codes)
    segment.ranges(codes)
    # By the third time there are pointers.
    starts, counts = segment.ranges(codes)
    assert counts.tolist() == searched[1].tolist()
    assert segment.ranges(np.array([-1]))[1].tolist() == [0]
    for row, start, count in zip(unique, starts.tolist(), counts.tolist(), strict=True):
        taken = segment.take(slice(start, start + count), tuple(range(arity)))
        got = set(rows(tuple(taken[place] for place in range(arity))))
        assert got == {one for one in unique if all(one[k] == row[k] for k in key)}


@given(st.lists(st.integers(-9, 9)), st.lists(st.integers(-9, 9)))
def test_sets_of_keys_behave_like_sets(one: list[int], other: list[int]) -> None:
    left, right = distinct(np.array(one, np.int64)), distinct(np.array(other, np.int64))
    assert left.tolist() == sorted(set(one))
    assert missing(left, right).tolist() == sorted(set(one) - set(other))
    assert contains(right, left).tolist() == [n in other for n in left.tolist()]
    rest = missing(right, left)
    assert union([left, rest]).tolist() == sorted({*one, *other})
