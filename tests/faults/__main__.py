"""Try faults in rounds, and count: `make faults`, or `python -m tests.faults kills`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.faults import warm
from tests.faults.families import FAMILIES


class TimeUpError(BaseException):
    """The seconds of a kind are over."""


def main() -> int:
    """Run the named families, or all; 1 where something was lost or stayed."""
    parser = argparse.ArgumentParser(description="Try faults, and count what they do.")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; default: all")
    parser.add_argument("--rounds", type=int, help="of each; by default what the figures took")
    parser.add_argument("--seconds", type=int, default=0, help="for each kind, at most")
    parser.add_argument("--only", nargs="+", help="these of a family's kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="a file that gets a line of JSON for each kind")
    told = parser.parse_args()
    warm.warm_up()
    faults = 0
    for family in told.families or FAMILIES:
        for kind in FAMILIES[family].kinds:
            if not told.only or kind in told.only:
                found = tried(family, kind, told)
                faults += bool(found["fault"])
                line = json.dumps(found)
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
                if told.log is not None:
                    with told.log.open("a", encoding="utf-8") as file:
                        file.write(f"{line}\n")
    return int(faults > 0)


def tried(family: str, kind: str, told: argparse.Namespace) -> dict[str, object]:
    """Try one kind of faults; say what was counted, and the fault if there was one."""
    counts, fault, begun = Counter[str](), "", time.monotonic()
    rounds = told.rounds or FAMILIES[family].rounds
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    before = warm.children()
    signal.signal(signal.SIGALRM, _up)
    signal.alarm(told.seconds)
    try:
        FAMILIES[family].run(kind, rounds, folder, Random(f"{kind} {told.seed}"), counts)
    except TimeUpError:
        warm.survivors(before, 0)
    except Exception as problem:  # noqa: BLE001  the other kinds are tried all the same
        fault = f"{type(problem).__name__}: {problem}"
    finally:
        signal.alarm(0)
        shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.monotonic() - begun, 1)
    entry = {"family": family, "kind": kind, "counts": dict(counts)}
    return {**entry, "seconds": seconds, "fault": fault}


def _up(*_: object) -> None:
    raise TimeUpError


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Libraries that were loaded and never used complain at the end.
    os._exit(code)
