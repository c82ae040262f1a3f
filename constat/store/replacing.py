"""Replace a file as a whole: beside it, to the disk, then into its place.

In: a path. Out: a stream whose bytes become the file. Invariants: the file is the old one or the
new one at every moment; after a failure it is the old one and no temporary file is left; after a
success the bytes and the name are on the disk. Example:
`with replaced(path) as stream: stream.write(content)`.
Reference: rename and fsync of POSIX.1-2017.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# A name may have 255 bytes; what is added to it and four bytes per character must fit.
_LONGEST_PREFIX: Final = 40


@contextlib.contextmanager
def replaced(target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """Give the stream; without a mode only the owner may read the file. Raises `OSError`."""
    prefix = f".{target.name[:_LONGEST_PREFIX]}."
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    # The rename itself is durable only once the folder is on the disk.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
