"""What a memory has been told is kept survives the end of the program that was told."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from constat.memory import Memory, Policy, Window
from tests.memory.rounds import check_quotes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults

PROGRAM = """
    import sys
    from pathlib import Path
    from constat.memory import Memory, Policy, Window
    from tests.memory.rounds import rounds
    policy, window = Policy(cap=600), Window(6_000, system=500, output=500, safety=500)
    with Memory(Path(sys.argv[1]), "s", policy=policy, window=window) as memory:
        print("ready", flush=True)
        for each in rounds(10_000, seed=int(sys.argv[2])):
            numbers = memory.append(each)
            claim = memory.history.claims[-1].name
            memory.pin(claim, "ann")
            context = memory.context()
            print(numbers[-1], context.checkpoint or 0, claim, sep="|", flush=True)
"""


@pytest.mark.slow
def test_a_program_killed_at_any_moment_has_kept_what_it_told(tmp_path: Path) -> None:
    moments = random.Random(7)
    last, checkpoint, claims = -1, 0, set()
    for turn in range(4):
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path), str(turn)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            first = process.stdout.readline()
            time.sleep(moments.uniform(0.0, 1.5))
            os.kill(process.pid, signal.SIGKILL)
            for line in (first + process.stdout.read()).splitlines():
                number, kept, claim = line.split("|")
                last, checkpoint = max(last, int(number)), max(checkpoint, int(kept))
                claims.add(claim)
    window = Window(6_000, system=500, output=500, safety=500)
    with Memory(tmp_path, "s", policy=Policy(cap=600), window=window) as memory:
        assert last > 0
        assert len(memory.history.messages) > last
        held = {name for name, _ in memory.known().held}
        assert claims <= held
        assert max((one.number for one in memory.checkpoints), default=0) >= checkpoint
        assert check_quotes(memory) > 0
        assert memory.context().messages


WRITER = """
    import sys
    from pathlib import Path
    from constat.memory import Memory, Message, Role, Text
    with Memory(Path(sys.argv[1]), "s") as memory:
        print("ready", flush=True)
        for at in range(100_000):
            said = f"writer {sys.argv[2]} asks for order O-{at}"
            pair = [Message(Role.USER, (Text(text),)) for text in (said, f"{said}, again")]
            numbers = memory.append(pair)
            memory.pin(f"m{numbers[0]}", f"writer {sys.argv[2]}")
            memory.context(400)
            print(*numbers, at, sep="|", flush=True)
"""


def started(folder: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(folder), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_eight_programs_write_one_session_and_what_each_was_told_outlives_kill_9(
    tmp_path: Path,
) -> None:
    moments = random.Random(11)
    writers = {str(number): started(tmp_path, str(number)) for number in range(8)}
    told: dict[int, str] = {}
    pinned: set[tuple[str, str]] = set()
    first_lines: dict[str, list[str]] = {}
    try:
        for name, one in writers.items():
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
            first_lines[name] = [one.stdout.readline().strip() for _ in range(3)]
        for one in writers.values():
            # Each is killed at another moment, while the others go on writing.
            time.sleep(moments.uniform(0.0, 0.3))
            one.send_signal(signal.SIGKILL)
    finally:
        for one in writers.values():
            one.kill()
    for name, one in writers.items():
        # It closes the pipe as well.
        lines = first_lines[name] + one.communicate()[0].splitlines(keepends=True)
        # A line without its end was being written when its program ended.
        for line in [*lines[:3], *(line for line in lines[3:] if line.endswith("\n"))]:
            first, second, at = map(int, line.split("|"))
            assert second == first + 1
            assert not {first, second} & told.keys()
            told[first] = f"writer {name} asks for order O-{at}"
            told[second] = f"{told[first]}, again"
            pinned.add((f"m{first}", f"writer {name}"))
    with Memory(tmp_path, "s") as memory:
        said = [one.text for one in memory.history.messages]
        # A pair that nobody was told of is there as a whole, or not at all.
        assert all(two == f"{one}, again" for one, two in zip(said[::2], said[1::2], strict=True))
        assert {at: said[at] for at in told} == told
        held = {(name.partition("[")[0], by) for name, by in memory.known().held}
        assert pinned <= held
        assert check_quotes(memory) > 0
        assert memory.context(400).messages
