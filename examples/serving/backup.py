"""Copy a project's folder of state while it is in use, and put a copy back.

    python backup.py save PROJECT/.constat BACKUP
    python backup.py restore BACKUP PROJECT/.constat

Databases are copied by SQLite itself, each as it is at one moment; other files as they are. A copy
is for whoever may read the folder. What is there already is never written over.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

SQLITE = b"SQLite format 3\0"
BESIDE = ("-wal", "-shm", "-journal")


def copied(source: Path, target: Path) -> int:
    """Copy a folder into one that is not there yet; gives the number of files."""
    target.mkdir(mode=0o700, parents=True)
    number = 0
    for one in sorted(source.rglob("*")):
        place = target / one.relative_to(source)
        if one.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
        elif one.is_file() and not one.name.endswith(BESIDE):
            place.touch(mode=one.stat().st_mode & 0o777)
            copy(one, place)
            number += 1
    return number


def copy(source: Path, target: Path) -> None:
    """Copy one file, a database as it is at one moment."""
    with source.open("rb") as stream:
        database = stream.read(len(SQLITE)) == SQLITE
    if not database:
        shutil.copyfile(source, target)
        return
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as before,
        closing(sqlite3.connect(target)) as after,
    ):
        before.backup(after)


def main() -> int:
    """Do what the arguments say."""
    if len(sys.argv) != 4 or sys.argv[1] not in {"save", "restore"}:
        print(__doc__)
        return 2
    source, target = Path(sys.argv[2]), Path(sys.argv[3])
    if target.exists():
        print(f"{target} is there already: move it away first", file=sys.stderr)
        return 1
    print(f"{copied(source, target)} files in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
