"""APIs of GraphQL: they describe themselves, and a query names the fields that are read.

Each field of the query root is an operation, and each of the mutations, which is refused unless it
is named as safe. A list of the form of Relay's connections is read page by page. Of a union or an
interface `__typename` is a field, and `Book__pages` the field `pages` of things of the type `Book`.
Reference: GraphQL, October 2021, sections 4 and 6; GraphQL Cursor Connections.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from constat.apis.openapi import UNDESCRIBED
from constat.apis.operations import (
    ANYTHING,
    ARGUMENT,
    DAY,
    DECIMAL,
    LIST,
    MOMENT,
    NUMBER,
    TABLE,
    TEXT,
    TRUTH,
    Operation,
    Parameter,
)
from constat.apis.shapes import ENTRIES, PLACE, Field, Json, LeftOut, Listed, Shape
from constat.apis.transport import ApiError, Asking, digest_of

if TYPE_CHECKING:
    from graphql import GraphQLField, GraphQLSchema

    from constat.project.apis import ApiSetting

CURSOR: Final = "after"
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
        takes = any(one.name == CURSOR for one in operation.parameters)
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
