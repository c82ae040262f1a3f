"""Write results down: a table in Markdown and a plot.

In: results. Out: texts. Invariant: what did not end, could not be said or was wrong is written so,
and has no bar.
"""

from __future__ import annotations

import importlib
import os
import platform
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.bench.peers.comparing import Result

_WORDS: Final = {"time": "too long", "cannot": "-", "failed": "failed", "wrong": "WRONG"}


def table(results: Sequence[Result]) -> str:
    """Write engines as rows and workloads as columns: seconds, processor seconds, memory."""
    workloads = list(dict.fromkeys(one.workload for one in results))
    engines = list(dict.fromkeys(one.engine for one in results))
    cells = {(one.engine, one.workload): _cell(one) for one in results}
    lines = [
        f"| engine | {' | '.join(workloads)} |",
        f"|---|{'---:|' * len(workloads)}",
    ]
    for engine in engines:
        row = " | ".join(cells.get((engine, workload), "") for workload in workloads)
        lines.append(f"| {engine} | {row} |")
    return "\n".join(lines) + "\n"


def _cell(one: Result) -> str:
    if one.outcome:
        return _WORDS[one.outcome]
    low, high = one.spread
    return (
        f"**{one.clock:.2f}** ({low:.2f}-{high:.2f}) s, cpu {one.processor:.2f} s, "
        f"{one.memory:.0f} MiB"
    )


def machine() -> str:
    """Say on what the figures were taken."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    version = platform.python_version()
    load = os.getloadavg()[0]
    return (
        f"Python {version}, {cores} cores, {memory:.0f} GiB, "
        f"load of the machine at the start {load:.1f}"
    )


def curve(title: str, points: Iterable[tuple[str, Result]]) -> str:
    """Write one scaling curve: a row for each size."""
    lines = [f"| {title} | median | processor | memory |", "|---|---:|---:|---:|"]
    for label, one in points:
        if one.outcome:
            lines.append(f"| {label} | {_WORDS[one.outcome]} | | |")
        else:
            lines.append(
                f"| {label} | {one.clock:.2f} s | {one.processor:.2f} s | {one.memory:.0f} MiB |"
            )
    return "\n".join(lines) + "\n"


def plot(results: Sequence[Result], path: Path) -> bool:
    """Draw the medians as bars on a logarithmic scale; False where matplotlib is missing."""
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return False
    workloads = list(dict.fromkeys(one.workload for one in results))
    engines = list(dict.fromkeys(one.engine for one in results))
    figure, axes = pyplot.subplots(figsize=(10, 4.5))
    width = 0.8 / len(engines)
    for number, engine in enumerate(engines):
        ended = [one for one in results if one.engine == engine and not one.outcome]
        places = [workloads.index(one.workload) + number * width - 0.4 for one in ended]
        axes.bar(places, [one.clock for one in ended], width, label=engine, align="edge")
    axes.set_yscale("log")
    axes.set_ylabel("seconds, whole process")
    axes.set_xticks(range(len(workloads)), workloads)
    axes.set_title("Time to answer; no bar: did not end in time, or cannot say it")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
    return True
