"""Rows are hashed as certificates say, whichever columns nobody reads and whichever are null."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as some

from constat.logic import UNREAD_CELL, Kind, NullCell, NullPolicy, format_value
from constat.tiers.tier import content_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = (Kind.SYMBOL, Kind.NUMBER, Kind.SYMBOL, Kind.NUMBER)
TEXTS = some.sampled_from(["", "a", "b\x01", "\x01", '"', "\\u0001", "null", "\x80", "ü", "a,b"])
NULL = NullCell(NullPolicy.NONE, "p", 0)


def told(rows: Sequence[tuple[object, ...]]) -> str:
    """Hash rows as FORMAT.md says, with nothing but Python."""
    texts = [
        [None if isinstance(cell, NullCell) else format_value(cell, kind) for cell, kind in pairs]  # type: ignore[arg-type]
        for pairs in (zip(row, KINDS, strict=True) for row in rows)
    ]
    texts.sort(key=lambda row: [(text is not None, text or "") for text in row])
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in texts)
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


@given(
    some.lists(
        some.tuples(TEXTS | some.just(NULL), some.integers(-12, 12), TEXTS, some.integers(0, 3)),
        unique=True,
        max_size=12,
    ),
    some.sets(some.integers(0, 3)),
)
def test_a_hash_is_that_of_the_sorted_lines(
    rows: list[tuple[object, ...]], unread: set[int]
) -> None:
    shown = {
        tuple(UNREAD_CELL if place in unread else cell for place, cell in enumerate(row)): None
        for row in rows
    }
    assert content_hash(shown, KINDS) == told(list(shown))  # type: ignore[arg-type]
