"""Name the state of an SQLite file.

In: the path of a file that is being read. Out: a short text that differs when the content does.
Invariant: nothing but the headers of the files is read. Without a write-ahead log the header of
the file counts commits; with one, the header of the log's index does. It stands there twice, so
that a torn read is noticed. Example: `commit 41, pages 120, schema 7`. Reference:
https://www.sqlite.org/fileformat2.html (section 1.3), https://www.sqlite.org/walformat.html (2.1).
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_HEADER: Final = 100
_INDEX_HEADER: Final = 48


def file_state(path: Path) -> str | None:
    """Give the name of the state, or `None` where the headers cannot be read."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
        if len(header) < _HEADER:
            return "empty"
        # Bytes 18 and 19 are 2 where a write-ahead log is used.
        if header[18] == header[19] == 1:
            return _counted(header)
        return _logged(path)
    except OSError:
        return None


def _counted(header: bytes) -> str:
    commits, pages = struct.unpack(">II", header[24:32])
    (schema,) = struct.unpack(">I", header[40:44])
    return f"commit {commits}, pages {pages}, schema {schema}"


def _logged(path: Path) -> str | None:
    """Name a state with a log. The file's own counter stands still there, even at checkpoints.

    The index counts commits, but it begins anew when the last program closes the file; the times
    of the files tell such lives apart.
    """
    marks = []
    for name in (path.name, path.name + "-wal"):
        found = path.with_name(name)
        if found.exists():
            about = found.stat()
            marks.append(f"{about.st_ino} {about.st_size} {about.st_mtime_ns}")
    index = path.with_name(path.name + "-shm")
    if index.exists():
        with index.open("rb") as file:
            first, second = file.read(_INDEX_HEADER), file.read(_INDEX_HEADER)
        if first != second:
            return None
        marks.append(first[8:40].hex())
    return f"log {hashlib.sha256(' '.join(marks).encode()).hexdigest()[:16]}"
