"""Files that the user names: read within bounds, written whole or not at all.

In: a path, bytes. Out: the file. Invariant: after a failed write the old file is unchanged and no
temporary file is left; after a successful one the bytes are on the disk. Every failure is a
`ConstatError` that names the path as the user wrote it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.replacing import replaced

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_file(path: str, most: int) -> bytes:
    """Read a file, or stdin for `-`; more than `most` bytes are cut to `most` + 1."""
    try:
        if path == "-":
            return sys.stdin.buffer.read(most + 1)
        with Path(path).open("rb") as stream:
            return stream.read(most + 1)
    except (OSError, ValueError) as problem:
        raise _failure("C0401", path, "read", problem) from problem


def write_file(path: str, content: bytes, *, last: bool = False, private: bool = False) -> None:
    """Write a file atomically: beside the target, to the disk, then into place.

    `last` where the command has nothing left to do: an interruption comes too late then. A new
    file that is `private` may be read by its owner alone.
    """
    with replacing(path, last=last, private=private) as stream:
        stream.write(content)


def write_certificate(path: str, content: bytes) -> None:
    """Write a certificate, which holds rows of sources: a new file is its owner's alone."""
    write_file(path, content, private=True)


@contextlib.contextmanager
def replacing(path: str, *, last: bool = False, private: bool = False) -> Iterator[BinaryIO]:
    """Give a stream whose bytes become the file once all are written, and nothing before.

    `-` is stdout.
    """
    _require_name(path)
    try:
        if path == "-":
            content = BytesIO()
            yield content
            sys.stdout.flush()
            sys.stdout.buffer.write(content.getvalue())
            sys.stdout.buffer.flush()
            return
        given = Path(path)
        if given.exists() and not stat.S_ISREG(given.stat().st_mode):
            # A device or a pipe must be written to; a rename would replace it.
            with given.open("wb") as stream:
                yield stream
        else:
            target = Path(os.path.realpath(path))
            mode = None if private and not target.exists() else _mode(target)
            with replaced(target, mode, last=last) as stream:
                yield stream
    except OSError as problem:
        raise _failure("C0402", path, "written", problem) from problem


def _require_name(path: str) -> None:
    # Checked first: a ValueError of whoever writes must not be taken for a bad name.
    try:
        encoded = os.fsencode(path)
    except ValueError as problem:
        raise _failure("C0402", path, "written", problem) from problem
    if b"\0" in encoded:
        raise _failure("C0402", path, "written", ValueError("NUL"))


def _mode(target: Path) -> int:
    """Give the rights of the file that is there, or those of a new one."""
    return stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _failure(code: str, path: str, what: str, problem: Exception) -> ConstatError:
    reason = problem.strerror if isinstance(problem, OSError) else "this is no file name"
    return ConstatError([Diagnostic(code, f"`{path}` cannot be {what}: {reason}")])
