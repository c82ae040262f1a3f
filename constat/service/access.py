"""Who may come in, as what, and how often.

In: a file of tokens or an issuer of them, the headers of requests. Out: callers with their roles.
Invariants: a token is kept as its hash alone; a token of a program (`model`) is never an approver's
or an admin's, so that nothing which a model sends can approve.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.apis.transport import ApiError, Asking, Transport
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.project.apis import ApiSetting
from constat.project.loading import is_private_line
from constat.project.settings import ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jwt import PyJWK

    from constat.project.settings import LoginSetting

__all__ = [
    "MODEL",
    "ROLES",
    "Access",
    "Bounds",
    "Caller",
    "DeniedError",
    "Issuer",
    "Turns",
    "access_of",
    "new_token",
    "read_tokens",
]

MODEL: Final = "model"
_OF_MODELS: Final = ("viewer", "analyst")
_TOKEN_BYTES: Final = 32
_TOKEN_LINE: Final = re.compile(r"(\S{1,100})\s+(\w+)\s+sha256:([0-9a-f]{64})(\s+model)?")
_CODE: Final = "C0592"


@frozen
class Caller:
    """Who asks, and as what. `known` callers have shown a token; `model` is that of a program."""

    name: str
    role: str
    model: bool = False
    known: bool = True

    def may(self, role: str) -> bool:
        """Whether this role, or one above it, is the caller's."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def person(self) -> bool:
        """Whether it is known that a person asks: who has a person's token."""
        return self.known and not self.model


class DeniedError(Exception):
    """A token that lets nobody in; `str()` says why, and `status` is that of HTTP."""

    def __init__(self, reason: str, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


@frozen
class Access:
    """Who may come in. `tokens` are callers by the SHA-256 of their token; without any, `anybody`.

    Tokens of an `issuer` are taken beside them.

    `hosts` are the names that a request may have for this server where nobody shows a token: a page
    of a browser gets to loopback by a name of its own.
    """

    tokens: Mapping[str, Caller]
    anybody: Caller | None = None
    hosts: frozenset[str] = frozenset()
    issuer: Issuer | None = None

    def caller(self, authorization: str) -> Caller | None:
        """Give who asks; nothing for a token that nobody has.

        Raises `DeniedError` for one of the issuer's that does not count. May wait for the issuer.
        """
        if self.anybody is not None:
            return self.anybody
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = self.tokens.get(hashlib.sha256(token.strip().encode()).hexdigest())
        if found is not None or self.issuer is None:
            return found
        caller = self.issuer.caller(token.strip())
        if any(caller.name == one.name for one in self.tokens.values()):
            raise DeniedError("its name is that of somebody with a token of this server")
        return caller


@frozen
class Bounds:
    """What a server bears: requests at once, requests of a caller in a second, seconds of one."""

    pending: int = 64
    rate: float = 50.0
    burst: int = 200
    seconds: float = 120.0


class Turns:
    """Counts what callers ask: so many at once, and so many more each second."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> bool:
        """Take a turn; false where the caller has none left."""
        now = time.monotonic()
        left, before = self._left.get(name, (float(self._bounds.burst), now))
        left = min(self._bounds.burst, left + (now - before) * self._bounds.rate) - 1
        self._left[name] = (max(left, -1.0), now)
        return left >= 0


def read_tokens(path: Path) -> Mapping[str, Caller]:
    """Read `NAME ROLE sha256:HEX` lines, with ` model` behind those of programs.

    Raises `ConstatError` for a line that is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _mistake(f"the file of tokens `{path.name}` cannot be read") from None
    tokens: dict[str, Caller] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _TOKEN_LINE.fullmatch(line.strip())
        if found is None or not _fits(found):
            raise _mistake(f"line {number} of `{path.name}` is no token")
        tokens[found[3]] = Caller(found[1], found[2], found[4] is not None)
    if not tokens:
        raise _mistake(f"there is no token in `{path.name}`")
    return tokens


def _fits(line: re.Match[str]) -> bool:
    return line[2] in (ROLES if line[4] is None else _OF_MODELS)


def access_of(
    tokens: str | Path | None, host: str, port: int, who: str, login: LoginSetting | None = None
) -> Access:
    """Say who may come in: who has a token, or without any way to whoever is on this machine."""
    issuer = None if login is None else Issuer(login)
    if tokens is not None or issuer is not None:
        return Access({} if tokens is None else read_tokens(Path(tokens)), issuer=issuer)
    shown = f"[{host}]" if ":" in host else host
    names = (shown, "127.0.0.1", "localhost", "[::1]")
    anybody = Caller(who, ROLES[-1], known=False)
    return Access({}, anybody, frozenset(f"{one}:{port}" for one in names))


def new_token(path: Path, name: str, role: str, kind: str = "") -> str:
    """Add a token to a file, which keeps its hash alone; gives the token, which is shown once.

    `kind` is `model` for a program that a model drives, empty for a person's.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    line = f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()}"
    found = _TOKEN_LINE.fullmatch(f"{line} {kind}".strip())
    if found is None or kind not in {"", MODEL} or not _fits(found):
        raise _mistake("a token is of a name without spaces, and of a role")
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{found[0]}\n")
    return token


def _mistake(message: str) -> ConstatError:
    hint = (
        "`constat serve --tokens FILE --new-token NAME:ROLE` adds one; roles: "
        f"{', '.join(ROLES)}; NAME:ROLE:model is that of a program, {' or '.join(_OF_MODELS)}"
    )
    return ConstatError([Diagnostic(_CODE, message, help=hint)])


# Tokens of an issuer of OpenID Connect are JSON Web Tokens (RFC 7519, RFC 9068) signed with one of
# its keys, which it publishes. Nothing that a token says of keys or algorithms is believed: a key
# is one of the issuer's, and signs in its own way only.

_ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_LONGEST_TOKEN: Final = 16_384
_LONGEST_CALLER: Final = 100
_LONGEST_KEYS: Final = 1 << 20
_ISSUER_SECONDS: Final = 5.0
_LEEWAY_SECONDS: Final = 60.0
_FRESH_SECONDS: Final = 600.0
_STALE_SECONDS: Final = 3_600.0
_BETWEEN_SECONDS: Final = 10.0
_NAMED: Final = ("exp", "iss", "aud", "sub")
_CLIENTS: Final = ("azp", "client_id")


class Issuer:
    """Reads the tokens of an issuer. May be used by many threads.

    Its keys are asked for when the first token comes, again after ten minutes and for a key that is
    not known; where it does not answer, those that are known count for an hour.
    """

    def __init__(self, setting: LoginSetting) -> None:
        self._setting = setting
        self._asking = threading.Lock()
        self._keys: Mapping[str, PyJWK] = {}
        self._read_at = self._tried_at = -math.inf

    def caller(self, token: str) -> Caller:
        """Give whose token it is; raises `DeniedError`."""
        claims = self._claims(token)
        name = claims.get(self._setting.name)
        if not isinstance(name, str) or not _is_name(name):
            raise DeniedError(f"its claim {self._setting.name} names nobody")
        roles = [self._setting.roles[one] for one in self._groups(claims)]
        if not roles:
            raise DeniedError("none of its groups has a role here", 403)
        role = max(roles, key=ROLES.index)
        client = next((claims[one] for one in _CLIENTS if one in claims), None)
        if isinstance(client, str) and client in self._setting.people:
            return Caller(name, role)
        return Caller(name, min(role, _OF_MODELS[-1], key=ROLES.index), model=True)

    def _groups(self, claims: Mapping[str, Any]) -> list[str]:
        found: object = claims
        for part in self._setting.claim.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        listed = found.split() if isinstance(found, str) else found
        if not isinstance(listed, list):
            return []
        return [one for one in listed if isinstance(one, str) and one in self._setting.roles]

    def _claims(self, token: str) -> Mapping[str, Any]:
        import jwt  # noqa: PLC0415  heavy library, loaded on first use

        if len(token) > _LONGEST_TOKEN:
            raise DeniedError("the token is too long")
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._setting.audience,
                issuer=self._setting.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": list(_NAMED)},
            )
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError) as problem:
            # What the library says names claims, never their values.
            kind = type(problem).__name__.removesuffix("Error")
            raise DeniedError(f"the token does not count ({kind})") from None
        return claims

    def _key(self, identity: object) -> PyJWK:
        if not isinstance(identity, str):
            raise DeniedError("the token does not say which key signed it")
        fresh = time.monotonic() - self._read_at < _FRESH_SECONDS
        # One asks; the others go on with what is known, if anything is.
        if not (fresh and identity in self._keys) and self._asking.acquire(blocking=not self._keys):
            try:
                self._refresh(identity)
            finally:
                self._asking.release()
        if time.monotonic() - self._read_at > _STALE_SECONDS:
            raise DeniedError("the issuer of tokens does not give its keys", 503)
        found = self._keys.get(identity)
        if found is None:
            raise DeniedError("no key of the issuer signed the token")
        return found

    def _refresh(self, identity: str) -> None:
        now = time.monotonic()
        known = now - self._read_at < _FRESH_SECONDS and identity in self._keys
        if known or now - self._tried_at < _BETWEEN_SECONDS:
            return
        self._tried_at = now
        # Where nothing comes, what is known goes on to count for a while.
        with suppress(ApiError, ValueError, TypeError, KeyError, RecursionError):
            self._keys, self._read_at = self._asked_keys(now + _ISSUER_SECONDS), now

    def _asked_keys(self, until: float) -> Mapping[str, PyJWK]:
        import jwt  # noqa: PLC0415  heavy library, loaded on first use

        issuer = self._setting.issuer
        transport = Transport(
            ApiSetting("login", private=True, seconds=_ISSUER_SECONDS, bytes=_LONGEST_KEYS)
        )
        try:
            place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            told = _asked(transport, place, until)
            if told["issuer"] != issuer:
                raise ValueError("it calls itself otherwise")
            listed = _asked(transport, str(told["jwks_uri"]), until)["keys"]
        finally:
            transport.close()
        keys = {}
        for one in listed if isinstance(listed, list) else ():
            try:
                key = jwt.PyJWK(one)
            except jwt.PyJWTError:
                # Of a kind that this library does not know.
                continue
            if key.key_id and one.get("use", "sig") == "sig" and key.algorithm_name in _ALGORITHMS:
                keys[key.key_id] = key
        return keys


def _asked(transport: Transport, address: str, until: float) -> Mapping[str, Any]:
    """Ask the issuer; raises `ApiError` or `ValueError`."""
    if not is_private_line(address):
        raise ValueError("an address that is not of https")
    reply = transport.fetch(Asking("GET", address, keyed=False), until)
    found = json.loads(reply.body) if reply.status == 200 else None  # noqa: PLR2004  the status of success
    if not isinstance(found, dict):
        raise ValueError("no object came")  # noqa: TRY004  what came is wrong, not its type
    return found


def _is_name(text: str) -> bool:
    return (
        0 < len(text) <= _LONGEST_CALLER and text.isprintable() and not any(map(str.isspace, text))
    )
