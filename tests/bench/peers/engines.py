"""Which engines are here, and how each is started on a workload.

In: names. Out: commands. Invariant: an engine that is not installed is left out by name, never
replaced. Peers come with `make peers`; Souffle is taken from the path.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Command = list[str]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine: its name in tables, and what runs a workload over the facts of a folder."""

    name: str
    command: Callable[[str, Path], Command]


def engines() -> Iterator[Engine]:
    """Yield the engines that are installed, ours first."""
    yield Engine("constat", _constat)
    if shutil.which("souffle"):
        yield Engine("souffle", _souffle)
    for name, module, script in _PEERS:
        if importlib.util.find_spec(module) is not None:
            yield Engine(name, _script(script))


_PEERS: Final = (
    ("duckdb, SQL by hand", "duckdb", "duckdb_peer"),
    ("clingo", "clingo", "clingo_peer"),
    ("nemo", "nmo_python", "nemo_peer"),
    ("egglog", "egglog", "egglog_peer"),
    ("pyDatalog", "pyDatalog", "pydatalog_peer"),
)


def forced(strategy: str) -> Engine:
    """Give Constat with one strategy for each stage that allows it."""

    def command(name: str, folder: Path) -> Command:
        return [*_constat(name, folder), "--strategy", strategy]

    return Engine(f"constat, {strategy}", command)


def _constat(name: str, folder: Path) -> Command:
    program = str(WORKLOADS[name].program(folder))
    start = [sys.executable, "-m", "constat", "run", program, "--engine", "forward"]
    return [*start, "--facts", str(folder), "--output", str(folder / "answers")]


def _souffle(name: str, folder: Path) -> Command:
    program = str(WORKLOADS[name].program(folder))
    return ["souffle", "-j2", "-F", str(folder), "-D", str(folder / "answers"), program]


def _script(script: str) -> Callable[[str, Path], Command]:
    module = f"tests.bench.peers.{script}"
    return lambda name, folder: [sys.executable, "-m", module, name, str(folder)]
