"""Name the state of an SQLite file.

In: the path of a file on which a read transaction is open. Out: a short text that differs when the
content differs. Invariant: nothing but the headers of the files is read. Without a write-ahead log
the header of the file counts commits; with one, the header of the log's index does, twice, so that
a torn read is noticed. Reference: https://www.sqlite.org/fileformat2.html (sections 1.3, 4.3) and
https://www.sqlite.org/walformat.html (section 2.1). Example: `commit 41, pages 120, schema 7`.
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
        return _logged(path, header)
    except OSError:
        return None


def _counted(header: bytes) -> str:
    commits, pages = struct.unpack(">II", header[24:32])
    (schema,) = struct.unpack(">I", header[40:44])
    return f"commit {commits}, pages {pages}, schema {schema}"


def _logged(path: Path, header: bytes) -> str | None:
    index = path.with_name(path.name + "-shm")
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return _counted(header)
    with index.open("rb") as file:
        first, second = file.read(_INDEX_HEADER), file.read(_INDEX_HEADER)
    if first != second or len(first) < _INDEX_HEADER:
        return None
    return f"log {hashlib.sha256(first[8:40]).hexdigest()[:16]}, {_counted(header)}"
