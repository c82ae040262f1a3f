"""A finished relation of integers, looked up by any of its columns, with the height of each row.

In: columns whose rows are distinct, and the height of each row or of all. Out: the rows that have
certain values in certain columns and lie below a height. Invariant: rows are found by binary search
in an order that is made when it is first asked for, so that a look-up costs no pass over the rows.
Example: `lookup.count({0: 7})` of the edges from 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from constat.columnar.arrays import Array, Columns

_MOST_BITS = 62


class Lookup:
    """The rows of one relation."""

    def __init__(self, columns: Sequence[Array], heights: Array | int) -> None:
        order = _sorting(columns)
        self._columns: Columns = tuple(column[order] for column in columns)
        self._heights = heights if isinstance(heights, int) else heights[order].astype(np.int32)
        self._orders: dict[int, tuple[Array, Array]] = {}

    @property
    def size(self) -> int:
        """Bytes held."""
        held = sum(column.nbytes for column in self._columns)
        held += 0 if isinstance(self._heights, int) else self._heights.nbytes
        return held + sum(one.nbytes + other.nbytes for one, other in self._orders.values())

    def height(self, row: Sequence[int]) -> int | None:
        """The height of a row; `None` where there is no such row."""
        low, high, _ = self._prefix(dict(enumerate(row)))
        if low == high:
            return None
        return self._heights if isinstance(self._heights, int) else int(self._heights[low])

    def count(self, bound: Mapping[int, int]) -> int:
        """At most how many rows have these values: those that one binary search leaves."""
        if 0 in bound or not bound:
            low, high, _ = self._prefix(bound)
        else:
            low, high, _ = self._by_column(min(bound), bound)
        return high - low

    def rows(self, bound: Mapping[int, int], below: int) -> Iterator[tuple[int, ...]]:
        """Yield the rows with these values whose height is less."""
        if isinstance(self._heights, int) and self._heights >= below:
            return
        if 0 in bound or not bound:
            low, high, checked = self._prefix(bound)
            places = np.arange(low, high)
        else:
            column = min(bound)
            low, high, checked = self._by_column(column, bound)
            places = self._orders[column][0][low:high]
        for column, value in bound.items():
            if column not in checked:
                places = places[self._columns[column][places] == value]
        if not isinstance(self._heights, int):
            places = places[self._heights[places] < below]
        for place in places:
            yield tuple([int(column[place]) for column in self._columns])

    def _prefix(self, bound: Mapping[int, int]) -> tuple[int, int, frozenset[int]]:
        """Narrow the rows by the first columns, as far as these have values."""
        low, high = 0, len(self._columns[0]) if self._columns else 0
        checked = []
        for place, column in enumerate(self._columns):
            if place not in bound:
                break
            part = column[low:high]
            value = bound[place]
            low, high = (
                low + int(np.searchsorted(part, value, "left")),
                low + int(np.searchsorted(part, value, "right")),
            )
            checked.append(place)
        return low, high, frozenset(checked)

    def _by_column(self, column: int, bound: Mapping[int, int]) -> tuple[int, int, frozenset[int]]:
        if column not in self._orders:
            order = np.argsort(self._columns[column], kind="stable")
            self._orders[column] = order, self._columns[column][order]
        _, ordered = self._orders[column]
        value = bound[column]
        low = int(np.searchsorted(ordered, value, "left"))
        return low, int(np.searchsorted(ordered, value, "right")), frozenset((column,))


def _sorting(columns: Sequence[Array]) -> Array:
    """The order of rows by their columns; one sort of packed keys where these fit."""
    if not columns or not len(columns[0]):
        return np.empty(0, np.int64)
    spans = [(int(column.min()), int(column.max())) for column in columns]
    bits = [(high - low).bit_length() for low, high in spans]
    if sum(bits) > _MOST_BITS:
        return np.lexsort(tuple(reversed(columns)))
    keys = np.zeros(len(columns[0]), np.int64)
    for column, (low, _), width in zip(columns, spans, bits, strict=True):
        keys <<= width
        keys |= column - low
    if bool((keys[1:] > keys[:-1]).all()):
        return np.arange(len(keys))
    return np.argsort(keys)
