"""Rows of bits hold the pairs they were made of, in whatever portions they are worked on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.columnar import bits as rowbits
from constat.columnar.arrays import Bounds, Domain, neighbours_differ
from constat.columnar.bits import Bitmap, RowBits, from_pairs, gather, set_bits, unite
from constat.evaluation import ResourceError, Resources

PAIRS = st.sets(
    st.tuples(st.one_of(st.integers(-5, 90), st.just(70_000)), st.integers(-70, 200)), min_size=1
)
BIT = Domain(-70, 441)


def made(pairs: set[tuple[int, int]], low: int = -5) -> RowBits:
    rows, bits = (np.array(one, np.int64) for one in zip(*pairs, strict=True))
    return from_pairs(rows, bits, low, BIT)


def pairs_of(found: RowBits) -> list[tuple[int, int]]:
    rows, bits = found.pairs()
    return list(zip(rows.tolist(), bits.tolist(), strict=True))


@given(PAIRS)
def test_pairs_come_back_in_order(pairs: set[tuple[int, int]]) -> None:
    found = made(pairs)
    assert pairs_of(found) == sorted(pairs)
    assert found.count() == len(pairs)
    assert found.rows.tolist() == sorted({row + 5 for row, _ in pairs})


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_sets_of_pairs_are_united(several: list[set[tuple[int, int]]]) -> None:
    assert pairs_of(gather([made(one) for one in several])) == sorted(set().union(*several))


@pytest.mark.parametrize("portion", [1, 7, 64, 1 << 19])
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1), st.integers(1, 3))
def test_rows_are_united_in_portions_of_any_size(
    monkeypatch: pytest.MonkeyPatch, portion: int, joins: list[tuple[int, int]], width: int
) -> None:
    monkeypatch.setattr(rowbits, "_PORTION", portion)
    random = np.random.default_rng(1)
    words = random.integers(0, 1 << 62, (4, width)).astype(np.uint64)
    joins.sort()
    targets, sources = (np.array(one, np.int64) for one in zip(*joins, strict=True))
    found = unite(np.flatnonzero(neighbours_differ(targets)), sources, words)
    expected = [
        np.bitwise_or.reduce([words[source] for target, source in joins if target == one])
        for one in sorted({target for target, _ in joins})
    ]
    assert found.tolist() == [one.tolist() for one in expected]
    places, bits = set_bits(words)
    spread = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    assert (places.tolist(), bits.tolist()) == tuple(one.tolist() for one in np.nonzero(spread))


@pytest.mark.parametrize("row", [0, 1])
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PAIRS, min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_a_bitmap_gives_each_new_pair_once(
    monkeypatch: pytest.MonkeyPatch,
    row: int,
    several: list[set[tuple[int, int]]],
    forms: list[int],
) -> None:
    monkeypatch.setattr("constat.columnar.bits._PIECES", -(1 << 40))
    domains = [BIT, BIT]
    domains[row] = Domain(-5, 70_000)
    bitmap = Bitmap(domains, row, Bounds(Resources(), lambda: None))
    known: set[tuple[int, int]] = set()
    offered: set[tuple[int, int]] = set()
    for pairs, form in zip(several, forms, strict=False):
        offered |= pairs
        if form >= 2:
            bitmap.offer_rows(made(pairs))
        else:
            rows, bits = (np.array(one, np.int64) for one in zip(*[*pairs, *pairs], strict=True))
            bitmap.offer((bits, rows) if row else (rows, bits))
        if form % 2:
            continue
        bitmap.close()
        delta = bitmap.delta()
        found = list(zip(delta[row].tolist(), delta[1 - row].tolist(), strict=True))
        assert sorted(found) == sorted(offered - known)
        if found:
            assert pairs_of(bitmap.delta_bits()) == sorted(found)
        known |= offered
    assert bitmap.rows == len(known)


def test_a_bitmap_that_memory_cannot_hold_is_not_made() -> None:
    bounds = Bounds(Resources(memory=1 << 20), lambda: None)
    with pytest.raises(ResourceError, match="a bitmap"):
        Bitmap([Domain(0, 100_000), Domain(0, 1000)], 0, bounds)
