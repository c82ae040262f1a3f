"""Many random sequences of updates: `python -m tests.incremental --count 100000 --log FILE`.

In: the first seed, how many sequences, a log. Out: each difference, with the seed that gives it
again (`--again SEED`), and the counts. The log is written as programs are done; with the same log
the run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import Counter
from pathlib import Path

from tests.incremental.sequences import Walk
from tests.random_programs.one_database import one_database

_SEQUENCES = 40
_UPDATES = 6


def run(first: int, count: int, path: Path) -> int:
    """Go on until so many sequences are done; give how many differ."""
    log = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    told: Counter[str] = Counter(log.get("told", {}))
    found: list[str] = log.get("found", [])
    seed, before, started = log.get("seed", first), log.get("seconds", 0.0), time.process_time()
    with one_database():
        gc.freeze()
        while told["sequences"] < count:
            difference = Walk(seed, told).difference(_SEQUENCES, _UPDATES)
            if difference:
                found.append(difference)
                sys.stdout.write(f"FOUND {difference}\n")
                sys.stdout.flush()
            seed += 1
            seconds = before + time.process_time() - started
            log = {"seed": seed, "seconds": seconds, "told": dict(told), "found": found}
            path.write_text(json.dumps(log, indent=1), encoding="utf-8")
    sys.stdout.write(f"{json.dumps(log, indent=1)}\n")
    return len(found)


def main() -> int:
    """Run, or try one seed again."""
    parser = argparse.ArgumentParser(description="Random sequences of updates.")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--log", type=Path, default=Path("incremental.json"))
    parser.add_argument("--again", type=int)
    given = parser.parse_args()
    if given.again is not None:
        with one_database():
            difference = Walk(given.again).difference(_SEQUENCES, _UPDATES)
        sys.stdout.write(f"{difference or 'no difference'}\n")
        return int(bool(difference))
    return int(run(given.first, given.count, given.log) > 0)


if __name__ == "__main__":
    sys.exit(main())
