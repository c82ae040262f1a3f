"""The order of rows: by their cells, ⋆ and null cells before values.  FORMAT.md, section 2."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from .rejection import Rejected
from .values import Hole, Label, Null

if TYPE_CHECKING:
    from .values import OpenRow, Value


def sort_key(row: OpenRow) -> tuple[tuple[int, int, str], ...]:
    """Order rows by their cells."""
    return tuple(map(_cell_order, row))


def _cell_order(cell: Value) -> tuple[int, int, str]:
    """Order ⋆ first, then null cells, then places in the table, then texts."""
    if type(cell) is str:
        return (5, 0, cell)
    if isinstance(cell, Hole):
        return (0, 0, "")
    if isinstance(cell, Null):
        return (1, 0, "") if cell.ordinal is None else (2, cell.ordinal, "")
    if isinstance(cell, Label):
        return (3, cell.number, "")
    place = getattr(cell, "place", None)
    return (5, 0, str(cell)) if place is None else (4, place, "")


def check_sorted(rows: tuple[OpenRow, ...]) -> None:
    """Reject rows that are out of order or repeated."""
    # Rows of texts compare as they are.
    if all(type(cell) is str for row in rows for cell in row):
        texts: tuple[tuple[str, ...], ...] = rows  # type: ignore[assignment]  # just seen
        wrong = any(left >= right for left, right in pairwise(texts))
    else:
        wrong = any(left >= right for left, right in pairwise(map(sort_key, rows)))
    if wrong:
        raise Rejected("order", "rows are sorted and distinct")
