"""Rows of whole numbers, sorted as texts and hashed chunk by chunk, from whole columns.

In: rows, their kinds, a value beside each, and how many make a chunk.  Out: for each chunk the hash
of its lines in canonical form, with its values.  Invariant: the lines are those that Python would
write, in the order that Python would give them.

Example: the rows `(10,)` and `(9,)` make the lines `["10"]` and `["9"]` of one chunk.
"""

from __future__ import annotations

import hashlib
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from constat.frozen import frozen
from constat.logic import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from constat.logic import Value

# Up to so many digits, digits and length of a number fit into one key with a bit for the sign.
_MOST_PACKED: Final = 17
# With 20 digits, shorter numbers cannot be shifted to the same length within 64 bits.
_MOST_DIGITS: Final = 19
_NARROW_DIGITS: Final = 9
_BLOCK: Final = 1 << 16
_POWERS: Final = tuple(10**place for place in range(_MOST_DIGITS + 1))


@frozen
class _Column:
    """Whole numbers in two parts: whether each is negative, and its digits as a number."""

    negative: NDArray[np.bool_]
    size: NDArray[np.uint64]
    digits: NDArray[np.intp]
    """How many digits each has."""

    def sort_keys(self) -> list[NDArray[Any]]:
        """Return keys that sort as the texts do, the first one first: `-` is below all digits."""
        longest = int(self.digits.max())
        powers = np.array(_POWERS, np.uint64)
        padded = self.size * powers[longest - self.digits]
        if longest > _MOST_PACKED:
            return [~self.negative, padded, self.digits]
        sign = np.where(self.negative, np.uint64(0), np.uint64(1 << 63))
        return [padded * np.uint64(32) + self.digits.astype(np.uint64) + sign]

    def taken(self, order: NDArray[np.intp]) -> _Column:
        """Return the numbers at some places."""
        return _Column(self.negative[order], self.size[order], self.digits[order])


def sorted_hashes(
    rows: Sequence[tuple[Value, ...]],
    kinds: Sequence[Kind],
    targets: Sequence[Value],
    size: int,
) -> list[tuple[str, list[Value]]] | None:
    """Return the hexadecimal hash of each chunk of so many rows, and its targets in their order.

    ``None`` where a number has 20 digits.  Targets are empty where rows are counted.
    """
    found = [_column(map(itemgetter(n), rows), its, len(rows)) for n, its in enumerate(kinds)]
    columns = [one for one in found if one is not None]
    if len(columns) < len(found):
        return None
    order = _order([key for column in columns for key in column.sort_keys()])
    lines = _chunks([column.taken(order) for column in columns], size)
    added = _in_order(targets, order)
    return [
        (hashlib.sha256(line).hexdigest(), added[start : start + size])
        for start, line in zip(range(0, len(rows), size), lines, strict=True)
    ]


def _in_order(targets: Sequence[Value], order: NDArray[np.intp]) -> list[Value]:
    if not targets:
        return []
    numbers = np.array(targets) if isinstance(targets[0], int) else np.empty(0)
    # What does not fit into 64 bits would become an array of another type.
    if numbers.dtype in {np.dtype(np.int64), np.dtype(np.uint64)}:
        return cast("list[Value]", numbers[order].tolist())
    return [targets[place] for place in order.tolist()]


def _column(values: Iterable[Value], kind: Kind, count: int) -> _Column | None:
    form = np.uint64 if kind is Kind.UNSIGNED else np.int64
    numbers = np.fromiter(cast("Iterable[int]", values), form, count)
    negative = numbers < 0
    unsigned = numbers.astype(np.uint64)
    # In two's complement the least number of 64 bits has its own size as an unsigned one.
    sizes = np.where(negative, ~unsigned + np.uint64(1), unsigned)
    if int(sizes.max()) >= _POWERS[-1]:
        return None
    digits = np.searchsorted(np.array(_POWERS, np.uint64), sizes, side="right")
    return _Column(negative, sizes, np.maximum(digits, 1))


def _order(keys: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Sort by several keys; where the first one decides everything, by that alone."""
    order = np.argsort(keys[0])
    first = keys[0][order]
    if np.any(first[1:] == first[:-1]):
        return np.lexsort(keys[::-1])
    return order


def _chunks(columns: list[_Column], size: int) -> Iterator[bytes]:
    """Yield the lines of each chunk; blocks of rows keep the tables of letters small."""
    count = len(columns[0].size)
    block = max(size, _BLOCK // size * size)
    for start in range(0, count, block):
        part = [column.taken(np.arange(start, min(start + block, count))) for column in columns]
        letters, ends = _letters(part)
        begin = 0
        for last in range(size - 1, len(ends) + size - 1, size):
            end = int(ends[min(last, len(ends) - 1)])
            yield letters[begin:end]
            begin = end


def _letters(columns: list[_Column]) -> tuple[bytes, NDArray[np.intp]]:
    """Write rows one after another, and say where each ends."""
    rows = len(columns[0].size)
    texts: list[NDArray[np.uint8]] = []
    shown: list[NDArray[np.bool_]] = []

    def write(text: bytes) -> None:
        texts.append(np.broadcast_to(np.frombuffer(text, np.uint8), (rows, len(text))))
        shown.append(np.ones((rows, len(text)), np.bool_))

    write(b'["')
    for place, column in enumerate(columns):
        if place:
            write(b'","')
        longest = int(column.digits.max())
        if column.negative.any():
            texts.append(np.full((rows, 1), ord("-"), np.uint8))
            shown.append(column.negative[:, None])
        powers = np.array(_POWERS[:longest][::-1], np.uint64)
        numbers = column.size[:, None]
        if longest <= _NARROW_DIGITS:
            # Half as many bits are divided several times as fast.
            numbers, powers = numbers.astype(np.uint32), powers.astype(np.uint32)
        texts.append((numbers // powers % numbers.dtype.type(10)).astype(np.uint8) + ord("0"))
        shown.append(np.arange(longest) >= (longest - column.digits)[:, None])
    write(b'"]\n')
    mask = np.concatenate(shown, axis=1)
    return np.concatenate(texts, axis=1)[mask].tobytes(), np.cumsum(mask.sum(axis=1))
