"""Who may come in, as what, and how often.

In: a file of tokens, the headers of requests. Out: callers with their roles. Invariants: a token is
kept as its hash alone; a token of a program (`model`) is never an approver's or an admin's, so that
nothing which a model sends can approve.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.project.settings import ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "MODEL",
    "ROLES",
    "Access",
    "Bounds",
    "Caller",
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


@frozen
class Access:
    """Who may come in. `tokens` are callers by the SHA-256 of their token; without any, `anybody`.

    `hosts` are the names that a request may have for this server where nobody shows a token: a page
    of a browser gets to loopback by a name of its own.
    """

    tokens: Mapping[str, Caller]
    anybody: Caller | None = None
    hosts: frozenset[str] = frozenset()

    def caller(self, authorization: str) -> Caller | None:
        """Give who asks; nothing for a token that nobody has."""
        if self.anybody is not None:
            return self.anybody
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self.tokens.get(hashlib.sha256(token.strip().encode()).hexdigest())


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


def access_of(tokens: Path | None, host: str, port: int, who: str) -> Access:
    """Say who may come in: who has a token, or without tokens whoever is on this machine."""
    if tokens is not None:
        return Access(read_tokens(tokens))
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
