"""Answers as an Arrow stream, the form of which other programs read without copying.

In: the rows to write. Out: Arrow's IPC streaming format, batch after batch, with the exact types of
`typed_answers`. Invariant: no value changes. Reference:
https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from constat.cli.typed_answers import typed_answers
from constat.diagnostics import ConstatError, Diagnostic

if TYPE_CHECKING:
    from types import ModuleType
    from typing import BinaryIO

    from constat.cli.output import Pipe
    from constat.cli.row_formats import Shown


def write_arrow(shown: Shown, stream: BinaryIO | Pipe) -> None:
    """Write the rows to a stream; raises `ConstatError` where the library is not installed."""
    ipc = _library()
    with typed_answers(shown) as holder, ipc.StreamWriter.from_writable(stream) as writer:
        writer.write_stream(holder.table("answers"))


def _library() -> ModuleType:
    try:
        return importlib.import_module("nanoarrow.ipc")
    except ImportError:
        message = "Arrow streams are written by a library that is not installed"
        help_ = "run `pip install 'constat[arrow]'`, or write `--format parquet`"
        raise ConstatError([Diagnostic("C0434", message, help=help_)]) from None
