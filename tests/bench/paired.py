"""Tell when Constat became slower or faster, as a ratio that does not depend on the machine.

`python -m tests.bench.paired` runs each workload by Constat and by DuckDB with SQL by hand, in
turns, and takes the best of five of each: seconds of processors beyond those of an empty program.
A ratio that differs by more than 2x from the recorded one is taken once more from the start, and
reported when it differs again. `--record` writes the ratios down instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.peers.engines import engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.running import run
from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

RECORDED: Final = Path(__file__).with_name("ratios.json")
PAIRED: Final = ("kin", "near", "texts")
"""The workloads that DuckDB can say in one statement, and that take longer than a start."""
_RUNS: Final = 5
_CHANGE: Final = 2.0
_LEAST: Final = 0.05
_SECONDS: Final = 120.0
_EMPTY: Final = ".decl one(x: number)\none(1).\n.printsize one\n"
_NOTHING: Final = "import duckdb; duckdb.connect().execute('SELECT 1').fetchall()"


class UnansweredError(Exception):
    """A run did not end well, so that it has no time."""


def compared(
    names: Iterable[str], recorded: Mapping[str, float], measure: Callable[[str], float]
) -> dict[str, tuple[float, float]]:
    """Give what changed twice in a row: the recorded ratio, and the one of the second time."""
    changed: dict[str, tuple[float, float]] = {}
    for name in names:
        known = recorded.get(name)
        if known is None or not _differs(measure(name), known):
            continue
        again = measure(name)
        if _differs(again, known):
            changed[name] = (known, again)
    return changed


def _differs(ratio: float, known: float) -> bool:
    return not known / _CHANGE <= ratio <= known * _CHANGE


class Pair:
    """Measures workloads below a folder by both engines."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder = folder
        self._size = size
        self._commands = {one.name: one.command for one in engines()}
        self._bytecode = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        (folder / "empty.dl").write_text(_EMPTY, encoding="utf-8")
        empty = [sys.executable, "-m", "constat", "run", str(folder / "empty.dl")]
        # The same engine as for the workloads: a small program has a quicker one.
        empty += ["--output", str(folder), "--engine", "forward"]
        self._started = (
            self._best(empty),
            self._best([sys.executable, "-c", _NOTHING]),
        )

    def ratio(self, name: str) -> float:
        """Give how many times DuckDB's processor seconds Constat takes, each its best of five."""
        place = self._folder / name
        if not place.exists():
            write(name, place, self._size)
            (place / "answers").mkdir()
        ours, theirs = (
            self._commands[engine](name, place) for engine in ("constat", "duckdb, SQL by hand")
        )
        times = [(self._seconds(ours), self._seconds(theirs)) for _ in range(_RUNS)]
        beyond = [
            max(min(column) - start, _LEAST)
            for column, start in zip(zip(*times, strict=True), self._started, strict=True)
        ]
        found: float = beyond[0] / beyond[1]
        sys.stderr.write(f"{name}: {beyond[0]:.2f} s to {beyond[1]:.2f} s, {found:.2f}x\n")
        return found

    def _best(self, command: list[str]) -> float:
        return min(self._seconds(command) for _ in range(_RUNS))

    def _seconds(self, command: list[str]) -> float:
        one = run(command, _SECONDS, self._bytecode)
        if one.outcome:
            raise UnansweredError(f"{' '.join(command)}: {one.outcome} {one.said}")
        return float(one.processor)


def main(arguments: list[str]) -> int:
    """Compare with what is recorded; exit code 1 where something changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="W", help=f"default: {' '.join(PAIRED)}")
    parser.add_argument("--record", action="store_true", help="write the ratios down")
    parser.add_argument("--size", choices=[one.value for one in Size], default="full")
    options = parser.parse_args(arguments)
    names = options.workloads or list(PAIRED)
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        parser.error(f"no such workload: {' '.join(unknown)}")
    known: dict[str, float] = {}
    if RECORDED.exists():
        known = json.loads(RECORDED.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        pair = Pair(Path(scratch), Size(options.size))
        if options.record:
            known |= {name: round(pair.ratio(name), 2) for name in names}
            RECORDED.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
            return 0
        changed = compared(names, known, pair.ratio)
    for name, (before, now) in changed.items():
        sys.stdout.write(f"{name}: {now:.2f}x of DuckDB by hand, recorded are {before:.2f}x\n")
    for name in names:
        if name not in known:
            sys.stdout.write(f"{name}: nothing is recorded\n")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
