"""What `apis:` of a `constat.yaml` says: where an API is, who asks, how far it is trusted."""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from constat.diagnostics import ConstatError, Span
from constat.frozen import frozen
from constat.project.document import Listing, Node, Table, Text, printable
from constat.project.reading import Expanded, expand, suggestion, unset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.project.reading import Sections

# A secret is named by its environment variable and never written out; whatever came from one is
# kept out of `repr`. Nothing is fetched here.

OPENAPI: Final = "openapi"
GRAPHQL: Final = "graphql"
KINDS: Final = (OPENAPI, GRAPHQL)
STRICT, REPORT = "strict", "report"
SCHEMAS: Final = (STRICT, REPORT)
FAILURE, EMPTY = "failure", "empty"
LINK, NONE, PAGE, OFFSET, CURSOR, URL = "link", "none", "page", "offset", "cursor", "url"
PAGINGS: Final = (LINK, NONE, PAGE, OFFSET, CURSOR, URL)
BEARER, BASIC, HEADER, QUERY, OAUTH = "bearer", "basic", "header", "query", "oauth"
AUTHS: Final = MappingProxyType(
    {
        BEARER: ("token",),
        BASIC: ("user", "password"),
        HEADER: ("name", "value"),
        QUERY: ("name", "value"),
        OAUTH: ("token_url", "client_id", "client_secret", "scope"),
    }
)
_SECRETS: Final = ("token", "password", "value", "client_secret")
_CODE: Final = "C0570"
_OPERATION_KEYS: Final = ("authority", "paging", "not_found")
_KEYS: Final = (
    *("type", "url", "spec_url", "spec_file", "spec_inline", "auth", "headers", "paging"),
    *("authority", "not_found", "operations", "safe", "private", "schema"),
    *("seconds", "retries", "rate", "bytes", "pages", "requests"),
)
_PAGING_KEYS: Final = ("kind", "parameter", "start", "next", "size", "size_parameter")
_RATE: Final = re.compile(r"([1-9][0-9]{0,5})/(s|m|h)\Z", re.ASCII)
_UNITS: Final = MappingProxyType({"s": 1.0, "m": 60.0, "h": 3_600.0})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}\Z", re.ASCII)
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?\Z", re.ASCII)
_LITERALS: Final = MappingProxyType(
    {"true": True, "false": False, "null": None, "~": None, "": None}
)
_OURS: Final = frozenset({"authorization", "host", "content-length", "content-type", "cookie"})
_MOST_RETRIES: Final = 10


@frozen
class AuthSetting:
    """How an API knows who asks. Each value may be a secret."""

    kind: str
    values: Mapping[str, Expanded] = field(default_factory=dict, hash=False, repr=False)


@frozen
class PagingSetting:
    """How an operation gives its further pages.

    `link` follows the header `Link`, `url` an address in the answer at `next`, `cursor` sends the
    text at `next` as `parameter`; `page` and `offset` count `parameter` up until a page is empty.
    `size` is sent as `size_parameter`.
    """

    kind: str = LINK
    parameter: str = ""
    start: int = 1
    next: str = ""
    size: int = 0
    size_parameter: str = ""


@frozen
class OperationSetting:
    """What is said of one operation; `None` leaves to the API what it says of all."""

    authority: bool | None = None
    paging: PagingSetting | None = None
    not_found: str | None = None


@frozen
class ApiSetting:
    """An API: a server whose operations are predicates.

    With `authority` what an operation gives is all there is, once all its pages were read and are
    valid; without it each row is the API's word. Where `not_found` is `empty` the status 404 says
    that there are no rows, if a value of the question stands in the path. `safe` names operations
    that change nothing although their method may. `private` allows addresses of this machine and of
    private networks. Under `schema: report` an answer that does not fit its description is used,
    and never all there is. `seconds`, `retries` and `bytes` bound one request, `pages` a question,
    `requests` one evaluation; `rate` is so many requests in so many seconds.
    """

    name: str
    kind: str = OPENAPI
    url: Expanded | None = field(default=None, repr=False)
    spec_url: Expanded | None = field(default=None, repr=False)
    spec_file: str = ""
    spec_inline: object = field(default=None, hash=False, repr=False)
    auth: AuthSetting | None = None
    headers: Mapping[str, Expanded] = field(default_factory=dict, hash=False, repr=False)
    paging: PagingSetting | None = None
    authority: bool = False
    not_found: str = FAILURE
    operations: Mapping[str, OperationSetting] = field(default_factory=dict, hash=False)
    safe: frozenset[str] = frozenset()
    private: bool = False
    schema: str = STRICT
    seconds: float = 30.0
    retries: int = 2
    rate: tuple[int, float] | None = None
    bytes: int = 16 << 20
    pages: int = 1_000
    requests: int = 1_000
    span: Span | None = field(default=None, compare=False, repr=False)

    def of(self, operation: str) -> tuple[bool, PagingSetting, str]:
        """Give authority, paging and what 404 means for one operation."""
        said = self.operations.get(operation, OperationSetting())
        return (
            self.authority if said.authority is None else said.authority,
            said.paging or self.paging or PagingSetting(),
            said.not_found or self.not_found,
        )

    def says_paging(self, operation: str) -> bool:
        """Whether the project says how an operation gives its further pages."""
        said = self.operations.get(operation, OperationSetting())
        return said.paging is not None or self.paging is not None

    def secrets(self) -> tuple[str, ...]:
        """Give the texts that may never be shown."""
        values = () if self.auth is None else self.auth.values.items()
        found = [one.text for name, one in values if name in _SECRETS]
        found += [one.text for one in self.headers.values() if one.names]
        found += [one.text for one in (self.url, self.spec_url) if one is not None and one.names]
        return tuple(text for text in found if text)

    def expanded(self) -> tuple[Expanded, ...]:
        """Give all texts that may come from the environment."""
        values = () if self.auth is None else self.auth.values.values()
        addresses = [one for one in (self.url, self.spec_url) if one is not None]
        return (*values, *self.headers.values(), *addresses)

    def text(self, value: Expanded) -> str:
        """Give an expanded text; `ConstatError` names a missing environment variable."""
        if value.text is not None:
            return value.text
        names = ", ".join(value.missing)
        message = f"API `{self.name}` needs the environment variable {names}, which is not set"
        raise ConstatError([unset(message, value.missing, self.span)])


def read_apis(
    node: Node, environment: Mapping[str, str], taken: Mapping[str, str], sections: Sections
) -> dict[str, ApiSetting]:
    """Read `apis:`, a table of names; `taken` are the names of other sources, and what they are."""
    found = {}
    for key, value in sections.entries(node, "`apis`"):
        if key.text in taken:
            message = f"`{printable(key.text)}` is a name of a {taken[key.text]} already"
            sections.complain(_CODE, message, key, hint=f"write `{printable(key.text)}_api`")
        if not _NAME.match(key.text):
            message = f"`{printable(key.text)}` is no name for an API"
            sections.complain(_CODE, message, key, hint="use letters, digits, `_` and `-`")
        found[key.text] = _Reading(environment, sections, key).api(value)
    return found


def read_auth(
    key: Text,
    node: Node | None,
    what: str,
    environment: Mapping[str, str],
    sections: Sections,
) -> AuthSetting | None:
    """Read how a server of something else than an API knows who asks; `what` names that."""
    reading = _Reading(environment, sections, key)
    reading.what = what
    return reading.auth(node)


class _Reading:
    """Reads one API."""

    def __init__(self, environment: Mapping[str, str], sections: Sections, key: Text) -> None:
        self.environment = environment
        self.sections = sections
        self.key = key
        self.what = f"API `{printable(key.text)}`"

    def api(self, node: Node) -> ApiSetting:
        sections, plain = self.sections, ApiSetting(self.key.text)
        entries: Mapping[str, Node] = {"spec_url": node}
        if not isinstance(node, Text):
            entries = sections.table(node, self.what, _KEYS)
        kind = self._choice(entries.get("type"), "`type`", KINDS, OPENAPI)
        if sections.text(entries.get("type"), "`type`", kind) == kind:
            self._check_whole(kind, entries, node)
        auth = self.auth(entries.get("auth"))
        paging = self._paging(entries.get("paging"))
        operations = entries.get("operations", Table((), self.key.span))
        keyed = auth is not None
        return ApiSetting(
            name=self.key.text,
            kind=kind,
            url=self._address(entries.get("url"), "`url`", keyed=keyed),
            spec_url=self._address(entries.get("spec_url"), "`spec_url`", keyed=False),
            spec_file=self._file(entries.get("spec_file")),
            spec_inline=plain_value(entries["spec_inline"]) if "spec_inline" in entries else None,
            auth=auth,
            headers=self._headers(entries.get("headers")),
            paging=paging,
            authority=sections.flag(entries.get("authority"), "`authority`"),
            not_found=self._not_found(entries.get("not_found"), plain.not_found),
            operations={
                key.text: self._operation(key, value)
                for key, value in sections.entries(operations, f"`operations` of {self.what}")
            },
            safe=frozenset(one.text for one in sections.texts(entries.get("safe"), "`safe`")),
            private=sections.flag(entries.get("private"), "`private`"),
            schema=self._choice(entries.get("schema"), "`schema`", SCHEMAS, STRICT),
            seconds=sections.seconds(entries.get("seconds"), "`seconds`", plain.seconds),
            retries=self._retries(entries.get("retries"), plain.retries),
            rate=self._rate(entries.get("rate")),
            bytes=sections.integer(entries.get("bytes"), "`bytes`", plain.bytes),
            pages=sections.integer(entries.get("pages"), "`pages`", plain.pages),
            requests=sections.integer(entries.get("requests"), "`requests`", plain.requests),
            span=self.key.span,
        )

    def _check_whole(self, kind: str, entries: Mapping[str, Node], node: Node) -> None:
        """An API of GraphQL has an address, one of OpenAPI exactly one description."""
        specs = [key for key in ("spec_url", "spec_file", "spec_inline") if key in entries]
        if kind == GRAPHQL:
            if "url" not in entries:
                self._complain(f"{self.what} has no `url`", node, "write `url: https://...`")
            if specs:
                hint = f"delete `{specs[0]}`: GraphQL describes itself"
                self._complain(f"{self.what} is of GraphQL and has `{specs[0]}`", node, hint)
        elif len(specs) != 1:
            said = "has no description" if not specs else f"has both `{specs[0]}` and `{specs[1]}`"
            hint = "write one of `spec_url`, `spec_file` and `spec_inline`"
            self._complain(f"{self.what} {said}", node, hint)
        elif specs == ["spec_inline"] and not isinstance(entries["spec_inline"], Table):
            hint = 'write `spec_inline: {openapi: "3.0.0", paths: {...}}`'
            self._complain(f"`spec_inline` of {self.what} is no table", node, hint)

    def _address(self, node: Node | None, what: str, *, keyed: bool) -> Expanded | None:
        if node is None:
            return None
        found = expand(self.sections.text(node, what), self.environment)
        problem = f"{what} of {self.what} has a `${{` without a name and `}}`"
        if not found.malformed:
            problem = "" if found.text is None else unsafe(found.text, what, keyed=keyed)
        if problem:
            self._complain(problem, node, f"write {what[:-1]}: https://...`")
        return found

    def _file(self, node: Node | None) -> str:
        written = self.sections.text(node, "`spec_file`")
        path = PurePosixPath(written)
        if node is not None and (path.is_absolute() or ".." in path.parts):
            note = "descriptions lie in the project's folder"
            message = "this path leads out of the project"
            self.sections.complain("C0505", message, node, note=note)
            return ""
        return written

    def auth(self, node: Node | None) -> AuthSetting | None:
        """Read how it knows who asks."""
        if node is None:
            return None
        entries = dict(self.sections.entries(node, f"`auth` of {self.what}"))
        named = {key.text: value for key, value in entries.items()}
        kind = self._choice(named.pop("type", None), "`type` of `auth`", tuple(AUTHS), BEARER)
        values: dict[str, Expanded] = {}
        for key, value in entries.items():
            if key.text == "type":
                continue
            if key.text not in AUTHS[kind]:
                message = f"unknown key `{printable(key.text)}` in `auth` of {self.what}"
                hint = suggestion(key.text, AUTHS[kind])
                self.sections.complain("C0503", message, key, hint=hint)
                continue
            values[key.text] = self._credential(key, value)
        for name in AUTHS[kind]:
            if name not in values and name != "scope":
                hint = f"write `auth: {{type: {kind}, {name}: ${{NAME}}}}`"
                self._complain(f"`auth` of {self.what} has no `{name}`", node, hint)
        return AuthSetting(kind, values)

    def _credential(self, key: Text, node: Node) -> Expanded:
        found = expand(self.sections.text(node, f"`{key.text}`"), self.environment)
        if found.malformed or (key.text in _SECRETS and not found.names):
            # What was written is perhaps the secret itself: it is not shown.
            hint = f"name the variable of the environment that holds it: `{key.text}: ${{NAME}}`"
            message = f"`{key.text}` of `auth` of {self.what} is no reference to the environment"
            self._complain(message, node, hint)
        if key.text == "token_url" and found.text is not None:
            problem = unsafe(found.text, "`token_url`", keyed=True)
            if problem:
                self._complain(problem, node, "write `token_url: https://...`")
        return found

    def _headers(self, node: Node | None) -> dict[str, Expanded]:
        found = {}
        for key, value in self.sections.entries(node or Table((), self.key.span), "`headers`"):
            name = key.text.lower()
            if not _HEADER.match(name) or name in _OURS:
                hint = "write `auth:` for who asks" if name == "authorization" else "leave it out"
                self._complain(f"`{printable(key.text)}` is no header to set", key, hint)
                continue
            said = expand(self.sections.text(value, f"header `{key.text}`"), self.environment)
            if said.malformed or not (said.text or "").isprintable():
                self._complain(f"header `{key.text}` holds what no header can", value, "")
                continue
            found[name] = said
        return found

    def _paging(self, node: Node | None) -> PagingSetting | None:
        if node is None:
            return None
        entries: Mapping[str, Node] = {"kind": node}
        if not isinstance(node, Text):
            entries = self.sections.table(node, f"`paging` of {self.what}", _PAGING_KEYS)
        inferred = PAGE if "next" not in entries else CURSOR if "parameter" in entries else URL
        kind = self._choice(entries.get("kind"), "`kind` of `paging`", PAGINGS, inferred)
        text = self.sections.text
        start = text(entries.get("start"), "`start`", "0" if kind == OFFSET else "1")
        if not (start.isascii() and start.isdigit() and len(start) < len("1000000000")):
            self._complain("`start` is not a whole number", entries["start"], "write `start: 1`")
            start = "1"
        found = PagingSetting(
            kind,
            text(entries.get("parameter"), "`parameter`"),
            int(start),
            text(entries.get("next"), "`next`"),
            self.sections.integer(entries["size"], "`size`", 1) if "size" in entries else 0,
            text(entries.get("size_parameter"), "`size_parameter`"),
        )
        wanted = {"parameter": {PAGE, OFFSET, CURSOR}, "next": {CURSOR, URL}}
        for name, kinds in wanted.items():
            if kind in kinds and not getattr(found, name):
                hint = f"write `paging: {{kind: {kind}, {name}: ...}}`"
                self._complain(f"`paging` of {self.what} has no `{name}`", node, hint)
        return found

    def _operation(self, key: Text, node: Node) -> OperationSetting:
        what = f"operation `{printable(key.text)}` of {self.what}"
        entries = self.sections.table(node, what, _OPERATION_KEYS)
        authority, not_found = entries.get("authority"), entries.get("not_found")
        return OperationSetting(
            None if authority is None else self.sections.flag(authority, "`authority`"),
            self._paging(entries.get("paging")),
            None if not_found is None else self._not_found(not_found, FAILURE),
        )

    def _not_found(self, node: Node | None, default: str) -> str:
        return self._choice(node, "`not_found`", (FAILURE, EMPTY), default)

    def _retries(self, node: Node | None, default: int) -> int:
        if node is None or self.sections.text(node, "`retries`") == "0":
            return default if node is None else 0
        return min(self.sections.integer(node, "`retries`", default), _MOST_RETRIES)

    def _rate(self, node: Node | None) -> tuple[int, float] | None:
        if node is None:
            return None
        found = _RATE.match(self.sections.text(node, "`rate`"))
        if found is None:
            self._complain("`rate` is no number of requests in a time", node, "write `rate: 5/s`")
            return None
        return int(found[1]), _UNITS[found[2]]

    def _choice(self, node: Node | None, what: str, known: tuple[str, ...], default: str) -> str:
        written = self.sections.text(node, what, default)
        if written in known or node is None:
            return written if written in known else default
        hint = suggestion(written, known) or f"known: {', '.join(known)}"
        self._complain(f"{what} of {self.what} is none of {', '.join(known)}", node, hint)
        return default

    def _complain(self, message: str, node: Node, hint: str) -> None:
        self.sections.complain(_CODE, message, node, hint=hint)


def unsafe(address: str, what: str, *, keyed: bool) -> str:
    """Tell why nothing may be sent to an address; empty where it may."""
    try:
        parts = urlsplit(address)
        host, secret, _ = parts.hostname or "", parts.username or parts.password, parts.port
    except ValueError:
        return f"{what} is no address"
    if parts.scheme not in {"http", "https"} or not host or parts.fragment:
        return f"{what} is no http or https address"
    if secret is not None:
        return f"{what} has a name or password in it; that is said by `auth`"
    local = host in {"localhost", "::1"} or re.match(r"127(?:\.[0-9]{1,3}){3}\Z", host, re.ASCII)
    if keyed and parts.scheme == "http" and not local:
        return f"{what} would send a secret over a line that anybody can read"
    return ""


def plain_value(node: Node) -> object:
    """Give a node as JSON would have it: texts without quotes may be numbers or truth values."""
    match node:
        case Table(entries=entries):
            return {key.text: plain_value(value) for key, value in entries}
        case Listing(entries=nodes):
            return [plain_value(one) for one in nodes]
        case Text(text=text, bare=True) if text in _LITERALS:
            return _LITERALS[text]
        case Text(text=text, bare=True) if len(text) < len("-123456789012345678") and (
            number := _NUMBER.match(text)
        ):
            return float(text) if number[1] else int(text)
        case Text(text=text):
            return text
