"""What one more message costs in a long session: `python -m tests.bench.memory.live`.

In: `CONSTAT_DATA`, and how many tokens the session has.  Out: processor time and elapsed time of
``append`` and of the context after it, by the policy or within a budget, for each of the last
messages, and the most memory that the process took.  Each message is kept on the disk before the
next comes, as an agent's loop does it.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from itertools import chain, cycle
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from constat.memory import Archive, Memory, message_tokens
from tests.bench.memory.logs import sgd_sessions, tau_sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.memory import Message


def main() -> int:
    """Fill a session, open it, then measure one message after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1_000_000, help="how long the session is")
    parser.add_argument("--last", type=int, default=500, help="how many messages are measured")
    parser.add_argument("--budget", type=int, help="tokens of each context; else by the policy")
    given = parser.parse_args()
    folder = Path(os.environ.get("CONSTAT_DATA", "")) / "memory"
    if "CONSTAT_DATA" not in os.environ or not folder.is_dir():
        sys.stderr.write("CONSTAT_DATA names no folder with development data\n")
        return 2
    with tempfile.TemporaryDirectory() as kept:
        # What reads the data takes memory of its own, which is not the session's.
        filling = get_context("spawn").Process(target=_fill, args=(folder, Path(kept), given))
        filling.start()
        filling.join()
        began = time.process_time()
        with Memory(Path(kept), "live") as memory:
            _say(
                f"opened: {time.process_time() - began:.1f} s, {len(memory.history.claims):,} facts"
            )
            began = time.process_time()
            memory.context(given.budget)
            _say(f"first context: {time.process_time() - began:.1f} s")
            _measure(memory, memory.archive.messages("rest"), given.budget)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(f"most memory: {most:.0f} MB")
    return 0


def _fill(folder: Path, kept: Path, given: argparse.Namespace) -> None:
    messages = _as_long(folder, given.tokens)
    archive = Archive(kept)
    archive.append("live", messages[: -given.last])
    archive.append("rest", messages[-given.last :])
    _say(f"{len(messages):,} messages of {given.tokens:,} tokens")


def _as_long(folder: Path, tokens: int) -> list[Message]:
    found: list[Message] = []
    total = 0
    sessions = chain(tau_sessions(folder), sgd_sessions(folder))
    for message in cycle(chain.from_iterable(one.messages for one in sessions)):
        found.append(message)
        total += message_tokens(message)
        if total >= tokens:
            return found
    return found


def _measure(memory: Memory, messages: Sequence[Message], budget: int | None) -> None:
    appending: list[tuple[float, float]] = []
    making: list[tuple[float, float]] = []
    compacted = 0
    for message in messages:
        before = [one.number for one in memory.checkpoints[:1]]
        with _Timed(appending):
            memory.append([message])
        with _Timed(making):
            memory.context(budget)
        compacted += [one.number for one in memory.checkpoints[:1]] != before
    _say(f"{len(messages)} messages, of which {compacted} reached the trigger")
    for name, times in (("append", appending), ("context", making)):
        for kind, values in zip(("processor", "elapsed"), zip(*times, strict=True), strict=True):
            _say(f"{name}, {kind}: {_shares(values)}")


class _Timed:
    """Adds the seconds of a block: of the processor, and elapsed."""

    def __init__(self, times: list[tuple[float, float]]) -> None:
        self._times = times

    def __enter__(self) -> None:
        self._began = time.process_time(), time.perf_counter()

    def __exit__(self, *_problem: object) -> None:
        used, passed = self._began
        self._times.append((time.process_time() - used, time.perf_counter() - passed))


def _shares(values: Sequence[float]) -> str:
    ordered = sorted(values)

    def at(share: float) -> float:
        return 1_000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return f"p50 {at(0.5):.2f} ms, p99 {at(0.99):.2f} ms, most {1_000 * ordered[-1]:.2f} ms"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
