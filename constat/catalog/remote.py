"""Fetch objects of S3, GCS and servers of HTTP as files of this machine, which are read as any are.

In: a table's address. Out: copies of its objects in a private folder, with what tells their states
apart: the tag and version that the server names, and the hash of what came. Invariants: an object
is fetched whole in one request, and once for each evaluation; what was listed and has another tag
when it is fetched is a failure. Requests go where `constat.apis.transport` lets them. Keys come
from the environment alone: no file of a user and no service of a machine is asked for them, and
they stand in no message. Example: `Objects(database, 30).table(setting)`.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
import re
import time
import xml.etree.ElementTree as ET
from abc import ABC, abstractmethod
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from constat.apis.transport import (
    DENIED,
    REFUSED,
    UNREADABLE,
    ApiError,
    Asking,
    Transport,
    check_status,
    digest_of,
    is_private_line,
)
from constat.catalog.connection import SourceFailureError
from constat.catalog.file_tables import FileTable
from constat.frozen import frozen
from constat.project.apis import ApiSetting
from constat.project.document import printable
from constat.project.files import GCS, S3, VERSIONS, RemoteSetting, TableFiles, split_part
from constat.project.reading import expand
from constat.store.replacing import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.apis.transport import Reply
    from constat.project import Database

_MOST_OBJECTS: Final = 1_000
_MOST_REQUESTS: Final = 5_000
_MOST_TOLD: Final = 20
_LONGEST_NAME: Final = 100
_LONGEST_TAG: Final = 200
_NOT_MODIFIED: Final = 304
_NOT_FOUND: Final = frozenset((404, 410))
_CHANGED: Final = 412
_MOVED: Final = frozenset((301, 307, 400))
_PAGES: Final = (b"<!doctype html", b"<html")
_WILD: Final = frozenset("*[")
_PLAIN_NAME: Final = re.compile(r"[^A-Za-z0-9._ -]")
_EMPTY: Final = hashlib.sha256(b"").hexdigest()
_S3_XML: Final = "{http://s3.amazonaws.com/doc/2006-03-01/}"
_GCS_HOST: Final = "https://storage.googleapis.com"
_GCS_SCOPE: Final = "https://www.googleapis.com/auth/devstorage.read_only"
_LARGEST_KEY: Final = 1 << 16


@frozen
class Listed:
    """An object: how people write its address, where it is asked for, and its tag if it is known.

    `headers` say who asks.
    """

    shown: str
    asking: Asking
    tag: str = ""


@frozen
class Held:
    """An object that was fetched: its copy, and what tells its states apart."""

    shown: str
    file: Path
    size: int
    digest: str
    tag: str = ""
    version: str = ""

    @property
    def told(self) -> str:
        """Say for people and certificates what was read."""
        tag = f"etag {self.tag}, " if self.tag else ""
        version = f"version {self.version}, " if self.version else ""
        return f"{self.shown}: {tag}{version}{self.digest}, {self.size} bytes"


class Objects:
    """The objects behind the tables of one database. `cancel` may be called from any thread."""

    def __init__(self, database: Database, seconds: float) -> None:
        setting = database.remote or RemoteSetting()
        self._setting = setting
        self._seconds = seconds
        self._transport = Transport(
            ApiSetting(
                name=database.name,
                auth=setting.auth,
                private=setting.private,
                seconds=seconds,
                bytes=setting.bytes,
                requests=_MOST_REQUESTS,
            )
        )
        self._places = {
            S3: _S3(setting.environment, self._transport),
            GCS: _Gcs(setting.environment, self._transport),
        }
        self._scratch: Scratch | None = None
        self._held: dict[str, Held] = {}
        self._fresh: set[str] = set()
        self._copies = 0

    @property
    def folder(self) -> Path:
        """Give the folder of the copies; raises `SourceFailureError` where there is no room."""
        if self._scratch is None:
            try:
                self._scratch = Scratch()
            except OSError as problem:
                reason = f"no copy of its objects can be made here ({type(problem).__name__})"
                raise SourceFailureError(reason) from None
        return self._scratch.path

    def begin(self) -> None:
        """Begin an evaluation: each object is asked for once more."""
        self._fresh.clear()
        self._transport.restart()

    def cancel(self) -> None:
        """End the request that runs."""
        self._transport.cancel()

    def close(self) -> None:
        """Take the copies away."""
        self._transport.close()
        self._held.clear()
        self._fresh.clear()
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            scratch.close()

    def table(self, setting: TableFiles) -> FileTable:
        """Fetch what lies behind a table; raises `SourceFailureError`."""
        until = time.monotonic() + self._seconds
        try:
            found, left = [], self._setting.bytes
            for one in self._listed(setting, until):
                found.append(self._fetched(one, setting, until))
                left -= found[-1].size
                _check_room(left, self._setting.bytes)
        except ApiError as problem:
            raise SourceFailureError(problem.reason, problem.code) from None
        except OSError as problem:
            reason = f"no copy of its objects can be made here ({type(problem).__name__})"
            raise SourceFailureError(reason) from None
        told = tuple(one.told for one in found)
        if len(told) > _MOST_TOLD:
            whole = digest_of("\n".join(told).encode())
            more = f"{len(told) - _MOST_TOLD:,} more objects; of all these lines {whole}"
            told = (*told[:_MOST_TOLD], more)
        return FileTable(setting, tuple(one.file for one in found), told=told)

    def _listed(self, setting: TableFiles, until: float) -> Sequence[Listed]:
        """Give the objects of a table in the order of their names."""
        address, _ = split_part(setting.pattern)
        said = expand(address, self._setting.environment)
        if said.text is None:
            names = ", ".join(said.missing)
            raise ApiError(f"it needs the environment variable {names}, which is not set", REFUSED)
        place = self._places.get(setting.scheme)
        shown = address.partition("?")[0]
        if place is None:
            return (Listed(shown, Asking("GET", said.text)),)
        bucket, _, rest = said.text.partition("://")[2].partition("/")
        name, _, query = rest.partition("?")
        key = unquote(name)
        if not _WILD & set(key):
            version = dict(parse_qsl(query)).get(VERSIONS[setting.scheme], "")
            return (Listed(shown, place.asked(bucket, key, version, until)),)
        found = []
        start = re.split(r"[*\[]", key, maxsplit=1)[0]
        for other, tag, version in place.keys(bucket, start, until):
            if _matches(other, key):
                asking = place.asked(bucket, other, version, until)
                found.append(Listed(f"{setting.scheme}://{bucket}/{quote(other)}", asking, tag))
            if len(found) > _MOST_OBJECTS:
                raise ApiError(f"more than {_MOST_OBJECTS:,} objects match `{shown}`", UNREADABLE)
        if not found:
            raise ApiError(f"no object matches `{shown}`")
        return sorted(found, key=lambda one: one.shown)

    def _fetched(self, one: Listed, setting: TableFiles, until: float) -> Held:
        """Fetch an object, unless it is known to be the same."""
        name = f"{one.asking.url}\0{one.shown}"
        known = self._held.get(name)
        if known is not None and name in self._fresh:
            return known
        # A weak tag tells that two states mean the same, not that they are.
        tag = known.tag if known is not None and not known.tag.startswith("W/") else ""
        reply = self._transport.fetch(replace(one.asking, known=tag), until)
        if reply.status == _NOT_MODIFIED and known is not None and tag:
            held = known
        else:
            held = self._copied(one, setting, reply, known)
        if one.tag and held.tag and one.tag != held.tag:
            raise ApiError(f"{one.shown} changed while it was read", "C0542")
        self._held[name] = held
        self._fresh.add(name)
        return held

    def _copied(self, one: Listed, setting: TableFiles, reply: Reply, known: Held | None) -> Held:
        place = self._places.get(setting.scheme)
        if reply.status in _NOT_FOUND:
            raise ApiError(f"there is no object {one.shown}")
        if place is not None:
            place.check(reply)
        check_status(reply)
        page = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if page in {"text/html", "application/xhtml+xml"} or reply.body[
            :4096
        ].lstrip().lower().startswith(_PAGES):
            said = f"{one.shown} is a page for people, and no {setting.ending}"
            raise ApiError(f"{said}; perhaps one has to sign in", UNREADABLE)
        held = Held(
            one.shown,
            Path(),
            len(reply.body),
            digest_of(reply.body),
            _clean(reply.headers.get("etag", "")),
            _clean(
                reply.headers.get("x-amz-version-id", "")
                or reply.headers.get("x-goog-generation", "")
            ),
        )
        if known is not None and known.digest == held.digest:
            return replace(held, file=known.file)
        self._copies += 1
        folder = self.folder / str(self._copies)
        folder.mkdir()
        last = _PLAIN_NAME.sub("_", unquote(PurePosixPath(urlsplit(one.shown).path).name))
        file = folder / (last[-_LONGEST_NAME:].lstrip(".") or f"object{setting.ending}")
        file.write_bytes(reply.body)
        return replace(held, file=file)


def _check_room(left: int, most: int) -> None:
    if left < 0:
        raise ApiError(f"it takes more than {most} bytes; `bytes` allows more", UNREADABLE)


def _clean(said: str) -> str:
    return printable(said, _LONGEST_TAG)


def _matches(key: str, pattern: str) -> bool:
    """Compare part by part: no star stands for a `/`."""
    parts, wanted = key.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


class _Place(ABC):
    """A kind of server that keeps objects in buckets."""

    def __init__(self, environment: Mapping[str, str], transport: Transport) -> None:
        self._environment = environment
        self._transport = transport

    @abstractmethod
    def asked(self, bucket: str, key: str, version: str, until: float) -> Asking:
        """Give the request for an object; an empty version is the newest."""

    @abstractmethod
    def page(self, bucket: str, start: str, token: str, until: float) -> tuple[_Keys, str]:
        """Give some objects whose names begin with `start`, and the token of the next ones."""

    @abstractmethod
    def check(self, reply: Reply) -> None:
        """Raise `ApiError` where it is known what a reply means that is no object."""

    def keys(self, bucket: str, start: str, until: float) -> Iterator[tuple[str, str, str]]:
        """Yield the names, tags and versions of all objects whose names begin with `start`."""
        token, seen = "", {""}
        while True:
            listed, token = self.page(bucket, start, token, until)
            yield from listed
            if not token:
                return
            if token in seen:
                raise ApiError("its list of objects leads back to a page that was read", "C0578")
            seen.add(token)

    def _value(self, *names: str) -> str:
        found = next((self._environment[one] for one in names if self._environment.get(one)), "")
        if found and (not found.isprintable() or not found.isascii()):
            raise ApiError(f"{names[0]} holds characters that no header may hold", DENIED)
        return found


_Keys = list[tuple[str, str, str]]
"""Names of objects; of each its tag or its version, where one is listed."""


class _S3(_Place):
    """S3, and servers that speak as it does; requests are signed with SigV4."""

    def asked(self, bucket: str, key: str, version: str, until: float) -> Asking:  # noqa: ARG002  no token is asked for
        """Give a signed request for an object."""
        return self._signed(
            bucket, quote(key, safe="/~"), {"versionId": version} if version else {}
        )

    def page(self, bucket: str, start: str, token: str, until: float) -> tuple[_Keys, str]:
        """Ask for a part of the list of a bucket."""
        query = {"list-type": "2", "prefix": start, "encoding-type": "url"}
        asking = self._signed(bucket, "", query | ({"continuation-token": token} if token else {}))
        reply = self._transport.fetch(asking, until)
        self.check(reply)
        check_status(reply)
        try:
            found, more, after = _read_list(reply.body)
        except (ET.ParseError, ValueError, LookupError, RecursionError):
            raise ApiError("what it answers is no list of objects", UNREADABLE) from None
        if more and not after:
            raise ApiError("its list of objects is cut off", UNREADABLE)
        return found, after

    def check(self, reply: Reply) -> None:
        """Tell a bucket that lies in another region."""
        region = reply.headers.get("x-amz-bucket-region", "")
        if reply.status in _MOVED and region:
            said = f"the bucket lies in the region {printable(region)}; set AWS_REGION"
            raise ApiError(said, REFUSED)

    def _signed(self, bucket: str, path: str, query: Mapping[str, str]) -> Asking:
        region = self._value("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"
        endpoint = self._value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL").rstrip("/")
        if endpoint or "." in bucket:
            base = f"{endpoint or f'https://s3.{region}.amazonaws.com'}/{bucket}"
        else:
            base = f"https://{bucket}.s3.{region}.amazonaws.com"
        asked = "&".join(
            f"{quote(name, safe='~')}={quote(value, safe='~')}"
            for name, value in sorted(query.items())
        )
        url = f"{base}/{path}{'?' if asked else ''}{asked}"
        key, secret = self._value("AWS_ACCESS_KEY_ID"), self._value("AWS_SECRET_ACCESS_KEY")
        headers = {}
        if key and secret:
            token = self._value("AWS_SESSION_TOKEN")
            if token and not is_private_line(url):
                said = "a token is not sent over http, which anybody can read"
                raise ApiError(said, REFUSED)
            headers = sign_s3(url, (key, secret, token), region, dt.datetime.now(dt.UTC))
        return Asking("GET", url, headers, keyed=False)


def _read_list(body: bytes) -> tuple[_Keys, bool, str]:
    """Read a list of S3: the objects, whether there are more, and the token of the next ones."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise ValueError
    root = ET.fromstring(body)  # noqa: S314  bounded, and without a document type
    space = _S3_XML if root.tag.startswith(_S3_XML) else ""
    if root.tag != f"{space}ListBucketResult":
        raise ValueError
    found = [
        (unquote(one.findtext(f"{space}Key", "")), one.findtext(f"{space}ETag", ""), "")
        for one in root.iter(f"{space}Contents")
    ]
    more = root.findtext(f"{space}IsTruncated", "false") == "true"
    return found, more, root.findtext(f"{space}NextContinuationToken", "") if more else ""


def sign_s3(url: str, keys: tuple[str, str, str], region: str, now: dt.datetime) -> dict[str, str]:
    """Give the headers that sign a request without a body (AWS Signature Version 4).

    `keys` are the name of the key, the key, and a token or nothing.
    """
    name, secret, token = keys
    parts = urlsplit(url)
    moment, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    signed = {"host": parts.netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": moment}
    signed |= {"x-amz-security-token": token} if token else {}
    names = ";".join(sorted(signed))
    lines = "".join(f"{one}:{signed[one]}\n" for one in sorted(signed))
    request = f"GET\n{parts.path}\n{parts.query}\n{lines}\n{names}\n{_EMPTY}"
    scope = f"{day}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
    found = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), text):
        found = hmac.new(found, part.encode(), hashlib.sha256).digest()
    said = f"Credential={name}/{scope}, SignedHeaders={names}, Signature={found.hex()}"
    kept = {one: value for one, value in signed.items() if one != "host"}
    return {**kept, "authorization": f"AWS4-HMAC-SHA256 {said}"}


class _Gcs(_Place):
    """Google Cloud Storage by its JSON interface, with a token or the key of an account."""

    def __init__(self, environment: Mapping[str, str], transport: Transport) -> None:
        super().__init__(environment, transport)
        self._token: tuple[str, float] | None = None

    def asked(self, bucket: str, key: str, version: str, until: float) -> Asking:
        """Give the request for an object, which may ask for a token first."""
        query = {"alt": "media"} | ({"generation": version} if version else {})
        return self._keyed(f"{quote(bucket)}/o/{quote(key, safe='')}", query, until)

    def page(self, bucket: str, start: str, token: str, until: float) -> tuple[_Keys, str]:
        """Ask for a part of the list of a bucket."""
        query = {"prefix": start, "fields": "items(name,generation),nextPageToken"}
        query |= {"pageToken": token} if token else {}
        reply = self._transport.fetch(self._keyed(f"{quote(bucket)}/o", query, until), until)
        check_status(reply)
        try:
            told = json.loads(reply.body)
            found = [
                (str(one["name"]), "", str(one["generation"])) for one in told.get("items", ())
            ]
            return found, str(told.get("nextPageToken") or "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ApiError("what it answers is no list of objects", UNREADABLE) from None

    def check(self, reply: Reply) -> None:
        """There is nothing to tell that the status does not."""

    def _keyed(self, path: str, query: Mapping[str, str], until: float) -> Asking:
        host = self._value("STORAGE_EMULATOR_HOST").rstrip("/") or _GCS_HOST
        host = host if "://" in host else f"http://{host}"
        url = f"{host}/storage/v1/b/{path}?{urlencode(query, quote_via=quote)}"
        token = self._value("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
        token = token or self._of_account(until)
        if token and not is_private_line(url):
            raise ApiError("a token is not sent over http, which anybody can read", REFUSED)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return Asking("GET", url, headers, keyed=False)

    def _of_account(self, until: float) -> str:
        """Give a token for the key that `GOOGLE_APPLICATION_CREDENTIALS` names (RFC 7523)."""
        named = self._environment.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        if not named:
            return ""
        if self._token is not None and time.monotonic() < self._token[1]:
            return self._token[0]
        try:
            with Path(named).open("rb") as file:
                account = json.loads(file.read(_LARGEST_KEY))
            claim = _claim(account, int(time.time()))
            target = str(account["token_uri"])
        except (OSError, ValueError, KeyError, TypeError):
            said = "the file that GOOGLE_APPLICATION_CREDENTIALS names is no key of an account"
            raise ApiError(said, DENIED) from None
        if not is_private_line(target):
            raise ApiError("credentials are not sent over http, which anybody can read", REFUSED)
        grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        body = urlencode({"grant_type": grant, "assertion": claim}).encode()
        headers = {"content-type": "application/x-www-form-urlencoded"}
        asking = Asking("POST", target, headers, body, keyed=False)
        reply = self._transport.fetch(asking, until)
        try:
            told = json.loads(reply.body) if reply.status == 200 else {}  # noqa: PLR2004  the status of success
            token, lasts = str(told["access_token"]), float(told.get("expires_in", 300))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ApiError(f"no token was given (status {reply.status})", DENIED) from None
        if not token.isascii() or not token.isprintable():
            raise ApiError("the token that was given is no text", DENIED)
        self._token = token, time.monotonic() + max(lasts - 30, 0)
        return token


def _claim(account: Mapping[str, str], now: int) -> str:
    """Sign what an account says of itself: a JSON Web Token, RS256."""
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415  heavy library, loaded on first use
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415  heavy library, loaded on first use

    key = serialization.load_pem_private_key(account["private_key"].encode(), None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise TypeError
    head = {"alg": "RS256", "typ": "JWT"}
    said = {
        "iss": account["client_email"],
        "scope": _GCS_SCOPE,
        "aud": account["token_uri"],
        "iat": now,
        "exp": now + 3_600,
    }
    parts = [
        base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (head, said)
    ]
    signature = key.sign(b".".join(parts), padding.PKCS1v15(), hashes.SHA256())
    parts.append(base64.urlsafe_b64encode(signature).rstrip(b"="))
    return b".".join(parts).decode()
