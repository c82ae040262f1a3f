"""Prove many goals against busy writers: `python -m tests.concurrent --rounds 1000 [KIND ...]`.

Prints, for each kind of source, what came of the proofs; exits with 1 where one was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.concurrent.rounds import prove, prove_with_commands, writers
from tests.concurrent.worlds import ALONE, KINDS, POSTGRESQL, SERVED, TABLES, make
from tests.servers import keeper
from tests.servers.leasing import leased

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator


def main() -> int:
    """Ask so many times for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="proofs for each kind")
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join((*KINDS, *SERVED)))
    asked = parser.parse_args()
    wrong = 0
    for kind in asked.kinds or (*KINDS, *SERVED):
        begun = time.monotonic()
        found = _tried(kind, asked.rounds, asked.writers)
        wrong += found["wrong"]
        told = ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{kind}: wrong {found['wrong']}; {told}; {seconds:.0f} s\n")
        sys.stdout.flush()
    return int(wrong > 0)


def _tried(kind: str, rounds: int, count: int) -> Counter[str]:
    with tempfile.TemporaryDirectory() as folder, _address(kind, Path(folder)) as address:
        world = make(kind, Path(folder) / "project", address)
        with writers(world, 1 if kind in ALONE else count):
            commands = rounds // 20
            found = prove(world, (rounds - commands) // 2, sessions=2)
            return found + prove_with_commands(world, rounds - (rounds - commands) // 2 * 2)


@contextmanager
def _address(kind: str, folder: Path) -> Iterator[str]:
    """Give a server's database with the tables, or nothing for a file."""
    if kind not in SERVED:
        yield ""
        return
    server_kind = "postgresql" if kind in POSTGRESQL else "mariadb"
    reason = keeper.missing(server_kind)
    if reason:
        sys.exit(reason)
    with leased(server_kind, folder / "server") as server, server.fresh() as database:
        database.run(*_tables(kind))
        yield database.uri


def _tables(kind: str) -> list[str]:
    ending = " ENGINE = MyISAM" if kind == "mariadb-myisam" else ""
    return [f"{one}{ending * one.startswith('CREATE')}" for one in TABLES]


if __name__ == "__main__":
    sys.exit(main())
