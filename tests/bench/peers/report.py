"""Write results down: tables in Markdown and a plot.

In: results and curves. Out: texts. Invariant: what did not end, could not be said or was wrong is
written so, and has no bar.
"""

from __future__ import annotations

import importlib
import os
import platform
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.bench.peers.comparing import Result
    from tests.bench.peers.scaling import Curve

_KINDS: Final = ("data", "cores", "rules")
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


def curve(one: Curve) -> str:
    """Write one scaling curve: a row for each size."""
    lines = [f"| {one.title} | median | spread | processor | memory |", "|---|---:|---:|---:|---:|"]
    for label, _, point in one.points:
        if point.outcome:
            lines.append(f"| {label} | {_WORDS[point.outcome]} | | | |")
        else:
            low, high = point.spread
            lines.append(
                f"| {label} | {point.clock:.2f} s | {low:.2f}-{high:.2f} | "
                f"{point.processor:.2f} s | {point.memory:.0f} MiB |"
            )
    return "\n".join(lines) + "\n"


def plot(results: Sequence[Result], curves: Sequence[Curve], path: Path) -> bool:
    """Draw the medians with their spread, and below them the curves, as SVG.

    Time is on a logarithmic scale. False where matplotlib is missing.
    """
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        matplotlib.use("svg")
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return False
    # Equal figures are equal bytes.
    matplotlib.rcParams["svg.hashsalt"] = "bench"
    panels = [kind for kind in _KINDS if any(one.title.startswith(kind) for one in curves)]
    figure = pyplot.figure(figsize=(10, 8.5 if panels else 4.5))
    grid = figure.add_gridspec(2 if panels else 1, max(1, len(panels)))
    _bars(figure.add_subplot(grid[0, :]), results)
    for place, kind in enumerate(panels):
        drawn = [one for one in curves if one.title.startswith(kind)]
        _lines(figure.add_subplot(grid[1, place]), kind, drawn)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def _bars(axes: Any, results: Sequence[Result]) -> None:  # noqa: ANN401  of matplotlib
    workloads = list(dict.fromkeys(one.workload for one in results))
    engines = list(dict.fromkeys(one.engine for one in results))
    width = 0.8 / max(1, len(engines))
    for number, engine in enumerate(engines):
        ended = [one for one in results if one.engine == engine and not one.outcome]
        if not ended:
            continue
        places = [workloads.index(one.workload) + number * width - 0.4 for one in ended]
        below = [one.clock - one.spread[0] for one in ended]
        above = [one.spread[1] - one.clock for one in ended]
        heights = [one.clock for one in ended]
        spread = [below, above]
        look = {"label": engine, "color": f"C{number}", "align": "edge", "capsize": 2}
        axes.bar(places, heights, width, yerr=spread, **look)
    axes.set_yscale("log")
    axes.set_ylabel("seconds, whole process")
    axes.set_xticks(range(len(workloads)), workloads)
    axes.set_title("Time to answer; no bar: did not end in time, or cannot say it")
    if engines:
        axes.legend(fontsize=8)


def _lines(axes: Any, kind: str, curves: Sequence[Curve]) -> None:  # noqa: ANN401  of matplotlib
    for one in curves:
        ended = [(number, result) for _, number, result in one.points if not result.outcome]
        sizes, times = [number for number, _ in ended], [result.clock for _, result in ended]
        axes.plot(sizes, times, marker="o", label=one.title)
    if kind != "cores":
        axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(f"more {kind}")
    axes.legend(fontsize=8)
