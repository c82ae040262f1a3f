"""Start a command, wait for its end, and write what the system says it used.

`python launcher.py FILE COMMAND ...` writes JSON to FILE. A process of its own, and a small one:
on Linux the most memory of a process counts what it had before it became another program, so a
child of a large process looks as large as its parent.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main(file: str, command: list[str]) -> None:
    """Run the command with this process's streams."""
    started = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    told = {
        "code": os.waitstatus_to_exitcode(status),
        "clock": time.perf_counter() - started,
        "processor": usage.ru_utime + usage.ru_stime,
        # Kibibytes, except on macOS.
        "memory": usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    }
    Path(file).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
