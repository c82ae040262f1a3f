"""Run an engine in a process of its own and measure it from outside.

In: a command and a bound of time. Out: a `Run`. Invariant: time by the clock is that of the whole
process, reading its input included; processor time and memory are what the system reports for it
and its children when they have ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BYTES: Final = 1 if sys.platform == "darwin" else 1024
"""What one of `ru_maxrss` stands for."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an engine.

    `outcome` is empty where it answered, else `time`, `cannot` or `failed`. `memory` is in MiB.
    """

    outcome: str
    clock: float
    processor: float
    memory: float
    answers: Mapping[str, int]
    said: str = ""


def run(command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> Run:
    """Run a command to its end, or to the end of its time."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complained:
        started = time.perf_counter()
        # Files and no pipes: nobody needs to read while the process works.
        child = subprocess.Popen(
            command,
            stdout=printed,
            stderr=complained,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        killer = threading.Timer(seconds, os.killpg, (child.pid, signal.SIGKILL))
        killer.start()
        _, status, usage = os.wait4(child.pid, 0)
        clock = time.perf_counter() - started
        late = killer.finished.is_set()
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        return Run(
            _outcome(child.returncode, late=late),
            clock,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * _BYTES / 2**20,
            answers_of(_text(printed)),
            _text(complained)[-300:],
        )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _outcome(code: int, *, late: bool) -> str:
    if late:
        return "time"
    return {0: "", 3: "cannot", 78: "cannot"}.get(code, "failed")


def answers_of(printed: str) -> dict[str, int]:
    """Read lines `name<TAB>count`, the form of Souffle's `.printsize`; others are passed over."""
    found: dict[str, int] = {}
    for line in printed.splitlines():
        name, tab, count = line.partition("\t")
        if tab and count.isdigit():
            found[name] = int(count)
    return found
