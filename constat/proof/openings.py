"""Check that rows are all the rows of a key in a relation whose root is known. Standalone.

In: a root with its count and order of columns, and an opening from anywhere. Out: the rows of the
key, or `OpeningError`. Invariants: standard library only, and no code shared with the writer of
openings; a cell is a text, or `None` for NULL, which sorts before all texts; the rows lie side by
side in a tree with this root, in strictly ascending order, and reach beyond the key on both sides
or to the end of the relation, so that none of the key is left out.
Example: an opening of a key that has no rows shows its two neighbours, which touch.
Reference: RFC 6962, section 2.1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_HEX: Final = frozenset("0123456789abcdef")
_DIGITS: Final = 64
Cells = tuple[str | None, ...]
MOST_ROWS: Final = 1 << 40


class OpeningError(ValueError):
    """An opening that does not show what it should; the text says why."""


@dataclass(frozen=True, slots=True)
class Commitment:
    """A root over `count` rows, sorted by the columns `order`, which names each place once."""

    root: str
    count: int
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """The rows from place `start` on, and the hashes that lead from them to the root."""

    start: int
    rows: tuple[Cells, ...]
    path: tuple[str, ...]


def opened_rows(
    commitment: Commitment, columns: Sequence[int], key: Sequence[str | None], opening: Opening
) -> tuple[Cells, ...]:
    """Give all rows of the relation that have `key` in `columns`.

    The columns must be the first ones of the order, in whatever order they are given here.
    """
    first = commitment.order[: len(columns)]
    if set(first) != set(columns) or len(set(columns)) != len(columns) or len(key) != len(columns):
        raise OpeningError("the rows of this key do not lie side by side in this order of columns")
    _check_place(commitment, opening)
    _check_rows(commitment, opening)
    if _root(commitment.count, opening) != commitment.root:
        raise OpeningError("the rows do not lead to the root")
    wanted = _places(tuple(dict(zip(columns, key, strict=True))[column] for column in first))
    prefixes = [_places(tuple(row[column] for column in first)) for row in opening.rows]
    at_start, at_end = opening.start == 0, opening.start + len(prefixes) == commitment.count
    if not at_start and not (prefixes and prefixes[0] < wanted):
        raise OpeningError("the row before the first of the key is not shown")
    if not at_end and not (prefixes and prefixes[-1] > wanted):
        raise OpeningError("the row behind the last of the key is not shown")
    return tuple(
        row for row, prefix in zip(opening.rows, prefixes, strict=True) if prefix == wanted
    )


def _places(cells: Cells) -> tuple[tuple[bool, str], ...]:
    """Give what cells are sorted by."""
    return tuple((cell is not None, cell or "") for cell in cells)


def _check_place(commitment: Commitment, opening: Opening) -> None:
    if not 0 <= commitment.count <= MOST_ROWS:
        raise OpeningError("the count of rows is none")
    if opening.start < 0 or opening.start + len(opening.rows) > commitment.count:
        raise OpeningError("the rows lie outside of the relation")
    if any(len(one) != _DIGITS or not set(one) <= _HEX for one in opening.path):
        raise OpeningError("a hash of the path is none")


def _check_rows(commitment: Commitment, opening: Opening) -> None:
    """Rows have the columns of the relation, and ascend in its order, each but once."""
    if sorted(commitment.order) != list(range(len(commitment.order))):
        raise OpeningError("the order does not name each column once")
    last: tuple[tuple[bool, str], ...] | None = None
    for row in opening.rows:
        if len(row) != len(commitment.order):
            raise OpeningError("a row has not the columns of the relation")
        sorted_by = _places(tuple(row[column] for column in commitment.order))
        if last is not None and sorted_by <= last:
            raise OpeningError("the rows are not in strictly ascending order")
        last = sorted_by


def _root(count: int, opening: Opening) -> str:
    if not count:
        return "" if opening.path else hashlib.sha256().hexdigest()
    path = iter(opening.path)
    found = _hash(0, count, opening, path)
    if next(path, None) is not None:
        raise OpeningError("the path is too long")
    return found.hex()


def _hash(low: int, high: int, opening: Opening, path: Iterator[str]) -> bytes:
    """Hash the part of the tree over the places from `low` to `high` - 1.

    The depth of the recursion is that of the tree: the logarithm of the count.
    """
    start, end = opening.start, opening.start + len(opening.rows)
    if end <= low or high <= start:
        given = next(path, None)
        if given is None:
            raise OpeningError("the path is too short")
        return bytes.fromhex(given)
    if high - low == 1:
        row = json.dumps(list(opening.rows[low - start]), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(b"\0" + row.encode()).digest()
    middle = low + _largest_power_below(high - low)
    left = _hash(low, middle, opening, path)
    return hashlib.sha256(b"\1" + left + _hash(middle, high, opening, path)).digest()


def _largest_power_below(number: int) -> int:
    power = 1
    while 2 * power < number:
        power *= 2
    return power
