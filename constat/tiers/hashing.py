"""The hash that evidence carries.

In: rows of declared kinds. Out: `sha256:<hex>` over the rows, as certificates define it: each row
the JSON array of its canonical texts, sorted as lists of texts, each followed by a newline.
Example: the hash of no rows is that of the empty text.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from constat.logic import format_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.logic import Kind, Row


def content_hash(rows: Iterable[Row], kinds: Sequence[Kind]) -> str:
    """Give the hash of distinct rows, in whatever order they come."""
    encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    texts = sorted([format_value(v, k) for v, k in zip(row, kinds, strict=True)] for row in rows)
    digest = hashlib.sha256()
    for row in texts:
        digest.update(encode(row).encode())
        digest.update(b"\n")
    return f"sha256:{digest.hexdigest()}"
