"""Rows as single integers: a tuple of columns in, one int64 key per row out, and back.

A column whose values span a small range is stored as the difference to its lowest value; any other
one through a dictionary that numbers values as they come. Where the bits of all columns do not
fit into one key, the key so far is numbered by a dictionary as well and the next column is put
beside that number, so that any arity works. Invariants: keys are not negative; equal rows and
only they have equal keys; without dictionaries the order of keys is the order of rows.

Example: with 0 <= x < 4 and 10 <= y < 12 the row (3, 11) is `3 << 1 | 1`, which is 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from constat.columnar.arrays import EMPTY, Array, Columns, contains, distinct
from constat.evaluation.bulk import StrategyError


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of a column: `low` to `high`; `closed` where no other value can occur."""

    low: int
    high: int
    closed: bool = True

    @property
    def bits(self) -> int:
        """How many bits the difference to the lowest value needs."""
        return (self.high - self.low).bit_length()


@dataclass(frozen=True, slots=True)
class Widths:
    """The bits of a key and of a number in a dictionary. Tests make them small."""

    key: int = 62
    number: int = 31


class Numbering:
    """A dictionary from int64 to numbers from 0, in the order of first appearance."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._sorted = EMPTY
        self._numbers = EMPTY
        self._values = EMPTY

    def numbers(self, values: Array) -> Array:
        """The numbers of values; new ones are added."""
        fresh = distinct(values)
        fresh = fresh[~contains(self._sorted, fresh)]
        if len(fresh):
            self._add(fresh)
        return self._numbers[np.searchsorted(self._sorted, values)]

    def find(self, values: Array) -> Array:
        """The numbers of values, -1 for those that are not there."""
        if not len(self._sorted):
            return np.full(len(values), -1, np.int64)
        place = np.searchsorted(self._sorted, values)
        np.minimum(place, len(self._sorted) - 1, out=place)
        return np.where(self._sorted[place] == values, self._numbers[place], -1)

    def values(self, numbers: Array) -> Array:
        """The values with these numbers."""
        return self._values[numbers]

    def _add(self, fresh: Array) -> None:
        count = len(self._values)
        if count + len(fresh) > self._capacity:
            raise StrategyError(f"more than {self._capacity:,} different values in a key")
        together = np.concatenate([self._sorted, fresh])
        numbers = np.concatenate([self._numbers, np.arange(count, count + len(fresh))])
        order = np.argsort(together, kind="stable")
        self._sorted, self._numbers = together[order], numbers[order]
        self._values = np.concatenate([self._values, fresh])


class Packing:
    """How the rows of some columns become keys. `bits` is the width of a key."""

    def __init__(self, domains: Sequence[Domain], widths: Widths) -> None:
        self.domains = tuple(domains)
        self._widths = widths
        self._leaves: list[Numbering | None] = []
        self._folds: list[Numbering | None] = []
        self.column_bits: list[int] = []
        self.bits = 0
        simple = sum(one.bits for one in domains) <= widths.key
        for domain in domains:
            self._add_column(domain, simple=simple)
        #: Whether keys are differences side by side: no dictionary, ordered like rows.
        self.simple = not any((*self._leaves, *self._folds))

    def _add_column(self, domain: Domain, *, simple: bool) -> None:
        widths = self._widths
        direct = domain.closed and (simple or domain.bits <= widths.number)
        leaf = None if direct else Numbering(1 << widths.number)
        bits = domain.bits if direct else widths.number
        fold = None
        if self.bits + bits > widths.key:
            fold = Numbering(1 << widths.number)
            self.bits = widths.number
        self._leaves.append(leaf)
        self._folds.append(fold)
        self.column_bits.append(bits)
        self.bits += bits

    def pack(self, columns: Sequence[Array]) -> Array:
        """The keys of rows; every value of a closed domain lies in it."""
        key: Array = EMPTY
        for place, column in enumerate(columns):
            leaf, fold = self._leaves[place], self._folds[place]
            low = self.domains[place].low
            code = leaf.numbers(column) if leaf else column - low if low else column
            if place:
                key = fold.numbers(key) if fold else key
                key = key << self.column_bits[place]
                key |= code
            else:
                key = code
        return key

    def find(self, columns: Sequence[Array]) -> Array:
        """The keys of rows that may lie outside; -1 for those that no packed row can equal."""
        key: Array = EMPTY
        for place, column in enumerate(columns):
            code, lost = self._find_column(place, column)
            if place:
                fold = self._folds[place]
                if fold:
                    key = fold.find(key)
                lost = lost | (key < 0)
                key = (key << self.column_bits[place]) | code
            else:
                key = code
            if lost.any():
                key = np.where(lost, -1, key)
        return key

    def _find_column(self, place: int, column: Array) -> tuple[Array, np.ndarray]:
        leaf = self._leaves[place]
        if leaf:
            code = leaf.find(column)
            return code, code < 0
        domain = self.domains[place]
        lost = (column < domain.low) | (column > domain.high)
        # What lies outside may wrap around here; its code is not used.
        return column - domain.low if domain.low else column, lost

    def unpack(self, keys: Array) -> Columns:
        """The columns of packed rows."""
        found: list[Array] = []
        for place in range(len(self.domains) - 1, -1, -1):
            bits, low, leaf = self.column_bits[place], self.domains[place].low, self._leaves[place]
            code = keys & ((1 << bits) - 1) if place else keys
            if place:
                keys = keys >> bits
                fold = self._folds[place]
                keys = fold.values(keys) if fold else keys
            found.append(leaf.values(code) if leaf else code + low if low else code)
        return tuple(reversed(found))

    def shifts(self) -> tuple[int, ...]:
        """By how many bits each column stands from the right; only where `simple`."""
        return tuple(sum(self.column_bits[place + 1 :]) for place in range(len(self.domains)))
