"""Draw a directed acyclic graph in layers: where each box stands and how each line runs."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# Each layer keeps its items, crossings are never more than at the start, and equal input gives
# equal output.  Medians sweep down and up, then neighbours are swapped where that helps; see
# Gansner, Koutsofios, North and Vo (1993), section 3.

Edge = tuple[int, int]
Neighbours = dict[int, list[int]]

_SWEEPS: Final = 10
# Swapping looks at every pair of neighbours; in huge layers medians have to do.
_MOST_SWAPPED: Final = 400


def ordered(layers: Sequence[Sequence[int]], links: Sequence[Edge]) -> list[list[int]]:
    """Return the layers with few crossings."""
    above, below = _neighbours(links)
    best = [list(layer) for layer in layers]
    least = _all_crossings(best, below)
    order = [list(layer) for layer in best]
    for sweep in range(_SWEEPS):
        if not least:
            break
        down = sweep % 2 == 0
        places = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for at in places:
            fixed = order[at - 1 if down else at + 1]
            _by_median(order[at], fixed, above if down else below)
        _swap(order, above, below)
        crossings = _all_crossings(order, below)
        if crossings < least:
            best, least = [list(layer) for layer in order], crossings
    return best


def _neighbours(links: Sequence[Edge]) -> tuple[Neighbours, Neighbours]:
    above: Neighbours = {}
    below: Neighbours = {}
    for upper, lower in links:
        below.setdefault(upper, []).append(lower)
        above.setdefault(lower, []).append(upper)
    return above, below


def _by_median(layer: list[int], fixed: Sequence[int], neighbours: Neighbours) -> None:
    """Sort a layer by the medians of its neighbours; items without any keep their place."""
    place = {item: at for at, item in enumerate(fixed)}
    medians = {
        item: _median(sorted(place[one] for one in neighbours[item]))
        for item in layer
        if item in neighbours
    }
    moving = iter(sorted((item for item in layer if item in medians), key=medians.__getitem__))
    layer[:] = [next(moving) if item in medians else item for item in layer]


def _median(places: Sequence[int]) -> float:
    half = len(places) // 2
    return places[half] if len(places) % 2 else (places[half - 1] + places[half]) / 2


def _swap(order: list[list[int]], above: Neighbours, below: Neighbours) -> None:
    """Exchange neighbours of a layer where that leaves fewer crossings on both of its sides."""
    for at, layer in enumerate(order):
        if len(layer) > _MOST_SWAPPED:
            continue
        sides = [
            ({item: place for place, item in enumerate(order[side])}, neighbours)
            for side, neighbours in ((at - 1, above), (at + 1, below))
            if 0 <= side < len(order)
        ]
        for left in range(len(layer) - 1):
            one, other = layer[left], layer[left + 1]
            gain = sum(_gain(one, other, place, around) for place, around in sides)
            if gain > 0:
                layer[left], layer[left + 1] = other, one


def _gain(one: int, other: int, place: dict[int, int], neighbours: Neighbours) -> int:
    """Return how many crossings of two neighbours an exchange saves."""
    mine = [place[item] for item in neighbours.get(one, ())]
    theirs = [place[item] for item in neighbours.get(other, ())]
    return sum((left > right) - (left < right) for left in mine for right in theirs)


def _all_crossings(order: Sequence[Sequence[int]], below: Neighbours) -> int:
    return sum(_crossings(order[at], order[at + 1], below) for at in range(len(order) - 1))


def _crossings(upper: Sequence[int], lower: Sequence[int], below: Neighbours) -> int:
    """Count pairs of links in opposite order."""
    place = {item: at for at, item in enumerate(lower)}
    passed: list[int] = []
    crossings = 0
    for item in upper:
        ends = sorted(place[one] for one in below.get(item, ()))
        crossings += sum(len(passed) - bisect_right(passed, end) for end in ends)
        for end in ends:
            insort(passed, end)
    return crossings


# Items of a layer keep their order and do not touch.
# Each layer in turn takes the places nearest to the mean of its neighbours in the sense of least
# squares, under the condition of order: an isotonic regression, solved by pooling adjacent
# violators (Barlow, Bartholomew, Bremner and Brunk, 1972).  What has much below it weighs more, so
# that the main line of a proof runs straight and its leaves stand beside it.

_PLACES_SWEEPS: Final = 16


def placed(
    layers: Sequence[Sequence[int]], links: Sequence[Edge], sizes: Sequence[float], gap: float
) -> list[float]:
    """Return the middle of every item."""
    places = [0.0] * len(sizes)
    offsets = [_offsets(layer, sizes, gap) for layer in layers]
    for layer, offset in zip(layers, offsets, strict=True):
        for item, at in zip(layer, offset, strict=True):
            places[item] = at - offset[-1] / 2
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    weights = _weights(layers, below)
    for sweep in range(_PLACES_SWEEPS):
        down = sweep % 2 == 0
        for at in range(len(layers)) if down else reversed(range(len(layers))):
            wishes = _wishes(layers[at], places, weights, _wanted(sweep, above, below))
            _settle(layers[at], offsets[at], places, wishes)
    least = min((place - size / 2 for place, size in zip(places, sizes, strict=True)), default=0.0)
    return [round(place - least, 2) for place in places]


def _wanted(
    sweep: int, above: list[list[int]], below: list[list[int]]
) -> Sequence[list[list[int]]]:
    """Return whose mean counts: one side at first, both in the end."""
    if sweep >= _PLACES_SWEEPS - 4:
        return (above, below)
    return (above,) if sweep % 2 == 0 else (below,)


def _offsets(layer: Sequence[int], sizes: Sequence[float], gap: float) -> list[float]:
    """Return the least distance of each item from the first."""
    found: list[float] = []
    for at, item in enumerate(layer):
        room = sizes[item] / 2 + gap + sizes[layer[at - 1]] / 2 if at else 0.0
        found.append(found[-1] + room if found else 0.0)
    return found


def _weights(layers: Sequence[Sequence[int]], below: list[list[int]]) -> list[float]:
    """Return how much each item weighs, from the longest way down from it."""
    heights = [0] * len(below)
    for layer in reversed(layers):
        for item in layer:
            heights[item] = 1 + max((heights[one] for one in below[item]), default=0)
    return [float(height**3) for height in heights]


def _wishes(
    layer: Sequence[int],
    places: Sequence[float],
    weights: Sequence[float],
    sides: Sequence[list[list[int]]],
) -> list[tuple[float, float]]:
    """Return for each item where it would stand, and how much that matters."""
    found = []
    for item in layer:
        near = [one for side in sides for one in side[item]]
        if near:
            total = sum(weights[one] for one in near)
            wish = sum(places[one] * weights[one] for one in near) / total
            found.append((wish, weights[item]))
        else:
            found.append((places[item], weights[item] / 10))
    return found


def _settle(
    layer: Sequence[int],
    offsets: Sequence[float],
    places: list[float],
    wishes: Sequence[tuple[float, float]],
) -> None:
    """Move the items of a layer as near to where they would stand as the order allows."""
    pools: list[tuple[float, float, int]] = []
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        pool = ((wish - offset) * weight, weight, 1)
        while pools and pools[-1][0] / pools[-1][1] > pool[0] / pool[1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    at = 0
    for total, weight, count in pools:
        for _ in range(count):
            places[layer[at]] = total / weight + offsets[at]
            at += 1


# Equal input gives equal output; no two boxes overlap, and along an edge the layer only grows.
# Ranks by longest path, lines through empty places of the layers between, crossings reduced by
# medians and swaps, places by least squares within each layer.  networkx gives the ranks; it has
# no layout that does the rest.  See Sugiyama, Tagawa and Toda (1981) and Gansner, Koutsofios,
# North and Vo (1993); the least squares are an isotonic regression.

Point = tuple[float, float]

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
