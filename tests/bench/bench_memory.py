"""How fast a memory is over a million tokens: `python -m tests.bench.bench_memory`.

In: `CONSTAT_DATA`, for the public dialogues of an airline, repeated with other names until there
are a million tokens. Out: a table: taking all of it in and making a context of it, one more turn,
a proof, a search, opening the session again, and the most memory that was used. The log is written
by another process and read piece by piece, so that the memory is what a session takes and not what
its log does. No model is asked.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.memory import Call, Memory, Message, Result, Text, from_openai, messages_tokens
from tests.bench.measuring import Figure, Timing, figure, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from constat.memory.messages import Block

TOKENS: Final = 1_000_000
TURNS: Final = 60
GOAL: Final = "cancel reservation 4WQ150"
SESSION: Final = "airline"
_PIECE: Final = 500
_MEMORY: Final = 300 << 10
_DIALOGUES: Final = ("memory", "tau-bench", "gpt-4o-airline-even.json")


def timed(work: Callable[[], object]) -> Timing:
    """Run once, by the clock and by the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Timing(time.perf_counter() - clock, time.process_time() - processor)


def renamed(message: Message, number: int) -> Message:
    """Return a message in which things have other names, so that nothing is said twice."""

    def other(text: str) -> str:
        return text.replace("HAT", f"H{number}T").replace("_", f"_{number}") if number else text

    def block(one: Block) -> Block:
        match one:
            case Text(text):
                return replace(one, text=other(text))
            case Call(id_, _, arguments):
                return replace(one, id=f"{number}-{id_}", arguments=other(arguments))
            case Result(call, parts):
                inner = tuple(block(part) for part in parts)
                return replace(one, call=f"{number}-{call}", parts=inner)  # type: ignore[arg-type]
            case _:
                return one

    return replace(message, blocks=tuple(map(block, message.blocks)))


def write(path: Path) -> None:
    """Write dialogues of a million tokens, one a line, with the number that their names get."""
    given = Path(os.environ["CONSTAT_DATA"]).joinpath(*_DIALOGUES)
    logs = [one["traj"] for one in json.loads(given.read_text(encoding="utf-8"))]
    number = tokens = 0
    with path.open("w", encoding="utf-8") as file:
        while tokens < TOKENS:
            for log in logs:
                left = TOKENS - tokens
                if left > 0:
                    messages = [renamed(one, number) for one in from_openai(log)]
                    while messages_tokens(messages) > max(left, 0):
                        messages.pop()
                    kept = log[: len(messages)]
                    tokens += messages_tokens(messages) if kept else left
                    file.write(json.dumps([number, kept]) + "\n")
            number += 1


def history(path: Path) -> Iterator[Message]:
    """Yield the messages of a log that was written so."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            number, log = json.loads(line)
            for message in from_openai(log):
                yield renamed(message, number)


def pieces(path: Path) -> Iterator[list[Message]]:
    """Yield the messages, some hundred at a time."""
    messages = history(path)
    while piece := list(islice(messages, _PIECE)):
        yield piece


def total(timings: list[Timing]) -> Timing:
    """Add timings up."""
    return Timing(sum(one.clock for one in timings), sum(one.processor for one in timings))


def measure(path: Path, folder: Path) -> list[Figure]:
    """Measure all of it in one memory."""
    figures = []
    with Memory(folder, SESSION) as memory:
        took = total([timed(lambda one=one: memory.append(one)) for one in pieces(path)])  # type: ignore[misc]
        made = timed(lambda: memory.context(goal=GOAL))
        figures.append(figure("a million tokens taken in", [took], 5.0))
        figures.append(figure("a context of them", [made], 5.0))
        figures.append(figure("both", [total([took, made])], 5.0))
        # Asked here, for what follows is done by hand and not by a session.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        last = list(islice(history(path), TURNS))
        turns = [timed(lambda one=one: memory.append([one])) for one in last]  # type: ignore[misc]
        figures.append(figure("one more message", turns, 0.02, milliseconds=True))
        slowest = [max(turns, key=lambda one: one.processor)]
        figures.append(figure(f"... the slowest of {TURNS}", slowest, 0.02, milliseconds=True))
        again = [timed(lambda: memory.context(goal=GOAL)) for _ in range(5)]
        figures.append(figure("the context in use again", again, 0.2, milliseconds=True))
        line = memory.view(20_000, GOAL).lines[40]
        figures.append(figure("why a line is in sight", [timed(lambda: memory.why(line))], 5.0))
        memory.search("refund")
        found = [timed(lambda: memory.search("refund of the insurance")) for _ in range(9)]
        figures.append(figure("a search", found, 0.05, milliseconds=True))
        sys.stderr.write(f"{len(memory.history.messages):,} messages, ")
        sys.stderr.write(f"{len(memory.history.claims):,} facts\n")
    opened = timed(lambda: reopened(folder))
    figures.append(figure("the session opened again, its context", [opened], 5.0))
    shown = f"{most >> 10} MB"
    return [
        *figures,
        Figure("most memory, libraries and all", shown, "", "< 300 MB", most < _MEMORY),
    ]


def reopened(folder: Path) -> None:
    """Open a session that is on the disk, and ask for its context."""
    with Memory(folder, SESSION) as memory:
        memory.context(goal=GOAL)


def main() -> int:
    """Measure and print."""
    if "CONSTAT_DATA" not in os.environ:
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="constat-bench-") as place:
        path = Path(place) / "log.jsonl"
        program = (
            "import sys, pathlib, tests.bench.bench_memory as b; b.write(pathlib.Path(sys.argv[1]))"
        )
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)
        sys.stdout.write(table(measure(path, Path(place) / "kept")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
