"""A full disk under each thing that is kept, and a project that nobody may write.

In: a kind of thing. The project lies on a file system of its own in memory, which needs the right
to mount; without it no file may grow beyond a bound. Each round it is filled up to a random rest,
and work is tried: it is done, or refused with an error of ours. Then there is room again, and
everything acknowledged is there.
"""

from __future__ import annotations

import random
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tests.faults import projects, warm
from tests.faults.kills import KINDS as KEPT
from tests.faults.kills import FaultError, RefusedError, cli, is_new, need, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_SIZE: Final = "24m"
_LARGEST_REST: Final = 400_000
_FRESH: Final = 10
_USAGE: Final = 2
KINDS: Final = (*KEPT, "read-only")
READING: Final = {
    "prove big(c1)": 0,
    "prove big(c1) --format json": 0,
    "prove big(nobody) --quiet": 5,
    "query total(?c, ?t)": 0,
    "why-not big(nobody)": 5,
    "missing known(c2)": 4,
    "what-if big(nobody) --add promised(c1, 5)": 5,
    "facts list": 0,
    "rules list": 0,
    "rules check": 0,
    "cache stats": 0,
    "log list": 0,
    "log verify": 0,
    "history": 0,
    "memory stats": 0,
    "materialize --list": 0,
    "doctor": 2,
}
WRITING: Final = (
    "facts add promised(c1, 7) --by ann",
    "facts retract promised(c1, 0) --by ann",
    "prove big(c1) --log",
    "materialize total(?c, ?t)",
    "cache clear",
)


@contextmanager
def mounted(folder: Path) -> Iterator[bool]:
    """Have a small file system in a folder while the block runs, where that is allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mount, options = shutil.which("mount"), f"size={_SIZE}"
    allowed = mount is not None and not subprocess.run(
        [mount, "-t", "tmpfs", "-o", options, "faults", str(folder)],
        capture_output=True,
        check=False,
    ).returncode  # fmt: skip
    try:
        yield allowed
    finally:
        if allowed:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def run(kind: str, rounds: int, base: Path, draw: random.Random, counts: Counter[str]) -> None:
    """Try a full disk so many times; raises `FaultError` at the first fault."""
    with mounted(base / "disk") as small:
        if kind == "read-only":
            _read_only(base / "disk", counts, small=small)
        else:
            _Full(kind, base / "disk", small, draw, counts).run(rounds)


class _Full:
    """Rounds of one kind on a disk that is filled up again and again."""

    def __init__(
        self,
        kind: str,
        disk: Path,
        small: bool,  # noqa: FBT001  whether it is a file system of its own
        draw: random.Random,
        counts: Counter[str],
    ) -> None:
        self.kept, self.disk, self.small, self.draw = KEPT[kind], disk, small, draw
        self.counts = counts
        self.told: set[str] = set()
        self.known: set[str] = set()
        self.number = 0

    def run(self, rounds: int) -> None:
        """Fill, work, make room, look."""
        for number in range(rounds):
            if number % _FRESH == 0:
                self._begin()
            rest = int(self.draw.random() ** 3 * _LARGEST_REST)
            filler = self.disk / "filler"
            if self.small:
                with filler.open("wb") as file:
                    file.write(bytes(max(0, shutil.disk_usage(self.disk).free - rest)))
            try:
                self._work(None if self.small else rest)
            finally:
                filler.unlink(missing_ok=True)
            self._look()
            self.counts["on a small file system" if self.small else "with bounded files"] += 1
            self.counts["rounds"] += 1

    def _begin(self) -> None:
        shutil.rmtree(self.disk / "project", ignore_errors=True)
        self.told = set()
        self.project = projects.make(self.disk / "project")
        before = self.counts["refused"]
        self._work(None)
        self._look(learn=True)
        need(self.counts["refused"] == before, "undisturbed work is refused")

    def _work(self, bound: int | None) -> None:
        first, self.number = self.number, self.number + self.kept.turns

        def work(tell: Callable[[str], None]) -> int:
            errors = __import__("constat.diagnostics", fromlist=["ConstatError"]).ConstatError
            for number in range(first, first + self.kept.turns):
                try:
                    tell("+" + self.kept.add(self.project, str(number)))
                except RefusedError as refused:
                    tell("-" if refused.code == _USAGE else f"!{refused}".replace("\n", " "))
                except errors:
                    tell("-")
            return 0

        def bounded() -> None:
            if bound is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (bound, bound))

        # What it prints has to have room.
        ended = warm.start(work, self.disk / "tmp", bounded, self.disk.parent / "printed").end()
        wrong = [one[1:] for one in ended.told if one.startswith("!")]
        need(not wrong, f"{wrong} {ended.printed[-1_500:]}")
        need(ended.code == 0, f"{ended.code} {ended.printed[-1_500:]}")
        for word in ("Traceback", "internal error"):
            need(word not in ended.printed, ended.printed[-1_500:])
        self.told.update(one[1:] for one in ended.told if one.startswith("+"))
        self.counts["done"] += sum(one.startswith("+") for one in ended.told)
        self.counts["refused"] += sum(one == "-" for one in ended.told)

    def _look(self, *, learn: bool = False) -> None:
        told = set(self.told)

        def look(tell: Callable[[str], None]) -> int:
            try:
                self.kept.look(self.project, told)
                whole(self.project)
            except FaultError as problem:
                tell(str(problem).replace("\n", " "))
            return 0

        ended = warm.start(look, self.disk / "tmp").end()
        need(ended.code == 0 and not ended.told, f"{ended.told} {ended.printed[-1_500:]}")
        found = projects.names(self.project)
        self.known |= found if learn else set()
        need(found <= self.known, f"files stay: {sorted(found - self.known)}")
        stay = [one.name for one in (self.disk / "tmp").iterdir() if not is_new(one)]
        need(not stay, f"temporary files stay: {stay}")


def _read_only(disk: Path, counts: Counter[str], *, small: bool) -> None:
    """Try commands on a project that nobody may write; all that only reads has to work."""
    if not small:
        sys.stderr.write("read-only: not tried, mounting is not allowed here\n")
        return
    project, temporary = projects.make(disk / "project"), disk.parent / "tmp"

    def used(_: object) -> int:
        for name in ("facts", "log", "memory", "materialized", "cache"):
            KEPT[name].add(project, "0")
        return 0

    need(warm.start(used, temporary).end().code == 0, "the project cannot be used")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    counts["rounds"] = 1
    for line, code in READING.items():
        ended = _command(line, project, temporary)
        need(ended.code == code, f"`{line}` ends with {ended.code}: {ended.printed[:600]}")
        counts["read"] += 1
    for line in WRITING:
        ended = _command(line, project, temporary)
        need(ended.code == _USAGE, f"`{line}` ends with {ended.code}: {ended.printed[:600]}")
        need("error[" in ended.printed, f"`{line}` says {ended.printed[:600]}")
        counts["refused"] += 1


def _command(line: str, project: Path, temporary: Path) -> warm.Ended:
    words, options, name = [], line.split(), line.split(maxsplit=1)[0]
    # A goal is one word.
    while options:
        word = options.pop(0)
        while word.count("(") > word.count(")"):
            word += " " + options.pop(0)
        words.append(word)

    def work(_: object) -> int:
        code, out = cli(project, *words)
        sys.stdout.write(out)
        return code

    ended = warm.start(work, temporary).end()
    for word in ("Traceback", "internal error"):
        need(word not in ended.printed, f"`{name}`: {ended.printed[-1_500:]}")
    return ended
