"""Order the items of each layer so that few lines cross.

In: layers of items, and links between neighbouring layers.  Out: the layers in another order.
Invariant: each layer keeps its items, crossings are never more than at the start, and equal input
gives equal output.  Medians sweep down and up, then neighbours are swapped where that helps; see
Gansner, Koutsofios, North and Vo (1993), section 3.

Example: layers ``[[0, 1], [2, 3]]`` with links 0-3 and 1-2 become ``[[0, 1], [3, 2]]``.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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
