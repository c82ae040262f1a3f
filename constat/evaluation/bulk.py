"""The contract of bulk evaluation: what it may use, what it reports, how it gives up.

A bulk back end computes one stage of a forward plan at a time. It gives the exact relation or
raises: `StrategyError` where another strategy must try (an overflow, a value that its form cannot
hold, a construct it lacks), `ResourceError` where a bound was reached. Invariant: no partial
relation is ever taken for a whole one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from constat.evaluation.clock import Clock, moment
from constat.frozen import frozen


@frozen
class Resources:
    """What one bulk evaluation may use.

    `memory` and `scratch_bytes` are in bytes, 0 means as much as seems right for the machine.
    Without a `scratch` folder nothing is spilled. `threads` 0 means one for each core. The `clock`
    runs where the work has begun before: then `seconds` are those that were allowed in all.
    """

    seconds: float = 3600.0
    memory: int = 0
    threads: int = 0
    rows: int = 2_000_000_000
    rounds: int = 10_000_000
    scratch: Path | None = None
    scratch_bytes: int = 0
    clock: Clock | None = field(default=None, compare=False, repr=False)

    def running(self) -> Clock:
        """Give the clock that runs, or one that begins now."""
        reason = f"the time limit of {self.seconds:g} seconds was reached"
        return self.clock or Clock(moment() + self.seconds, reason)


@frozen
class PipelineReport:
    """What one pipeline did: bindings after each step, over all rounds; -1 is not measured.

    `seconds` is how long its steps took, over all rounds, without what becomes of its rows (0: not
    measured). Where SQL computes it together with others, it is the time of it alone, counted.
    """

    rule: int
    rows: tuple[int, ...]
    seconds: float = 0.0


@frozen
class StageReport:
    """What one stage did.

    `rows` are the rows of its relations at the end, `rounds` those that added something, `bytes`
    the size of the relations where they lie (0: not measured). `stamps` say in which round each
    relation grew by how many rows, where that was asked for. `tried` lists strategies that gave
    up, with their reasons.
    """

    number: int
    strategy: str
    rounds: int
    rows: Mapping[str, int] = field(hash=False)
    seconds: float = 0.0
    bytes: int = 0
    pipelines: tuple[PipelineReport, ...] = ()
    tried: tuple[tuple[str, str], ...] = ()


class StrategyError(Exception):
    """A strategy cannot give the exact answer; nothing it did counts. The text says why."""


class ResourceError(Exception):
    """A bound of `Resources` was reached, or the disk is full. The text says which and where.

    `limit` is `seconds` or `rows` where the configuration bounds these, else empty.
    """

    def __init__(self, message: str, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class MemoryNeededError(ResourceError):
    """More memory is needed than there is; a strategy that spills may still do with less."""
