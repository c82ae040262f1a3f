"""How much of what matters is kept at which length: `python -m tests.bench.memory`.

In: `CONSTAT_DATA`. Out: a table in Markdown; with `--svg FILE` the curves. Each row is the mean
over the sessions of a half; nothing is graded by a model, a value is in the context or it is not.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.bench.memory.measure import KINDS, measured, table
from tests.bench.memory.picture import curves


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, help="also draw the curves")
    parser.add_argument("--only", choices=tuple(KINDS), help="one kind of session")
    parser.add_argument("--most", type=int, default=2, help="how many sessions of a half")
    parser.add_argument("--half", choices=("even", "odd"), help="one half of the dialogues")
    parser.add_argument("--ours", action="store_true", help="without the other methods")
    given = parser.parse_args()
    folder = Path(os.environ.get("CONSTAT_DATA", "")) / "memory"
    if "CONSTAT_DATA" not in os.environ or not folder.is_dir():
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    halves = ("even", "odd") if given.half is None else (given.half,)
    rows = measured(folder, given.only, given.most, others=not given.ours, halves=halves)
    sys.stdout.write(table(rows))
    if given.svg:
        given.svg.write_text(curves(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
