"""Semi-naive evaluation of one stage: rounds until no relation has a new row.

In: prepared pipelines, and where the stage's own relations are kept. Out: their rows, and with
`stamps` the round each row came in: 0 for rows that are given, stated or derived from finished
relations alone, k for rows that need a row of round k - 1. Invariant: all pipelines of a round
read the rows of earlier rounds only, so that a row's stamp is the least height of its proofs
within the stage (with bitmaps only where stamps are asked for).

See Abiteboul, Hull and Vianu, Foundations of Databases, section 13.1 (semi-naive evaluation).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from constat.columnar.arrays import Array, Columns
from constat.columnar.bounds import Bounds
from constat.columnar.indexes import Growing
from constat.columnar.preparation import Prepared, Seen, When
from constat.columnar.products import Chained
from constat.evaluation.bulk import PipelineReport
from constat.evaluation.events import Observer, RoundFinished


class Store(Protocol):
    """Where the rows of a relation are kept apart from each other."""

    rows: int

    @property
    def size(self) -> int:
        """Bytes held."""
        ...

    def offer(self, columns: Sequence[Array]) -> None:
        """Take candidates; repetitions and known rows are welcome."""
        ...

    def close(self) -> int:
        """End a round: how many rows are new."""
        ...

    def delta(self) -> Columns:
        """The new rows of the last round, each once."""
        ...

    def columns(self) -> Columns:
        """All rows."""
        ...


# Sizes are taken anew after so many new rows, and at the end.
_MEASURED_EACH: Final = 1 << 15


@dataclass(slots=True)
class Own:
    """A relation of the stage: its rows, and how joins see them."""

    store: Store
    growing: Growing
    stamped: list[tuple[int, Columns]] = field(default_factory=list)

    def close(self, number: int, bounds: Bounds, *, stamps: bool) -> int:
        """End a round; give how many rows are new."""
        fresh = self.store.close()
        if self.growing.asked or stamps:
            bounds.need(fresh * self.growing.bytes_per_row, "the new rows of a round")
            columns = self.store.delta()
            if stamps and fresh:
                self.stamped.append((number, columns))
            self.growing.turn(columns)
        return fresh

    @property
    def size(self) -> int:
        """Bytes held."""
        stamped = sum(array.nbytes for _, columns in self.stamped for array in columns)
        return self.store.size + self.growing.size + stamped

    def result(self, *, stamps: bool) -> Columns:
        """All rows; with stamps the round of each as one more column."""
        if not stamps:
            return self.store.columns()
        arity = len(self.store.columns())
        if not self.stamped:
            return tuple(np.empty(0, np.int64) for _ in range(arity + 1))
        joined = [
            np.concatenate([columns[place] for _, columns in self.stamped])
            for place in range(arity)
        ]
        rounds = [np.full(len(columns[0]), number, np.int64) for number, columns in self.stamped]
        return (*joined, np.concatenate(rounds))


@dataclass(slots=True)
class Work:
    """What one pipeline did so far."""

    rows: list[int]
    seconds: float = 0.0


class Rounds:
    """Runs the pipelines of a stage to the fixpoint."""

    def __init__(
        self,
        own: Mapping[str, Own],
        pipelines: Sequence[Prepared | Chained],
        bounds: Bounds,
        observe: Observer,
        *,
        stamps: bool,
        analyze: bool,
    ) -> None:
        self._own = own
        self._pipelines = pipelines
        self._bounds = bounds
        self._observe = observe
        self._stamps = stamps
        self._analyze = analyze
        self._work: dict[int, Work] = {}
        self._variable = 0
        self._unmeasured = _MEASURED_EACH
        self.rounds = 0

    def run(self) -> None:
        """Compute the base, then rounds until nothing is new."""
        self._pass({When.BASE})
        fresh = self._close(0)
        first = any(one.when is When.FIRST for one in self._pipelines)
        recursive = any(one.when is not When.BASE for one in self._pipelines)
        number = 1
        while recursive and (fresh or (first and number == 1)):
            self._pass({When.EACH, When.FIRST if number == 1 else When.LATER})
            fresh = self._close(number)
            number += 1

    def _pass(self, when: set[When]) -> None:
        for prepared in self._pipelines:
            if prepared.when in when:
                self._bounds.tick()
                self._fire(prepared)

    def _fire(self, prepared: Prepared | Chained) -> None:
        if not self._analyze:
            self._run(prepared, None)
            return
        steps = len(prepared.pipeline.plan.steps)
        work = self._work.setdefault(id(prepared.pipeline), Work([0] * steps))
        started = time.perf_counter()

        def seen(place: int, count: int) -> None:
            work.rows[place] += count

        self._run(prepared, seen)
        work.seconds += time.perf_counter() - started

    def _run(self, prepared: Prepared | Chained, seen: Seen | None) -> None:
        if isinstance(prepared, Chained):
            prepared.fire(seen)
            return
        store = self._own[prepared.pipeline.head].store
        for columns in prepared.rows(self._bounds, seen):
            store.offer(columns)

    def _close(self, number: int) -> int:
        fresh = 0
        for own in self._own.values():
            fresh += own.close(number, self._bounds, stamps=self._stamps)
            self._bounds.count(own.store.rows, self.rounds)
        self._measure(fresh)
        if fresh:
            self.rounds += 1
            self._observe(RoundFinished(tuple(self._own), self.rounds, fresh))
        return fresh

    def _measure(self, fresh: int) -> None:
        self._unmeasured += fresh
        if self._unmeasured >= _MEASURED_EACH or not fresh:
            self._unmeasured = 0
            now = sum(one.size for one in self._own.values())
            self._bounds.held += now - self._variable
            self._variable = now

    @property
    def size(self) -> int:
        """Bytes of the relations where they lie."""
        return self._variable

    def reports(self) -> tuple[PipelineReport, ...]:
        """What each pipeline did, where that was measured."""
        found: dict[int, PipelineReport] = {}
        for prepared in self._pipelines:
            work = self._work.get(id(prepared.pipeline))
            if work is not None:
                rule = prepared.pipeline.plan.rule
                report = PipelineReport(rule, tuple(work.rows), work.seconds)
                found[id(prepared.pipeline)] = report
        return tuple(found.values())
