"""Transitive closure of a chain: 2.0 million tuples, and the proof of the longest path."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from constat import Session
from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.syntax import parse_goal
from tests.bench.measuring import Figure, figure, once

if TYPE_CHECKING:
    from pathlib import Path

NODES = 2_000
CONFIGURATION = """\
rules: [chain.dl]
databases: {s: {uri: 'sqlite:///chain.sqlite'}}
limits: {seconds: 600}
"""
RULES = """\
.pragma "constat" "0.1"
.decl edge(a: number, b: number)
.input edge(source = "s", query = "SELECT a, b FROM edge")
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).

.decl listed(a: number, b: number)
.decl listed_path(a: number, b: number)
listed_path(?a, ?b) :- listed(?a, ?b).
listed_path(?a, ?c) :- listed_path(?a, ?b), listed(?b, ?c).
"""


def measure(folder: Path) -> list[Figure]:
    """Evaluate every path, then prove one and check the proof."""
    write_project(folder)
    with Session(folder) as session:
        session.prove(f"path({NODES - 1}, {NODES})")
        every = once(lambda: count_paths(session))
        single = once(lambda: session.prove(f"path(0, {NODES})"))
        listed = once(lambda: session.prove(f"listed_path(0, {NODES})"))
        certificate = session.prove(f"path(0, {NODES})").certificate
    checked = once(lambda: check_certificate(certificate))
    nodes = check_certificate(certificate).nodes
    rate = nodes / checked.clock
    return [
        figure(f"all paths of a {NODES:,}-node chain (2.0 M tuples)", [every], 10.0),
        figure(f"one path of {NODES:,} edges in SQLite, decided", [single], 5.0),
        figure(f"one path of {NODES:,} edges in a rule file, decided", [listed], 5.0),
        Figure(
            f"checker, a proof of {nodes:,} nodes",
            f"{rate:,.0f} nodes/s",
            f"{nodes / max(checked.processor, 0.01):,.0f} nodes/s",
            "> 20,000 nodes/s",
            rate > 20_000,
        ),
    ]


def write_project(folder: Path) -> None:
    """Write a chain twice: as rows of a database and as facts of the rule file."""
    (folder / "constat.yaml").write_text(CONFIGURATION)
    edges = [(node, node + 1) for node in range(NODES)]
    facts = "".join(f"listed({a}, {b}).\n" for a, b in edges)
    (folder / "chain.dl").write_text(RULES + facts)
    with closing(sqlite3.connect(folder / "chain.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE edge (a INTEGER NOT NULL, b INTEGER NOT NULL)")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", edges)


def count_paths(session: Session) -> None:
    """Evaluate every path, over edges that are in memory."""
    program = session.program
    goal = parse_goal("path(?a, ?b)", program.program)
    outcome = LazyEngine().evaluate(
        program, goal, session.externals, Limits(seconds=600), exhaust=True
    )
    assert sum(1 for _ in outcome.rows("path", 3)) == NODES * (NODES + 1) // 2
