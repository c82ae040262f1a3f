"""Arrays, batches of bindings, rows as single integers, and what one stage may use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from constat.evaluation import MemoryNeededError, ResourceError, Resources, StrategyError
from constat.frozen import frozen

# A set of keys is an int64 array in rising order without repetition.
# No function here changes an array it was given.

Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Columns = tuple[Array, ...]

EMPTY: Final[Array] = np.empty(0, np.int64)
EMPTY.setflags(write=False)


def neighbours_differ(keys: Array) -> Mask:
    """For sorted keys: which are the first of their kind."""
    first = np.empty(len(keys), np.bool_)
    first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def distinct(keys: Array) -> Array:
    """The set of keys in any order, repetitions allowed."""
    if len(keys) <= 1:
        return keys
    ordered = np.sort(keys)
    return ordered[neighbours_differ(ordered)]


def union(runs: Sequence[Array]) -> Array:
    """The sorted union of disjoint sets. A stable sort finds the runs and only merges them."""
    if len(runs) == 1:
        return runs[0]
    if not runs:
        return EMPTY
    merged = np.concatenate(runs)
    merged.sort(kind="stable")
    return merged


def missing(keys: Array, known: Array) -> Array:
    """The keys that are not in the set `known`, in the order given."""
    if not len(known) or not len(keys):
        return keys
    return keys[~contains(known, keys)]


def contains(known: Array, keys: Array) -> Mask:
    """For each key whether it is in the set `known`."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    place = np.searchsorted(known, keys)
    np.minimum(place, len(known) - 1, out=place)
    found: Mask = known[place] == keys
    return found


# Every array has `count` values.


@frozen
class Batch:
    """`count` bindings."""

    count: int
    slots: Mapping[int, Array]
    constants: Mapping[int, int]

    def column(self, slot: int) -> Array:
        """The values of a slot."""
        found = self.slots.get(slot)
        if found is None:
            return np.full(self.count, self.constants[slot], np.int64)
        return found

    def keep(self, mask: Mask) -> Batch:
        """The bindings where the mask is set."""
        kept = {slot: column[mask] for slot, column in self.slots.items()}
        return Batch(int(np.count_nonzero(mask)), kept, self.constants)

    def take(self, places: Array, live: Collection[int]) -> dict[int, Array]:
        """The slots in `live` of the bindings at these places."""
        return {slot: column[places] for slot, column in self.slots.items() if slot in live}

    def narrow(self, live: Collection[int]) -> Batch:
        """Without the slots that nothing reads any more."""
        kept = {slot: column for slot, column in self.slots.items() if slot in live}
        return Batch(self.count, kept, self.constants)


# `need` is asked before an array of that many bytes exists, so that the machine never has to kill
# the process.

_SHARE = 0.6
_UNKNOWN_MACHINE = 4 << 30
# Bindings of one chunk: small enough for the processor's caches, large enough to be worth a call.
_CHUNK = 1 << 19
# A binding has a few live slots and as many temporary arrays: about this many bytes.
_BYTES_OF_A_BINDING = 160


class Bounds:
    """The bounds of one stage; `chunk` is how many bindings may exist at a time."""

    def __init__(
        self, resources: Resources, check: Callable[[], None], *, chunk: int = _CHUNK
    ) -> None:
        self._resources = resources
        self._check = check
        self._started = time.monotonic()
        self.memory = resources.memory or machine_memory()
        self.held = 0
        self.chunk = max(1, min(chunk, self.memory // (4 * _BYTES_OF_A_BINDING)))
        self.threads = resources.threads or os.cpu_count() or 1

    def tick(self) -> None:
        """Ask for time and interruption; called for each chunk and each round."""
        self._check()
        if self.seconds() > self._resources.seconds:
            raise ResourceError(
                f"the time limit of {self._resources.seconds:g} seconds was reached", "seconds"
            )

    def seconds(self) -> float:
        """Seconds since the stage began."""
        return time.monotonic() - self._started

    def need(self, size: int, what: str) -> None:
        """Refuse to allocate more than is left. `size` is in bytes, `what` says what for."""
        if self.held + size > self.memory:
            megabytes = (self.held + size) >> 20
            raise MemoryNeededError(
                f"{what} would need {megabytes:,} MB of memory in all; the limit is "
                f"{self.memory >> 20:,} MB"
            )

    def fits(self, size: int) -> bool:
        """Whether so many bytes are left, for choosing between two ways."""
        return self.held + size <= self.memory

    def count(self, rows: int, rounds: int) -> None:
        """Check the rows of a relation and the rounds so far."""
        if rows > self._resources.rows:
            raise ResourceError(f"the limit of {self._resources.rows:,} rows was reached", "rows")
        if rounds > self._resources.rounds:
            raise ResourceError(f"the limit of {self._resources.rounds:,} rounds was reached")


def machine_memory() -> int:
    """The bytes that seem right for this machine: a share of what it has."""
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MACHINE
    return int(pages * size * _SHARE) if pages > 0 and size > 0 else _UNKNOWN_MACHINE


# A column whose values span a small range is stored as the difference to its lowest value; any
# other one through a dictionary that numbers values as they come. Where the bits of all columns do
# not fit into one key, the key so far is numbered by a dictionary as well and the next column is
# put beside that number, so that any arity works. Invariants: keys are not negative; equal rows
# and only they have equal keys; without dictionaries the order of keys is the order of rows.


@frozen
class Domain:
    """The values of a column: `low` to `high`; `closed` where no other value can occur."""

    low: int
    high: int
    closed: bool = True

    @property
    def bits(self) -> int:
        """How many bits the difference to the lowest value needs."""
        return (self.high - self.low).bit_length()


@frozen
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
