"""What went wrong between us and a provider, as `ModelError`.

In: an exception of a provider's library. Out: the code, a sentence, whether later may be better,
and how long the provider asks to wait. The two libraries are made by one generator, so that their
errors have the same shapes. Invariant: the sentence has one printable line without the key.
Example: status 429 with `retry-after: 7` is C0825, retryable, after 7 seconds.
Reference: RFC 9110, section 10.2.3 (Retry-After).
"""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING, Any, Final

from constat.model.http_bounds import UnsafeResponseError
from constat.model.printing import printable
from constat.model.prompts import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REFUSED: Final = "C0824"
UNREACHED: Final = "C0825"
UNUSABLE: Final = "C0826"

_LONGEST: Final = 200
_BUSY: Final = frozenset({408, 409, 425, 429})
_SERVER: Final = 500
_OK: Final = 300
# A stream has begun with status 200 when its provider finds that it cannot go on.
_PASSING: Final = frozenset(
    {"api_error", "overloaded_error", "rate_limit_error", "timeout_error", "server_error"}
)
_LOST: Final = frozenset({"APIConnectionError", "TransportError"})
_UNSENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_LONGEST_WAIT: Final = 86_400.0


def failure_of(problem: Exception, key: str) -> ModelError:
    """Say what an exception of a provider's library means."""
    for cause in _causes(problem):
        if isinstance(cause, UnsafeResponseError):
            return ModelError(UNUSABLE, str(cause))
    status = getattr(problem, "status_code", None)
    if isinstance(status, int):
        return _of_status(status, problem, key)
    kinds = {kind.__name__ for cause in _causes(problem) for kind in type(cause).__mro__}
    if kinds & _LOST:
        # A connection that was never made has carried no request.
        sent = not kinds & _UNSENT
        late = any("Timeout" in kind for kind in kinds)
        reason = "did not answer in time" if late else "cannot be reached"
        return ModelError(UNREACHED, f"the provider {reason}", retryable=True, unsettled=sent)
    if isinstance(problem, UnicodeEncodeError):
        return ModelError(REFUSED, "the prompt holds text that is no Unicode")
    return ModelError(UNUSABLE, f"the reply cannot be read ({type(problem).__name__})")


def _of_status(status: int, problem: Exception, key: str) -> ModelError:
    said, kind = _said(problem)
    shown = f": {printable(said, key)}" if said else ""
    after = _retry_after(problem)
    if status in _BUSY or status >= _SERVER or (status < _OK and kind in _PASSING):
        words = "is asked too much" if status in _BUSY else "has trouble"
        message = f"the provider {words} (status {status}){shown}"
        return ModelError(UNREACHED, message, retryable=True, retry_after=after)
    if _OK <= status < 400:  # noqa: PLR2004  the statuses of redirects
        return ModelError(UNUSABLE, f"the provider sends us elsewhere (status {status})")
    return ModelError(REFUSED, f"the provider refuses the request (status {status}){shown}")


def _said(problem: Exception) -> tuple[str, str]:
    """Give the provider's own words and its name for the kind of error."""
    body: Any = getattr(problem, "body", None)
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, dict):
            said, kind = error.get("message"), error.get("type")
            return (said if isinstance(said, str) else ""), str(kind)[:_LONGEST]
    return "", ""


def _retry_after(problem: Exception) -> float | None:
    headers: Mapping[str, str] = getattr(getattr(problem, "response", None), "headers", {})
    written = headers.get("retry-after") or ""
    seconds = _number(headers.get("retry-after-ms") or "")
    if seconds is not None:
        seconds /= 1000
    elif (seconds := _number(written)) is None:
        parsed = email.utils.parsedate_tz(written)
        seconds = None if parsed is None else email.utils.mktime_tz(parsed) - time.time()
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_WAIT)


def _number(written: str) -> float | None:
    plain = written.strip()
    if plain.isascii() and plain.replace(".", "", 1).isdigit() and len(plain) <= 20:  # noqa: PLR2004  digits
        return float(plain)
    return None


def _causes(problem: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    cause: BaseException | None = problem
    while cause is not None and cause not in seen:
        seen.append(cause)
        yield cause
        cause = cause.__cause__ or cause.__context__
