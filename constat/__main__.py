"""`python -m constat` and the console script `constat`."""

from __future__ import annotations

import importlib
import sys

from constat.diagnostics.interruption import SignalError, exit_code, listen

__all__ = ["main"]


def main() -> int:
    """Run the command that the arguments name; give its exit code."""
    try:
        # From here on a signal is told in a line, whatever it meets.
        signals = listen()
        # The commands load under that, so they are not imported above.
        code = int(importlib.import_module("constat.cli").main())
        # The interpreter still has to end: nothing that comes now changes how.
        signals.settle()
    except SignalError as problem:
        sys.stderr.write("constat: interrupted\n")
        return exit_code(problem.number)
    return code


if __name__ == "__main__":
    sys.exit(main())
