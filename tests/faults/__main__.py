"""Try faults in rounds, and count: `make faults`, or `python -m tests.faults kills`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.faults import warm
from tests.faults.families import FAMILIES


def main() -> int:
    """Run the named families, or all; 1 where something was lost or stayed."""
    parser = argparse.ArgumentParser(description="Try faults, and count what they do.")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--rounds", type=int, help="of each; by default what the figures took")
    parser.add_argument("--only", nargs="+", help="these of a family's kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each kind")
    told = parser.parse_args()
    warm.warm_up()
    faults = 0
    for family in told.families or FAMILIES:
        for kind in FAMILIES[family].kinds:
            if told.only and kind not in told.only:
                continue
            begun = time.monotonic()
            rounds = told.rounds or FAMILIES[family].rounds
            with tempfile.TemporaryDirectory(prefix="faults-") as folder:
                try:
                    counts = dict(FAMILIES[family].run(kind, rounds, Path(folder), told.seed))
                    fault = ""
                except Exception as problem:  # noqa: BLE001  the other kinds are tried all the same
                    counts, fault = {}, f"{type(problem).__name__}: {problem}"
                    faults += 1
            seconds = round(time.monotonic() - begun, 1)
            entry = {"family": family, "kind": kind, "rounds": rounds, "counts": counts}
            line = json.dumps({**entry, "seconds": seconds, "fault": fault})
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            if told.log is not None:
                with told.log.open("a", encoding="utf-8") as file:
                    file.write(f"{line}\n")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
