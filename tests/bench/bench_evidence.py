"""What evidence costs: a sum over a million rows, and checking a proof of ten thousand nodes.

In: an empty folder. Out: figures. The projects ask for one sum over all orders of a DuckDB file, of
an SQLite file and of a Parquet file; the certificate's time is what it adds to the same `prove`,
which does not write one. Example: `python -m tests.bench.bench_evidence`.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from constat import Session
from constat.check import check_certificate
from constat.session.snapshots import merkle_tree
from tests.bench.measuring import Figure, figure, once, several, table
from tests.check.writer import Writer, pos

if TYPE_CHECKING:
    from constat.session.result import Result
    from tests.bench.measuring import Timing

ROWS: Final = 1_000_000
SOURCES: Final = ("duckdb", "sqlite", "parquet")
NODES: Final = 10_000
MOST_BYTES: Final = 64_000
ROUNDS: Final = 5
_RULES: Final = """.pragma "constat" "0.1"
.decl orders(id: number, customer: number, amount: number)
.input orders(source = "shop", query = "SELECT id, customer, amount FROM orders")
.decl customer(customer: number)
.input customer(source = "shop", query = "SELECT DISTINCT customer FROM orders")
.decl revenue(customer: number, total: number)
revenue(?c, ?s) :- customer(?c), ?s = sum ?a : { orders(_id, ?c, ?a) }.
"""


def measure(folder: Path) -> list[Figure]:
    """Prove a sum over many rows, write its certificate, check it and check a long proof."""
    figures: list[Figure] = []
    certificate = b""
    for source in SOURCES:
        (folder / source).mkdir()
        proved, written, certificate = _proved(folder / source, source)
        name = f"a sum over {ROWS:,} rows in {source}, proved without a certificate"
        figures += [
            figure(name, [proved], 10),
            figure("... what its certificate takes more", [written], 0.5),
        ]
    evidence = len(json.dumps(json.loads(certificate)["summaries"], separators=(",", ":")))
    checked = several(lambda: check_certificate(certificate), ROUNDS)
    long = chain(NODES)
    walked = several(lambda: check_certificate(long), ROUNDS)
    report = check_certificate(certificate)
    if (report.verdict, report.level) != ("PROVED", "C1"):
        raise AssertionError(report)
    return [
        *figures,
        Figure(
            "... its evidence",
            f"{evidence:,} bytes",
            f"{len(certificate):,} bytes in all",
            f"< {MOST_BYTES:,} bytes",
            evidence < MOST_BYTES,
        ),
        figure("... checked", checked, 0.2),
        _opening(),
        figure(f"checker, a proof of {NODES:,} nodes", walked, 0.5),
    ]


def _opening() -> Figure:
    """Measure what showing that a row is absent adds to a certificate: a mean of 200."""
    rows = [[f"C{number:07}"] for number in range(0, 2 * ROWS, 2)]
    tree, chosen = merkle_tree(rows), random.Random(1)
    sizes = []
    for place in chosen.sample(range(1, ROWS), 200):
        opening = {
            "columns": [0],
            "key": [f"C{2 * place - 1:07}"],
            "start": place,
            "before": rows[place - 1],
            "after": rows[place],
            "path": [f"sha256:{one}" for one in tree.path(place - 1, place + 1)],
        }
        sizes.append(len(json.dumps(opening, separators=(",", ":"))))
    mean = sum(sizes) // len(sizes)
    name = f"an absence opened in a root over {ROWS:,} rows"
    return Figure(name, f"{mean:,} bytes", "", "< 2,000 bytes", mean < 2_000)


def _proved(folder: Path, source: str) -> tuple[Timing, Timing, bytes]:
    """Prove the sum, then write its certificate."""
    project(folder, ROWS, source)
    with Session(folder, cache=False) as session:
        results: list[Result] = []
        goal = f"revenue(7, {total(ROWS)})"
        proved = once(lambda: results.append(session.prove(goal)))
        written = once(lambda: results[0].certificate)
        return proved, written, results[0].certificate


def project(folder: Path, rows: int, source: str = "duckdb") -> None:
    """Write a project with so many orders of one customer, in no order that helps."""
    data = (
        "SELECT (i * 7919) % 1000003 AS id, 7 AS customer, i % 997 AS amount "
        f"FROM range({rows:d}) t(i)"
    )
    where = f"uri: {source}:///shop.{source}"
    if source == "parquet":
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({data}) TO '{folder}/orders.parquet'")
        where = "files: {orders: orders.parquet}"
    elif source == "sqlite":
        with closing(sqlite3.connect(folder / "shop.sqlite")) as shop, shop:
            shop.execute("CREATE TABLE orders(id INTEGER, customer INTEGER, amount INTEGER)")
            with duckdb.connect() as connection:
                found = connection.execute(data).fetchall()
            shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", found)
    else:
        with duckdb.connect(str(folder / "shop.duckdb")) as connection:
            connection.execute(f"CREATE TABLE orders AS {data}")
    (folder / "rules.dl").write_text(_RULES, encoding="utf-8")
    (folder / "constat.yaml").write_text(
        "project: orders\nrules: [rules.dl]\nlimits: {seconds: 600}\n"
        f"databases:\n  shop:\n    {where}\n    rows: 2000000\n"
        "    seconds: 600\n",
        encoding="utf-8",
    )


def total(rows: int) -> int:
    """Return the sum of all orders."""
    return sum(number % 997 for number in range(rows))


def chain(nodes: int) -> bytes:
    """Write the proof of a path through half as many edges."""
    w = Writer()
    w.outside("edge", "x:number y:number")
    w.declare("reach", "x:number y:number")
    first = w.rule("direct", pos("reach", "x", "y"), pos("edge", "x", "y"))
    step = w.rule("step", pos("reach", "x", "z"), pos("edge", "x", "y"), pos("reach", "y", "z"))
    half = nodes // 2
    rows = sorted([str(n), str(n + 1)] for n in range(half))
    w.facts("edge", rows)
    place = {row[0]: number for number, row in enumerate(rows)}
    listed = w.tree["nodes"]
    for number in range(half):
        row = [str(number), str(number + 1)]
        listed.append(
            {
                "kind": "fact",
                "fact": ["edge", row],
                "facts": 0,
                "row": place[row[0]],
                "confidence": "1",
            }
        )
    end = str(half)
    last = w.derived(first, [str(half - 1), end], {"x": str(half - 1), "y": end}, [half - 1])
    for number in range(half - 2, -1, -1):
        bind = {"x": str(number), "y": str(number + 1), "z": end}
        last = w.derived(step, [str(number), end], bind, [number, last])
    return w.conclude("PROVED", "reach", "0", end).data()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.stdout.write(table(measure(Path(made))))
