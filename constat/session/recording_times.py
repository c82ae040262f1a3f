"""Times as people write them for `--as-of`.

In: a date or time. Out: the time as a `Timestamp`, in UTC. Invariant: the future is refused, since
nothing is recorded of it; a time without a zone is UTC. Example: `2026-11-21` is
`2026-11-21T00:00:00.000000Z`.
Reference: ISO 8601.
"""

from __future__ import annotations

from datetime import UTC, datetime

from constat.diagnostics import ConstatError, Diagnostic
from constat.store.clock import now

_FORMS = "write a date such as `2026-11-21`, or a time such as `2026-11-21T10:30:00Z`"


def parse_moment(text: str) -> str:
    """Read a time. Raises `ConstatError` for what is none, and for the future."""
    try:
        # A date means its start.
        found = datetime.fromisoformat(text.strip())
        moment = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
        spelled = f"{moment.year:04}" + moment.strftime("-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError):
        shown = text[:60]
        message = f"`{shown}` is no time"
        raise ConstatError([Diagnostic("C0723", message, help=_FORMS)]) from None
    present = now()
    if spelled > present:
        message = f"{spelled} lies in the future"
        note = f"it is {present} now, and nothing is recorded of what comes"
        raise ConstatError([Diagnostic("C0724", message, note=note, help=_FORMS)])
    return spelled
