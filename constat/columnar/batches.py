"""Bindings in bulk: for each slot that is still read, one array; constants stay single values.

Invariant: every array has `count` values. Example: `path(?x, ?y)` at a step is
`Batch(2, {0: [1, 1], 1: [2, 3]}, {})`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from constat.columnar.arrays import Array, Mask


@dataclass(frozen=True, slots=True)
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
