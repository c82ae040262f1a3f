"""GraphQL, made of the table of operations: one field for each, with the same checks and answers.

In: documents with variables. Out: results as the specification of GraphQL gives them. Invariants:
a field does what its operation does over REST, for the same callers, and nothing else; the fields
of one document are answered one after another, as they stand; what may be asked in one document is
bounded in depth, words, and number of operations. Introspection stays on: the schema is public, as
`constat/server/schema.graphql`, and says nothing of a project.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import field, make_dataclass
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final

import strawberry
from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter, QueryDepthLimiter
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.types import Info

from constat.frozen import frozen
from constat.server.operations import ANYBODY, Operation, Schema, answers, operations

if TYPE_CHECKING:
    from graphql import GraphQLError
    from strawberry.types.execution import ExecutionContext

    from constat.diagnostics.diagnostic import JsonObject

_DEPTH: Final = 10
_TOKENS: Final = 4_000
_ALIASES: Final = 30
_OPERATIONS: Final = 20
_ERRORS: Final = 20

Arguments = dict[str, Any]
Event = dict[str, Any]


@frozen
class Context:
    """What fields are answered with: `perform` does an operation, `follow` tells of it meanwhile.

    Both raise `GraphQLError` with what is wrong.
    """

    perform: Callable[[Operation, Arguments], Awaitable[JsonObject]]
    follow: Callable[[Operation, Arguments], AsyncIterator[Event]]
    asked: list[str]
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whose turn it is; a lock is taken in the order in which it was asked for."""

    def count(self, name: str) -> None:
        """Count an operation; raises `GraphQLError` where there are too many in one document."""
        self.asked.append(name)
        if len(self.asked) > _OPERATIONS:
            from graphql import GraphQLError  # noqa: PLC0415  heavy library, loaded on first use

            raise GraphQLError(
                f"one document may ask {_OPERATIONS} operations", extensions={"code": "HTTP400"}
            )


class _Schema(strawberry.Schema):
    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,
    ) -> None:
        """Write nothing: what fields raise is what their caller is told, and the log has a line."""


class _Types:
    """Types of Python for schemas of JSON; each name is made once."""

    def __init__(self) -> None:
        self._schemas = answers()
        self._made: dict[str, Any] = {}

    def named(self, name: str) -> Any:  # noqa: ANN401  a type
        """Give the type of a schema's name."""
        if name not in self._made:
            self._made[name] = self._make(name, self._schemas[name])
        return self._made[name]

    def _make(self, name: str, schema: Schema) -> Any:  # noqa: ANN401  a type
        if "enum" in schema:
            make: Any = enum.Enum
            return strawberry.enum(make(name, [(one, one) for one in schema["enum"]]))
        if "anyOf" in schema:
            schema = next(one for one in schema["anyOf"] if one["type"] == "object")
        members = schema.get("properties")
        if members is None:
            return JSON
        fields = [(one, self.of(each, optional=False)) for one, each in members.items()]
        return strawberry.type(make_dataclass(name, fields), description=schema.get("description"))

    def progress(self, name: str, gives: str) -> Any:  # noqa: ANN401  a type
        """Give the type of what is told meanwhile, and at last."""
        if name not in self._made:
            members = [("message", str), ("result", self.of(_ref(gives), optional=True))]
            made = make_dataclass(name, members)
            told = "What happens; with the last, the result."
            self._made[name] = strawberry.type(made, description=told)
        return self._made[name]

    def of(self, schema: Schema, *, optional: bool) -> Any:  # noqa: ANN401  a type
        """Give the type of a schema."""
        if optional:
            return self.of(schema, optional=False) | None
        if "$ref" in schema:
            return self.named(schema["$ref"].rpartition("/")[2])
        if "anyOf" in schema:
            return self.of(schema["anyOf"][0], optional=False) | None
        kinds = {"string": str, "integer": int, "boolean": bool, "object": JSON, None: str}
        kind = schema.get("type")
        if kind == "array":
            return GenericAlias(list, (self.of(schema["items"], optional=False),))
        return kinds[kind]


def _member(source: object, name: str) -> object:
    """Give a member of an answer; a text that was not cut is whole."""
    if isinstance(source, str):
        return {"text": source, "left": 0}.get(name)
    if not isinstance(source, Mapping):
        raise TypeError("an answer has members")
    return source.get(name)


def _field(one: Operation, types: _Types) -> Any:  # noqa: ANN401  a field of Strawberry
    """Make the field of an operation."""

    async def answer(info: Info[Context, None], **given: object) -> JsonObject:
        info.context.count(one.name)
        told = {name: value for name, value in given.items() if value is not None}
        # Each proof has an entry of the log, and a field may show what another wrote.
        async with info.context.turn:
            return await info.context.perform(one, told)

    resolver: Any = answer
    resolver.__signature__ = _signature(one, types)
    return strawberry.field(
        resolver=resolver, graphql_type=types.named(one.gives), description=_described(one)
    )


def _described(one: Operation) -> str:
    asks = "" if one.asks == ANYBODY else f", and {one.asks}"
    return f"{one.summary} Needs the role {one.role}{asks}."


def _signature(one: Operation, types: _Types) -> inspect.Signature:
    info = inspect.Parameter("info", inspect.Parameter.KEYWORD_ONLY, annotation=Info)
    parameters = [info]
    for name, schema in one.takes.items():
        needed = name in one.needs
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=types.of(schema, optional=not needed),
                default=inspect.Parameter.empty if needed else None,
            )
        )
    return inspect.Signature(parameters)


def _following(one: Operation, types: _Types) -> Any:  # noqa: ANN401  a field of Strawberry
    """Make a subscription: an operation is done, and what happens meanwhile is told."""
    name = "Progress" if one.gives == "Result" else f"{one.gives}Progress"
    progress = types.progress(name, one.gives)

    async def follow(info: Info[Context, None], **given: object) -> AsyncIterator[Event]:
        info.context.count(one.name)
        told = {name: value for name, value in given.items() if value is not None}
        async for event in info.context.follow(one, told):
            yield event

    resolver: Any = follow
    given = GenericAlias(AsyncIterator, (progress,))
    resolver.__signature__ = _signature(one, types).replace(return_annotation=given)
    resolver.__annotations__ = {"info": Info, "return": given}
    return strawberry.subscription(resolver=resolver, description=_described(one))


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


@cache
def schema() -> strawberry.Schema:
    """Give the schema; it is made once."""
    types = _Types()

    def root(name: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401  a type
        return strawberry.type(type(name, (), dict(fields)))

    reading = {one.name: _field(one, types) for one in operations() if not one.changes}
    changing = {one.name: _field(one, types) for one in operations() if one.changes}
    followed = [one for one in operations() if one.following]
    following = {one.following: _following(one, types) for one in followed}
    return _Schema(
        query=root("Query", reading),
        mutation=root("Mutation", changing),
        subscription=root("Subscription", following),
        extensions=[
            lambda: MaxTokensLimiter(_TOKENS),
            lambda: MaxAliasesLimiter(_ALIASES),
            lambda: QueryDepthLimiter(_DEPTH),
        ],
        config=StrawberryConfig(default_resolver=_member),
    )


@frozen
class Document:
    """What a request asks: a text in the language of GraphQL, with values for its variables."""

    query: str
    variables: Arguments
    name: str | None = None


def read_document(given: Arguments) -> Document | None:
    """Read the body of a request; nothing where it has another form."""
    query, variables = given.get("query"), given.get("variables")
    variables = {} if variables is None else variables
    name = given.get("operationName")
    if not isinstance(query, str) or not query.strip() or not isinstance(variables, dict):
        return None
    if not isinstance(name, str | None):
        return None
    return Document(query, variables, name)


def _unnamed(asked: Document) -> str:
    """Say why a document does not say which of its operations is meant; else nothing."""
    from graphql import (  # noqa: PLC0415  heavy library, loaded on first use
        GraphQLError,
        OperationDefinitionNode,
        parse,
    )

    try:
        parts = parse(asked.query, max_tokens=_TOKENS).definitions
    except GraphQLError:
        # Executing says so, with the place.
        return ""
    operations = [one for one in parts if isinstance(one, OperationDefinitionNode)]
    names = [None if one.name is None else one.name.value for one in operations]
    if asked.name and asked.name not in names:
        return "no operation of the document has the name that `operationName` says"
    if not asked.name and len(operations) > 1:
        return "the document has several operations: name one by `operationName`"
    return ""


async def result_of(asked: Document, context: Context) -> JsonObject:
    """Answer a document, which may be a query or a mutation."""
    problem = _unnamed(asked)
    if problem:
        return {"errors": [{"message": problem}]}
    found = await schema().execute(asked.query, asked.variables, context, operation_name=asked.name)
    return _formatted(found)


async def events_of(asked: Document, context: Context) -> AsyncIterator[str]:
    """Answer a document event by event, as "GraphQL over Server-Sent Events" names them."""
    problem = _unnamed(asked)
    if problem:
        yield f"event: next\ndata: {json.dumps({'errors': [{'message': problem}]})}\n\n"
        yield "event: complete\ndata:\n\n"
        return
    found = await schema().stream(asked.query, asked.variables, context, operation_name=asked.name)
    if isinstance(found, AsyncGenerator):
        async with aclosing(found) as results:
            async for one in results:
                yield f"event: next\ndata: {json.dumps(_formatted(one))}\n\n"
    else:
        yield f"event: next\ndata: {json.dumps(_formatted(found))}\n\n"
    yield "event: complete\ndata:\n\n"


def _formatted(found: Any) -> JsonObject:  # noqa: ANN401  the results of two libraries
    told: JsonObject = {} if found.data is None and found.errors else {"data": found.data}
    if found.errors:
        told["errors"] = [one.formatted for one in found.errors[:_ERRORS]]
    return told


def schema_text() -> str:
    """Give the schema in the language of GraphQL, as `schema.graphql` holds it."""
    return f"{schema().as_str().rstrip()}\n"
