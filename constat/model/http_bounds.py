"""An HTTP client for providers' libraries that no server can keep busy, fill or send elsewhere.

In: the address of a provider. Out: an `httpx2.Client`. Invariants: no redirect is followed, so that
a key goes to the configured host only; a response is at most so many bytes, as sent and as read
(compressed ones, which could unfold, are refused); reading ends at its time, however slowly bytes
drip. Example: `bounded_client("https://api.example")`.
"""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

MOST_BYTES: Final = 16 << 20


class UnsafeResponseError(Exception):
    """A response that is too large, too slow, compressed, or a redirect. The text is ours."""


def is_loopback(address: str) -> bool:
    """Tell whether an address is one of this machine."""
    host = urlsplit(address).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bounded_client(address: str, most_bytes: int = MOST_BYTES) -> httpx2.Client:
    """Give a client for one address."""
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    def bounded(response: httpx2.Response) -> None:
        _refuse(response)
        until = time.monotonic() + _seconds(response.request)
        response.stream = _stream(response.stream, until, most_bytes)

    return httpx2.Client(
        follow_redirects=False,
        event_hooks={"response": [bounded]},
        headers={"accept-encoding": "identity"},
        # A proxy of the environment is for other machines; this one needs none.
        trust_env=not is_loopback(address),
    )


def _refuse(response: httpx2.Response) -> None:
    if 300 <= response.status_code < 400:  # noqa: PLR2004  the statuses of redirects
        raise UnsafeResponseError(
            "the provider sends us to another address, where no request and no key will go"
        )
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsafeResponseError("the reply is compressed, which was not asked for")


def _seconds(request: httpx2.Request) -> float:
    timeouts: Any = request.extensions.get("timeout") or {}
    read = timeouts.get("read")
    return read if isinstance(read, int | float) else 600.0


def _stream(inner: Any, until: float, most_bytes: int) -> Any:  # noqa: ANN401  of httpx2
    import httpx2  # noqa: PLC0415  heavy library, loaded on first use

    class Bounded(httpx2.SyncByteStream):
        """The bytes of a response, until there are too many or it is too late."""

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in inner:
                size += len(chunk)
                if size > most_bytes:
                    raise UnsafeResponseError(f"the reply has more than {most_bytes} bytes")
                if time.monotonic() > until:
                    raise UnsafeResponseError("the reply took longer than it was given")
                yield chunk

        def close(self) -> None:
            inner.close()

    return Bounded()
