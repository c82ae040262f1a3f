"""Prove many goals against busy writers: `python -m tests.concurrent --rounds 1000 [KIND ...]`.

Prints, for each kind of source, what came of the proofs; exits with 1 where one was wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.concurrent.rounds import Effort, prove, prove_with_commands, writers
from tests.concurrent.worlds import ALONE, KINDS, POSTGRESQL, SERVED, make, reader_of, tables
from tests.servers import keeper
from tests.servers.leasing import leased

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator


def main() -> int:
    """Ask so many times for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="proofs for each kind")
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most, for each kind")
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join((*KINDS, *SERVED)))
    asked = parser.parse_args()
    wrong = 0
    for kind in asked.kinds or (*KINDS, *SERVED):
        begun = time.monotonic()
        found = _tried(kind, asked)
        wrong += found["wrong"]
        told = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{kind}: wrong {found['wrong']}; {told}; {seconds:.0f} s\n")
        sys.stdout.flush()
    return int(wrong > 0)


def _tried(kind: str, asked: argparse.Namespace) -> Counter[str]:
    rounds = asked.rounds
    with tempfile.TemporaryDirectory() as folder, _address(kind, Path(folder)) as (one, other):
        world = make(kind, Path(folder) / "project", one, place=other)
        with writers(world, 1 if kind in ALONE else asked.writers):
            commands, until = -(-rounds // 200), time.monotonic() + asked.seconds
            effort = Effort(sessions=2, bulk_every=50, each=10, until=until)
            found = prove(world, (rounds - commands) // 2, effort)
            left = rounds - (rounds - commands) // 2 * 2
            return found + prove_with_commands(world, left, until=until)


@contextmanager
def _address(kind: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Give where a server's database is for who reads and who writes, or nothing for a file."""
    if kind not in SERVED:
        yield "", ""
        return
    server_kind = "postgresql" if kind in POSTGRESQL else "mariadb"
    reason = keeper.missing(server_kind)
    if reason:
        sys.exit(reason)
    with leased(server_kind, folder / "server") as server, server.fresh() as database:
        database.run(*tables(kind))
        yield reader_of(kind, database), database.uri


if __name__ == "__main__":
    sys.exit(main())
