"""What counting answers again costs, against computing them: W1 to W5, W7 and W8.

Inputs lie in Parquet and are read by both from the same frames; times are those of one process
that is warm. Run with `python -m tests.bench.bench_recount [W1 ...] [--factor 0.5]`.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb

from constat.analysis import analyse
from constat.evaluation import Answer, Evidence, Origin, Readable, Resources
from constat.forward import Options, Outside, evaluate
from constat.logic import Atom, Variable
from constat.recount import Bounds, Claim, recount
from constat.syntax import Mode
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from tests.bench.peers.generate import Size, write
from tests.bench.peers.workloads import WORKLOADS

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import Demand

NAMES = ("w1", "w2", "w2s", "w3", "w4", "w5", "w7", "w8")
_TIME = "2026-01-31T10:00:00.000000Z"


@dataclass(slots=True)
class Stored:
    """A relation in a Parquet file, handed over as a stream."""

    path: Path
    cost: int = 10

    def answer(self, demand: Demand) -> Answer:
        """Nobody asks for single rows here."""
        raise NotImplementedError

    def estimate(self) -> float | None:
        """How many rows the file has."""
        return float(self._read("count(*)").fetchall()[0][0])

    def as_relation(self, demand: Demand, most_rows: int) -> Readable | None:
        """Hand out all rows, once each."""
        evidence = Evidence("database", Origin.DATABASE, self.path.stem, _TIME)
        arity = demand.predicate.arity
        names = self._read("*").columns
        columns = ", ".join(f'"{names[n]}" AS v{n}' for n in range(arity))
        distinct = self._read(f"DISTINCT {columns}")
        count = int(distinct.aggregate("count(*)").fetchall()[0][0])
        return Readable(demand.predicate, count, evidence, lambda: _Stream(distinct))

    def _read(self, what: str) -> duckdb.DuckDBPyRelation:
        found = duckdb.sql(f"SELECT {what} FROM '{self.path}'")
        assert found is not None
        return found


class _Stream:
    def __init__(self, rows: duckdb.DuckDBPyRelation) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


def _given(rows: object) -> object:
    return rows


def program_of(path: Path) -> AnalysedProgram:
    """Read the rules of a workload."""
    text = path.read_text(encoding="utf-8")
    diagnostics: list[Diagnostic] = []
    mode = Mode.STRICT if ".pragma" in text else Mode.SOUFFLE
    surface = parse_file(text, path.name, diagnostics, mode)
    program = analyse(lower(surface.items, diagnostics, mode), diagnostics, mode)
    assert program is not None, diagnostics
    return program


def measure(name: str, factor: float, *, most: float) -> str:
    """Compute a workload, count it again, and give a line of the table."""
    workload = WORKLOADS[name]
    program = program_of(workload.program)
    goals = [name for name in workload.answers if name in program.program.predicates]
    with TemporaryDirectory() as folder:
        write(name, Path(folder), Size.FULL, factor)
        given = {path.stem: Stored(path) for path in Path(folder).glob("*.parquet")}
        atoms = [
            Atom(
                one, tuple(Variable(f"v{n}") for n in range(program.program.predicates[one].arity))
            )
            for one in goals
        ]
        begun = time.monotonic()
        inputs = {one: Outside(found) for one, found in given.items()}
        with evaluate(program, atoms, inputs, Options(Resources())) as results:
            computed = time.monotonic() - begun
            total, checked, said = 0, 0.0, []
            for place, atom in enumerate(atoms):
                rows = results.select(place)
                total += results.count(place)
                claim = Claim(atom, tuple(range(len(atom.terms))), stream=partial(_given, rows))
                found = recount(program, claim, given, Bounds(most))
                checked += found.seconds
                said.append(found.state.value + (f" ({found.why})" if found.why else ""))
            ways = ", ".join(dict.fromkeys(one.strategy for one in results.reports))
    quotient = f"{checked / computed:.1f}"
    told = "; ".join(dict.fromkeys(said))
    cells = [name.upper(), f"{total:,}", ways, f"{computed:.2f} s", f"{checked:.2f} s", quotient]
    return " | ".join(["|", *cells, told, "|"])


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description="What counting answers again costs.")
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--most", type=float, default=120.0, help="seconds of one check")
    given = parser.parse_args()
    sys.stdout.write("| | rows | computed by | computed | counted again | quotient | |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for name in given.names:
        sys.stdout.write(measure(name.lower(), given.factor, most=given.most) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
