"""Fixpoints of the columnar back end alone: rows of numbers in memory, rows out, no loading.

W1 chain, W2 sparse graph, W3 same generation, W4 reachability, W7 points-to (mutual recursion),
W8 company control (a sum in recursion). Run with `python -m tests.bench.bench_columnar`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb

from constat.columnar import run_stage
from constat.evaluation import Resources
from constat.plan.forward import Strategy
from tests.bench.measuring import Figure, figure, several, table
from tests.bench.peers.generate import Size, write
from tests.columnar.stages import case

if TYPE_CHECKING:
    from constat.columnar import Columns
    from tests.columnar.stages import Case

RUNS = 3
EDGE = """
.decl edge(a: number, b: number)
.input edge(source="t", query="q")
"""
CLOSURE = (
    EDGE
    + """
.decl tc(a: number, b: number)
tc(?a, ?b) :- edge(?a, ?b).
tc(?a, ?c) :- tc(?a, ?b), edge(?b, ?c).
"""
)
GENERATION = """
.decl parent(c: number, p: number)
.input parent(source="t", query="q")
.decl sg(a: number, b: number)
sg(?a, ?b) :- parent(?a, ?p), parent(?b, ?p).
sg(?a, ?b) :- parent(?a, ?p), sg(?p, ?q), parent(?b, ?q).
"""
REACH = (
    EDGE
    + """
.decl reach(a: number)
reach(0).
reach(?b) :- reach(?a), edge(?a, ?b).
"""
)
POINTS_TO = """
.decl new(v: number, h: number)
.input new(source="t", query="q")
.decl assign(y: number, x: number)
.input assign(source="t", query="q")
.decl load(y: number, x: number)
.input load(source="t", query="q")
.decl store(y: number, x: number)
.input store(source="t", query="q")
.decl vpt(v: number, h: number)
.decl hpt(a: number, b: number)
vpt(?y, ?h) :- new(?y, ?h).
vpt(?y, ?h) :- assign(?y, ?z), vpt(?z, ?h).
vpt(?y, ?k) :- load(?y, ?x), vpt(?x, ?h), hpt(?h, ?k).
hpt(?h, ?k) :- store(?y, ?x), vpt(?y, ?h), vpt(?x, ?k).
"""
CONTROL = """
.decl own(x: number, y: number, w: number)
.input own(source="t", query="q")
.decl holds(x: number, via: number, y: number, w: number)
holds(?x, ?x, ?y, ?w) :- own(?x, ?y, ?w).
holds(?x, ?z, ?y, ?w) :- controls(?x, ?z), own(?z, ?y, ?w), ?x != ?z.
.decl controls(x: number, y: number)
controls(?x, ?y) :- holds(?x, _, ?y, _), sum ?w : { holds(?x, _via, ?y, ?w) } > 50.
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """Rules, how their inputs are made, how many rows come out, and the goal in seconds."""

    name: str
    rules: str
    strategy: Strategy
    rows: int
    most: float


def measure() -> list[Figure]:
    """Run each workload and check how many rows it gives."""
    return [_measure(one) for one in WORKLOADS]


def _measure(workload: Workload) -> Figure:
    made, inputs = case(workload.rules), _inputs(workload.name)
    assert _rows(made, inputs, workload.strategy) == workload.rows, workload.name
    timings = several(lambda: _rows(made, inputs, workload.strategy), RUNS)
    name = f"{workload.name.upper()}, {workload.strategy.value}, {workload.rows:,} rows"
    return figure(name, timings, workload.most)


def _rows(made: Case, inputs: dict[str, Columns], strategy: Strategy) -> int:
    found, _ = run_stage(made.stage, made.plan, inputs, len, strategy, Resources())
    return sum(len(columns[0]) for columns in found.values())


def _inputs(name: str) -> dict[str, Columns]:
    """The rows of a workload as columns."""
    with TemporaryDirectory() as folder, duckdb.connect() as connection:
        write(name, Path(folder), Size.FULL)
        return {
            path.stem: tuple(connection.read_parquet(str(path)).fetchnumpy().values())
            for path in Path(folder).glob("*.parquet")
        }


WORKLOADS = (
    Workload("w1", CLOSURE, Strategy.BITMAP, 1_999_000, 0.2),
    Workload("w2", CLOSURE, Strategy.BITMAP, 8_143_237, 1.0),
    Workload("w2", CLOSURE, Strategy.RUNS, 8_143_237, 2.0),
    Workload("w3", GENERATION, Strategy.BITMAP, 1_398_100, 0.2),
    Workload("w4", REACH, Strategy.BITMAP, 993_003, 0.8),
    Workload("w7", POINTS_TO, Strategy.BITMAP, 4_522_041, 2.0),
    Workload("w8", CONTROL, Strategy.RUNS, 128_387, 0.5),
)

if __name__ == "__main__":
    sys.stdout.write(table(measure()))
