"""Evaluate many random programs: `python -m tests.random_programs --count 100000 --log FILE`.

In: the first seed, how many, a log. Out: each difference, with the words that try it again
(`--again SEED`); the counts. The log is written as programs are done; with the same log the run
goes on where it stopped, so it may be ended at any moment.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from constat.pydatalog import PyDatalogEngine
from tests.random_programs.drawing import draw
from tests.random_programs.judging import Judge
from tests.random_programs.one_database import one_database
from tests.random_programs.shrinking import smallest

_WRITTEN_EACH = 50


@dataclass(slots=True)
class Log:
    """How far a run has come; `following` is the seed to go on with."""

    following: int
    seconds: float = 0.0
    told: dict[str, int] = field(default_factory=dict)
    found: list[tuple[int, str]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write it whole or not at all."""
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        fresh.replace(path)


def run(first: int, count: int, path: Path) -> int:
    """Evaluate the programs of so many seeds; give how many differ."""
    log = Log(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Log(first)
    with PyDatalogEngine() as engine, one_database():
        judge = Judge(engine, Counter(log.told))
        # A collection in the middle of a program walks over all libraries.
        gc.collect()
        gc.freeze()
        gc.disable()
        started, before = time.monotonic(), log.seconds
        for seed in range(log.following, first + count):
            difference = judge.difference(draw(seed), seed)
            if difference is not None:
                log.found.append((seed, str(difference)))
                sys.stdout.write(f"FOUND --again {seed}: {difference}\n")
                sys.stdout.flush()
            log.following, log.told = seed + 1, dict(judge.told)
            log.seconds = before + time.monotonic() - started
            if seed % _WRITTEN_EACH == 0 or seed + 1 == first + count:
                gc.collect()
                log.write(path)
    sys.stdout.write(f"{judge.told['programs']:,} programs, {len(log.found)} differ\n")
    return len(log.found)


def again(seed: int) -> int:
    """Try one program, and show the smallest one that still differs."""
    drawn = draw(seed)
    difference = Judge().difference(drawn, seed)
    sys.stdout.write(f"{drawn.shown()}\n\n{difference or 'no difference'}\n")
    if difference is None:
        return 0
    small = smallest(drawn, lambda one: Judge().difference(one, seed) is not None)
    sys.stdout.write(f"\nmade smaller:\n{small.shown()}\n\n{Judge().difference(small, seed)}\n")
    return 1


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--log", type=Path, default=Path("random-programs.json"))
    parser.add_argument("--again", type=int, metavar="SEED", help="try one program again")
    given = parser.parse_args()
    if given.again is not None:
        return again(given.again)
    return 1 if run(given.first, given.count, given.log) else 0


if __name__ == "__main__":
    sys.exit(main())
