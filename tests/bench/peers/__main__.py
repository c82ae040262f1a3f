"""`python -m tests.bench.peers [W1 ...]`: compare Constat with every engine that is installed.

Writes a table, curves and a plot into the folder given by `--output`, and the table to stdout.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.peers import report
from tests.bench.peers.comparing import Result, compare
from tests.bench.peers.engines import engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.scaling import Scaling
from tests.bench.peers.shapes import SHAPES
from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping


def main(arguments: list[str]) -> int:
    """Measure, write, and say in the exit code whether anything was wrong.

    An engine that answered wrongly is, and a point of a curve that did not end.
    """
    options = _options(arguments)
    size = Size(options.size)
    text, results, drawn = [report.machine() + "\n"], [], []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(options.data or scratch)
        bytecode = {"PYTHONPYCACHEPREFIX": str(place / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
        results = _compare(options.workloads or list(WORKLOADS), place, size, options, bytecode)
        text.append(report.table(results))
        if options.curves:
            for curve in Scaling(place, bytecode, size, options.rounds).curves():
                drawn.append(curve)
                text.append(report.curve(curve))
                sys.stderr.write(f"{curve.title}: done\n")
    sys.stdout.write("\n".join(text))
    output = Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    (output / "peers.md").write_text("\n".join(text), encoding="utf-8")
    if not report.plot(results, drawn, output / "peers.svg"):
        sys.stderr.write("no plot: matplotlib is not installed (make peers installs it)\n")
    failed = [point for one in drawn for _, _, point in one.points if point.outcome]
    return int(bool(failed) or any(one.outcome == "wrong" for one in results))


def _compare(
    names: list[str],
    place: Path,
    size: Size,
    options: argparse.Namespace,
    environment: Mapping[str, str],
) -> list[Result]:
    folders = {name: place / name for name in names}
    for name, folder in folders.items():
        if not (folder / "answers").exists():
            write(name, folder, size)
            (folder / "answers").mkdir()
    chosen = [one for one in engines() if not options.engines or one.name in options.engines]
    results = []
    full = size is Size.FULL
    for result in compare(
        chosen,
        folders,
        options.rounds,
        environment,
        lambda name: WORKLOADS[name].answers if full and name not in SHAPES else None,
        options.seconds,
    ):
        results.append(result)
        seconds = "" if result.outcome else f"{result.clock:.2f} s"
        said = result.runs[-1].said if result.outcome == "failed" else ""
        sys.stderr.write(f"{result.workload} {result.engine}: {result.outcome or seconds} {said}\n")
    return results


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="W", choices=[[], *WORKLOADS])
    parser.add_argument("--engines", nargs="*", help="names as in the table (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="the most for one run")
    parser.add_argument("--size", choices=[one.value for one in Size], default="full")
    parser.add_argument("--data", help="a folder whose inputs are kept for the next run")
    parser.add_argument("--output", default="build/bench", help="where table and plot are written")
    parser.add_argument("--curves", action="store_true", help="data, rules and cores as well")
    parser.add_argument("--quick", action="store_true", help="small inputs, once: does it run?")
    options = parser.parse_args(arguments)
    if options.quick:
        options.size, options.rounds, options.seconds = Size.SMALL.value, 1, 20.0
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
