"""Ctrl-C, SIGTERM and `kill -9` at random moments of commands that compute.

In: a command and a signal. Each round the command runs over old files and is met by the signal at a
random moment of the time it takes. It has to say that it was interrupted and leave every named file
as it was, or to be done; nothing it started may survive, no temporary file stay, no lock be held.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import statistics
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Final

from tests.faults import projects, warm
from tests.faults.kills import is_new, need, whole

if TYPE_CHECKING:
    from pathlib import Path

_OLD: Final = "old\n"
_CODES: Final = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}
_SIGNALS: Final = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
_DONE: Final = {"query": 0, "run": 0, "solve": 3, "proxy": 3}
KINDS: Final = tuple(
    f"{command} {name}"
    for command in _DONE
    for name in _SIGNALS
    if command == "proxy" or name != "SIGKILL"
)


def _words(folder: Path, command: str) -> list[str]:
    project, out = ["--project", str(folder)], folder / "out"
    quiet = ["--events", "none", "--certificate", str(out / "s.json")]
    return {
        "query": ["query", "total(?c, ?t)", "--output", str(out / "q.csv"), *project],
        "run": ["run", str(folder / "p.dl"), "-F", str(folder), "-D", str(out)],
        "solve": ["solve", "--plan", str(folder / "plan.yaml"), *quiet, *project],
        "proxy": ["solve", "--plan", str(folder / "proxy.yaml"), *quiet, *project],
    }[command]


def _write_to(path: Path) -> None:
    """Write into the source, which nobody may hold."""
    with closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as link:
        link.execute("BEGIN EXCLUSIVE")
        link.execute("UPDATE sale SET amount = amount")
        link.execute("COMMIT")


def run(kind: str, rounds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Send so many signals; raises `FaultError` at the first fault."""
    command, name = kind.split()
    folder = projects.make(base / "project")
    words, temporary = _words(folder, command), base / "tmp"
    durations, known = [], set[str]()

    def undisturbed() -> None:
        ended = warm.start(lambda _: warm.command(words), temporary).end()
        need(ended.code == _DONE[command], f"undisturbed it ends with {ended}")
        durations.append(ended.seconds)
        known.update(projects.names(folder))

    undisturbed()
    undisturbed()
    for number in range(rounds):
        outputs = [one for one in (folder / "out").iterdir() if not one.name.startswith(".")]
        for one in outputs:
            one.write_text(_OLD)
        before = warm.children()
        child = warm.start(lambda _: warm.command(words), temporary)
        moment = draw.uniform(0.0, 1.05 * statistics.median(durations[-5:]))
        ended = child.end_at(moment, _SIGNALS[name])
        _check(ended, name, _DONE[command], [one.read_text() for one in outputs])
        counts["done" if ended.code == _DONE[command] else "ended by it"] += 1
        left = warm.survivors(before)
        need(not left, f"round {number}: {len(left)} processes survive")
        _write_to(folder / "shop.sqlite")
        # What was killed is taken away by the next command.
        if name == "SIGKILL" or number % 10 == 0:
            undisturbed()
            whole(folder)
        stay = [one.name for one in temporary.iterdir() if not is_new(one)]
        need(not stay, f"round {number}: temporary files stay: {stay}")
        new = projects.names(folder) - known
        need(not new, f"round {number}: files stay: {sorted(new)}")
        counts["rounds"] += 1


def _check(ended: warm.Ended, name: str, done: int, outputs: list[str]) -> None:
    for word in ("Traceback", "internal error", "error["):
        need(word not in ended.printed, f"{ended}")
    if ended.code == done:
        return
    # A signal that comes before anybody listens does what it does by itself.
    early = not ended.printed and ended.code in {-_SIGNALS[name], 157}
    need(early or ended.code == _CODES[name], f"it ends with {ended.code}: {ended.printed}")
    if name != "SIGKILL":
        need(early or "interrupted" in ended.printed, f"it says {ended.printed!r}")
    # A proof is on the disk before the verdict is told.
    changed = [one for one in outputs if one != _OLD and not one.startswith("{")]
    need(name == "SIGKILL" or not changed, "a file was changed")
