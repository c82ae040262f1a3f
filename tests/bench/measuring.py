"""How the figures are taken, and the table they are written to.

In: something to run. Out: `Figure` values. Invariant: the median of several runs after one that
warms caches; processor time stands beside it, which a busy machine does not stretch as much; the
goal stands there, met or not.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Timing:
    """One run: seconds by the clock, and of processors, ours and of processes we started."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number as texts; `met` is whether the median by the clock keeps the goal."""

    name: str
    median: str
    processor: str
    goal: str
    met: bool


def several(run: Callable[[], object], rounds: int) -> list[Timing]:
    """Time several runs, after one that is not counted."""
    run()
    return [once(run) for _ in range(rounds)]


def once(run: Callable[[], object]) -> Timing:
    """Time one run."""
    clock, processor = time.perf_counter(), sum(os.times()[:4])
    run()
    return Timing(time.perf_counter() - clock, sum(os.times()[:4]) - processor)


def process(bytecode: Path, *arguments: str, code: int = 0) -> None:
    """Run the command line in a new process whose modules are compiled, as in a second run.

    Raises `AssertionError` when it ends with another exit code than expected.
    """
    places = {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
    ended = subprocess.run(
        [sys.executable, "-m", "constat", *arguments],
        env={**os.environ, **places},
        capture_output=True,
        check=False,
    )
    if ended.returncode != code:
        raise AssertionError(ended.stderr.decode("utf-8", "replace")[-500:])


def figure(name: str, timings: list[Timing], most: float, *, milliseconds: bool = False) -> Figure:
    """Make a figure of runs that shall take less than `most` seconds."""
    factor, unit = (1000, "ms") if milliseconds else (1, "s")

    def show(value: float) -> str:
        return f"{value * factor:.{1 if milliseconds else 2}f} {unit}"

    middle = statistics.median(timing.clock for timing in timings)
    # The clock of processors ticks coarsely: a mean of many short runs, no median.
    processor = statistics.fmean(timing.processor for timing in timings)
    return Figure(name, show(middle), show(processor), f"< {most * factor:g} {unit}", middle < most)


def table(figures: list[Figure]) -> str:
    """Write figures as a Markdown table."""
    lines = ["| what | median | processor | goal | met |", "|---|---:|---:|---:|---|"]
    lines += [
        f"| {one.name} | {one.median} | {one.processor} | {one.goal} | "
        f"{'yes' if one.met else 'no'} |"
        for one in figures
    ]
    return "\n".join(lines) + "\n"
