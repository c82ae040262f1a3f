"""Run an engine in a process of its own and measure it from outside.

In: a command and a bound of time. Out: a `Run`. Invariant: time by the clock is that of the whole
process, reading its input included; processor time and memory are what the system reports for it
and its children when they have ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")


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
    with (
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as complained,
        tempfile.NamedTemporaryFile() as told,
    ):
        # Files and no pipes: nobody needs to read while the process works.
        child = subprocess.Popen(
            [sys.executable, "-I", str(_LAUNCHER), told.name, *command],
            stdout=printed,
            stderr=complained,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        late = False
        try:
            child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        used = json.loads(told.read() or "{}")
        return Run(
            _outcome(used.get("code", 1), late=late),
            used.get("clock", seconds),
            used.get("processor", 0.0),
            used.get("memory", 0.0),
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
