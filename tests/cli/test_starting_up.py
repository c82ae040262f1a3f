"""Ctrl-C that comes before a command has begun ends it as it does later: 130, and one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Importing this module is where Ctrl-C comes.
_PROGRAM = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from constat.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "name",
    ["constat.diagnostics", "constat.diagnostics.interruption", "constat.cli", "constat.cli.entry"],
)
def test_an_interruption_of_the_first_imports_leaves_no_traceback(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(name=name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (130, "constat: interrupted\n")
