"""A relation of the stage as sorted runs of keys: which rows are new.

Candidates are offered as columns; at the end of a round `close` gives the rows that were not there
before. Runs are merged when the one before is not several times larger, so that there are few
to search (a log-structured merge tree). Invariant: no key lies in two runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from constat.columnar.arrays import EMPTY, Array, Columns, distinct, missing, union
from constat.columnar.bounds import Bounds
from constat.columnar.packing import Packing

_RATIO: Final = 4
# Candidates wait, as many as there are bindings in some chunks, until they are sorted together.
_CHUNKS: Final = 4
_SORTING: Final = 24


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
        self._bounds.need(self._waiting * _SORTING + 2 * 8 * fresh, "the new rows of a round")
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
