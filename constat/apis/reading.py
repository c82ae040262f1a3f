"""One API: its description, which is kept, and the answers of its operations, page by page."""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from posixpath import dirname, join, normpath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urljoin

from constat.apis.openapi import UNDESCRIBED, OpenApi
from constat.apis.operations import (
    ANYTHING,
    ARGUMENT,
    DAY,
    DECIMAL,
    LIST,
    MOMENT,
    NUMBER,
    PATH,
    TABLE,
    TEXT,
    TRUTH,
    Operation,
    Parameter,
)
from constat.apis.shapes import (
    ENTRIES,
    PLACE,
    Field,
    Json,
    LeftOut,
    Listed,
    PathError,
    Shape,
    path_text,
    read_json,
    read_path,
)
from constat.apis.shapes import Path as FieldPath
from constat.apis.transport import (
    REFUSED,
    UNREADABLE,
    ApiError,
    Asking,
    Reply,
    Transport,
    check_status,
    digest_of,
    origin_of,
)
from constat.frozen import frozen, slotted
from constat.project import inside
from constat.project.apis import (
    CURSOR,
    EMPTY,
    GRAPHQL,
    LINK,
    NONE,
    OFFSET,
    PAGE,
    STRICT,
    URL,
    ApiSetting,
    PagingSetting,
    plain_value,
)
from constat.project.document import printable, read_document
from constat.store.clock import now
from constat.store.replacing import Replacements

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphql import GraphQLField, GraphQLSchema

    from constat.apis.operations import Description
    from constat.diagnostics import Diagnostic

# APIs of GraphQL: they describe themselves, and a query names the fields that are read.
#
# Each field of the query root is an operation, and each of the mutations, which is refused unless
# it is named as safe. A list of the form of Relay's connections is read page by page. Of a union
# or an interface `__typename` is a field, and `Book__pages` the field `pages` of things of the
# type `Book`. Reference: GraphQL, October 2021, sections 4 and 6; GraphQL Cursor Connections.

AFTER: Final = "after"
_TYPE: Final = "__typename"
_OF: Final = "__"
"""What stands between a type and its field where only some things have that type."""
_PAGE: Final = "pageInfo"
_HAS_NEXT: Final = ("pageInfo", "hasNextPage")
_END: Final = ("pageInfo", "endCursor")
_MOST_FIELDS: Final = 2_000
_DEEPEST: Final = 5
_KINDS: Final = MappingProxyType(
    {
        "Int": NUMBER,
        "Float": DECIMAL,
        "String": TEXT,
        "ID": TEXT,
        "Boolean": TRUTH,
        "Date": DAY,
        "DateTime": MOMENT,
        "Decimal": DECIMAL,
        "BigInt": NUMBER,
    }
)


def introspection() -> bytes:
    """Give the question by which an API of GraphQL describes itself."""
    from graphql import get_introspection_query  # noqa: PLC0415  heavy library, loaded on first use

    return json.dumps({"query": get_introspection_query(descriptions=True)}).encode()


class GraphQl:
    """What one API says of itself. Implements `Description`."""

    version = ""

    def __init__(self, setting: ApiSetting, document: Json, content: bytes) -> None:
        """Take an answer to `introspection`; raises `ApiError` where it is none."""
        from graphql import build_client_schema  # noqa: PLC0415  heavy library, loaded on first use

        told = document.get("data") if isinstance(document, dict) else None
        try:
            self._schema: GraphQLSchema = build_client_schema(cast("Any", told))
        except Exception as problem:  # noqa: BLE001  the library finds mistakes in its own ways
            reason = f"it does not describe itself as GraphQL does ({type(problem).__name__})"
            raise ApiError(reason, UNDESCRIBED) from None
        self._setting = setting
        self.digest = digest_of(content)
        self.title = setting.name

    @cached_property
    def operations(self) -> Mapping[str, Operation]:
        """The fields of the query root, and behind them those of mutations."""
        found: dict[str, Operation] = {}
        roots = (("query", self._schema.query_type), ("mutation", self._schema.mutation_type))
        for word, root in roots:
            for name, told in ({} if root is None else root.fields).items():
                if name not in found:
                    safe = word == "query" or name in self._setting.safe
                    found[name] = _operation(word, name, told, safe=safe)
        return found

    def _field(self, operation: Operation) -> GraphQLField:
        root = self._schema.query_type
        if not operation.form.startswith("query"):
            root = self._schema.mutation_type
        if root is None:
            raise ApiError("it has no operations of that kind", UNDESCRIBED)
        found: GraphQLField = root.fields[operation.name]
        return found

    def asking(self, operation: Operation, sent: Mapping[str, object], shape: Shape) -> Asking:
        """Make the query that reads the fields of a shape."""
        types = {one.name: one.type_text for one in operation.parameters}
        named = [(name, f"${name}: {types[name]}") for name in sent if name in types]
        heads = ", ".join(one for _, one in named)
        arguments = ", ".join(f"{name}: ${name}" for name, _ in named)
        selected = self._selected(operation, shape)
        word = operation.form.partition(" ")[0]
        text = (
            f"{word}{f'({heads})' if heads else ''} {{ {operation.name}"
            f"{f'({arguments})' if arguments else ''}{selected} }}"
        )
        self._check(text)
        body = {"query": text, "variables": {name: _value(sent[name]) for name, _ in named}}
        headers = {"accept": "application/json", "content-type": "application/json"}
        content = json.dumps(body, sort_keys=True).encode()
        url = self._setting.text(self._setting.url) if self._setting.url is not None else ""
        return Asking("POST", url, headers, content)

    def _check(self, text: str) -> None:
        """Raise `ApiError` where a query cannot be right for the API."""
        from graphql import GraphQLError, parse, validate  # noqa: PLC0415  heavy library, loaded on first use

        try:
            problems = validate(self._schema, parse(text))
        except GraphQLError as problem:
            problems = [problem]
        if problems:
            raise ApiError(" ".join(problems[0].message.split())[:200], "C0573")

    def _selected(self, operation: Operation, shape: Shape) -> str:
        """Give the fields that the paths of a shape go through, as GraphQL writes them."""
        tree: dict[str, Any] = {}
        rows = shape.rows.steps
        paths = [one.steps if one.whole else (*rows, *one.steps) for one in shape.columns]
        for steps in (*paths, rows, *self._pages(operation, shape)):
            here = tree
            for name in (one for one in steps if one not in {ENTRIES, PLACE}):
                here = here.setdefault(name, {})
        return self._written(tree, self._field(operation).type)

    def _pages(self, operation: Operation, shape: Shape) -> tuple[tuple[str, ...], ...]:
        return (_HAS_NEXT, _END) if self.is_connection(operation, shape) else ()

    def is_connection(self, operation: Operation, shape: Shape) -> bool:
        """Tell whether an operation gives pages as Relay's connections do."""
        from graphql import GraphQLObjectType, get_named_type  # noqa: PLC0415  heavy library, loaded on first use

        told = get_named_type(self._field(operation).type)
        has_pages = isinstance(told, GraphQLObjectType) and _PAGE in told.fields
        takes = any(one.name == AFTER for one in operation.parameters)
        return has_pages and takes and ENTRIES in shape.rows.steps

    def payload(self, document: Json) -> Json:
        """Give the one field that was asked for; raises `ApiError` where it reports errors."""
        if not isinstance(document, dict):
            raise ApiError("the answer is none of GraphQL", "C0577")
        if document.get("errors"):
            raise ApiError("it reports errors in its answer", "C0577")
        data = document.get("data")
        if not isinstance(data, dict) or len(data) != 1:
            raise ApiError("the answer is none of GraphQL", "C0577")
        return next(iter(data.values()))

    def problem(self, operation: Operation, document: Json) -> str:
        """Tell where an answer does not fit the types; GraphQL names them for each field."""
        return self._misfit(self._field(operation).type, document, "$")

    def fields(self, operation: Operation) -> Listed:
        """Give the fields of an answer."""
        found: list[Field] = []
        left_out: list[LeftOut] = []
        self._walk(self._field(operation).type, (), (found, left_out), frozenset())
        is_open = len(found) > _MOST_FIELDS
        return Listed.of(found[:_MOST_FIELDS], is_open=is_open, left_out=left_out)

    def rows(self, operation: Operation) -> str:
        """Give `[]` where an answer is a list."""
        return ENTRIES if _kind(self._field(operation).type) == LIST else ""

    def _parts(self, told: Any) -> tuple[Mapping[str, GraphQLField], Mapping[str, str]]:  # noqa: ANN401  a type of the library
        """Give the fields of what a type names, and of which type those are that only some have."""
        from graphql import get_named_type, is_abstract_type  # noqa: PLC0415  heavy library, loaded on first use

        bare = get_named_type(told)
        found: dict[str, GraphQLField] = dict(getattr(bare, "fields", {}))
        types: dict[str, str] = {}
        for one in self._schema.get_possible_types(bare) if is_abstract_type(bare) else ():
            own = {name: each for name, each in one.fields.items() if name not in found}
            found |= {f"{one.name}{_OF}{name}": each for name, each in own.items()}
            types |= dict.fromkeys((f"{one.name}{_OF}{name}" for name in own), one.name)
        return found, types

    def _walk(
        self,
        told: Any,  # noqa: ANN401  a type of the library
        path: tuple[str, ...],
        into: tuple[list[Field], list[LeftOut]],
        around: frozenset[str],
    ) -> None:
        from graphql import get_nullable_type, is_abstract_type, is_non_null_type  # noqa: PLC0415  heavy library, loaded on first use

        (found, left_out), bare = into, get_nullable_type(told)
        if _kind(told) == LIST:
            inner, here = bare.of_type, (*path, ENTRIES)
            if _kind(inner) in {LIST, TABLE}:
                self._walk(inner, here, into, around)
            else:
                found.append(Field(here, _kind(inner), not is_non_null_type(inner)))
            return
        if len(found) > _MOST_FIELDS:
            return
        if str(bare) in around or len(path) >= 2 * _DEEPEST:
            why = f"`{bare}` stands around it" if str(bare) in around else "it lies too deep"
            left_out.append(LeftOut(path, why))
            return
        parts, types = self._parts(bare)
        if is_abstract_type(bare):
            found.append(Field((*path, _TYPE), TEXT, nullable=False))
        for name, one in parts.items():
            kind, here, argument = _kind(one.type), (*path, name), _needed(one)
            if argument:
                left_out.append(LeftOut(here, f"it needs the argument `{argument}`"))
                continue
            if kind in {LIST, TABLE}:
                inside = {str(bare), types.get(name, str(bare))}
                self._walk(one.type, here, into, around | inside)
            missing = name in types or not is_non_null_type(one.type)
            found.append(Field(here, kind, missing, _line(one.description)))

    def _misfit(self, told: Any, found: Json, where: str) -> str:  # noqa: ANN401  a type of the library
        """Tell where a value does not fit a type; fields that were not asked for are not there."""
        from graphql import get_nullable_type, is_non_null_type  # noqa: PLC0415  heavy library, loaded on first use

        if found is None:
            return f"{where} is null, which it never is" if is_non_null_type(told) else ""
        bare, kind = get_nullable_type(told), _kind(told)
        if kind == LIST:
            if not isinstance(found, list):
                return f"{where} is no list"
            inner = (self._misfit(bare.of_type, x, f"{where}[{n}]") for n, x in enumerate(found))
            return next(filter(None, inner), "")
        if kind == TABLE:
            if not isinstance(found, dict):
                return f"{where} is no table"
            fields, _ = self._parts(bare)
            parts = (
                self._misfit(fields[name].type, one, f"{where}.{name}")
                for name, one in found.items()
                if name in fields
            )
            return next(filter(None, parts), "")
        return "" if _fits(kind, found) else f"{where} is no {bare}"

    def _written(self, tree: Mapping[str, Any], told: Any) -> str:  # noqa: ANN401  a type of the library
        """Spell the fields of a tree; one that only some types have under its own name."""
        if not tree:
            return ""
        fields, types = self._parts(told)
        parts = []
        for name, inner in tree.items():
            below = self._written(inner, fields[name].type) if name in fields else ""
            if name in types:
                plain = name.removeprefix(f"{types[name]}{_OF}")
                parts.append(f"... on {types[name]} {{ {name}: {plain}{below} }}")
            else:
                parts.append(name + below)
        return " { " + " ".join(parts) + " }"


def _operation(word: str, name: str, told: GraphQLField, *, safe: bool) -> Operation:
    from graphql import is_required_argument  # noqa: PLC0415  heavy library, loaded on first use

    parameters = tuple(
        Parameter(
            key,
            ARGUMENT,
            is_required_argument(one),
            _kind(one.type),
            _line(one.description),
            str(one.type),
        )
        for key, one in told.args.items()
    )
    return Operation(
        name=name,
        form=f"{word} {name}",
        safe=safe,
        summary=_line(told.description),
        parameters=parameters,
        method="POST",
        deprecated=told.deprecation_reason is not None,
    )


def _kind(told: Any) -> str:  # noqa: ANN401  a type of the library
    from graphql import (  # noqa: PLC0415  heavy library, loaded on first use
        get_nullable_type,
        is_enum_type,
        is_list_type,
        is_scalar_type,
    )

    bare = get_nullable_type(told)
    if is_list_type(bare):
        return LIST
    if is_enum_type(bare):
        return TEXT
    return _KINDS.get(str(bare), ANYTHING) if is_scalar_type(bare) else TABLE


def _needed(told: GraphQLField) -> str:
    """Name an argument without which a field cannot be read; no declaration gives one."""
    from graphql import is_required_argument  # noqa: PLC0415  heavy library, loaded on first use

    return next((name for name, one in told.args.items() if is_required_argument(one)), "")


def _fits(kind: str, found: Json) -> bool:
    if kind == TRUTH:
        return isinstance(found, bool)
    if kind == TEXT:
        return isinstance(found, str)
    if isinstance(found, bool | list | dict):
        return kind == ANYTHING
    return kind != NUMBER or isinstance(found, int | str)


def _value(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


# One API: its description, which is kept, and the answers of its operations, page by page.

FOLDER: Final = "apis"
PAGES: Final = "C0578"
DRIFTED: Final = "C0577"
_MOST_SPEC: Final = 32 << 20
_MOST_FILES: Final = 200
_MOST_NODES: Final = 5_000_000
_FILES: Final = "x-files"
"""The key of the files of a description that is in several; no description may begin so."""
_MOST_KNOWN: Final = 64 << 20
_VERSION: Final = 1
_NOT_FOUND: Final = 404
_NOT_MODIFIED: Final = 304
_PUNCTUATION: Final = re.compile(r"[^a-z]")
# Who takes one of these gives an answer in parts.
_PAGED: Final = frozenset(
    {
        *("after", "before", "count", "cursor", "first", "from", "last", "limit", "marker"),
        *("maxresults", "nexttoken", "offset", "page", "pagenumber", "pagesize", "pagetoken"),
        *("perpage", "rows", "size", "skip", "start", "startat", "take", "top", "continuation"),
        *("continuationtoken", "startingafter", "pageindex", "pagelimit", "pageoffset"),
    }
)
# Where it has to be said, many of these are no more than what is asked for.
_SURELY_PAGED: Final = frozenset(
    {
        *("limit", "maxresults", "offset", "page", "pageindex", "pagelimit", "pagenumber"),
        *("pageoffset", "pagesize", "pagetoken", "perpage"),
    }
)
# What an answer calls that which leads on, and around what it stands.
_FURTHER: Final = frozenset(
    {
        *("continuationtoken", "cursornext", "hasmore", "hasnext", "hasnextpage", "more", "next"),
        *("nextcursor", "nextlink", "nextoffset", "nextpage", "nextpagetoken", "nexttoken"),
        *("nexturl", "nextmarker", "odatanextlink"),
    }
)
_AROUND: Final = ("meta", "metadata", "links", "_links", "paging", "pagination", "page", "cursor")
_PARAMETER: Final = r'\s*;\s*([^\s=;,"]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?'
_BETWEEN: Final = ", \t"
_PARAMETERS: Final = re.compile(_PARAMETER)
_LINKED: Final = re.compile(rf"<([^<>]*)>((?:{_PARAMETER})*)[\s;]*(?:,|\Z)")


@frozen
class Answered:
    """What an operation gave: rows of cells, and how they came.

    `whole` says that all pages were read and each fits its description; `failure` says with its
    code why not, and then the rows are some of them. `request` and `response` are hashes of what
    was asked, without who asks, and of what came.
    """

    rows: tuple[tuple[object, ...], ...]
    at: str
    status: int
    pages: int
    request: str
    response: str
    whole: bool
    failure: str = ""
    code: str = ""
    remark: str = ""


_Described = tuple["Description", "Operation"]


@slotted
class _Known:
    """An answer that came at a time: `current` until `forget`, then by its tag if it has one."""

    tag: str
    reply: Reply
    at: str
    current: bool = True


@slotted
class _Pages:
    """What was read so far."""

    rows: list[tuple[object, ...]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    status: int = 0
    seen: set[str] = field(default_factory=set)
    at: str = ""
    remark: str = ""
    further: str = ""
    """What the last page calls the one behind it, if it seems to name one."""


class _Files:
    """Reads the files that a description refers to, each once, and lets references lead to them.

    References to other hosts stay as they are, and lead nowhere.
    """

    def __init__(self, first: str, read: Callable[[str], Json]) -> None:
        self._read = read
        self._origin = origin_of(first) if "://" in first else ""
        self._places = {first: "#"}
        self._left = _MOST_NODES
        self.held: dict[str, Json] = {}

    def gather(self, document: Json) -> None:
        """Rewrite the references of a description."""
        (first,) = self._places
        waiting = [(document, first)]
        while waiting:
            node, name = waiting.pop()
            self._left -= 1
            if self._left < 0:
                raise ApiError("its description has too many parts", UNDESCRIBED)
            if isinstance(node, list):
                waiting += [(one, name) for one in node]
            elif isinstance(node, dict):
                pointer = node.get("$ref")
                if isinstance(pointer, str):
                    node["$ref"] = self._here(pointer, name, waiting)
                waiting += [(one, name) for one in node.values()]

    def _here(self, pointer: str, name: str, waiting: list[tuple[Json, str]]) -> str:
        file, _, place = pointer.partition("#")
        if file:
            far = "://" in name or "://" in file
            name = urljoin(name, file) if far else normpath(join(dirname(name), unquote(file)))
        if not self._near(name):
            return pointer
        if name not in self._places:
            if len(self._places) > _MOST_FILES:
                raise ApiError(f"it refers to more than {_MOST_FILES} files", UNDESCRIBED)
            number = str(len(self.held))
            self._places[name] = f"#/{_FILES}/{number}"
            self.held[number] = self._read(name)
            waiting.append((self.held[number], name))
        return self._places[name] + place

    def _near(self, name: str) -> bool:
        with suppress(ApiError):
            return (origin_of(name) if "://" in name else "") == self._origin
        return False


def _named(name: str) -> str:
    return f"the file {printable(name)[:200]}, to which its description refers,"


class Api:
    """One API of a project. Used by one thread at a time; `cancel` may be any thread's."""

    def __init__(self, setting: ApiSetting, folder: Path, state: Path) -> None:
        self.setting = setting
        self.transport = Transport(setting)
        self._folder = folder
        self._kept = state / FOLDER / f"{setting.name}.json"
        self._description: Description | None = None
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._known_bytes = 0
        self.seen_at = ""
        """When the description was fetched; empty where it is a part of the project."""

    # ------------------------------------------------------------------------- description

    @property
    def is_far(self) -> bool:
        """Whether its description is fetched from it."""
        return self.setting.kind == GRAPHQL or self.setting.spec_url is not None

    def description(self, until: float) -> Description:
        """Give what it says of itself, fetched once and kept; raises `ApiError`."""
        if self._description is None:
            found = self._kept_text() if self.is_far else None
            content, tag = (self._fetched(until)) if found is None and self.is_far else (None, "")
            if content is not None:
                self._description = self._read(content)
                self.seen_at = now()
                self._keep(content, tag)
            elif found is not None:
                self._description = self._read(found)
            else:
                self._description = self._read(self._local(self.setting.spec_file))
        return self._description

    def fresh(self, until: float, *, kept: bool = True) -> tuple[Description | None, Description]:
        """Ask for the description again; give the one before, if there was one, and this one.

        Where it is not `kept`, goals go by the one before.
        """
        before = None
        try:
            before = self.description(until)
        except ApiError:
            if not self.is_far:
                raise
        if not self.is_far:
            self._description = None
            return before, self.description(until)
        content, tag = self._fetched(until, self._tag())
        if content is None and before is not None:
            return before, before
        if content is None:
            raise ApiError("its description has not changed, and is not kept", UNDESCRIBED)
        found = self._read(content)
        if kept:
            self._description = found
            self.seen_at = now()
            self._keep(content, tag)
        return before, found

    def _read(self, content: bytes) -> Description:
        document = self._parsed(content)
        if self.setting.kind == GRAPHQL:
            return GraphQl(self.setting, document, content)
        return OpenApi(self.setting, document, content)

    def _parsed(self, content: bytes) -> Json:
        if content.lstrip()[:1] in {b"{", b"["}:
            return _floats(read_json(content))
        problems: list[Diagnostic] = []
        node = read_document(content, "its description", problems, _MOST_SPEC)
        if node is None:
            reason = problems[0].message if problems else "it is empty"
            raise ApiError(f"its description is neither JSON nor YAML: {reason}", UNDESCRIBED)
        return plain_value(node)

    def _local(self, name: str) -> bytes:
        if self.setting.spec_inline is not None:
            return json.dumps(self.setting.spec_inline, sort_keys=True).encode()
        content = self._file(name)
        if self.setting.kind == GRAPHQL:
            return content
        return self._whole(content, name, self._file)

    def _file(self, name: str) -> bytes:
        path = inside(name, self._folder)
        what = "its `spec_file`" if name == self.setting.spec_file else _named(name)
        try:
            if path is None:
                raise ApiError(f"{what} leads out of the project", UNDESCRIBED)
            with path.open("rb") as file:
                content = file.read(_MOST_SPEC + 1)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise ApiError(f"{what} cannot be read: {why}", UNDESCRIBED) from None
        if len(content) > _MOST_SPEC:
            raise ApiError(f"its description has more than {_MOST_SPEC >> 20} MiB", UNDESCRIBED)
        return content

    def _whole(self, content: bytes, name: str, read: Callable[[str], bytes]) -> bytes:
        """Give a description with the files that it refers to in it."""
        if b"$ref" not in content:
            return content
        document = self._parsed(content)
        files = _Files(name, lambda one: self._parsed(read(one)))
        files.gather(document)
        if not files.held or not isinstance(document, dict):
            return content
        return json.dumps({**document, _FILES: files.held}).encode()

    def _fetched(self, until: float, tag: str = "") -> tuple[bytes | None, str]:
        """Fetch the description; `None` where the API says that it has not changed."""
        asking, setting = self._describing(tag), self.setting
        reply = self.transport.fetch(asking, until)
        if reply.status == _NOT_MODIFIED and tag:
            return None, tag
        check_status(reply)
        if setting.kind == GRAPHQL or setting.spec_url is None:
            return reply.body, reply.headers.get("etag", "")

        def further(name: str) -> bytes:
            found = self.transport.fetch(replace(asking, url=name, known=""), until)
            check_status(found)
            return found.body

        return self._whole(reply.body, asking.url, further), reply.headers.get("etag", "")

    def _describing(self, tag: str) -> Asking:
        setting = self.setting
        if setting.kind == GRAPHQL:
            url = setting.text(setting.url) if setting.url is not None else ""
            headers = {"accept": "application/json", "content-type": "application/json"}
            return Asking("POST", url, headers, introspection())
        url = setting.text(setting.spec_url) if setting.spec_url is not None else ""
        near = setting.url is not None and origin_of(setting.text(setting.url)) == origin_of(url)
        headers = {"accept": "application/json, application/yaml, */*;q=0.5"}
        return Asking("GET", url, headers, keyed=near, known=tag)

    def _address(self) -> str:
        """Name where the description comes from, without what variables say."""
        one = self.setting.url if self.setting.kind == GRAPHQL else self.setting.spec_url
        return digest_of((one.text or "").encode()) if one is not None else ""

    def _kept_document(self) -> Mapping[str, Any]:
        try:
            with self._kept.open("rb") as file:
                found = json.loads(file.read(2 * _MOST_SPEC))
        except (OSError, ValueError, RecursionError):
            return {}
        fits = isinstance(found, dict) and found.get("version") == _VERSION
        return found if fits and found.get("address") == self._address() else {}

    def _kept_text(self) -> bytes | None:
        found = self._kept_document()
        content, at = found.get("content"), found.get("at")
        if not isinstance(content, str) or not isinstance(at, str):
            return None
        self.seen_at = at
        return content.encode()

    def _tag(self) -> str:
        found = self._kept_document().get("tag", "")
        return found if isinstance(found, str) else ""

    def _keep(self, content: bytes, tag: str) -> None:
        """Keep the description; where nothing can be written the next program asks anew."""
        told = {
            "version": _VERSION,
            "address": self._address(),
            "at": self.seen_at,
            "tag": tag,
            "content": content.decode("utf-8", "replace"),
        }
        try:
            self._kept.parent.mkdir(parents=True, exist_ok=True)
            with Replacements() as files:
                with files.stream(self._kept) as stream:
                    stream.write(json.dumps(told, ensure_ascii=False).encode())
                files.commit()
        except OSError:
            return

    # ------------------------------------------------------------------------- answers

    def answer(
        self, name: str, sent: Mapping[str, object], shape: Shape, until: float, most_rows: int
    ) -> Answered:
        """Ask an operation for all its pages. Raises `ApiError` where it cannot be asked at all."""
        description = self.description(until)
        operation = description.operations[name]
        if not operation.safe:
            raise ApiError(f"`{operation.form}` may change something", REFUSED)
        _, paging, _ = self.setting.of(name)
        pages = _Pages()
        begun = dict(sent)
        if paging.size_parameter and paging.size:
            begun[paging.size_parameter] = paging.size
        if paging.kind in {PAGE, OFFSET}:
            begun[paging.parameter] = paging.start
        asking: Asking | None = description.asking(operation, begun, shape)
        first = asking.digest() if asking is not None else ""
        problem: ApiError | None = None
        try:
            while asking is not None:
                document, reply = self._page((description, operation), asking, pages, until)
                if reply is None:
                    break
                _take(document, shape, pages, most_rows)
                asked = asking, begun
                asking = self._next((description, operation), asked, shape, (document, reply))
        except ApiError as found:
            problem = found
            if not pages.hashes:
                raise
        remark = pages.remark or self._unread_pages(description, operation, shape, pages.further)
        response = pages.hashes[0]
        if len(pages.hashes) > 1:
            response = digest_of("\n".join(pages.hashes).encode())
        return Answered(
            tuple(pages.rows),
            pages.at or now(),
            pages.status,
            len(pages.hashes),
            first,
            response,
            whole=problem is None and not remark,
            failure="" if problem is None else problem.reason,
            code="" if problem is None else problem.code,
            remark=remark,
        )

    def _unread_pages(
        self, description: Description, operation: Operation, shape: Shape, further: str
    ) -> str:
        """Tell why an answer that names no further page may be one of several all the same."""
        if isinstance(description, GraphQl) and description.is_connection(operation, shape):
            return ""
        leads = f"it has `{further}`, which may lead on" if further else ""
        if self.setting.says_paging(operation.name):
            _, paging, _ = self.setting.of(operation.name)
            unread = leads and paging.kind != NONE
            return f"{leads}, and `paging` does not read it" if unread else ""
        paged = next((one.name for one in operation.parameters if _is_paging(one)), "")
        if not paged and not leads:
            return ""
        what = f"it takes `{paged}`" if paged else leads
        return f"{what}, and no `paging` says how its pages are read, or that it has none"

    def _page(
        self, described: _Described, asking: Asking, pages: _Pages, until: float
    ) -> tuple[Json, Reply | None]:
        """Read a page; without a reply the API says that there is nothing."""
        description, operation = described
        _, _, not_found = self.setting.of(operation.name)
        digest = asking.digest()
        if digest in pages.seen:
            raise ApiError("its pages lead back to one that was read before", PAGES)
        if len(pages.seen) >= self.setting.pages:
            raise ApiError(f"more than {self.setting.pages} pages; `pages` allows more", PAGES)
        pages.seen.add(digest)
        known = self._asked(asking, digest, until)
        reply = known.reply
        pages.status, pages.at = reply.status, pages.at or known.at
        # Without a value in its path, 404 says that the operation itself is not there.
        named = any(one.place == PATH for one in operation.parameters)
        if reply.status == _NOT_FOUND and not_found == EMPTY and named and not pages.hashes:
            pages.hashes.append(digest_of(reply.body))
            return None, None
        check_status(reply)
        kind = reply.headers.get("content-type", "").lower()
        if "html" in kind or "xml" in kind:
            raise ApiError(f"the answer is {kind.partition(';')[0][:60]}, and no JSON", UNREADABLE)
        document = description.payload(read_json(reply.body))
        problem = description.problem(operation, document)
        if problem:
            told = f"the answer does not fit its description: {problem}"
            if self.setting.schema == STRICT:
                raise ApiError(told, DRIFTED)
            pages.remark = pages.remark or told
        pages.hashes.append(digest_of(reply.body))
        return document, reply

    def _asked(self, asking: Asking, digest: str, until: float) -> _Known:
        """Ask once until `forget`, with the tag of the answer that is known, if there is one.

        So what several predicates read of one answer is of one moment.
        """
        known = self._known.get(digest)
        if known is not None:
            self._known.move_to_end(digest)
            if known.current:
                return known
            asking = replace(asking, known=known.tag)
        at = now()
        reply = self.transport.fetch(asking, until)
        if known is not None and reply.status == _NOT_MODIFIED:
            known.at, known.current = at, True
            return known
        tag = reply.headers.get("etag", "")
        found = _Known(tag if tag.isprintable() else "", reply, at)
        if reply.status in {200, _NOT_FOUND}:
            self._remember(digest, found)
        return found

    def forget(self) -> None:
        """Take no answer for the present one that is known: ask again, by tags where it has one."""
        for digest, known in list(self._known.items()):
            known.current = False
            if not known.tag:
                self._known_bytes -= len(self._known.pop(digest).reply.body)

    def _remember(self, digest: str, known: _Known) -> None:
        before = self._known.pop(digest, None)
        self._known_bytes += len(known.reply.body) - (len(before.reply.body) if before else 0)
        self._known[digest] = known
        while self._known_bytes > _MOST_KNOWN and self._known:
            _, dropped = self._known.popitem(last=False)
            self._known_bytes -= len(dropped.reply.body)

    def _next(
        self,
        described: _Described,
        asked: tuple[Asking, dict[str, object]],
        shape: Shape,
        came: tuple[Json, Reply],
    ) -> Asking | None:
        """Give the request of the next page; `None` behind the last one."""
        (asking, sent), (document, reply), (description, operation) = asked, came, described
        _, paging, _ = self.setting.of(operation.name)
        if isinstance(description, GraphQl):
            further = _after(document) if description.is_connection(operation, shape) else {}
        elif paging.kind in {LINK, URL}:
            linked = _linked(reply) if paging.kind == LINK else _pointed(document, paging.next)
            return self._at(asking, linked)
        elif paging.kind == NONE and _linked(reply):
            raise ApiError("it has further pages, and its `paging` is none", PAGES)
        elif paging.kind == CURSOR:
            token = _pointed(document, paging.next)
            further = {paging.parameter: token} if token else {}
        else:
            further = {} if paging.kind == NONE else _counted(sent, shape, document, paging)
        if not further:
            return None
        sent.update(further)
        return description.asking(operation, sent, shape)

    def _at(self, asking: Asking, target: str) -> Asking | None:
        """Give the request for an address in an answer, which leads to the same origin only."""
        if not target:
            return None
        url = urljoin(asking.url, target)
        if origin_of(url) != origin_of(asking.url):
            where = printable(origin_of(url)[1])
            raise ApiError(f"its next page is at {where}, where no request goes", REFUSED)
        return replace(asking, url=url.partition("#")[0])

    # ------------------------------------------------------------------------- life

    def cancel(self) -> None:
        """End the request that runs."""
        self.transport.cancel()

    def close(self) -> None:
        """Close all connections."""
        self.transport.close()
        self._known.clear()
        self._known_bytes = 0


def until_of(seconds: float) -> float:
    """Give the moment after so many seconds."""
    return time.monotonic() + seconds


def _linked(reply: Reply) -> str:
    """Give the address of the next page that the header `Link` names (RFC 8288).

    Raises `ApiError` for one that names two, or names one where it cannot be read.
    """
    text, at, found = reply.headers.get("link", "").strip(_BETWEEN), 0, ""
    while at < len(text):
        link = _LINKED.match(text, at)
        if link is None:
            if "next" in text[at:].lower():
                raise ApiError("its header `Link` cannot be read: it may have further pages", PAGES)
            return found
        told = ((one[1].lower(), one[2] or one[3] or "") for one in _PARAMETERS.finditer(link[2]))
        if any(name == "rel" and "next" in value.lower().split() for name, value in told):
            if found not in {"", link[1].strip()}:
                raise ApiError("its header `Link` names two next pages", PAGES)
            found = link[1].strip()
        at = link.end()
        while text[at : at + 1] in _BETWEEN and at < len(text):
            at += 1
    return found


def _is_paging(one: Parameter) -> bool:
    name = _PUNCTUATION.sub("", one.name.lower())
    return name in (_SURELY_PAGED if one.required else _PAGED)


def _further(document: Json) -> str:
    """Name the field by which a page seems to name the one behind it."""
    if not isinstance(document, dict):
        return ""
    beside = [(name, document.get(name)) for name in _AROUND]
    found = {f"{name}.": one for name, one in beside if isinstance(one, dict)}
    for before, holder in {"": document, **found}.items():
        for name, value in holder.items():
            there = value.get("href", value) if isinstance(value, dict) else value
            if _PUNCTUATION.sub("", name.lower()) in _FURTHER and there:
                return printable(f"{before}{name}")
    links = document.get("links")
    entries = links if isinstance(links, list) else []
    leads = any(isinstance(one, dict) and one.get("rel") == "next" for one in entries)
    return "links" if leads else ""


def _take(document: Json, shape: Shape, pages: _Pages, most_rows: int) -> None:
    """Add the rows of a page."""
    if isinstance(document, list) and not shape.rows.steps:
        raise ApiError('the answer is a list: write `rows="[]"`', DRIFTED)
    pages.further = _further(document) if ENTRIES in shape.rows.steps else ""
    if blank := shape.blank(document):
        pages.remark = pages.remark or f"an entry of `{blank}` is null: what it is nobody knows"
    for row in shape.cells(document):
        if len(pages.rows) >= most_rows:
            raise ApiError(f"more than {most_rows} rows; `query_rows` allows more", "C0522")
        pages.rows.append(row)


def _counted(
    sent: Mapping[str, object], shape: Shape, document: Json, paging: PagingSetting
) -> dict[str, object]:
    """Give the number of the next page, or of its first row; nothing behind an empty page."""
    count = shape.count(document)
    if count < 0:
        raise ApiError("its pages are counted, and its rows lie in no list", PAGES)
    at = sent[paging.parameter]
    step = 1 if paging.kind == PAGE else count
    return {paging.parameter: (at if isinstance(at, int) else 0) + step} if count else {}


def _after(document: Json) -> dict[str, object]:
    """Give the cursor behind which a connection goes on."""
    page = document.get("pageInfo") if isinstance(document, dict) else None
    if not isinstance(page, dict) or page.get("hasNextPage") is not True:
        return {}
    cursor = page.get("endCursor")
    if not isinstance(cursor, str) or not cursor:
        raise ApiError("it says that there are more pages, and not where", PAGES)
    return {AFTER: cursor}


def _pointed(document: Json, path: str) -> str:
    try:
        steps = read_path(path).steps
    except PathError as problem:
        raise ApiError(f"the `next` of its paging: {problem}", PAGES) from None
    if not isinstance(document, dict):
        return ""  # a plain list names no further page
    shape = Shape(FieldPath(()), (FieldPath(steps, whole=True),))
    (found,) = next(shape.cells(document), (None,))
    return "" if found is None or found is False else str(found)


def _floats(document: Json) -> Json:
    """Give a description with plain numbers, as schemas compare them."""
    if isinstance(document, dict):
        return {key: _floats(value) for key, value in document.items()}
    if isinstance(document, list):
        return [_floats(one) for one in document]
    return float(document) if isinstance(document, Decimal) else document


def drift(before: Description | None, after: Description) -> Iterator[str]:
    """Tell how a description differs from the one before."""
    if before is None or before.digest == after.digest:
        return
    old, new = before.operations, after.operations
    yield from (f"operation `{name}` is gone" for name in sorted(old.keys() - new.keys()))
    yield from (f"operation `{name}` is new" for name in sorted(new.keys() - old.keys()))
    for name in sorted(old.keys() & new.keys()):
        yield from _changes(name, (before, old[name]), (after, new[name]))


def _changes(
    name: str, before: tuple[Description, Operation], after: tuple[Description, Operation]
) -> Iterator[str]:
    (said, old), (says, new) = before, after
    if old.form != new.form:
        yield f"operation `{name}` was `{old.form}`, and is `{new.form}`"
    asked = {(one.name, one.place, one.required) for one in old.parameters}
    asks = {(one.name, one.place, one.required) for one in new.parameters}
    for changed in sorted({one[0] for one in asked ^ asks}):
        yield f"operation `{name}`: parameter `{changed}` has changed"
    was = {one.path: (one.kind, one.nullable) for one in said.fields(old).fields}
    now_is = {one.path: (one.kind, one.nullable) for one in says.fields(new).fields}
    for path in sorted(was.keys() | now_is.keys()):
        if was.get(path) != now_is.get(path):
            what = "has changed" if path in was and path in now_is else "is gone"
            told = path_text(path)
            yield f"operation `{name}`: field `{told}` {'is new' if path not in was else what}"
