"""Print what succeeded: `python -m tests.memory.attacks [FOLDER ...]`, or of `--made` ones."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.memory.attacks.made import passed
from tests.memory.attacks.runner import FOLDER, report

if __name__ == "__main__":
    if sys.argv[1:] == ["--made"]:
        lines = passed()
    else:
        lines = report([Path(one) for one in sys.argv[1:]] or [FOLDER / "own", FOLDER / "blind"])
    for line in lines:
        sys.stdout.write(f"{line}\n")
