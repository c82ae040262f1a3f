"""How long the proof of one row of a large result takes, with its certificate.

In: an empty folder. Out: figures. The result is W2: all paths of a sparse random graph, 10.4
million pairs. Each proof is checked to be as short as the shortest path. Run it with
`python -m tests.bench.bench_rows`.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from constat import Session
from tests.bench.measuring import Figure, figure, once, table
from tests.bench.peers.generate import Size, write

ROWS: Final = 300
RULES: Final = """.pragma "constat" "0.1"
.decl edge(a: number, b: number)
.input edge(source = "g", query = "SELECT a, b FROM edge")
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""

Graph = dict[int, list[int]]


def measure(folder: Path) -> list[Figure]:
    """Prove rows that were chosen at random."""
    graph = project(folder)
    chosen = random.Random(1)
    with Session(folder) as session, session.row_proofs("path(?a, ?b)") as rows:
        held = once(lambda: rows.prepare(heights=True))
        seconds = []
        for _ in range(ROWS):
            start = chosen.choice(sorted(graph))
            found_lengths = lengths(graph, start)
            end = chosen.choice(sorted(found_lengths))
            begun = time.perf_counter()
            (found,) = rows.prove(f"{start}, {end}")
            certificate = found.certificate
            seconds.append(time.perf_counter() - begun)
            steps = [one for one in json.loads(certificate)["nodes"] if one["kind"] != "fact"]
            if len(steps) != found_lengths[end]:
                raise AssertionError((start, end, found_lengths[end], len(steps)))
    middle, late = statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]
    return [
        figure("all paths with their heights, 10.4 M pairs (once)", [held], 60),
        _latency("... one of its rows proved, least height, with certificate", middle, 0.020),
        _latency("... the slowest of a hundred", late, 0.100),
    ]


def _latency(name: str, seconds: float, most: float) -> Figure:
    return Figure(name, f"{seconds * 1000:.1f} ms", "", f"< {most * 1000:g} ms", met=seconds < most)


def project(folder: Path) -> Graph:
    """Write a project of the graph of W2."""
    write("w2", folder, Size.FULL)
    lines = (folder / "edge.facts").read_text(encoding="utf-8").splitlines()
    edges = [(int(one), int(other)) for one, other in (line.split("\t") for line in lines)]
    with closing(sqlite3.connect(folder / "g.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE edge (a INTEGER, b INTEGER)")
        connection.execute("CREATE INDEX edge_a ON edge (a)")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", edges)
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl]\ndatabases: {g: {uri: 'sqlite:///g.sqlite'}}\n", encoding="utf-8"
    )
    graph: Graph = {}
    for one, other in edges:
        graph.setdefault(one, []).append(other)
    return graph


def lengths(graph: Graph, start: int) -> dict[int, int]:
    """Return the length of the shortest path to each node that can be reached."""
    found: dict[int, int] = {}
    front, length = [start], 0
    while front:
        length += 1
        fresh = dict.fromkeys(one for node in front for one in graph.get(node, ()))
        front = [one for one in fresh if one not in found]
        found |= dict.fromkeys(front, length)
    return found


def main() -> int:
    """Print the table."""
    with TemporaryDirectory() as folder:
        sys.stdout.write(table(measure(Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
