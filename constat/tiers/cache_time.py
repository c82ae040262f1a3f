"""Times of evidence as numbers.

In: a time as evidence spells it. Out: seconds since 1970, UTC. Invariant: what is no time has
none, and whoever asks decides. Example: `1970-01-01T00:01:00Z` is 60.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.evaluation import Evidence


def seconds_now() -> float:
    """Give the present time."""
    return time.time()


def seconds_of(text: str) -> float | None:
    """Read a time; `None` where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def moments(evidences: Iterable[Evidence]) -> list[float]:
    """Give when evidences were fetched, of those that say so."""
    found = (seconds_of(one.executed_at) for one in evidences)
    return [one for one in found if one is not None]
