"""What the commands of `constat catalog` share: a grid, sizes, and a remark about the kept file."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final

from constat.cli.output import bold, note
from constat.cli.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.store.catalog_index import KeptTable

_NUMBERS: Final = frozenset({"ROWS", "COLUMNS", "COUNT"})


def grid(titles: tuple[str, ...], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give rows in columns; what goes to a file or to another program is never cut."""
    if not rows:
        return
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    table = Table(titles, [title in _NUMBERS for title in titles], most)
    table.fit(rows)
    yield bold(table.heading())
    yield from map(table.line, rows)


def size_text(one: KeptTable) -> tuple[str, str]:
    """Give the number of rows, as far as it is known, and of columns."""
    return ("" if one.rows is None else f"{one.rows:,}", f"{one.columns:,}")


def note_trouble(reason: str) -> None:
    """Say that nothing can be kept."""
    if reason:
        note(f"the catalog is not kept ({reason}); each program reads the sources anew")
