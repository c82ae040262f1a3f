"""Sorted pieces of a relation, found by the values of some columns.

In: rows, the *key* columns to look up by, the *rest*. Out: for each code looked up, where its
rows begin and how many there are; then columns at places. Two forms: `Packed` holds one sorted
int64 per row, key bits above the bits of the rest, and takes columns out of it again; `Ordered`
holds sorted codes and the other columns beside them, where a row has too many bits. Invariant: the
rows of one code lie side by side.

Example: `edge` by its column 0 as `[0b001, 0b010, 0b011]`, one bit for the rest: code 1 has two
rows, from place 1. See the compressed sparse row form of matrices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from constat.columnar.arrays import Array, union
from constat.columnar.packing import Domain, Packing, Widths

# Pointers are made when lookups are so many that they repay one pass over the keys.
# One probe of a binary search costs as much as passing over so many keys.
_PROBES = 32
_POINTERS_PER_ROW = 4
_POINTERS_FREE = 1 << 16


class Segment(Protocol):
    """A sorted piece of a relation."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    @property
    def size(self) -> int:
        """Bytes held."""
        ...

    def ranges(self, codes: Array) -> tuple[Array, Array]:
        """Where the rows of each code begin, and how many there are; none for code -1."""
        ...

    def take(self, places: Array | slice, columns: Sequence[int]) -> dict[int, Array]:
        """The values of columns at places."""
        ...


class _Lookup:
    """Finds codes in sorted keys, by binary search or by pointers for each possible code."""

    def __init__(self, keys: Array, shift: int, bits: int) -> None:
        self.keys = keys
        self._shift = shift
        self._codes = 1 << bits
        self._asked = 0
        self._pointers: Array | None = None

    @property
    def size(self) -> int:
        pointers = 0 if self._pointers is None else self._pointers.nbytes
        return self.keys.nbytes + pointers

    def ranges(self, codes: Array) -> tuple[Array, Array]:
        if self._pointers is None:
            self._asked += len(codes)
            if not self._worth_pointers():
                return self._search(codes)
            self._pointers = self._point()
        # One empty code stands before all others, so that -1 has no rows.
        starts = self._pointers[codes + 1]
        return starts, self._pointers[codes + 2] - starts

    def _worth_pointers(self) -> bool:
        rows = len(self.keys)
        return (
            self._asked * _PROBES > rows
            and self._asked > 1
            and self._codes <= max(_POINTERS_PER_ROW * rows, _POINTERS_FREE)
        )

    def _point(self) -> Array:
        counts = np.bincount(self.keys >> self._shift, minlength=self._codes)
        pointers = np.zeros(self._codes + 2, np.int64)
        np.cumsum(counts, out=pointers[2:])
        return pointers

    def _search(self, codes: Array) -> tuple[Array, Array]:
        low = codes << self._shift
        starts = np.searchsorted(self.keys, low)
        ends = np.searchsorted(self.keys, low + (1 << self._shift))
        return starts, np.where(codes < 0, 0, ends - starts)


class Packed:
    """Rows as one sorted int64 each."""

    def __init__(self, layout: Layout, keys: Array) -> None:
        self._layout = layout
        self._lookup = _Lookup(keys, layout.rest_bits, layout.head.bits)
        self.keys = keys

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._lookup.size

    def ranges(self, codes: Array) -> tuple[Array, Array]:
        """Where the rows of each code begin, and how many there are."""
        return self._lookup.ranges(codes)

    def take(self, places: Array | slice, columns: Sequence[int]) -> dict[int, Array]:
        """The values of columns at places."""
        return self._layout.decode(self.keys[places], columns) if columns else {}


class Ordered:
    """Sorted codes with the other columns beside them."""

    def __init__(self, codes: Array, bits: int, columns: Mapping[int, Array]) -> None:
        self._lookup = _Lookup(codes, 0, min(bits, 62))
        self.columns = columns

    def __len__(self) -> int:
        return len(self._lookup.keys)

    @property
    def codes(self) -> Array:
        """The sorted codes."""
        return self._lookup.keys

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._lookup.size + sum(one.nbytes for one in self.columns.values())

    def ranges(self, codes: Array) -> tuple[Array, Array]:
        """Where the rows of each code begin, and how many there are."""
        return self._lookup.ranges(codes)

    def take(self, places: Array | slice, columns: Sequence[int]) -> dict[int, Array]:
        """The values of columns at places."""
        return {column: self.columns[column][places] for column in columns}


class Layout:
    """How a relation is cut into segments for one choice of key columns."""

    def __init__(self, key: tuple[int, ...], domains: Sequence[Domain], widths: Widths) -> None:
        self.key = key
        self.rest = tuple(place for place in range(len(domains)) if place not in key)
        self.head = Packing([domains[place] for place in key], widths)
        self._tail = Packing([domains[place] for place in self.rest], widths)
        self.rest_bits = self._tail.bits
        both = self.head.simple and self._tail.simple
        self._packed = both and self.head.bits + self.rest_bits <= widths.key
        self._shifts = self._fields() if self._packed else {}

    def _fields(self) -> dict[int, tuple[int, int, int]]:
        """For each column its shift, its mask and its lowest value."""
        shifts = [shift + self.rest_bits for shift in self.head.shifts()] + [*self._tail.shifts()]
        packings = [self.head] * len(self.key) + [self._tail] * len(self.rest)
        inner = [*range(len(self.key)), *range(len(self.rest))]
        return {
            column: (shift, (1 << packing.column_bits[at]) - 1, packing.domains[at].low)
            for column, shift, packing, at in zip(
                (*self.key, *self.rest), shifts, packings, inner, strict=True
            )
        }

    def segment(self, columns: Sequence[Array]) -> Segment:
        """Sort rows, given by columns of one length, into a segment."""
        if self._packed:
            return Packed(self, np.sort(self._compose(columns)))
        count = len(columns[0])
        codes = self._codes([columns[place] for place in self.key], count)
        order = np.argsort(codes, kind="stable")
        ordered = {place: column[order] for place, column in enumerate(columns)}
        return Ordered(codes[order], self.head.bits, ordered)

    def _compose(self, columns: Sequence[Array]) -> Array:
        parts = [columns[place] for place in self.key]
        rest = [columns[place] for place in self.rest]
        if not parts:
            return self._tail.pack(rest)
        if not rest:
            return self.head.pack(parts)
        return (self.head.pack(parts) << self.rest_bits) | self._tail.pack(rest)

    def _codes(self, key: Sequence[Array], count: int) -> Array:
        return self.head.pack(key) if key else np.zeros(count, np.int64)

    def merge(self, segments: Sequence[Segment]) -> Segment:
        """One segment with the rows of all, which are disjoint."""
        packed = [one.keys for one in segments if isinstance(one, Packed)]
        if packed:
            return Packed(self, union(packed))
        ordered = [one for one in segments if isinstance(one, Ordered)]
        codes = np.concatenate([one.codes for one in ordered])
        order = np.argsort(codes, kind="stable")
        columns = {
            place: np.concatenate([one.columns[place] for one in ordered])[order]
            for place in ordered[0].columns
        }
        return Ordered(codes[order], self.head.bits, columns)

    def find(self, key: Sequence[Array], count: int) -> Array:
        """The codes of `count` values of the key columns, -1 for what no row holds."""
        return self.head.find(key) if key else np.zeros(count, np.int64)

    def decode(self, keys: Array, columns: Sequence[int]) -> dict[int, Array]:
        """Take columns out of packed rows."""
        found: dict[int, Array] = {}
        for column in columns:
            shift, mask, low = self._shifts[column]
            values = (keys >> shift) & mask if shift else keys & mask
            if low:
                values += low
            found[column] = values
        return found
