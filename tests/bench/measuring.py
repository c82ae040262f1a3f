"""How the figures are taken, and the table they are written to.

In: something to run. Out: `Figure` values. Invariant: the median of several runs after one that
warms caches; the goal stands beside the figure, met or not.
"""

from __future__ import annotations

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
class Figure:
    """One measured number; `spread` is the lowest and the highest of the runs."""

    name: str
    value: str
    goal: str
    met: bool
    spread: str = ""


def seconds(run: Callable[[], object], rounds: int) -> list[float]:
    """Time several runs, after one that is not counted."""
    run()
    return [once(run) for _ in range(rounds)]


def once(run: Callable[[], object]) -> float:
    """Time one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def process(*arguments: str, cwd: Path | None = None) -> None:
    """Run the command line in a new process."""
    subprocess.run(
        [sys.executable, "-m", "constat", *arguments], cwd=cwd, capture_output=True, check=True
    )


def figure(name: str, times: list[float], most: float, *, milliseconds: bool = False) -> Figure:
    """Make a figure of times that shall stay below `most` seconds."""
    factor, unit = (1000, "ms") if milliseconds else (1, "s")

    def show(value: float) -> str:
        return f"{value * factor:.{1 if milliseconds else 3}f} {unit}"

    middle = statistics.median(times)
    spread = f"{show(min(times))} to {show(max(times))}"
    return Figure(name, show(middle), f"< {most * factor:g} {unit}", middle < most, spread)


def table(figures: list[Figure]) -> str:
    """Write figures as a Markdown table."""
    lines = ["| what | median | spread | goal | met |", "|---|---:|---|---:|---|"]
    lines += [
        f"| {one.name} | {one.value} | {one.spread} | {one.goal} | {'yes' if one.met else 'no'} |"
        for one in figures
    ]
    return "\n".join(lines) + "\n"
