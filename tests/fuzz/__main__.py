"""Try many inputs on every reader: `python -m tests.fuzz --rounds 1000000 --seed 1`.

In: how many inputs, shared out among the readers, a seed, how many processes.  Out: a table of what
became of them; each finding with the words that make its input again (`--again rules 1 17`), small.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.readers import READERS, SHARES
from tests.fuzz.reading import Place
from tests.fuzz.trying import Tally, bound_memory, made, smallest, trouble, try_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fuzz.reading import Input

_CHUNK = 1_000
_Part = tuple[str, int, range]


def _try_part(part: _Part) -> Tally:
    name, seed, numbers = part
    with tempfile.TemporaryDirectory() as folder:
        return try_all(READERS[name](Path(folder)), name, seed, numbers)


def _parts(name: str, seed: int, count: int) -> Iterator[_Part]:
    for start in range(0, count, _CHUNK):
        yield name, seed, range(start, min(start + _CHUNK, count))


def run(names: list[str], rounds: int, seed: int, processes: int) -> dict[str, Tally]:
    """Try so many inputs, shared out among the readers."""
    whole = sum(SHARES[name] for name in names)
    parts = list(
        chain.from_iterable(
            _parts(name, seed, -(-rounds * SHARES[name] // whole)) for name in names
        )
    )
    tallies = {name: Tally() for name in names}
    begun = time.monotonic()
    with ProcessPoolExecutor(processes, initializer=bound_memory) as pool:
        for (name, _, _), tally in zip(parts, pool.map(_try_part, parts), strict=True):
            tallies[name].add(tally)
            for finding in tally.findings:
                sys.stdout.write(f"FOUND {finding}\n")
            done = sum(one.inputs for one in tallies.values())
            seconds = time.monotonic() - begun
            sys.stderr.write(f"\r{name}: {done:,} inputs, {seconds:,.0f} s ")
            sys.stdout.flush()
    return tallies


def again(words: list[str]) -> int:
    """Try one input once more; print it as small as it still goes wrong."""
    place = Place(words[0], int(words[1]), int(words[2]))
    with tempfile.TemporaryDirectory() as folder:
        reader = READERS[place.reader](Path(folder))
        given = made(reader, place)
        problem = trouble(reader, given, twice=True)
        sys.stdout.write(f"{problem}\n{given!r}\n")
        if problem.startswith("ok "):
            return 0
        same = partial(_fails_alike, reader, problem.partition(":")[0])
        sys.stdout.write(f"as small as it gets:\n{smallest(given, same)!r}\n")
    return 1


def _fails_alike(reader: object, kind: str, given: Input) -> bool:
    return trouble(reader, given, twice=True).startswith(kind)  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", default=list(READERS))
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", nargs=3, metavar=("READER", "SEED", "INDEX"))
    chosen = parser.parse_args()
    if chosen.again:
        return again(chosen.again)
    begun = time.monotonic()
    tallies = run(chosen.readers, chosen.rounds, chosen.seed, chosen.processes)
    for name, tally in tallies.items():
        sys.stdout.write(f"{name}: {tally.inputs:,} inputs, {len(tally.findings)} findings\n")
        for became, count in tally.became.most_common():
            sys.stdout.write(f"    {count:>9,}  {became}\n")
    total = sum(tally.inputs for tally in tallies.values())
    seconds = time.monotonic() - begun
    sys.stdout.write(f"{total:,} inputs, seed {chosen.seed}, {seconds:,.0f} s\n")
    return int(any(tally.findings for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
