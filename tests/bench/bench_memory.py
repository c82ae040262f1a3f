"""How fast a memory is over a million tokens: `python -m tests.bench.bench_memory`.

In: `CONSTAT_DATA`, for the public dialogues of an airline, repeated with other names until there
are a million tokens. Out: a table: taking all of it in and making a context of it, one more turn,
a proof, a search, and the most memory that was used. No model is asked.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.memory import Call, Memory, Message, Result, Text, from_openai, messages_tokens
from tests.bench.measuring import Figure, Timing, figure, table
from tests.memory.logs import airline_dialogues

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.memory.messages import Block

TOKENS: Final = 1_000_000
TURNS: Final = 60
GOAL: Final = "cancel reservation 4WQ150"
_MEMORY: Final = 300 << 10


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


def history() -> list[Message]:
    """Return messages of a million tokens."""
    dialogues = [message for log in airline_dialogues() for message in from_openai(log)]
    found: list[Message] = []
    number = tokens = 0
    while tokens < TOKENS:
        more = [renamed(message, number) for message in dialogues]
        tokens += messages_tokens(more)
        found += more
        number += 1
    left = tokens - TOKENS
    while left > 0:
        left -= messages_tokens([found.pop()])
    return found


def measure(messages: list[Message]) -> list[Figure]:
    """Measure all of it in one memory."""
    figures = []
    with Memory() as memory:
        took = timed(lambda: memory.append(messages))
        made = timed(lambda: memory.context(goal=GOAL))
        whole = Timing(took.clock + made.clock, took.processor + made.processor)
        figures.append(figure("a million tokens taken in", [took], 5.0))
        figures.append(figure("a context of them", [made], 5.0))
        figures.append(figure("both", [whole], 5.0))
        turns = [timed(lambda one=one: memory.append([one])) for one in messages[:TURNS]]  # type: ignore[misc]
        figures.append(figure("one more message", turns, 0.02, milliseconds=True))
        again = [timed(lambda: memory.context(goal=GOAL)) for _ in range(5)]
        figures.append(figure("the context in use again", again, 0.2, milliseconds=True))
        line = memory.view(20_000, GOAL).lines[40]
        figures.append(figure("why a line is in sight", [timed(lambda: memory.why(line))], 5.0))
        memory.search("refund")
        found = [timed(lambda: memory.search("refund of the insurance")) for _ in range(9)]
        figures.append(figure("a search", found, 0.05, milliseconds=True))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = f"{most >> 10} MB"
    return [*figures, Figure("most memory, with the log", shown, "", "< 300 MB", most < _MEMORY)]


def main() -> int:
    """Measure and print."""
    if "CONSTAT_DATA" not in os.environ:
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    messages = history()
    sys.stderr.write(f"{len(messages):,} messages\n")
    sys.stdout.write(table(measure(messages)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
