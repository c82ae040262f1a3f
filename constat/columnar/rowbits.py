"""Sparse rows of bits: a set of pairs as one row of machine words for each left value.

In: pairs of integers. Out: rows of bits, unions of rows, pairs again. Bit c of a row stands in
word c // 64; rows that are empty are not there. Working on rows costs one machine operation for 64
possible pairs, which beats lists of pairs as soon as rows are filled by more than a few bits (the
method of the Four Russians shares the idea). Invariant: `rows` rises; rows and bits count from the
lowest values of their domains.

Example: {(5, 0), (5, 2)} with lowest values (4, 0) is row 1 with the one word 0b101.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from constat.columnar.arrays import Array, Words, distinct, neighbours_differ
from constat.columnar.packing import Domain

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


@dataclass(frozen=True, slots=True)
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
