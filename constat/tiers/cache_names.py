"""How evidence says that it came from the cache.

In: the tier of an evidence. Out: whether it was fetched from the cache. Invariant: the origin,
which says whose word a row is, stands beside it and is never one of these (semantics 18). Example:
`is_cached("cache, source not reached")`.
"""

from __future__ import annotations

from typing import Final

CACHE: Final = "cache"
UNREACHED: Final = "cache, source not reached"


def is_cached(tier: str) -> bool:
    """Tell whether the tier of an evidence says that it came from the cache."""
    return tier in {CACHE, UNREACHED}
