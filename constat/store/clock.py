"""The present time, as everything that is kept or certified spells it.

Out: UTC with microseconds, which sorts as it reads. Example: `2026-11-21T15:20:18.000250Z`.
Reference: RFC 3339, section 5.6.
"""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """Give the time in UTC, spelled as a `Timestamp`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
