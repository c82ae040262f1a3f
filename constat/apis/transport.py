"""HTTP for sources: no server can keep us busy, fill our memory or send us elsewhere.

A name is resolved once and the resolved address is connected to, so that no answer of a name server
in between changes where a request goes. Addresses of this machine and of private networks are
refused unless the API allows them; those of link-local services are always. A redirect is followed
within its host only. A request ends at its time, however slowly bytes drip: its socket is shut.
Credentials go to the API's own origin, and stand in no message.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import ipaddress
import json
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from constat.diagnostics.interruption import check_interrupted
from constat.frozen import frozen
from constat.project.apis import BASIC, BEARER, HEADER, OAUTH, QUERY
from constat.project.document import printable

if TYPE_CHECKING:
    import httpx2

    from constat.project.apis import ApiSetting

_T = TypeVar("_T")

UNREACHED: Final = "C0574"
REFUSED: Final = "C0575"
UNREADABLE: Final = "C0576"
DENIED: Final = "C0579"
_AGENT: Final = "constat"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_DENIED: Final = frozenset({401, 403})
_NOT_MODIFIED: Final = 304
_UNAUTHORIZED: Final = 401
_MOST_REDIRECTS: Final = 5
_MOST_ADDRESSES: Final = 4
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_LEAST_SECONDS: Final = 0.01
_TOKEN_BYTES: Final = 1 << 20
_EARLY: Final = 30.0
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")


_STOPPED: Final = "the question was stopped"


class ApiError(Exception):
    """An API that did not answer, or not as it says it does. `reason` holds no secret."""

    def __init__(self, reason: str, code: str = UNREACHED, status: int = 0) -> None:
        self.reason = reason
        self.code = code
        self.status = status
        super().__init__(reason)


@frozen
class Asking:
    """One request. `keyed` asks with credentials; `known` is the tag of a known answer."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    body: bytes = b""
    keyed: bool = True
    known: str = ""

    def digest(self) -> str:
        """Give `sha256:<hex>` of what is asked, without what says who asks."""
        said = [
            self.method,
            self.url,
            sorted(self.headers.items()),
            self.body.decode(errors="replace"),
        ]
        return digest_of(json.dumps(said, ensure_ascii=False).encode())


@frozen
class Reply:
    """What came: status, headers by lower-case names, the whole body."""

    status: int
    headers: Mapping[str, str] = field(hash=False)
    body: bytes = field(repr=False)
    url: str = ""


def digest_of(content: bytes) -> str:
    """Give `sha256:<hex>`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def origin_of(url: str) -> tuple[str, str, int]:
    """Give scheme, host and port of an address; raises `ApiError` for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
    except ValueError:
        raise ApiError("an address cannot be read", REFUSED) from None
    if parts.scheme not in {"http", "https"} or not host or parts.username or parts.password:
        raise ApiError("an address is none of http or https", REFUSED)
    return parts.scheme, host.lower(), port


def is_allowed(address: str, *, private: bool) -> bool:
    """Tell whether a resolved address may be connected to."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_allowed(str(inner), private=private)
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        return False
    return found.is_global or (private and (found.is_private or found.is_loopback))


def is_private_line(url: str) -> bool:
    """Tell whether nobody on the way can read what is sent: https, or this machine."""
    scheme, host, _ = origin_of(url)
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    return local or scheme == "https"


class Transport:
    """Sends the requests of one API. Used by one thread at a time; `cancel` may be any thread's."""

    def __init__(self, setting: ApiSetting) -> None:
        self._setting = setting
        self._clients: dict[tuple[str, str, int], tuple[httpx2.Client, tuple[str, ...]]] = {}
        self._sockets: list[socket.socket] = []
        self._sent: deque[float] = deque()
        self._token: tuple[str, float] | None = None
        self._stopped = False
        self.requests = 0
        """How many requests were sent since `restart`."""

    def restart(self) -> None:
        """Begin an evaluation: requests are counted anew."""
        self.requests = 0
        self._stopped = False

    def cancel(self) -> None:
        """End the request that runs, from any thread."""
        self._stopped = True
        self._shut()

    def close(self) -> None:
        """Close all connections."""
        for client, _ in self._clients.values():
            client.close()
        self._clients.clear()
        self._sockets.clear()

    def fetch(self, asking: Asking, until: float) -> Reply:
        """Ask, again where that may help, until a moment of `time.monotonic`; raises `ApiError`."""
        tried, fresh = 0, False
        while True:
            try:
                reply = self._once(asking, until)
            except ApiError as problem:
                done = self._stopped or tried >= self._setting.retries
                if done or problem.code != UNREACHED:
                    raise
                self._pause(tried, None, until, problem)
                tried += 1
                continue
            if reply.status == _UNAUTHORIZED and self._token is not None and not fresh:
                self._token, fresh = None, True
                continue
            if reply.status in _AGAIN and tried < self._setting.retries:
                self._pause(tried, reply, until, _of_status(reply))
                tried += 1
                continue
            return reply

    def _pause(self, tried: int, reply: Reply | None, until: float, problem: ApiError) -> None:
        """Wait before the next try; raises the problem where that would be too late."""
        wanted = None if reply is None else _retry_after(reply.headers.get("retry-after", ""))
        pause = min(_FIRST_PAUSE * 2**tried, _LONGEST_PAUSE) * (0.5 + random.random())  # noqa: S311  spreads callers
        pause = pause if wanted is None else wanted
        if time.monotonic() + pause >= until:
            late = f"; it asks to wait {pause:.0f} s, which is too long" if wanted else ""
            raise ApiError(problem.reason + late, problem.code, problem.status)
        self._sleep(pause)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopped:
            check_interrupted()
            time.sleep(min(left, 0.1))

    def _once(self, asking: Asking, until: float) -> Reply:
        """Ask once, following redirects within the host."""
        url, headers = asking.url, dict(asking.headers)
        if asking.known:
            headers["if-none-match"] = asking.known
        if asking.keyed:
            url = self._sign(url, headers, until)
        for _ in range(_MOST_REDIRECTS):
            reply = self._sent_once(asking.method, url, headers, asking.body, until)
            target = reply.headers.get("location", "")
            if reply.status not in _REDIRECTS or not target:
                return reply
            if asking.method != "GET":
                raise ApiError("it sends a question that has a body to another address", REFUSED)
            url = _redirected(url, target)
        raise ApiError("it sends from one address to the next without end", REFUSED)

    def _sign(self, url: str, headers: dict[str, str], until: float) -> str:
        """Add who asks; raises `ApiError` where that would be read by anybody on the way."""
        setting = self._setting
        for name, value in setting.headers.items():
            headers[name] = setting.text(value)
        auth = setting.auth
        if auth is None:
            return url
        self._check_private_line(url)
        values = {name: setting.text(value) for name, value in auth.values.items()}
        if any(not one.isprintable() for one in values.values()):
            raise ApiError("a credential holds characters that no header may hold", DENIED)
        match auth.kind:
            case k if k == BEARER:
                headers["authorization"] = f"Bearer {values['token']}"
            case k if k == BASIC:
                pair = f"{values['user']}:{values['password']}".encode()
                headers["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
            case k if k == HEADER:
                headers[values["name"].lower()] = values["value"]
            case k if k == QUERY:
                extra = urlencode({values["name"]: values["value"]})
                url += ("&" if "?" in url else "?") + extra
            case k if k == OAUTH:
                headers["authorization"] = f"Bearer {self._oauth_token(values, until)}"
        return url

    @staticmethod
    def _check_private_line(url: str) -> None:
        if not is_private_line(url):
            raise ApiError("credentials are not sent over http, which anybody can read", REFUSED)

    def _oauth_token(self, values: Mapping[str, str], until: float) -> str:
        """Give a token of the client's own (RFC 6749, section 4.4), which is asked for once."""
        if self._token is not None and time.monotonic() < self._token[1]:
            return self._token[0]
        self._check_private_line(values["token_url"])
        form = {"grant_type": "client_credentials"}
        form |= {"scope": values["scope"]} if values.get("scope") else {}
        pair = f"{values['client_id']}:{values['client_secret']}".encode()
        headers = {
            "authorization": f"Basic {base64.b64encode(pair).decode()}",
            "content-type": "application/x-www-form-urlencoded",
        }
        body = urlencode(form).encode()
        reply = self._sent_once("POST", values["token_url"], headers, body, until, _TOKEN_BYTES)
        try:
            told = json.loads(reply.body) if reply.status == 200 else {}  # noqa: PLR2004  the status of success
            token, lasts = told["access_token"], float(told.get("expires_in", 300))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ApiError(f"no token was given (status {reply.status})", DENIED) from None
        if not isinstance(token, str) or not token.isprintable() or not token:
            raise ApiError("the token that was given is no text", DENIED)
        self._token = token, time.monotonic() + max(lasts - _EARLY, 0.0)
        return token

    def secrets(self) -> tuple[str, ...]:
        """Give the texts that may never be shown, the token that was given with them."""
        return (*self._setting.secrets(), *([self._token[0]] if self._token else []))

    def _sent_once(  # noqa: PLR0917  what a request is
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        until: float,
        most_bytes: int = 0,
    ) -> Reply:
        check_interrupted()
        self._keep_rate(until)
        if self._stopped:
            raise ApiError(_STOPPED)
        if self.requests >= self._setting.requests:
            allowed = f"more than {self._setting.requests} requests; `requests` allows more"
            raise ApiError(allowed, "C0578")
        self.requests += 1
        until = min(until, time.monotonic() + self._setting.seconds)
        host = origin_of(url)[1]
        client, addresses = self._client(url, until)
        problem = ApiError(f"{host} is not reached")
        for address in addresses:
            try:
                return self._exchange(
                    client, address, (method, url, headers, body), until, most_bytes
                )
            except ApiError as found:
                problem = found
                if found.code != UNREACHED or time.monotonic() >= until:
                    break
        raise problem

    def _exchange(
        self,
        client: httpx2.Client,
        address: str,
        asked: tuple[str, str, Mapping[str, str], bytes],
        until: float,
        most_bytes: int,
    ) -> Reply:
        """Send a request to a resolved address, and read the reply whole."""
        import httpx2  # noqa: PLC0415  heavy library, loaded on first use

        method, url, headers, body = asked
        parts, (_, host, port) = urlsplit(url), origin_of(url)
        left = until - time.monotonic()
        if left <= _LEAST_SECONDS:
            raise ApiError("no time is left for a request")
        shown = f"[{host}]" if ":" in host else host
        named = shown if parts.port is None else f"{shown}:{port}"
        literal = f"[{address}]" if ":" in address else address
        there = urlunsplit((parts.scheme, f"{literal}:{port}", parts.path, parts.query, ""))
        request = client.build_request(
            method,
            there,
            headers={**headers, "host": named, "user-agent": _AGENT, "accept-encoding": "identity"},
            content=body or None,
            timeout=httpx2.Timeout(left),
            extensions={"sni_hostname": host, "trace": self._note_socket},
        )
        watch = threading.Timer(left, self._shut)
        watch.daemon = True
        watch.start()
        try:
            return self._read(client, request, until, most_bytes or self._setting.bytes)
        except httpx2.HTTPError as problem:
            if self._stopped:
                raise ApiError(_STOPPED) from None
            late = time.monotonic() >= until
            why = (
                "did not answer in time"
                if late or isinstance(problem, httpx2.TimeoutException)
                else f"is not reached, or breaks off ({type(problem).__name__})"
            )
            raise ApiError(f"{host} {why}") from None
        finally:
            watch.cancel()

    def _read(
        self, client: httpx2.Client, request: httpx2.Request, until: float, most: int
    ) -> Reply:
        response = client.send(request, stream=True)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            if headers.get("content-encoding", "identity").strip().lower() != "identity":
                raise ApiError("the answer is compressed, which was not asked for", UNREADABLE)
            length = headers.get("content-length", "")
            if length.isascii() and length.isdigit() and int(length[:20]) > most:
                raise _too_large(most)
            chunks, size = [], 0
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                if time.monotonic() > until or self._stopped:
                    raise ApiError("the answer took longer than it was given")
                chunks.append(chunk)
            return Reply(response.status_code, headers, b"".join(chunks))
        finally:
            response.close()

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the sockets, so that a request can be ended that waits for one of them."""
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            stream = info.get("return_value")
            found = stream.get_extra_info("socket") if stream is not None else None
            if found is not None:
                self._sockets = [one for one in self._sockets if one.fileno() >= 0]
                self._sockets.append(found)
                if self._stopped:
                    self._shut()  # who stopped it did not see this one

    def _shut(self) -> None:
        for one in list(self._sockets):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already

    def _client(self, url: str, until: float) -> tuple[httpx2.Client, tuple[str, ...]]:
        """Give the client of an origin, and the addresses that its name first had."""
        origin = origin_of(url)
        if origin not in self._clients:
            import httpx2  # noqa: PLC0415  heavy library, loaded on first use

            addresses = self._resolved(origin, until)
            client = httpx2.Client(follow_redirects=False, trust_env=False, headers={})
            self._clients[origin] = client, addresses
        return self._clients[origin]

    def _resolved(self, origin: tuple[str, str, int], until: float) -> tuple[str, ...]:
        _, host, port = origin
        seconds = max(until - time.monotonic(), _LEAST_SECONDS)
        try:
            found = _in_time(
                lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), seconds
            )
        except (OSError, UnicodeError):
            raise ApiError(f"there is no host {host}") from None
        if found is None:
            raise ApiError(f"the address of {host} was not found in time")
        listed = tuple(dict.fromkeys(str(one[4][0]) for one in found))
        allowed = [one for one in listed if is_allowed(one, private=self._setting.private)]
        if not allowed:
            raise ApiError(
                f"{host} is an address of this machine or of a private network;"
                f" `private: true` of `{self._setting.name}` allows it",
                REFUSED,
            )
        return tuple(allowed[:_MOST_ADDRESSES])

    def _keep_rate(self, until: float) -> None:
        """Wait until one more request is within the rate."""
        if self._setting.rate is None:
            return
        most, seconds = self._setting.rate
        while self._sent and time.monotonic() - self._sent[0] >= seconds:
            self._sent.popleft()
        if len(self._sent) >= most:
            pause = self._sent[0] + seconds - time.monotonic()
            if time.monotonic() + pause >= until:
                raise ApiError(f"its `rate` of {most} requests leaves no time for another", "C0578")
            self._sleep(pause)
            self._sent.popleft()
        self._sent.append(time.monotonic())


def check_status(reply: Reply) -> None:
    """Raise `ApiError` where a reply is no answer."""
    if reply.status != 200:  # noqa: PLR2004  the status of success; 206 would be a part only
        raise _of_status(reply)


def _of_status(reply: Reply) -> ApiError:
    status = reply.status
    if status in _DENIED:
        return ApiError(f"it does not let us in (status {status})", DENIED, status)
    said = "it asks for fewer requests" if status == 429 else "it gives no answer"  # noqa: PLR2004  Too Many Requests
    return ApiError(f"{said} (status {status})", UNREACHED, status)


def _too_large(most: int) -> ApiError:
    return ApiError(f"the answer has more than {most} bytes; `bytes` allows more", UNREADABLE)


def _redirected(url: str, target: str) -> str:
    """Give the address of a redirect within the host; raises `ApiError` for another one."""
    found = urljoin(url, target)
    (scheme, host, port), (to_scheme, to_host, to_port) = origin_of(url), origin_of(found)
    upgraded = (scheme, port, to_scheme, to_port) == ("http", 80, "https", 443)
    if host != to_host or not (upgraded or (scheme, port) == (to_scheme, to_port)):
        raise ApiError(
            f"it sends us on to {printable(to_host)}, where no request goes; if the API has moved, "
            "change `url`",
            REFUSED,
        )
    return found


def _retry_after(written: str) -> float | None:
    """Read seconds or a date (RFC 9110, section 10.2.3)."""
    text = written.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _in_time(call: Callable[[], _T], seconds: float) -> _T | None:
    """Call what may hang; `None` where it took too long, and is left behind."""
    found: list[_T] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as problem:  # noqa: BLE001  raised again below
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if problems:
        raise problems[0]
    return found[0] if found else None
