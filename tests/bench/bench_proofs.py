"""Several proofs of a path, two proofs compared, and a certificate made again."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING

from constat import Session
from constat.engine import LazyEngine
from constat.evaluation import Limits
from constat.proof.comparison import compare
from constat.proof.levels import Ranking
from constat.proof.rebuilding import rebuild
from constat.proof.topk import Effort
from constat.session.many_proofs import decide_many
from tests.bench.bench_recursion import write_project
from tests.bench.measuring import Figure, figure, once, several
from tests.proof.asking import Table, analysed, goal_of

if TYPE_CHECKING:
    from pathlib import Path

    from constat.proof import Decision
    from constat.session.many_proofs import Proofs
    from tests.bench.measuring import Timing

NODES, EDGES = 60, 180
STEPS = 1_500
MOST = ((1, 0.5), (10, 1.0), (100, 5.0))
RULES = """
.decl e(a: number, b: number)
.input e(source = "s", query = "q")
.decl p(a: number, b: number)
p(?a, ?b) :- e(?a, ?b).
p(?a, ?c) :- p(?a, ?b), e(?b, ?c).
"""


def measure(folder: Path) -> list[Figure]:
    """Find proofs of a path in a random graph; compare and replay a proof of 3,000 nodes."""
    figures = [
        figure(f"{count} of the proofs of a path, by {ranking.value}", _timed(ranking, count), most)
        for ranking in Ranking
        for count, most in MOST
    ]
    write_project(folder)
    with Session(folder) as session:
        content = session.prove(f"path(0, {STEPS})").certificate
        other = session.prove(f"path(1, {STEPS})").certificate
    figures.append(
        figure("compare two proofs of 3,000 nodes", several(lambda: compare(content, other), 3), 5)
    )
    replayed = [once(lambda: rebuild(content)) for _ in range(3)]
    if not rebuild(content).same:
        raise AssertionError("the certificate comes out otherwise")
    figures.append(figure("replay a proof of 3,000 nodes", replayed, 5))
    return figures


def _timed(ranking: Ranking, count: int) -> list[Timing]:
    return several(lambda: proofs(ranking, count), 3)


def proofs(ranking: Ranking, count: int) -> list[Decision]:
    """Give the first proofs of the longest path."""
    found = list(islice(_proofs(ranking), count))
    if len(found) < count:
        raise AssertionError(f"only {len(found)} proofs")
    return found


def _proofs(ranking: Ranking) -> Proofs:
    chosen = random.Random(1)
    edges = {(n, n + 1) for n in range(NODES - 1)}
    while len(edges) < EDGES:
        one, other = sorted(chosen.sample(range(NODES), 2))
        edges.add((one, other))
    program = analysed(RULES)
    goal = goal_of(program, f"p(0, {NODES - 1})")
    tables = {"e": Table(tuple(sorted(edges)))}
    effort = Effort(seconds=120)
    return decide_many(
        LazyEngine(), program, goal, tables, Limits(), ranking=ranking, effort=effort
    )
