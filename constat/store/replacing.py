"""Replace files as a whole: beside them, to the disk, then all into their places.

Each file is the old one or the new one at every moment; after a failure or an interruption every
one is the old one and no temporary file is left; after a success bytes and names are on the disk.
Example: `with replaced(path) as stream: stream.write(content)`. Reference: POSIX.1-2017.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO, Self

from constat.diagnostics.interruption import committing
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType


class Replacements:
    """Files that are replaced together; those that are not committed in the block are dropped."""

    def __init__(self) -> None:
        self._beside: dict[Path, Scratch] = {}
        self._ready: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        return self

    @contextlib.contextmanager
    def stream(self, target: Path, mode: int | None = None) -> Iterator[BinaryIO]:
        """Give a stream for a file; without a mode only the owner may read it. Raises `OSError`."""
        folder = target.parent
        if folder not in self._beside:
            if not folder.is_dir():
                raise FileNotFoundError(2, os.strerror(2), os.fspath(folder))
            # In the file's own folder, so that it can be moved into its place.
            self._beside[folder] = Scratch(folder, hidden=True)
        written = self._beside[folder].path / f"{len(self._ready)}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(os.open(written, flags, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
        self._ready.append((written, target))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._beside.values():
            one.close()

    def commit(self, *, last: bool = False) -> None:
        """Put all into their places; an interruption stops it before, never between two of them.

        `last` where the command has nothing left to do but to say so.
        """
        with committing(last=last):
            for written, target in self._ready:
                written.replace(target)
            for folder in self._beside:
                _settle(folder)


@contextlib.contextmanager
def replaced(target: Path, mode: int | None = None, *, last: bool = False) -> Iterator[BinaryIO]:
    """Give the stream of one file; see `Replacements`. Raises `OSError`."""
    with Replacements() as files:
        with files.stream(target, mode) as stream:
            yield stream
        files.commit(last=last)


def _settle(folder: Path) -> None:
    # A rename is durable only once the folder is on the disk.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
