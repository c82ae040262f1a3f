"""Transitive closure of a chain: 2.0 million tuples, and the proof of the longest path."""

from __future__ import annotations

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
RULES = """\
.pragma "constat" "0.1"
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(?a, ?b) :- edge(?a, ?b).
path(?a, ?c) :- path(?a, ?b), edge(?b, ?c).
"""


def measure(folder: Path) -> list[Figure]:
    """Evaluate every path, then prove one and check the proof."""
    (folder / "constat.yaml").write_text("rules: [chain.dl]\nlimits: {seconds: 600}\n")
    edges = "".join(f"edge({node}, {node + 1}).\n" for node in range(NODES))
    (folder / "chain.dl").write_text(RULES + edges)
    with Session(folder) as session:
        session.prove(f"path({NODES - 1}, {NODES})")
        every = once(lambda: _count(session))
        single = once(lambda: session.prove(f"path(0, {NODES})"))
        certificate = session.prove(f"path(0, {NODES})").certificate
    checked = once(lambda: check_certificate(certificate))
    nodes = check_certificate(certificate).nodes
    rate = nodes / checked
    return [
        figure(f"all paths of a {NODES:,}-node chain (2.0 M tuples)", [every], 10.0),
        figure("one path of length 2,000, decided", [single], 5.0),
        Figure(
            f"checker, a proof of {nodes:,} nodes",
            f"{rate:,.0f} nodes/s",
            "> 20,000 nodes/s",
            rate > 20_000,
        ),
    ]


def _count(session: Session) -> None:
    program = session.program
    goal = parse_goal("path(?a, ?b)", program.program)
    outcome = LazyEngine().evaluate(program, goal, {}, Limits(seconds=600), exhaust=True)
    assert sum(1 for _ in outcome.rows("path", 3)) == NODES * (NODES + 1) // 2
