"""How evidence grows: long walks, many queries, wide negations and sums, and heights.

In: names of questions, by default all. Out: a line for each, which is asked in a process of its
own, so that its memory is its own. Sizes are bytes, times seconds of the processor (in brackets by
the clock). Run `python -m tests.bench.bench_evidence_scale [NAME ...]`.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.check import check_certificate
from constat.proof.report.pdf import to_pdf
from tests.bench import bench_evidence, bench_exports, bench_recursion, bench_rows
from tests.bench.measuring import Timing, once
from tests.report.certificates import deep

if TYPE_CHECKING:
    from collections.abc import Callable

_COLLECTION: Final = (50_000, 20, 20)
"""As `constat.__main__` has it."""
CELLS: Final = 5_000
NODES: Final = 50_000
ROWS: Final = 1_000_000
HEIGHTS: Final = 5
_PROJECT: Final = "rules: [rules.dl]\ndatabases: {{s: {{uri: 'sqlite:///s.sqlite'}}}}\n{limits}"
_LONG: Final = "limits: {seconds: 600, query_seconds: 600, query_rows: 2000000}\n"
_WALK: Final = """.pragma "constat" "0.1"
.type List = [head: number, tail: List]
.decl list(l: List)
.input list(source = "s", query = "SELECT l FROM list")
.decl part(l: List)
part(?l) :- list(?l).
part(?t) :- part([_, ?t]).
"""
_EDGES: Final = """.pragma "constat" "0.1"
.decl edge(a: number, b: number)
.input edge(source = "s", query = "SELECT a, b FROM edge")
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""
_NEGATION: Final = """.pragma "constat" "0.1"
.decl customer(c: number)
.input customer(source = "s", query = "SELECT id FROM customer")
.decl orders(id: number, c: number)
.input orders(source = "s", query = "SELECT id, customer FROM orders")
.decl active(c: number)
active(?c) :- orders(_id, ?c), ?c > 0.
.decl idle(c: number)
idle(?c) :- customer(?c), !active(?c).
.decl nobody_late()
.decl late(id: number)
late(?i) :- orders(?i, ?c), ?c > 2000000.
nobody_late() :- !late(_).
"""
_WHAT_IF: Final = """.pragma "constat" "0.1"
.decl orders(id: number, c: number)
.input orders(source = "s", query = "SELECT id, customer FROM orders")
.decl blocked(c: number)
.input blocked(source = "s", query = "SELECT customer FROM blocked")
.decl free(id: number)
free(?i) :- orders(?i, ?c), !blocked(?c).
"""


def main() -> int:
    """Measure in processes of their own, and print what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--as-command", action="store_true", help="collect as the command line")
    given = parser.parse_args()
    if given.as_command:
        gc.set_threshold(*_COLLECTION)
    for name in given.names or QUESTIONS:
        if given.here:
            with TemporaryDirectory() as place:
                told = QUESTIONS[name](Path(place))
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            sys.stdout.write(f"{name}: {told}; {most:,.0f} MB at most\n")
        else:
            command = [sys.executable, "-m", __spec__.name, name, "--here"]
            command += ["--as-command"] * given.as_command
            subprocess.run(command, check=True, env=os.environ)
    return 0


def walk(folder: Path) -> str:
    """A walk over a list of 5,000 cells, to its end."""
    cells = "".join(f"[{place}, " for place in range(CELLS)) + "nil" + "]" * CELLS
    _project(folder, _WALK, _LONG)
    _fill(folder, "list(l TEXT NOT NULL)", ((cells,),))
    return _proved(folder, "part(nil)")


def own_queries(folder: Path) -> str:
    """A path of 1,500 edges: 3,000 nodes, and a query for each edge."""
    bench_recursion.write_project(folder)
    return _proved(folder, f"path(0, {bench_exports.EDGES})")


def database(folder: Path) -> str:
    """A path of 25,000 edges, from a database; but for a busy clock, under the usual limits."""
    _project(folder, _EDGES, "limits: {seconds: 600}\n")
    _fill(folder, "edge(a INTEGER NOT NULL, b INTEGER NOT NULL)", _steps(NODES // 2))
    return _proved(folder, f"path(0, {NODES // 2})")


def negation(folder: Path) -> str:
    """Nobody of a million rows fulfils a rule: a denied relation that is derived."""
    _project(folder, _NEGATION, _LONG)
    _orders(folder)
    return _proved(folder, "nobody_late()")


def negation_of_one(folder: Path) -> str:
    """One customer has none of a million orders: a denied relation that is derived."""
    _project(folder, _NEGATION, _LONG)
    _orders(folder)
    _fill(folder, "customer(id INTEGER NOT NULL)", ((ROWS + 7,),))
    return _proved(folder, f"idle({ROWS + 7})")


def sums(folder: Path) -> str:
    """Prove a sum of a million rows of SQLite."""
    bench_evidence.project(folder, ROWS, "sqlite")
    return _proved(folder, f"revenue(7, {bench_evidence.total(ROWS)})")


def pdf(folder: Path) -> str:
    """The page of a proof of 5,000 nodes, as PDF."""
    certificate, pages = deep(2_500), folder / "page.pdf"
    taken = once(lambda: pages.write_bytes(to_pdf(certificate)))
    return f"written in {_seconds(taken)}, {pages.stat().st_size:,} bytes"


def what_if(folder: Path) -> str:
    """Every row of a goal with a variable, in the world as it is and in a supposed one."""
    _project(folder, _WHAT_IF, _LONG)
    _fill(folder, "blocked(customer INTEGER NOT NULL)", ((3,),))
    _orders(folder, ROWS // 10)
    with Session(folder, cache=False) as session:
        asked = once(lambda: session.query("free(?i)", check="off"))
        listed = once(lambda: session.query("free(?i)", engine="reference"))
        supposed = once(lambda: session.what_if("free(?i)", remove=["blocked(3)"]))
    return (
        f"asked in {_seconds(asked)}, goal by goal {_seconds(listed)}, supposed in"
        f" {_seconds(supposed)}: {supposed.processor / asked.processor:.1f}x"
    )


def heights(folder: Path) -> str:
    """All paths of a graph with 10 million, and a proof of least height of the longest of one."""
    graph = bench_rows.project(folder)
    start = min(graph)
    row = f"{start}, {list(bench_rows.lengths(graph, start))[-1]}"
    plain, proved, every = [], [], []
    for _ in range(HEIGHTS):
        with Session(folder, cache=False) as session:
            plain.append(once(lambda: len(session.query("path(?a, ?b)", check="off").sure)))
        with Session(folder, cache=False) as session, session.row_proofs("path(?a, ?b)") as rows:
            proved.append(once(lambda: rows.prove(row)))
            every.append(once(lambda: rows.prepare(heights=True)))
    run, one, more = (min(each, key=lambda it: it.processor) for each in (plain, proved, every))
    return (
        f"best of {HEIGHTS}: all paths in {_seconds(run)}; in memory, and one proved, in"
        f" {_seconds(one)}: {one.processor / run.processor:.2f}x; the heights of all"
        f" {_seconds(more)} more"
    )


QUESTIONS: Final[dict[str, Callable[[Path], str]]] = {
    "walk": walk,
    "own-queries": own_queries,
    "database": database,
    "negation": negation,
    "negation-of-one": negation_of_one,
    "sums": sums,
    "pdf": pdf,
    "what-if": what_if,
    "heights": heights,
}


def _proved(folder: Path, goal: str) -> str:
    """Prove a goal, check its certificate, and tell what both cost."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found: list[bytes] = []
    with Session(folder, cache=False) as session:
        proved = once(lambda: found.append(session.prove(goal).certificate))
    gc.collect()
    (certificate,) = found
    checked = once(lambda: check_certificate(certificate))
    report = check_certificate(certificate)
    nodes = len(json.loads(certificate)["nodes"])
    return (
        f"{report.verdict if report.accepted else report.reason}, {nodes:,} nodes,"
        f" {len(certificate):,} bytes, {len(gzip.compress(certificate)):,} packed, proved in"
        f" {_seconds(proved)}, checked in {_seconds(checked)}, {before:,.0f} MB before"
    )


def _project(folder: Path, rules: str, limits: str = "") -> None:
    (folder / "rules.dl").write_text(rules, encoding="utf-8")
    (folder / "constat.yaml").write_text(_PROJECT.format(limits=limits), encoding="utf-8")


def _fill(folder: Path, table: str, rows: object) -> None:
    with closing(sqlite3.connect(folder / "s.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE {table}")
        width = table.count(",") + 1
        places = ", ".join("?" * width)
        name = table.partition("(")[0]
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)  # type: ignore[arg-type]  # rows of cells


def _orders(folder: Path, rows: int = ROWS) -> None:
    table = "orders(id INTEGER PRIMARY KEY NOT NULL, customer INTEGER NOT NULL)"
    _fill(folder, table, ((number, number % (rows // 10) + 1) for number in range(rows)))


def _steps(count: int) -> object:
    return ((node, node + 1) for node in range(count))


def _seconds(taken: Timing) -> str:
    return f"{taken.processor:.1f} s ({taken.clock:.1f} s)"


if __name__ == "__main__":
    sys.exit(main())
