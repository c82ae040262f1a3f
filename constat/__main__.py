"""`python -m constat` and the console script `constat`."""

from __future__ import annotations

import gc
import sys
from typing import Final

try:
    from constat.diagnostics.interruption import exit_code, leave, listen
except KeyboardInterrupt:
    # Nobody listens yet: Ctrl-C meets the first imports.
    sys.stderr.write("constat: interrupted\n")
    sys.exit(130)

__all__ = ["main"]

_COLLECTION: Final = (50_000, 20, 20)
"""When the garbage collector looks: by default it goes through a million rows again and again."""


def main() -> int:
    """Run the command that the arguments name; give its exit code."""
    gc.set_threshold(*_COLLECTION)
    try:
        # From here on a signal is told in a line, whatever it meets.
        signals = listen()
        # The commands load under that, so they are not imported above.
        from constat.cli import main as cli_main  # noqa: PLC0415  loaded when it is used

        code = int(cli_main())
        # The interpreter still has to end: nothing that comes now changes how.
        signals.settle()
    except KeyboardInterrupt as problem:
        sys.stderr.write("constat: interrupted\n")
        return leave(exit_code(getattr(problem, "number", 2)))
    return leave(code)


if __name__ == "__main__":
    sys.exit(main())
