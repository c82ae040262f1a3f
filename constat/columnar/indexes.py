"""Relations as joins see them: segments by key columns, made when a join first asks.

A `Finished` relation never changes: one segment for each choice of key columns. A `Growing` one
belongs to the stage: its rows of earlier rounds are *stable*, those of the last round are the
*delta*; `full` is both. Stable rows lie in a few segments whose sizes fall geometrically, so that
a row is merged only a logarithmic number of times (a log-structured merge tree).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from constat.columnar.arrays import Columns, distinct
from constat.columnar.bounds import Bounds
from constat.columnar.packing import Domain, Widths
from constat.columnar.segments import Layout, Segment
from constat.plan.forward import Reading

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
