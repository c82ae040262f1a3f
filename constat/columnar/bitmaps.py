"""A relation of one or two columns as a matrix of bits: which rows are new.

Column `row` chooses the row of the matrix, the other one the bit; a unary relation is one row.
Candidates come as columns or as whole rows of bits; what is new is kept as the delta in the form
it came in. Invariant: a bit is set iff the row was offered; each new row is in the delta once.

Example: over 0..3 and 0..99 the relation {(2, 7)} is the bit 7 of row 2 of a 4 by 128 matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from constat.columnar.arrays import EMPTY, Array, Columns, Words, distinct, neighbours_differ, union
from constat.columnar.bounds import Bounds
from constat.columnar.packing import Domain
from constat.columnar.rowbits import WORD, RowBits, from_pairs, gather, one_bit, set_bits

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
