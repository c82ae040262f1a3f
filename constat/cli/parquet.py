"""Answers as a Parquet file, written by DuckDB.

In: the rows to write. Out: a file with the exact types of `typed_answers`. Invariants: no value
changes; the file appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from constat.cli.typed_answers import typed_answers
from constat.store.scratch import Scratch

if TYPE_CHECKING:
    from typing import BinaryIO

    from constat.cli.row_formats import Shown


def write_parquet(shown: Shown, stream: BinaryIO) -> None:
    """Write the rows to a stream, by way of a temporary folder."""
    with Scratch() as folder, typed_answers(shown) as holder:
        target = folder.path / "answers.parquet"
        quoted = os.fspath(target).replace("'", "''")
        holder.execute(f"COPY answers TO '{quoted}' (FORMAT parquet)")
        with target.open("rb") as made:
            shutil.copyfileobj(made, stream, 1 << 20)
