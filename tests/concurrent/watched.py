"""Run Constat, and tell of every database file that this process opens beside the libraries.

`python -m tests.concurrent.watched prove "is_vip(C001)"`; what the libraries open is not seen here.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from typing import Final

_ENDINGS: Final = (".sqlite", ".duckdb", "-wal", "-shm", "-journal", ".wal")


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Write where such a file is opened; an audit hook."""
    if event != "open" or not isinstance(arguments[0], str | bytes):
        return
    path = os.fsdecode(arguments[0])
    # What is still being made lies in a folder of its own, where nobody else opens it.
    if path.endswith(_ENDINGS) and "/.constat-" not in path:
        sys.stderr.write(f"OPENED {arguments[0]!r}\n{''.join(traceback.format_stack(limit=6))}\n")


if __name__ == "__main__":
    sys.addaudithook(watch)
    runpy.run_module("constat", run_name="__main__", alter_sys=True)
