"""Load Arrow files into tables: the stream format, and the file format, which holds such a stream.

In: the files of a table. Out: a table in the session with the types of the files. Invariants: all
files of a table have the same columns and types; what is no Arrow, is cut off or is compressed in a
way that cannot be read is a failure that names the file. It needs the package nanoarrow. Example:
`orders.arrow`. Reference: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.duck_session import named
from constat.catalog.failure import QueryMistakeError, SourceFailureError
from constat.catalog.text_files import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.catalog.duck_session import DuckSession
    from constat.catalog.duck_types import DuckColumn

_MAGIC: Final = b"ARROW1"
_PADDED: Final = 8
_LARGEST: Final = 1 << 30


def load_arrow(session: DuckSession, table: str, files: Sequence[Path], seconds: float) -> None:
    """Load the files one after the other; a stop for the time says so, anything else is damage."""
    first: tuple[DuckColumn, ...] = ()
    for place, file in enumerate(files):
        # No table of a project has a blank in its name.
        part = f"{table} {place}" if place else table
        try:
            session.take(part, ArrowFile(file), seconds)
        except (SourceFailureError, QueryMistakeError) as problem:
            if problem.code == "C0521" or isinstance(problem, _LargeError):
                raise
            raise damaged(file, " is no Arrow that can be read, or is damaged") from None
        columns = session.columns(f"SELECT * FROM {named(part)}")  # noqa: S608  a name of the project
        if not place:
            first = columns
            continue
        if columns != first:
            raise damaged(file, " has other columns or types than the first file of its table")
        session.own(f"INSERT INTO {named(table)} SELECT * FROM {named(part)}")  # noqa: S608  as above
        session.own(f"DROP TABLE {named(part)}")


class _LargeError(SourceFailureError):
    """A file that would take too much memory, or whose reader is not installed."""


class ArrowFile:
    """Gives the stream of a file anew each time it is asked for."""

    def __init__(self, file: Path) -> None:
        try:
            ipc = importlib.import_module("nanoarrow.ipc")
        except ImportError:
            reason = "Arrow files need the package nanoarrow: pip install 'constat[arrow]'"
            raise _LargeError(reason, "C0552") from None
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise _LargeError(f"{file.name} is larger than {_LARGEST >> 20} MiB; write Parquet")
        self._stream: Any = ipc.InputStream
        skipped = _PADDED if content.startswith(_MAGIC) else 0
        self._content = memoryview(content)[skipped:]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream: Any = self._stream.from_readable(self._content)
        return stream.__arrow_c_stream__(requested_schema)
