"""The hash that evidence carries.

In: rows of declared kinds. Out: `sha256:<hex>` over the rows, as certificates define it: each row
the JSON array of its canonical texts, sorted as lists of texts, each followed by a newline.
Example: the hash of no rows is that of the empty text.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from constat.logic import canonical_bytes, canonical_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from constat.logic import Kind, Row


def content_hash(rows: Collection[Row], kinds: Sequence[Kind]) -> str:
    """Give the hash of distinct rows, in whatever order they come."""
    lines = canonical_lines(rows, kinds)
    lines.sort()
    digest = hashlib.sha256()
    for block in canonical_bytes(lines, len(kinds)):
        digest.update(block)
    return f"sha256:{digest.hexdigest()}"
