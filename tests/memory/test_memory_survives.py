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
