"""Draw a directed acyclic graph in layers: where each box stands and how each line runs.

In: how many boxes there are, and edges from what rests to what it rests on.  Out: a ``Layout`` with
the corner of every box and a line for every edge.  Invariant: equal input gives equal output; no
two boxes overlap, and along an edge the layer only grows.

Ranks by longest path, lines through empty places of the layers between, crossings reduced by
medians and swaps, places by least squares within each layer.  networkx gives the ranks; it has no
layout that does the rest.  See Sugiyama, Tagawa and Toda (1981) and Gansner, Koutsofios, North and
Vo (1993); the least squares are an isotonic regression.

Example: ``layered(2, [(0, 1)], BOX)`` puts box 1 one layer after box 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.proof.export.layout_order import ordered
from constat.proof.export.layout_places import placed

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[float, float]
Edge = tuple[int, int]

# Lines that pass more layers than this are drawn straight: routing them costs more than it shows.
_LONGEST_CHAIN: Final = 60
_MOST_PASSED: Final = 4_000
# Up to this width the page is filled from left to right, which is how proofs are read.
_READABLE: Final = 1_180.0


@dataclass(frozen=True, slots=True)
class Box:
    """The size of every box, and the room between neighbours and between layers."""

    width: float
    height: float
    beside: float
    between: float
    margin: float = 12.0


@dataclass(frozen=True, slots=True)
class Layout:
    """``corners`` by box (left, top), ``lines`` by edge, ``across`` where layers are columns."""

    corners: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    width: float
    height: float
    across: bool


@dataclass(frozen=True, slots=True)
class Layers:
    """Boxes and the empty places that lines pass, layer by layer.

    ``passed`` holds for a box the empty places that lead to it, by layer.  ``links`` join
    neighbouring layers.
    """

    ranks: list[int]
    layers: list[list[int]]
    links: list[Edge]
    passed: dict[int, dict[int, int]]


def layered(count: int, edges: Sequence[Edge], box: Box) -> Layout:
    """Lay out boxes 0 to ``count`` - 1; ``ValueError`` where edges run in a circle."""
    layers = _layers(count, edges)
    order = ordered(layers.layers, layers.links)
    widest = max(map(len, order), default=0)
    across = _is_across(len(order), widest, box)
    breadth = box.height if across else box.width
    sizes = [breadth if item < count else breadth / 4 for item in range(_items(layers))]
    places = placed(order, layers.links, sizes, box.beside)
    return _drawn(count, edges, layers, places, box, across=across)


def _items(layers: Layers) -> int:
    return sum(map(len, layers.layers))


def _is_across(depth: int, widest: int, box: Box) -> bool:
    """Tell whether layers become columns: where they fit, or are fewer than boxes abreast."""
    across = depth * (box.width + box.between)
    down = widest * (box.width + box.beside)
    return across <= max(_READABLE, down)


def _layers(count: int, edges: Sequence[Edge]) -> Layers:
    """Give every box a layer, and lines over several layers a place in each they pass."""
    ranks = _ranks(count, edges)
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item, rank in enumerate(ranks):
        layers[rank].append(item)
    links: list[Edge] = []
    passed: dict[int, dict[int, int]] = {}
    total = count
    for source, target in edges:
        span = ranks[target] - ranks[source]
        chain = passed.setdefault(target, {})
        if span > _LONGEST_CHAIN or total - count + span > _MOST_PASSED:
            continue
        above = source
        # Lines to one box share their places: they join on the way, as roads do.
        for rank in range(ranks[source] + 1, ranks[target]):
            known = chain.get(rank)
            if known is None:
                known = chain[rank] = total
                layers[rank].append(total)
                total += 1
                links.append((above, known))
            elif (above, known) not in links[-1:]:
                links.append((above, known))
            above = known
        links.append((above, target))
    return Layers(ranks, layers, list(dict.fromkeys(links)), passed)


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the longest path from a box without edges to it; such a box moves to its first use."""
    import networkx as nx  # noqa: PLC0415  heavy library, loaded on first use

    graph: nx.DiGraph[int] = nx.DiGraph(edges)
    graph.add_nodes_from(range(count))
    try:
        generations = list(nx.topological_generations(graph))
    except nx.NetworkXUnfeasible:
        raise ValueError("the edges run in a circle") from None
    ranks = {item: rank for rank, items in enumerate(generations) for item in items}
    roots = [item for item in range(count) if not graph.in_degree(item)]
    for item in roots[1:]:
        ranks[item] = min((ranks[target] - 1 for target in graph[item]), default=0)
    return [ranks[item] for item in range(count)]


def _drawn(
    count: int,
    edges: Sequence[Edge],
    layers: Layers,
    places: Sequence[float],
    box: Box,
    *,
    across: bool,
) -> Layout:
    """Turn layers and places into corners and lines."""
    deep, broad = (box.width, box.height) if across else (box.height, box.width)
    start = [box.margin + rank * (deep + box.between) for rank in range(len(layers.layers))]

    def point(along: float, beside: float) -> Point:
        beside += box.margin
        return (along, beside) if across else (beside, along)

    corners = [point(start[layers.ranks[item]], places[item] - broad / 2) for item in range(count)]
    lines = []
    for source, target in edges:
        first, last = layers.ranks[source], layers.ranks[target]
        chain = layers.passed.get(target, {})
        line = [point(start[first] + deep, places[source])]
        for rank in range(first + 1, last):
            if rank in chain and last - first <= _LONGEST_CHAIN:
                place = places[chain[rank]]
                line += [point(start[rank], place), point(start[rank] + deep, place)]
        line.append(point(start[last], places[target]))
        lines.append(tuple(line))
    length = (start[-1] + deep if start else box.margin) + box.margin
    breadth = max((place + broad / 2 for place in places), default=0.0) + 2 * box.margin
    size = (length, breadth) if across else (breadth, length)
    return Layout(tuple(corners), tuple(lines), *size, across)
