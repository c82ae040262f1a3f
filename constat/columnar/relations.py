"""Relations as sorted pieces and segments: which rows are new, found by any columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import numpy as np

from constat.columnar.arrays import (
    EMPTY,
    Array,
    Bounds,
    Columns,
    Domain,
    Packing,
    Widths,
    distinct,
    missing,
    union,
)
from constat.plan.forward import Reading

# The rows of one code lie side by side.

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


# A `Finished` relation never changes: one segment for each choice of key columns. A `Growing` one
# belongs to the stage: its rows of earlier rounds are *stable*, those of the last round are the
# *delta*; `full` is both. Stable rows lie in a few segments whose sizes fall geometrically, so
# that a row is merged only a logarithmic number of times (a log-structured merge tree).

Key = tuple[int, ...]

# A segment is merged into the one before it unless that one is this many times larger.
_RATIO: Final = 4
# A column costs this many bytes per row while a segment is sorted.
_SORTING = 24


class Finished:
    """A relation that is complete before the stage begins."""

    def __init__(self, columns: Columns, bounds: Bounds, widths: Widths) -> None:
        self.columns = columns
        self.rows = len(columns[0])
        self._bounds = bounds
        self._widths = widths
        self._domains = [_domain(column) for column in columns]
        self._made: dict[Key, tuple[Layout, tuple[Segment, ...]]] = {}
        self._different: dict[int, int] = {}

    def domain(self, column: int) -> Domain:
        """The lowest and the highest value of a column."""
        return self._domains[column]

    def different(self, column: int) -> int:
        """How many different values a column has."""
        if column not in self._different:
            self._different[column] = len(distinct(self.columns[column]))
        return self._different[column]

    def by(self, key: Key) -> Layout:
        """The layout for these key columns."""
        return self._get(key)[0]

    def segments(self, key: Key, reading: Reading) -> tuple[Segment, ...]:  # noqa: ARG002  one answer
        """Its one segment; none when there are no rows."""
        return self._get(key)[1]

    def _get(self, key: Key) -> tuple[Layout, tuple[Segment, ...]]:
        if key not in self._made:
            self._bounds.need(self.rows * _SORTING * len(self.columns), "an index")
            layout = Layout(key, self._domains, self._widths)
            made = (layout.segment(self.columns),) if self.rows else ()
            self._bounds.held += sum(one.size for one in made)
            self._made[key] = (layout, made)
        return self._made[key]


class Growing:
    """A relation of the stage, for joins. Rows arrive once a round, each only once."""

    def __init__(self, domains: Sequence[Domain], widths: Widths) -> None:
        self._domains = domains
        self._widths = widths
        self._layouts: dict[Key, Layout] = {}
        self._stable: dict[Key, list[Segment]] = {}
        self._delta: dict[Key, Segment | None] = {}
        self._delta_only: set[Key] = set()

    def prepare(self, key: Key, reading: Reading) -> None:
        """Say before the first round that a join will read by these columns."""
        fresh = key not in self._layouts
        if fresh:
            self._layouts[key] = Layout(key, self._domains, self._widths)
            self._stable[key] = []
            self._delta[key] = None
        if reading is not Reading.DELTA:
            self._delta_only.discard(key)
        elif fresh:
            self._delta_only.add(key)

    @property
    def size(self) -> int:
        """Bytes held."""
        stable = sum(one.size for runs in self._stable.values() for one in runs)
        return stable + sum(one.size for one in self._delta.values() if one is not None)

    @property
    def bytes_per_row(self) -> int:
        """What a new row takes while it is put into all segments."""
        return _SORTING * (1 + len(self._layouts)) * len(self._domains)

    @property
    def asked(self) -> bool:
        """Whether any join reads this relation."""
        return bool(self._layouts)

    def turn(self, columns: Columns) -> None:
        """Begin a round: the delta becomes stable, and these rows are the new delta."""
        for key, layout in self._layouts.items():
            last = self._delta[key]
            if last is not None and key not in self._delta_only:
                self._keep(layout, self._stable[key], last)
            self._delta[key] = layout.segment(columns) if len(columns[0]) else None

    def by(self, key: Key) -> Layout:
        """The layout for these key columns."""
        return self._layouts[key]

    def segments(self, key: Key, reading: Reading) -> tuple[Segment, ...]:
        """The segments of one reading."""
        delta = self._delta[key]
        last = () if delta is None else (delta,)
        match reading:
            case Reading.DELTA:
                return last
            case Reading.STABLE:
                return tuple(self._stable[key])
            case Reading.FULL:
                return (*self._stable[key], *last)

    @staticmethod
    def _keep(layout: Layout, runs: list[Segment], last: Segment) -> None:
        merged = [last]
        total = len(last)
        while runs and len(runs[-1]) < _RATIO * total:
            merged.append(runs.pop())
            total += len(merged[-1])
        runs.append(layout.merge(merged[::-1]) if len(merged) > 1 else last)


Readable = Finished | Growing


def _domain(column: np.ndarray) -> Domain:
    if not len(column):
        return Domain(0, 0)
    return Domain(int(column.min()), int(column.max()))


# Candidates are offered as columns; at the end of a round `close` gives the rows that were not
# there before. Runs are merged when the one before is not several times larger, so that there are
# few to search (a log-structured merge tree).
# No key lies in two runs.

# Candidates wait, as many as there are bindings in some chunks, until they are sorted together.
_CHUNKS: Final = 4
_RUNS_SORTING: Final = 24


class Runs:
    """The rows of one relation as keys."""

    def __init__(self, packing: Packing, bounds: Bounds) -> None:
        self._packing = packing
        self._bounds = bounds
        self._runs: list[Array] = []
        self._pending: list[Array] = []
        self._waiting = 0
        self._fresh: list[Array] = []
        self._delta = EMPTY
        self.rows = 0

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(one.nbytes for one in (*self._runs, *self._fresh, *self._pending))

    def offer(self, columns: Sequence[Array]) -> None:
        """Take candidates; repetitions and known rows are welcome."""
        keys = self._packing.pack(columns)
        self._pending.append(keys)
        self._waiting += len(keys)
        if self._waiting >= _CHUNKS * self._bounds.chunk:
            self._sift()

    def close(self) -> int:
        """End a round: how many rows are new."""
        self._sift()
        self._delta = union(self._fresh)
        self._fresh = []
        self.rows += len(self._delta)
        if len(self._delta):
            self._keep(self._delta)
        return len(self._delta)

    def delta(self) -> Columns:
        """The new rows of the last round, each once."""
        return self._packing.unpack(self._delta)

    def columns(self) -> Columns:
        """All rows."""
        self._bounds.need(self.rows * 8 * len(self._packing.domains), "the result")
        return self._packing.unpack(np.concatenate(self._runs) if self._runs else EMPTY)

    def _sift(self) -> None:
        if not self._pending:
            return
        fresh = sum(len(one) for one in self._fresh)
        self._bounds.need(self._waiting * _RUNS_SORTING + 2 * 8 * fresh, "the new rows of a round")
        self._bounds.count(self.rows + fresh, 0)
        keys = distinct(np.concatenate(self._pending))
        self._pending, self._waiting = [], 0
        for run in (*self._runs, *self._fresh):
            keys = missing(keys, run)
        if len(keys):
            self._fresh.append(keys)

    def _keep(self, keys: Array) -> None:
        merged = [keys]
        total = len(keys)
        while self._runs and len(self._runs[-1]) < _RATIO * total:
            merged.append(self._runs.pop())
            total += len(merged[-1])
        self._bounds.need(2 * total * 8, "merging the rows of a relation")
        self._runs.append(union(merged[::-1]))


# Rows are found by binary search in an order that is made when it is first asked for, so that a
# look-up costs no pass over the rows.

_MOST_BITS = 62


class Lookup:
    """The rows of one relation."""

    def __init__(self, columns: Sequence[Array], heights: Array | int) -> None:
        self._lead = range(len(columns))
        if _is_sorted(columns[::-1]):
            self._lead = self._lead[::-1]
        elif not _is_sorted(columns):
            order = _sorting(columns)
            columns = [column[order] for column in columns]
            heights = heights if isinstance(heights, int) else heights[order]
        self._columns: Columns = tuple(columns)
        self._heights = heights if isinstance(heights, int) else heights.astype(np.int32)
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
        if not bound or self._lead[0] in bound:
            low, high, _ = self._prefix(bound)
        else:
            low, high, _ = self._by_column(min(bound), bound)
        return high - low

    def rows(self, bound: Mapping[int, int], below: int) -> Iterator[tuple[int, ...]]:
        """Yield the rows with these values whose height is less."""
        if isinstance(self._heights, int) and self._heights >= below:
            return
        if not bound or self._lead[0] in bound:
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
        """Narrow the rows by the leading columns, as far as these have values."""
        low, high = 0, len(self._columns[0]) if self._columns else 0
        checked = []
        for place in self._lead:
            if place not in bound:
                break
            part = self._columns[place][low:high]
            value = bound[place]
            low, high = (
                low + int(part.searchsorted(value, "left")),
                low + int(part.searchsorted(value, "right")),
            )
            checked.append(place)
        return low, high, frozenset(checked)

    def _by_column(self, column: int, bound: Mapping[int, int]) -> tuple[int, int, frozenset[int]]:
        if column not in self._orders:
            order = np.argsort(self._columns[column], kind="stable")
            self._orders[column] = order, self._columns[column][order]
        _, ordered = self._orders[column]
        value = bound[column]
        low = int(ordered.searchsorted(value, "left"))
        return low, int(ordered.searchsorted(value, "right")), frozenset((column,))


def _is_sorted(columns: Sequence[Array]) -> bool:
    """Whether rows rise by the first column, among equals by the next."""
    tied: Array | bool = True
    for column in columns:
        if bool((tied & (column[1:] < column[:-1])).any()):
            return False
        tied = tied & (column[1:] == column[:-1])
    return True


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
    return np.argsort(keys)
