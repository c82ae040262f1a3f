"""Eight processes with mixed commands on one project, for as long as one says.

In: seconds. Each process draws commands that read and write; what it was told is kept is written
down. Out: how many commands there were. No command fails, and at the end everything acknowledged
is there, every file is whole and nothing else stays.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.faults import projects, warm
from tests.faults.kills import KINDS as KEPT
from tests.faults.kills import FaultError, done, need, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_PROCESSES: Final = 8
KINDS: Final = ("eight processes",)
_READING: Final[tuple[tuple[list[str], tuple[int, ...]], ...]] = (
    (["prove", "big(c1)", "--quiet"], (0,)),
    (["query", "total(?c, ?t)", "--format", "json"], (0,)),
    (["facts", "list", "--history"], (0,)),
    (["log", "list"], (0,)),
    (["log", "verify"], (0,)),
    (["rules", "list"], (0,)),
    (["rules", "check"], (0,)),
    (["history"], (0,)),
    (["memory", "stats"], (0,)),
    (["cache", "stats"], (0,)),
    (["cache", "clear"], (0,)),
    (["materialize", "--list"], (0,)),
    (["why-not", "big(nobody)"], (5,)),
)
_DRAWN: Final = (*KEPT, *KEPT, "read", "read", "read", "read", "read", "read", "read", "retract")


def run(kind: str, seconds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Let eight processes work for so many seconds; raises `FaultError` at a fault."""
    del kind
    project = projects.make(base / "project")
    # The log has to be there before it can be looked at.
    first = _worker(project, -1, draw, 0, ("log",))
    need(warm.start(first, base / "tmp").end().code == 0, "the project cannot be used")
    before = warm.children()
    until = time.monotonic() + seconds
    children = []
    for number in range(_PROCESSES):
        (base / str(number)).mkdir()
        work = _worker(project, number, random.Random(draw.random()), until)
        children.append(warm.start(work, base / str(number) / "tmp"))
    told: dict[str, set[str]] = {kind: set() for kind in KEPT}
    taken = set[str]()
    faults = []
    for child in children:
        ended = child.end(seconds + warm.LONGEST)
        for line in ended.told:
            kind, _, what = line.partition(" ")
            counts[kind] += 1
            if kind == "FAULT":
                faults.append(what)
            elif kind == "retracted":
                taken.add(what)
            elif kind in told:
                told[kind].add(what)
        if ended.code != 0:
            faults.append(f"{ended.code}: {ended.printed[-1_000:]}")
    need(not faults, f"{len(faults)} faults of {counts.total()} commands: {faults[:5]}")
    need(not warm.survivors(before), "processes survive")
    told["facts"] -= taken
    _look(project, told, base)


def _worker(
    project: Path, process: int, draw: random.Random, until: float, first: Sequence[str] = ()
) -> Callable[[Callable[[str], None]], int]:
    def work(tell: Callable[[str], None]) -> int:
        number, stated = process * 100_000, list[str]()
        for kind in first:
            KEPT[kind].add(project, "0")
        while time.monotonic() < until:
            kind, number = draw.choice(_DRAWN), number + 1
            try:
                if kind == "read":
                    words, codes = draw.choice(_READING)
                    done(project, *words, codes=codes)
                    tell(f"read {words[0]}")
                elif kind == "retract":
                    if stated:
                        fact = stated.pop()
                        done(project, "facts", "retract", fact, "--by", "ann")
                        tell(f"retracted {fact}")
                elif kind != "memory":
                    found = KEPT[kind].add(project, str(number))
                    stated += [found] if kind == "facts" else []
                    tell(f"{kind} {found}")
            except FaultError as problem:
                tell(f"FAULT {problem}".replace("\n", " "))
        return 0

    return work


def _look(project: Path, told: dict[str, set[str]], base: Path) -> None:
    def look(tell: Callable[[str], None]) -> int:
        for kind, kept in KEPT.items():
            try:
                kept.look(project, told[kind])
            except FaultError as problem:
                tell(f"{kind}: {problem}".replace("\n", " "))
        whole(project)
        return 0

    ended = warm.start(look, base / "tmp").end(4 * warm.LONGEST)
    need(ended.code == 0 and not ended.told, f"{ended.told} {ended.printed[-1_000:]}")
