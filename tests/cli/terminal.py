"""The REPL as a person has it: a process of its own on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time

LONGEST = 300.0
"""Seconds after which nothing comes any more, on however busy a machine."""


_WHERE = "\x1b[6n"


def bare(text: str) -> str:
    """Give the text of a screen without what colours it and moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", text)


class Terminal:
    """A REPL on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "constat", "repl", *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.seen = ""

    def until(self, pattern: str, *, plain: bool = False) -> str:
        """Read until the pattern has been seen since the last call; `plain` without colours."""
        end = time.monotonic() + LONGEST
        while not re.search(pattern, bare(self.seen) if plain else self.seen, re.DOTALL):
            ready, _, _ = select.select([self.ours], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{pattern!r} was not seen in {self.seen!r}"
            part = os.read(self.ours, 65_536).decode(errors="replace")
            # A prompt asks where the cursor is; whoever does not answer has a slow terminal. The
            # question may come in two pieces.
            asked = (self.seen[-3:] + part).count(_WHERE)
            os.write(self.ours, b"\x1b[1;1R" * asked)
            self.seen += part
        found, self.seen = self.seen, ""
        return found

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)
