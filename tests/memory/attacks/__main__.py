"""Print what succeeded: `python -m tests.memory.attacks [FOLDER ...]`, or of `--made` ones.

With `--every` each is played in every way, and not only in those that have to lose nothing; `--part
1/4` plays every fourth attack, from the second on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.memory.attacks.made import passed
from tests.memory.attacks.runner import FOLDER, WAYS, every_way, report

if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folders", nargs="*", type=Path, default=[FOLDER / "own", FOLDER / "blind"])
    asked.add_argument("--made", action="store_true")
    asked.add_argument("--every", action="store_true")
    asked.add_argument("--part", default="0/1")
    wanted = asked.parse_args()
    part, parts = map(int, wanted.part.split("/"))
    ways = every_way() if wanted.every else WAYS
    lines = passed() if wanted.made else report(wanted.folders, ways, (part, parts))
    for line in lines:
        print(line, flush=True)  # noqa: T201  what the program is for
