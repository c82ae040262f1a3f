"""The newest wheel of a library in an index, by the simple API (PEP 503 and PEP 691).

In: the address of an index, the name of a library, a range of versions. Out: name and bytes of one
wheel. Invariants: an index is asked over https, or over http on this machine; so is whatever it
sends us to; what comes is bounded in size and time, and its hash is the one that the index names.
A name and a password come from `.netrc` alone, and go only to the host that it names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from base64 import b64encode
from html.parser import HTMLParser
from netrc import NetrcParseError, netrc
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.project.document import printable
from constat.project.packages import MOST_BYTES, fits, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPMessage
    from typing import IO

PREFIX: Final = "constat-rules-"
"""What stands before the name of a library in the name of its distribution."""
_ACCEPTS: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_MOST_PAGE: Final = 16 << 20
_SILENT_SECONDS: Final = 30
_SECONDS: Final = 180
_BLOCK: Final = 1 << 16
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = (401, 403)
_MOST_CREDENTIALS: Final = 1 << 20
_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_WHEEL: Final = re.compile(r"([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)-py3-none-any\.whl\Z")


@frozen
class Listed:
    """A wheel that an index lists: its file name, version, address, and hash if it names one."""

    file: str
    version: str
    address: str
    sha256: str = ""


def newest(index: str, name: str, wanted: str = "") -> tuple[Listed, bytes]:
    """Fetch the newest wheel of a library whose version is wanted. Raises `ConstatError`."""
    page = f"{index.rstrip('/')}/{PREFIX}{name}/"
    _require_safe(page)
    kind, content = _read(page, _MOST_PAGE)
    found = [one for one in _listed(kind, content, page) if _is_of(one, name)]
    if not found:
        raise _missing(f"the index lists no wheel of `{name}`")
    chosen = _newest(found, wanted)
    if chosen is None:
        there = ", ".join(dict.fromkeys(one.version for one in found[-5:]))
        message = f"the index has {there} of `{name}`, not {wanted}"
        hint = "change `version:` in constat.yaml, or give another `--version`"
        raise ConstatError([Diagnostic("C0599", message, help=hint)])
    _require_safe(chosen.address)
    _, wheel = _read(chosen.address, MOST_BYTES)
    if chosen.sha256 and hashlib.sha256(wheel).hexdigest() != chosen.sha256:
        raise unreadable(f"`{printable(chosen.file)}` has another hash than the index names")
    return chosen, wheel


def _is_of(one: Listed, name: str) -> bool:
    shape = _WHEEL.match(one.file)
    named = "" if shape is None else re.sub(r"[._-]+", "-", shape[1]).lower()
    return named == f"{PREFIX}{name}"


def _newest(found: list[Listed], wanted: str) -> Listed | None:
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415  heavy library, loaded on first use

    fitting: dict[Version, Listed] = {}
    for one in found:
        try:
            version = Version(one.version)
        except InvalidVersion:
            continue
        if fits(one.version, wanted):
            fitting[version] = one
    released = [one for one in fitting if not one.is_prerelease]
    return fitting[max(released or fitting)] if fitting else None


# ---------------------------------------------------------------------- what an index lists


def _listed(kind: str, content: bytes, page: str) -> Iterator[Listed]:
    """Yield what a page lists and its owner has not taken back."""
    text = content.decode("utf-8", "replace")
    if "json" in kind:
        try:
            files = json.loads(text)["files"]
            told = [(str(one["filename"]), str(one["url"]), one) for one in files]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise unreadable("the index answers with something that is no list of files") from None
        for file, address, one in told:
            hashes = one.get("hashes")
            digest = hashes.get("sha256", "") if isinstance(hashes, dict) else ""
            if not one.get("yanked"):
                yield _made(file, urljoin(page, address), digest if isinstance(digest, str) else "")
        return
    links = _Links()
    links.feed(text)
    for file, address in links.found:
        plain, _, fragment = address.partition("#")
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        yield _made(file or plain.rpartition("/")[2], urljoin(page, plain), digest)


def _made(file: str, address: str, digest: str) -> Listed:
    shape = _WHEEL.match(file)
    return Listed(file, shape[2] if shape else "", urldefrag(address).url, digest.lower())


class _Links(HTMLParser):
    """Collects the links of a page, with the words that they stand under."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a link, unless it was taken back."""
        named = dict(attrs)
        if tag == "a" and "data-yanked" not in named:
            self.open = named.get("href") or ""

    def handle_data(self, data: str) -> None:
        """Take the words of a link."""
        if self.open:
            self.found.append((data.strip(), self.open))
            self.open = ""


# ---------------------------------------------------------------------- asking


def _require_safe(address: str) -> None:
    """Refuse addresses that others on the way could answer, and those that hold a password."""
    form = "write `index+https://HOST/simple#NAME`"
    try:
        parts = urlsplit(address)
        host, secret = parts.hostname or "", parts.username or parts.password
    except ValueError:
        raise _missing("that address cannot be read", form) from None
    if secret:
        # The address goes into constat.yaml and the lock.
        hint = "leave it out, and write `machine HOST login NAME password TOKEN` into ~/.netrc"
        raise _missing("the address holds a name or a password", hint)
    if not host or (parts.scheme != "https" and not (parts.scheme == "http" and host in _HERE)):
        raise _missing(f"`{printable(address)}` is no address over https", form)


class _Redirecting(HTTPRedirectHandler):
    """Follows a redirect where the first address could have led as well."""

    def redirect_request(  # noqa: PLR0917  as the library calls it
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Check where it goes."""
        _require_safe(newurl)
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        return None if following is None else _with_credentials(following)


def _with_credentials(request: Request) -> Request:
    """Add what `.netrc` says for the host of a request; a redirect does not carry it on."""
    place = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    host = (urlsplit(request.full_url).hostname or "").lower()
    try:
        # The entry `default` names no host: it would go to whomever an index sends us to.
        known = netrc(place).hosts if place.stat().st_size <= _MOST_CREDENTIALS else {}
    except FileNotFoundError:
        return request
    except (NetrcParseError, UnicodeDecodeError, OSError):
        # What the library says of a mistake quotes the file.
        hint = "each line is `machine HOST login NAME password TOKEN`"
        raise unreadable(f"`{place.name}` with the passwords cannot be read", hint) from None
    entry = known.get(host) if host != "default" else None
    if entry is not None:
        login, _, password = entry
        said = b64encode(f"{login}:{password}".encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {said}")
    return request


def _read(address: str, most: int) -> tuple[str, bytes]:
    """Give the type and bytes of an answer."""
    until = monotonic() + _SECONDS
    request = Request(address, headers={"Accept": _ACCEPTS, "User-Agent": "constat"})  # noqa: S310  `_require_safe` was asked
    try:
        asked = _with_credentials(request)
        with build_opener(_Redirecting).open(asked, timeout=_SILENT_SECONDS) as answer:
            return answer.headers.get_content_type(), _bounded(answer, most, until)
    except HTTPError as problem:
        with problem:
            if problem.code == _NOT_FOUND:
                raise _missing(f"the index has no `{printable(address)}`") from None
            if problem.code in _NOT_ALLOWED:
                hint = "write `machine HOST login NAME password TOKEN` into ~/.netrc, for its host"
                message = f"the index wants a name and a password ({problem.code})"
                raise unreadable(message, hint) from None
            raise unreadable(f"the index answers with {problem.code}") from None
    except (OSError, URLError, ValueError) as problem:
        reason = getattr(problem, "reason", problem)
        said = printable(str(reason) or type(problem).__name__, 160)
        hint = "give a wheel, or work with the copy in `packages/`, which needs no index"
        raise unreadable(f"the index cannot be asked: {said}", hint) from None


def _bounded(answer: Any, most: int, until: float) -> bytes:  # noqa: ANN401  what urllib gives
    """Read an answer within size and time, however slowly it drips."""
    parts: list[bytes] = []
    size = 0
    while block := answer.read1(_BLOCK):
        parts.append(block)
        size += len(block)
        if size > most:
            raise unreadable(f"what the index sends is larger than {most >> 20} MiB")
        if monotonic() > until:
            raise unreadable(f"the index was not done within {_SECONDS} seconds")
    return b"".join(parts)


def _missing(message: str, hint: str = "name another index or library") -> ConstatError:
    return ConstatError([Diagnostic("C0595", message, help=hint)])
