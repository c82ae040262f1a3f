"""How fast a new process answers, and how fast a warm session does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat import Session
from tests.bench.measuring import Figure, figure, process, several

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 15
WARM_ROUNDS = 200


def measure(shop: Path, bytecode: Path) -> list[Figure]:
    """Time `--help` and `prove` in new processes, and `prove` in a session."""
    goal = ("prove", "is_vip(C001)", "--project", str(shop))
    started = several(lambda: process(bytecode, "--help"), ROUNDS)
    proved = several(lambda: process(bytecode, *goal), ROUNDS)
    with Session(shop) as session:
        warm = several(lambda: session.prove("is_vip(C001)"), WARM_ROUNDS)
        certified = several(lambda: session.prove("is_vip(C001)").certificate, WARM_ROUNDS)
        everyone = several(lambda: session.prove("is_vip(?c)", exhaust=True), ROUNDS)
    return [
        figure("`constat --help`, new process", started, 0.15),
        figure("`constat prove`, new process", proved, 0.5),
        figure("`Session.prove`, warm", warm, 0.005, milliseconds=True),
        figure("... with its certificate", certified, 0.02, milliseconds=True),
        figure("`is_vip(?c)` for 640 customers, all answers", everyone, 1.0),
    ]
