"""How fast a new process answers, and how fast a warm session does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat import Session
from tests.bench.measuring import Figure, figure, process, seconds

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 15
WARM_ROUNDS = 200


def measure(shop: Path) -> list[Figure]:
    """Time `--help` and `prove` in new processes, and `prove` in a session."""
    goal = ("prove", "is_vip(C001)", "--project", str(shop))
    with Session(shop) as session:
        warm = seconds(lambda: session.prove("is_vip(C001)"), WARM_ROUNDS)
        certified = seconds(lambda: session.prove("is_vip(C001)").certificate, WARM_ROUNDS)
        everyone = seconds(lambda: session.prove("is_vip(?c)", exhaust=True), ROUNDS)
    return [
        figure("`constat --help`, new process", seconds(lambda: process("--help"), ROUNDS), 0.15),
        figure("`constat prove`, new process", seconds(lambda: process(*goal), ROUNDS), 0.5),
        figure("`Session.prove`, warm", warm, 0.005, milliseconds=True),
        figure("... with its certificate", certified, 0.02, milliseconds=True),
        figure("`is_vip(?c)` for 640 customers, all answers", everyone, 1.0),
    ]
