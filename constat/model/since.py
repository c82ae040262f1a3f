"""How old a reply may be that is served again.

In: seconds. Out: the earliest time, spelled as replies carry theirs. Example: `since(None)` is
empty, which is before every time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def since(seconds: int | None) -> str:
    """Give the time before which a reply is too old; empty where none is."""
    if seconds is None:
        return ""
    oldest = datetime.now(UTC) - timedelta(seconds=seconds)
    return oldest.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
