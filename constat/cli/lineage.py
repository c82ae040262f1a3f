"""Send events of OpenLineage to a collector: `constat export CERT --to openlineage --send URL`.

In: events, the address of a collector, its key. Out: how many it took. Invariants: a key goes
over a private line alone, and to no other address; nothing of an answer is shown but its status.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from constat.apis.transport import ApiError, Asking, Transport
from constat.diagnostics import ConstatError, Diagnostic
from constat.project.apis import ApiSetting
from constat.project.loading import is_private_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS: Final = 30.0
_TAKEN: Final = range(200, 300)


def send_events(events: Sequence[Any], url: str, key: str) -> int:
    """Send events in their order; raises `ConstatError` for the first that is not taken."""
    if key and not is_private_line(url):
        raise _not_sent("a key is sent over https alone, or to this machine")
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    # The person has named the address; it may well be one of a private network.
    transport = Transport(ApiSetting("lineage", private=True, seconds=_SECONDS))
    try:
        for number, event in enumerate(events, 1):
            asking = Asking("POST", url, headers, json.dumps(event).encode(), keyed=False)
            reply = transport.fetch(asking, time.monotonic() + _SECONDS)
            if reply.status not in _TAKEN:
                raise _not_sent(f"event {number} was answered with status {reply.status}")
    except ApiError as problem:
        raise _not_sent(problem.reason) from None
    finally:
        transport.close()
    return len(events)


def _not_sent(reason: str) -> ConstatError:
    hint = "name where the collector takes events, for Marquez `https://HOST/api/v1/lineage`"
    return ConstatError([Diagnostic("C0437", f"the events were not sent: {reason}", help=hint)])
