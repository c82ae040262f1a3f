"""What evidence costs: a sum over a million rows, and checking a proof of ten thousand nodes.

In: an empty folder. Out: figures. The project asks for one sum over all orders of a DuckDB file;
the certificate's time is what it adds to the same `prove`, which does not write one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import duckdb

from constat import Session
from constat.check import check_certificate
from tests.bench.measuring import Figure, figure, once, several
from tests.check.writer import Writer, pos

if TYPE_CHECKING:
    from pathlib import Path

ROWS: Final = 1_000_000
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
    project(folder, ROWS)
    with Session(folder, cache=False) as session:
        results = []
        goal = f"revenue(7, {total(ROWS)})"
        proved = once(lambda: results.append(session.prove(goal)))
        written = once(lambda: results[0].certificate)
    certificate = results[0].certificate
    evidence = len(json.dumps(json.loads(certificate)["summaries"], separators=(",", ":")))
    checked = several(lambda: check_certificate(certificate), ROUNDS)
    long = chain(NODES)
    walked = several(lambda: check_certificate(long), ROUNDS)
    report = check_certificate(certificate)
    if (report.verdict, report.level) != ("PROVED", "C1"):
        raise AssertionError(report)
    return [
        figure(f"a sum over {ROWS:,} rows in DuckDB, proved without a certificate", [proved], 60),
        figure("... what its certificate takes more", [written], 0.5),
        Figure(
            "... its evidence",
            f"{evidence:,} bytes",
            f"{len(certificate):,} bytes in all",
            f"< {MOST_BYTES:,} bytes",
            evidence < MOST_BYTES,
        ),
        figure("... checked", checked, 0.2),
        figure(f"checker, a proof of {NODES:,} nodes", walked, 0.5),
    ]


def project(folder: Path, rows: int) -> None:
    """Write a project with so many orders of one customer, in no order that helps."""
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT (i * 7919) % 1000003 AS id, 7 AS customer, "
            f"i % 997 AS amount FROM range({rows:d}) t(i)"
        )
    (folder / "rules.dl").write_text(_RULES, encoding="utf-8")
    (folder / "constat.yaml").write_text(
        "project: orders\nrules: [rules.dl]\nlimits: {seconds: 600}\n"
        "databases:\n  shop:\n    uri: duckdb:///shop.duckdb\n    rows: 2000000\n"
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
