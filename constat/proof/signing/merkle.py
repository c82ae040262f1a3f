"""A Merkle tree over sorted rows, and openings of ranges of it.

In: rows as texts (`None` for NULL), in the order that is committed to. Out: a root, and for a range
of places the hashes beside it. Invariants: a leaf and an inner node never have one hash, because
their inputs begin with different bytes; the tree of n rows is that of RFC 6962, so other programs
can build it.
Example: the root of one row is `sha256(0x00 || row)`. Reference: RFC 6962, section 2.1.

The reader of openings is `openings`, which shares no code with this writer.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from constat.frozen import frozen
from constat.proof.encoding import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Hashes = tuple[bytes, ...]


@frozen
class MerkleTree:
    """The hashes of a tree, level by level; the lowest are those of the rows."""

    levels: tuple[Hashes, ...]

    @property
    def size(self) -> int:
        """Give the number of rows."""
        return len(self.levels[0])

    @property
    def root(self) -> str:
        """Give the root as hexadecimal digits; of no rows, the hash of nothing."""
        return self.levels[-1][0].hex() if self.size else hashlib.sha256().hexdigest()

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """Give the hashes that lead from the rows `start` to `end` - 1 to the root, left first."""
        return tuple(self._beside(0, self.size, start, end)) if self.size else ()

    def _beside(self, low: int, high: int, start: int, end: int) -> Iterator[str]:
        if end <= low or high <= start:
            level = (high - low - 1).bit_length()
            yield self.levels[level][low >> level].hex()
        elif not (start <= low and high <= end):
            middle = low + (1 << ((high - low - 1).bit_length() - 1))
            yield from self._beside(low, middle, start, end)
            yield from self._beside(middle, high, start, end)


def merkle_tree(rows: Iterable[Sequence[str | None]]) -> MerkleTree:
    """Build the tree over rows in their order."""
    level = tuple(hashlib.sha256(b"\0" + canonical(list(row)).encode()).digest() for row in rows)
    levels = [level]
    while len(level) > 1:
        pairs = [
            hashlib.sha256(b"\1" + level[place] + level[place + 1]).digest()
            for place in range(0, len(level) - 1, 2)
        ]
        # A last one without a partner goes up as it is: that is the tree of RFC 6962.
        level = (*pairs, *level[len(pairs) * 2 :])
        levels.append(level)
    return MerkleTree(tuple(levels))
