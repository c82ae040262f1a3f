"""Ask about a shop that somebody changes all the time, and count what came of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.check import check_certificate
from constat.evaluation import Verdict
from constat.session import Session
from tests.concurrent.worlds import SAYS_SO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.concurrent.worlds import World

ROOT: Final = Path(__file__).parents[2]
NOT_ONE: Final = "not one snapshot"


@contextmanager
def writers(world: World, count: int) -> Iterator[None]:
    """Have so many programs write while the block runs; each has to have made some changes."""
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.concurrent.writer", world.kind, world.place],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(count)
        ]
        try:
            for one in started:
                assert one.stdout is not None
                assert one.stdout.readline() == "writing\n"
            yield
        finally:
            ends = [one.communicate()[0] for one in started]
        assert all(int(end) > 1 for end in ends), ends


@dataclass(frozen=True, slots=True)
class Effort:
    """How proofs are spread: so many sessions at once, each closed after so many proofs.

    Closing a file drops the locks that others have on it. Every few proofs all rows are asked for
    in bulk, too. After `until` no session is opened any more.
    """

    sessions: int = 2
    bulk_every: int = 4
    each: int = 1
    until: float = math.inf


def prove(world: World, rounds: int, effort: Effort = Effort()) -> Counter[str]:
    """Ask so many times in each of some sessions at once."""
    found: Counter[str] = Counter()
    guard = threading.Lock()
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            for first in range(0, rounds, effort.each):
                if time.monotonic() > effort.until:
                    break
                with Session(world.folder, cache=False) as session:
                    for number in range(first, min(first + effort.each, rounds)):
                        outcomes = _asked(world, session, bulk=number % effort.bulk_every == 0)
                        with guard:
                            found.update(outcomes)
        except BaseException as problem:  # noqa: BLE001  raised again by whoever waits
            problems.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(effort.sessions)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if problems:
        raise problems[0]
    return found


def _asked(world: World, session: Session, *, bulk: bool) -> list[str]:
    result = session.prove(f"{world.goal}(C1)")
    outcomes = [_judged(world, json.loads(result.certificate))]
    assert check_certificate(result.certificate).accepted
    if bulk:
        answers = session.query(f"{world.goal}(?c)", engine="forward")
        wrong = answers.count(Verdict.PROVED) and world.kind not in SAYS_SO
        outcomes.append("wrong" if wrong else f"bulk {answers.settled.name}")
    return outcomes


def _judged(world: World, certificate: dict[str, dict[str, str]]) -> str:
    """Tell a verdict that is wrong from one that is right, is none, or says what it rests on."""
    header = certificate["header"]
    said = header["snapshot"] == NOT_ONE
    if header["verdict"].startswith("PROVED") and not (said and world.kind in SAYS_SO):
        return "wrong"
    if world.kind not in SAYS_SO and said:
        return "not named"
    if world.kind in SAYS_SO and not said and header["verdict"] != "UNRESOLVED":
        return "wrong"
    return header["verdict"]


def prove_with_commands(world: World, rounds: int, *, until: float = math.inf) -> Counter[str]:
    """Ask the command so many times, each in a process of its own; at least once."""
    found: Counter[str] = Counter()
    kept = world.folder / "proof.json"
    for _ in range(rounds):
        kept.unlink(missing_ok=True)
        words = ["prove", f"{world.goal}(C1)", "--quiet", "--certificate", str(kept)]
        done = subprocess.run(
            [sys.executable, "-m", "constat", *words, "--project", str(world.folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert kept.exists(), done.stderr
        judged = _judged(world, json.loads(kept.read_text()))
        shown = judged == "UNRESOLVED" or (NOT_ONE in done.stdout) == (world.kind in SAYS_SO)
        found[judged if shown else "wrong"] += 1
        if time.monotonic() > until:
            break
    return found
