"""Compare engines: the same questions to all, the same measure for all.

In: engines, workloads and rounds. Out: a `Result` for each pair. Invariants: runs follow one
another, never side by side; an engine is run again only where its first run took under 15 s;
answers that disagree with the known cardinalities are an outcome of their own.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from tests.bench.peers.running import Run, run
from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tests.bench.peers.engines import Engine


Measured: TypeAlias = Callable[[list[str]], Run]
_WORTH_REPEATING: Final = 15.0


@dataclass(frozen=True, slots=True)
class Result:
    """What the runs of one engine on one workload gave.

    `outcome` is empty where all answered right, else `time`, `cannot`, `failed` or `wrong`.
    """

    engine: str
    workload: str
    outcome: str
    runs: tuple[Run, ...]

    @property
    def clock(self) -> float:
        """The median of seconds by the clock."""
        return statistics.median(one.clock for one in self.runs)

    @property
    def spread(self) -> tuple[float, float]:
        """The fastest and the slowest run."""
        clocks = [one.clock for one in self.runs]
        return min(clocks), max(clocks)

    @property
    def processor(self) -> float:
        """The median of seconds of processors."""
        return statistics.median(one.processor for one in self.runs)

    @property
    def memory(self) -> float:
        """The most memory of all runs, in MiB."""
        return max(one.memory for one in self.runs)


def compare(
    engines: Iterable[Engine],
    folders: Mapping[str, Path],
    rounds: int,
    environment: Mapping[str, str],
    known: Callable[[str], Mapping[str, int] | None],
    seconds: float = 60.0,
) -> Iterator[Result]:
    """Yield a result for each workload of `folders` and each engine.

    A run that takes longer than `seconds` is ended.
    `known` gives the right cardinalities of a workload, or nothing where the first engine that
    answers says what the others must agree with.
    """
    chosen = list(engines)
    for workload, folder in folders.items():
        right = known(workload)
        for engine in chosen:
            result = _result(
                engine,
                workload,
                folder,
                rounds,
                partial(run, seconds=seconds, environment=environment),
            )
            if not result.outcome:
                right = right or result.runs[0].answers
                if any(not _agrees(one, workload, right) for one in result.runs):
                    result = Result(engine.name, workload, "wrong", result.runs)
            yield result


def _result(engine: Engine, workload: str, folder: Path, rounds: int, measured: Measured) -> Result:
    return repeated(engine.name, workload, engine.command(workload, folder), rounds, measured)


def repeated(
    engine: str, workload: str, command: list[str], rounds: int, measured: Measured
) -> Result:
    """Run a command so many times; once only where it takes long."""
    runs = [measured(command)]
    while not runs[-1].outcome and len(runs) < rounds and runs[0].clock < _WORTH_REPEATING:
        runs.append(measured(command))
    return Result(engine, workload, runs[-1].outcome, tuple(runs))


def _agrees(one: Run, workload: str, right: Mapping[str, int]) -> bool:
    return all(one.answers.get(name) == right.get(name) for name in WORKLOADS[workload].answers)
