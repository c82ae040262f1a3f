"""Sets of places that hold the same values: union-find (Tarjan, 1975).

In: pairs of places that are equal. Out: a representative for each. Invariant: places are numbered
from 0 as they are made; marks of a class survive joining.
"""

from __future__ import annotations


class Classes:
    """Disjoint classes of places, each of which may be spoiled."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._spoiled: set[int] = set()

    def new(self) -> int:
        """Make a place that is alone in its class."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def find(self, place: int) -> int:
        """Give the representative of a place."""
        parent = self._parent
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    def join(self, one: int, other: int) -> None:
        """Make two classes one."""
        self._parent[self.find(one)] = self.find(other)

    def spoil(self, place: int) -> None:
        """Mark what the place's class will be in the end."""
        self._spoiled.add(place)

    def spoiled(self) -> set[int]:
        """The representatives of the classes with a mark."""
        return {self.find(place) for place in self._spoiled}
