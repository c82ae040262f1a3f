"""Say that a row came from the cache, and how old it was.

In: the tier and time of an evidence, and the moment that a proof is about. Out: a phrase, empty for
rows that were fetched for this proof. Invariant: the origin stands beside it and is never replaced
(semantics 18). Example: `, cached 3 minutes ago`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

_CACHE: Final = "cache"
_UNREACHED: Final = "not reached"
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def cached(tier: str, executed_at: str, moment: str) -> str:
    """Return the phrase for an evidence."""
    if tier.partition(",")[0] != _CACHE:
        return ""
    unreached = "; the source was not reached" if tier.endswith(_UNREACHED) else ""
    return f", cached{_ago(executed_at, moment)}{unreached}"


def _ago(executed_at: str, moment: str) -> str:
    try:
        age = datetime.fromisoformat(moment) - datetime.fromisoformat(executed_at)
    except (ValueError, TypeError):
        return ""
    for size, noun in _UNITS:
        count = int(age.total_seconds() // size)
        if count > 0:
            return f" {count:,} {noun}{'' if count == 1 else 's'} ago"
    return " just now"
