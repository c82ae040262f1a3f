"""Run the command line: in this process, which is fast, or in one of its own, which is real."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constat.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LONGEST = 120


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  any JSON value
        return json.loads(self.out)


def run(*arguments: str | Path) -> Ran:
    """Run in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Ran(code, out.getvalue(), err.getvalue())


def run_process(
    *arguments: str | Path | bytes,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
) -> Ran:
    """Run in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "constat", *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=given,
        capture_output=True,
        timeout=LONGEST,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())
