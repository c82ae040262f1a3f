"""Which rows and open rows a demand asks for.

In: a demand and rows. Out: those whose demanded columns hold a demanded key, where the placeholder
joins with anything. Example: `(OPEN, "gold")` matches every key of column 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.logic import OPEN, Open

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from constat.evaluation import Opening
    from constat.logic import OpenRow, Row


def key_of(row: Row, columns: Sequence[int]) -> Row:
    """Give the values of a row in those columns."""
    return tuple(row[column] for column in columns)


def ground_key(row: OpenRow, columns: Sequence[int]) -> Row | None:
    """Give the values of an open row in those columns, or `None` where one is the placeholder."""
    slots = [row[column] for column in columns]
    values = tuple(slot for slot in slots if not isinstance(slot, Open))
    return values if len(values) == len(slots) else None


def rows_for(rows: Iterable[Row], columns: Sequence[int], keys: Collection[Row]) -> tuple[Row, ...]:
    """Give the rows that have one of the keys."""
    if not columns:
        return tuple(rows)
    if len(columns) == 1:
        column, wanted = columns[0], {key[0] for key in keys}
        return tuple(row for row in rows if row[column] in wanted)
    wanted_keys = set(keys)
    return tuple(row for row in rows if key_of(row, columns) in wanted_keys)


def matched_keys(row: OpenRow, columns: Sequence[int], keys: Collection[Row]) -> list[Row]:
    """Give the keys that an open row may have; `keys` is best a set."""
    ground = ground_key(row, columns)
    if ground is not None:
        return [ground] if ground in keys else []
    bound = [(place, row[c]) for place, c in enumerate(columns) if row[c] is not OPEN]
    return [key for key in keys if all(key[place] == slot for place, slot in bound)]


def openings_for(
    openings: Iterable[Opening], columns: Sequence[int], keys: Collection[Row]
) -> tuple[Opening, ...]:
    """Give the openings that may have one of the keys."""
    wanted = keys if isinstance(keys, (set, frozenset)) else set(keys)
    return tuple(one for one in openings if matched_keys(one.row, columns, wanted))
