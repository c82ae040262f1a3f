"""Layered layouts: no boxes overlap, edges run forward, and equal input gives equal output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.proof.export.pictures import Box, layered, ordered, placed

BOX = Box(width=100, height=40, beside=10, between=30)

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """Draw a graph whose edges lead from lower to higher numbers, so that it has no circle."""
    count = draw(st.integers(1, 25))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    drawn = draw(st.lists(pairs, max_size=60))
    edges = sorted({(min(pair), max(pair)) for pair in drawn if pair[0] != pair[1]})
    return count, edges


@given(graphs())
def test_no_two_boxes_overlap_and_all_are_on_the_page(graph: tuple[int, Edges]) -> None:
    layout = layered(*graph, BOX)
    for at, (left, top) in enumerate(layout.corners):
        assert left >= 0
        assert top >= 0
        assert left + BOX.width <= layout.width
        assert top + BOX.height <= layout.height
        for other_left, other_top in layout.corners[:at]:
            apart = abs(left - other_left) >= BOX.width or abs(top - other_top) >= BOX.height
            assert apart


@given(graphs())
def test_every_edge_runs_forward_from_its_box_to_the_other(graph: tuple[int, Edges]) -> None:
    layout = layered(*graph, BOX)
    axis = 0 if layout.across else 1
    deep = BOX.width if layout.across else BOX.height
    for (source, target), line in zip(graph[1], layout.lines, strict=True):
        along = [point[axis] for point in line]
        assert along == sorted(along)
        assert along[0] == pytest.approx(layout.corners[source][axis] + deep)
        assert along[-1] == pytest.approx(layout.corners[target][axis])


@given(graphs())
def test_the_same_graph_is_drawn_the_same(graph: tuple[int, Edges]) -> None:
    assert layered(*graph, BOX) == layered(*graph, BOX)


@given(graphs())
def test_ordering_keeps_the_items_and_never_adds_crossings(graph: tuple[int, Edges]) -> None:
    count, _ = graph
    half = max(count // 2, 1)
    layers = [list(range(half)), list(range(half, count))]
    links = [(a, b) for a, b in graph[1] if a < half <= b]
    order = ordered(layers, links)
    assert [sorted(layer) for layer in order] == layers
    assert crossings(order, links) <= crossings(layers, links)


def crossings(layers: list[list[int]], links: Edges) -> int:
    place = {item: at for layer in layers for at, item in enumerate(layer)}
    return sum(
        (place[a] - place[c]) * (place[b] - place[d]) < 0
        for at, (a, b) in enumerate(links)
        for c, d in links[:at]
    )


def test_crossings_that_can_be_undone_are_undone() -> None:
    links = [(0, 5), (1, 4), (2, 3)]
    assert crossings(ordered([[0, 1, 2], [3, 4, 5]], links), links) == 0


def test_a_box_stands_over_the_middle_of_those_below() -> None:
    places = placed([[0], [1, 2]], [(0, 1), (0, 2)], [10, 10, 10], 5)
    assert places[0] == pytest.approx((places[1] + places[2]) / 2)
    assert places[2] - places[1] == pytest.approx(15)


def test_a_long_chain_runs_down_and_a_broad_fan_runs_across() -> None:
    chain = layered(40, [(at, at + 1) for at in range(39)], BOX)
    fan = layered(40, [(0, at) for at in range(1, 40)], BOX)
    assert not chain.across
    assert chain.width < 2 * BOX.width
    assert fan.across
    assert fan.width < 3 * BOX.width


def test_the_main_line_runs_straight_and_leaves_stand_beside_it() -> None:
    # 0, 2, 4 ... is the line; each of it has a leaf: 1, 3, 5 ...
    edges = [(at, below) for at in range(0, 60, 2) for below in (at + 1, at + 2)]
    layout = layered(61, edges, BOX)
    middles = [layout.corners[at][0] for at in range(0, 61, 2)]
    assert not layout.across
    assert max(middles) - min(middles) < BOX.width
    assert layout.width < 4 * BOX.width


def test_a_line_over_layers_goes_round_the_boxes_between() -> None:
    layout = layered(3, [(0, 1), (1, 2), (0, 2)], BOX)
    axis = 1 if layout.across else 0
    size = BOX.height if layout.across else BOX.width
    passing = [point[axis] for point in layout.lines[2][1:-1]]
    assert passing
    between = layout.corners[1][axis]
    assert all(not between < place < between + size for place in passing)


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        layered(2, [(0, 1), (1, 0)], BOX)


def test_nothing_is_drawn_as_nothing() -> None:
    assert layered(0, [], BOX).corners == ()
