"""Place the items of ordered layers so that lines run straight.

In: ordered layers, links between neighbouring layers, and the breadth of each item.  Out: the
middle of each item on the axis of its layer, the least edge at 0.  Invariant: items of a layer keep
their order and do not touch.

Each layer in turn takes the places nearest to the mean of its neighbours in the sense of least
squares, under the condition of order: an isotonic regression, solved by pooling adjacent violators
(Barlow, Bartholomew, Bremner and Brunk, 1972).  What has much below it weighs more, so that the
main line of a proof runs straight and its leaves stand beside it.

Example: one item over two items of breadth 10 stands above their middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

Edge = tuple[int, int]

_SWEEPS: Final = 16


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
    for sweep in range(_SWEEPS):
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
    if sweep >= _SWEEPS - 4:
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
