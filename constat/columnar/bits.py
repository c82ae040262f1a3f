"""Relations of one or two columns as bits: a matrix, or sparse rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from constat.columnar.arrays import (
    EMPTY,
    Array,
    Bounds,
    Columns,
    Domain,
    Words,
    distinct,
    neighbours_differ,
    union,
)
from constat.frozen import frozen

# `rows` rises; rows and bits count from the lowest values of their domains.

WORD: Final = 6
"""Words have two to this many bits."""
_IN_WORD: Final = (1 << WORD) - 1
# Rows are gathered in portions that stay in the processor's cache.
_PORTION: Final = 1 << 19
# A table over all possible rows is made when they are at most so many times the pairs.
_SPREAD: Final = 8
_SMALL: Final = 1 << 14


def words_of(domain: Domain) -> int:
    """How many words a row over this domain has."""
    return ((domain.high - domain.low) >> WORD) + 1


@frozen
class RowBits:
    """Pairs: `rows[i]` is with each bit that is set in `bits[i]`."""

    rows: Array
    bits: Words
    row_low: int
    bit_low: int

    @property
    def size(self) -> int:
        """Bytes held."""
        return self.rows.nbytes + self.bits.nbytes

    def count(self) -> int:
        """How many pairs there are."""
        return int(np.bitwise_count(self.bits).sum(dtype=np.int64))

    def pairs(self) -> tuple[Array, Array]:
        """The pairs as values, in order of row and bit."""
        places, bits = set_bits(self.bits)
        rows = self.rows[places]
        return (
            rows + self.row_low if self.row_low else rows,
            bits + self.bit_low if self.bit_low else bits,
        )


def set_bits(words: Words) -> tuple[Array, Array]:
    """The places of set bits in a matrix of words, by row and bit."""
    width = words.shape[1]
    flat = words.reshape(-1)
    filled = np.flatnonzero(flat)
    # Unpacking makes one byte of each bit: a few million bits at a time.
    if len(filled) * 2 > len(flat):
        filled, chosen = np.arange(len(flat)), flat
    else:
        chosen = flat[filled]
    found = [np.empty(0, np.int64)]
    for first in range(0, len(chosen), _PORTION):
        part = chosen[first : first + _PORTION]
        spread = np.unpackbits(part.astype("<u8", copy=False).view(np.uint8), bitorder="little")
        places = np.flatnonzero(spread.view(np.bool_))
        word = filled[(places >> WORD) + first]
        found.append((word << WORD) | (places & _IN_WORD))
    keys = np.concatenate(found)
    span = width << WORD
    if span & (span - 1) == 0:
        shift = span.bit_length() - 1
        return keys >> shift, keys & (span - 1)
    rows = keys // span
    return rows, keys - rows * span


def from_pairs(rows: Array, bits: Array, row_low: int, bit: Domain) -> RowBits:
    """Rows of bits from pairs of values in any order, of which there are some."""
    width = words_of(bit)
    offsets = rows - row_low
    highest = int(offsets.max())
    if highest <= _SPREAD * len(rows) + _SMALL:
        there = np.zeros(highest + 1, np.bool_)
        there[offsets] = True
        found = np.flatnonzero(there)
        numbers = (np.cumsum(there) - 1)[offsets]
    else:
        found = distinct(offsets)
        numbers = np.searchsorted(found, offsets)
    words = np.zeros((len(found), width), np.uint64)
    place = bits - bit.low
    np.bitwise_or.at(words.reshape(-1), numbers * width + (place >> WORD), one_bit(place))
    return RowBits(found, words, row_low, bit.low)


def one_bit(offsets: Array) -> Words:
    """For each offset the word in which its bit alone is set."""
    words: Words = np.uint64(1) << (offsets & _IN_WORD).astype(np.uint64)
    return words


def unite(starts: Array, sources: Array, bits: Words) -> Words:
    """For each group of sources, which begin at `starts`, the union of their rows."""
    if len(starts) == len(sources):
        return bits[sources]
    width = bits.shape[1]
    found = np.zeros((len(starts), width), np.uint64)
    portion = max(1, _PORTION // width)
    for first in range(0, len(sources), portion):
        last = min(first + portion, len(sources))
        low = int(np.searchsorted(starts, first, side="right")) - 1
        high = int(np.searchsorted(starts, last, side="left"))
        cuts = starts[low:high] - first
        cuts[0] = 0
        found[low:high] |= np.bitwise_or.reduceat(bits[sources[first:last]], cuts, axis=0)
    return found


def gather(pieces: list[RowBits]) -> RowBits:
    """The union of several sets of pairs over the same domains."""
    if len(pieces) == 1:
        return pieces[0]
    rows = np.concatenate([one.rows for one in pieces])
    bits = np.concatenate([one.bits for one in pieces])
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    starts = np.flatnonzero(neighbours_differ(rows))
    words = unite(starts, order, bits)
    return RowBits(rows[starts], words, pieces[0].row_low, pieces[0].bit_low)


# Column `row` chooses the row of the matrix, the other one the bit; a unary relation is one row.
# Candidates come as columns or as whole rows of bits; what is new is kept as the delta in the form
# it came in.
# A bit is set iff the row was offered; each new row is in the delta once.

_PAIR: Final = 2
# Keys are many when there is at least one for so many words of the matrix.
_DENSE: Final = 4
_PIECES: Final = 1 << 22
_BIT_OF_BYTE: Final = np.array([1 << bit for bit in range(8)], np.uint8)
_ONE_ROW: Final = Domain(0, 0)


def matrix_bits(domains: Sequence[Domain], row: int) -> int:
    """How many bits the matrix of a relation has."""
    bit, rows = _sides(domains, row)
    return (rows.high - rows.low + 1) << _shift(bit)


def _sides(domains: Sequence[Domain], row: int) -> tuple[Domain, Domain]:
    """The domain of the bits, and that of the rows."""
    if len(domains) < _PAIR:
        return domains[0], _ONE_ROW
    return domains[1 - row], domains[row]


def _shift(bit: Domain) -> int:
    return max(WORD, bit.bits)


class Bitmap:
    """The rows of one relation as bits. `row` is the column that chooses the row."""

    def __init__(self, domains: Sequence[Domain], row: int, bounds: Bounds) -> None:
        self._arity = len(domains)
        self.row = row
        self.bit, self.row_domain = _sides(domains, row)
        self._bit_shift = _shift(self.bit)
        self._bounds = bounds
        width = 1 << (self._bit_shift - WORD)
        height = self.row_domain.high - self.row_domain.low + 1
        bounds.need(width * height * 8, "a bitmap")
        self.words: Words = np.zeros((height, width), np.uint64)
        self._flat = self.words.reshape(-1)
        self._bytes = self._flat.view(np.uint8)
        self._keys: list[Array] = []
        self._pieces: list[RowBits] = []
        self._delta_keys = EMPTY
        self._delta_pieces: list[RowBits] = []
        self.rows = 0
        self.delta_rows = 0

    @property
    def size(self) -> int:
        """Bytes held."""
        keys = sum(one.nbytes for one in (*self._keys, self._delta_keys))
        return self.words.nbytes + keys + sum(one.size for one in self._delta_pieces)

    def offer(self, columns: Sequence[Array]) -> None:
        """Take candidates; repetitions and known rows are welcome."""
        keys = self._pack(columns)
        keys = keys[(self._bytes[keys >> 3] & _BIT_OF_BYTE[keys & 7]) == 0]
        if len(keys) * _DENSE > len(self._flat):
            self._offer_many(keys)
            return
        keys = distinct(keys)
        if len(keys):
            self._set(keys)
            self._keys.append(keys)

    def _offer_many(self, keys: Array) -> None:
        """Setting bits in an empty matrix drops repetitions five times faster than sorting."""
        self._bounds.need(self.words.nbytes, "the new rows of a round")
        found = np.zeros_like(self.words)
        np.bitwise_or.at(found.reshape(-1), keys >> WORD, one_bit(keys))
        rows = np.flatnonzero(found.any(axis=1))
        self.offer_rows(RowBits(rows, found[rows], self.row_domain.low, self.bit.low))

    def offer_rows(self, offered: RowBits) -> None:
        """Take candidates as rows of bits over the same domains."""
        fresh = offered.bits & ~self.words[offered.rows]
        some = fresh.any(axis=1)
        if not some.all():
            fresh = fresh[some]
        rows = offered.rows[some]
        if len(rows):
            self.words[rows] |= fresh
            self._pieces.append(RowBits(rows, fresh, offered.row_low, offered.bit_low))
            if sum(one.size for one in self._pieces) > self.words.nbytes + _PIECES:
                # Many small additions to the same rows would take more than the matrix itself.
                self._pieces = [gather(self._pieces)]

    def close(self) -> int:
        """End a round: how many rows are new."""
        self._delta_keys = union(self._keys)
        self._delta_pieces = self._pieces
        self._keys, self._pieces = [], []
        self.delta_rows = len(self._delta_keys) + sum(one.count() for one in self._delta_pieces)
        self.rows += self.delta_rows
        return self.delta_rows

    @property
    def delta_is_pairs(self) -> bool:
        """Whether the new rows came as pairs only."""
        return not self._delta_pieces

    def delta(self) -> Columns:
        """The new rows of the last round."""
        pairs = [self._unpack(self._delta_keys)]
        for one in self._delta_pieces:
            rows, bits = one.pairs()
            pairs.append(self._columns(rows, bits))
        if len(pairs) == 1:
            return pairs[0]
        return tuple(np.concatenate(column) for column in zip(*pairs, strict=True))

    def delta_pairs(self) -> tuple[Array, Array]:
        """The new pairs of the last round: rows of the matrix and bits."""
        columns = self.delta()
        return columns[self.row], columns[1 - self.row]

    def delta_bits(self) -> RowBits:
        """The new pairs of the last round as rows of bits."""
        pieces = list(self._delta_pieces)
        if len(self._delta_keys):
            columns = self._unpack(self._delta_keys)
            rows, bits = columns[self.row], columns[1 - self.row]
            pieces.append(from_pairs(rows, bits, self.row_domain.low, self.padded))
        self._delta_pieces, self._delta_keys = [gather(pieces)], EMPTY
        return self._delta_pieces[0]

    def columns(self) -> Columns:
        """All rows."""
        self._bounds.need(self.rows * 8 * (self._arity + 2), "the result")
        rows, bits = set_bits(self.words)
        return self._columns(rows + self.row_domain.low, bits + self.bit.low)

    @property
    def padded(self) -> Domain:
        """The domain of the bits, up to the end of a row of words."""
        return Domain(self.bit.low, self.bit.low + (1 << self._bit_shift) - 1)

    def _pack(self, columns: Sequence[Array]) -> Array:
        if self._arity < _PAIR:
            return columns[0] - self.bit.low
        key = (columns[self.row] - self.row_domain.low) << self._bit_shift
        key |= columns[1 - self.row] - self.bit.low
        return key

    def _unpack(self, keys: Array) -> Columns:
        rows = keys >> self._bit_shift
        bits = keys & ((1 << self._bit_shift) - 1)
        return self._columns(rows + self.row_domain.low, bits + self.bit.low)

    def _columns(self, rows: Array, bits: Array) -> Columns:
        if self._arity < _PAIR:
            return (bits,)
        return (bits, rows) if self.row else (rows, bits)

    def _set(self, keys: Array) -> None:
        places = keys >> WORD
        bits = one_bit(keys)
        starts = np.flatnonzero(neighbours_differ(places))
        if len(starts) < len(places):
            bits = np.bitwise_or.reduceat(bits, starts)
            places = places[starts]
        self._flat[places] |= bits
