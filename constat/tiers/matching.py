"""Which rows and open rows a demand asks for.

The placeholder and null cells that may be a value match any key; a cell without a value matches
none. So `(OPEN, "gold")` matches every key of column 0.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from constat.evaluation import UNTIMED
from constat.logic import NullCell, NullPolicy, Open

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from constat.evaluation import Clock, Opening
    from constat.logic import OpenRow, Row


def key_of(row: Row, columns: Sequence[int]) -> Row:
    """Give the values of a row in those columns."""
    return tuple(row[column] for column in columns)


def ground_key(row: OpenRow, columns: Sequence[int]) -> Row | None:
    """Give the values of a row in those columns, or `None` where one is not known."""
    slots = [row[column] for column in columns]
    values = tuple(slot for slot in slots if not isinstance(slot, Open | NullCell))
    return values if len(values) == len(slots) else None


def keys_of(rows: Iterable[Row], columns: Sequence[int]) -> Iterator[Row]:
    """Give for each row its values in those columns; for many rows."""
    if len(columns) == 1:
        column = columns[0]
        return ((row[column],) for row in rows)
    return map(itemgetter(*columns), rows) if columns else (() for _ in rows)


def rows_for(
    rows: Iterable[Row], columns: Sequence[int], keys: Collection[Row], clock: Clock = UNTIMED
) -> tuple[Row, ...]:
    """Give the rows that have one of the keys, and those that may have."""
    if not columns:
        return tuple(rows)
    found = clock.over(rows)
    if len(columns) == 1:
        column, wanted = columns[0], {key[0] for key in clock.over(keys)}
        return tuple(
            [row for row in found if row[column] in wanted or (wanted and may_be_any(row[column]))]
        )
    wanted_keys, key_in = set(clock.over(keys)), itemgetter(*columns)
    return tuple(
        [
            row
            for row in found
            if key_in(row) in wanted_keys
            or (has_null(row, columns) and matched_keys(row, columns, wanted_keys))
        ]
    )


def may_be_any(cell: object) -> bool:
    """Tell whether a cell is null and may be any value."""
    return isinstance(cell, NullCell) and cell.policy is not NullPolicy.NONE


def has_null(row: OpenRow, columns: Sequence[int]) -> bool:
    """Tell whether a row has a null cell in one of the columns."""
    return any(isinstance(row[column], NullCell) for column in columns)


def matched_keys(row: OpenRow, columns: Sequence[int], keys: Collection[Row]) -> list[Row]:
    """Give the keys that a row may have; `keys` is best a set."""
    ground = ground_key(row, columns)
    if ground is not None:
        return [ground] if ground in keys else []
    bound = [
        (place, row[c])
        for place, c in enumerate(columns)
        if not isinstance(row[c], Open) and not may_be_any(row[c])
    ]
    return [key for key in keys if all(key[place] == slot for place, slot in bound)]


def openings_for(
    openings: Collection[Opening],
    columns: Sequence[int],
    keys: Collection[Row],
    clock: Clock = UNTIMED,
) -> tuple[Opening, ...]:
    """Give the openings that may have one of the keys."""
    if not openings:
        return ()
    wanted = keys if isinstance(keys, (set, frozenset)) else set(clock.over(keys))
    return tuple(one for one in clock.over(openings) if matched_keys(one.row, columns, wanted))
