"""Print what succeeded: `python -m tests.memory.attacks [FOLDER ...]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.memory.attacks.runner import FOLDER, report

if __name__ == "__main__":
    folders = [Path(one) for one in sys.argv[1:]] or [FOLDER / "own", FOLDER / "blind"]
    for line in report(folders):
        sys.stdout.write(f"{line}\n")
