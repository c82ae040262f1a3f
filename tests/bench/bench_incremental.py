"""What one changed fact costs, against evaluating everything: W1, W5 and W7.

Each workload is kept current in one process. A fact of its main relation goes and comes again: the
first row, the middle one, the last one, and some at random; each is done once before it is timed,
so that plans and indexes are there, as in a process that stays. Times are those of processors; a
full evaluation is that of `evaluate` over the same rows in memory, with everything handed out. The
share is that of the derived rows that change; the aim is 1 % of a full evaluation plus three times
the share. Where it is missed the quotient is bold.

Run it with `python -m tests.bench.bench_incremental [w1 w5 w7] [--factor 0.1] [--random 5]`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb

from constat.evaluation import Resources
from constat.forward import Options, Outside, evaluate
from constat.incremental import Fact, Maintained, StateFile
from tests.bench.bench_recount import Stored, goals_of, prepare, program_of

if TYPE_CHECKING:
    from constat.incremental import Update
    from constat.logic import Row

_CHANGED: Final = {"w1": "edge", "w5": "orders", "w7": "assign"}
_RUNS: Final = 3


def _rows(path: Path) -> list[Row]:
    found = duckdb.sql(f"SELECT * FROM '{path}'")
    assert found is not None
    return [tuple([c if isinstance(c, int) else str(c) for c in row]) for row in found.fetchall()]


def _full(name: str, folder: Path) -> float:
    """Give the seconds of a full evaluation, the least of some."""
    program = program_of(folder / "rules.dl")
    goals = goals_of(name, program)
    inputs = {path.stem: Outside(Stored(path)) for path in folder.glob("*.parquet")}
    seconds = []
    for _ in range(_RUNS):
        begun = time.process_time()
        with evaluate(program, goals, inputs, Options(Resources())) as results:
            for place in range(len(goals)):
                results.select(place).aggregate("count(*), bit_xor(hash(*COLUMNS(*)))").fetchall()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def _timed(kept: Maintained, state: StateFile, fact: Fact) -> tuple[float, Update]:
    begun = time.process_time()
    update = kept.update([fact])
    state.append(kept, {}, anew=bool(update.anew))
    return time.process_time() - begun, update


def measure(name: str, folder: Path, count: int, factor: float) -> list[str]:
    """Give the lines of the table of one workload."""
    prepare(name, folder, factor)
    full = _full(name, folder)
    program = program_of(folder / "rules.dl")
    inputs = {path.stem: _rows(path) for path in folder.glob("*.parquet")}
    begun = time.process_time()
    kept = Maintained(program, [one.predicate for one in goals_of(name, program)], inputs)
    state = StateFile(folder / "kept.duckdb")
    state.save(kept, {})
    first = time.process_time() - begun
    derived = sum(len(kept.relations[one]) for one in kept.derived)
    rows = inputs[_CHANGED[name]]
    drawn = random.Random(5)
    places = {"first": [0], "middle": [len(rows) // 2], "last": [len(rows) - 1]}
    places["random"] = [drawn.randrange(len(rows)) for _ in range(count)]
    lines = [f"{name}: {derived:,} rows, full {full:.3f} s, begun {first:.2f} s"]
    for what, chosen in places.items():
        found: dict[bool, list[tuple[float, float, str]]] = {True: [], False: []}
        for place in chosen:
            for turn in range(2):
                for gone in (True, False):
                    fact = Fact(_CHANGED[name], rows[place], gone)
                    seconds, update = _timed(kept, state, fact)
                    changed = sum(
                        len(one.plus) + len(one.minus)
                        for relation, one in update.changed.items()
                        if relation in kept.derived
                    )
                    if turn:
                        found[gone].append((seconds, changed / derived, update.anew))
        for gone, timed in found.items():
            seconds = statistics.median(one[0] for one in timed)
            share = statistics.median(one[1] for one in timed)
            aim = full * (0.01 + 3 * share)
            quotient = f"{seconds / aim:.2f}" if seconds <= aim else f"**{seconds / aim:.2f}**"
            anew = sum(bool(one[2]) for one in timed)
            cells = [name.upper(), what, "goes" if gone else "comes", f"{seconds * 1000:,.1f} ms"]
            cells += [f"{share:.2%}", f"{seconds / full:.2%}", quotient, f"{anew} of {len(timed)}"]
            lines.append(f"| {' | '.join(cells)} |")
    state.close()
    return lines


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description="What one changed fact costs.")
    parser.add_argument("names", nargs="*", default=list(_CHANGED))
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--random", type=int, default=5)
    given = parser.parse_args()
    for name in given.names:
        with TemporaryDirectory() as folder:
            for line in measure(name, Path(folder), given.random, given.factor):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
