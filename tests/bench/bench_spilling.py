"""A fixpoint over more data than memory: what one node reaches over 100 million edges, under 2 GB.

In: a folder, the size in multiples of 5 million edges. Out: figures. The answer is compared with a
walk over sorted arrays that knows nothing of rules. Takes some minutes and 4 GB of disk, so it is
no part of `make bench-all`. Example: `python -m tests.bench.bench_spilling`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np

from tests.bench.measuring import Figure, table
from tests.bench.peers.engines import engines
from tests.bench.peers.generate import Size, write
from tests.bench.peers.running import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.peers.running import Run

FACTOR: Final = 20.0
MEMORY: Final = 2 << 30
_SECONDS: Final = 3600.0


def measure(folder: Path, factor: float = FACTOR, memory: int = MEMORY) -> list[Figure]:
    """Measure one run; an answer that is wrong is a mistake."""
    write("w4", folder, Size.FULL, factor)
    (folder / "answers").mkdir(exist_ok=True)
    command = [*next(engines()).command("w4", folder), "--memory", f"{memory >> 20}MiB"]
    one = run(command, _SECONDS, {})
    assert not one.outcome, one.said
    assert one.answers == {"reached": reached(folder)}
    return list(_figures(one, factor, memory))


def _figures(one: Run, factor: float, memory: int) -> Sequence[Figure]:
    what = f"reached over {factor * 5:g} million edges, {memory >> 20:,} MiB"
    size = f"{one.memory:,.0f} MiB"
    met = one.memory < (memory >> 20) + OVERHEAD
    return (
        Figure(what, f"{one.clock:.1f} s", f"{one.processor:.1f} s", "it ends", met=True),
        Figure("most memory of the process", size, "", f"< {(memory >> 20) + OVERHEAD} MiB", met),
    )


OVERHEAD: Final = 512
"""MiB for Python and libraries, and what DuckDB holds outside of its bound."""


def reached(folder: Path) -> int:
    """Count the nodes that are reached, by arrays alone."""
    edges = str(folder / "edge.parquet").replace("'", "''")
    source = str(folder / "source.parquet").replace("'", "''")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT a, b FROM '{edges}'").fetchnumpy()
        front = connection.execute(f"SELECT a FROM '{source}'").fetchnumpy()["a"]
    start, end = np.asarray(found["a"]), np.asarray(found["b"])
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    seen = np.zeros(int(max(start.max(), end.max())) + 1, dtype=bool)
    seen[front] = True
    while front.size:
        low, high = np.searchsorted(start, front), np.searchsorted(start, front, side="right")
        met = [end[one:other] for one, other in zip(low.tolist(), high.tolist(), strict=True)]
        next_ones = np.unique(np.concatenate(met)) if met else front[:0]
        front = next_ones[~seen[next_ones]]
        seen[front] = True
    return int(seen.sum())


def main(arguments: Sequence[str]) -> int:
    """Measure; `FACTOR` and `MIB` may be given for a smaller run."""
    factor = float(arguments[0]) if arguments else FACTOR
    memory = int(arguments[1]) << 20 if len(arguments) > 1 else MEMORY
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(table(measure(Path(folder), factor, memory)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
