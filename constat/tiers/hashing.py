"""The hash that evidence carries.

`sha256:<hex>` over the rows, as certificates define it: each row the JSON array of its canonical
texts, `null` for a null cell, sorted as lists with `null` before texts, each followed by a newline.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from constat.evaluation import UNTIMED
from constat.logic import NullCell, canonical_bytes, canonical_lines, format_value, has_null_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from constat.evaluation import Clock
    from constat.logic import Kind, Row


def content_hash(rows: Collection[Row], kinds: Sequence[Kind], clock: Clock = UNTIMED) -> str:
    """Give the hash of distinct rows, in whatever order they come."""
    digest = hashlib.sha256()
    for block in _bytes(rows, kinds, clock):
        clock.check()
        digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def _bytes(rows: Collection[Row], kinds: Sequence[Kind], clock: Clock) -> Iterable[bytes]:
    if not any(map(has_null_cells, clock.over(rows))):
        lines: list[str] = []
        for block in clock.blocks(rows):
            lines += canonical_lines(block, kinds)
        lines.sort()
        return canonical_bytes(lines, len(kinds))
    texts = (
        [
            None if isinstance(cell, NullCell) else format_value(cell, kind)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        for row in clock.over(rows)
    )
    ordered = sorted(texts, key=lambda row: [(text is not None, text or "") for text in row])
    return (f"{json.dumps(row, separators=(',', ':'))}\n".encode() for row in ordered)
