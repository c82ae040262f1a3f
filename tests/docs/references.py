"""Pages of the site that are written from the code: REST, GraphQL, MCP.

In: the table of operations, the schema of GraphQL, the tools of the server for agents. Out: a page
for each, with every name that can be sent and every name that comes back.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from constat.mcp import server_of
from constat.server import openapi
from constat.server.graph import schema_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAMED: Final = re.compile(r"^(?:type|enum|input|scalar|interface|union) (\w+)", re.MULTILINE)

_OF_REST: Final = (
    "Written from the table of operations; the same as [a document of OpenAPI](openapi.json). "
    "What roles, keys and pages are is told on [the page of the server](server.md).\n"
)
_OF_GRAPHQL: Final = (
    "The schema as `constat serve --graphql` prints it. What is asked and how long a document "
    "may be is told on [the page of the server](server.md#graphql).\n"
)
_OF_MCP: Final = (
    "What `constat mcp` offers to an agent. What an agent may and may not do is told on "
    "[the page of agents](agents.md).\n"
)


def rest() -> str:
    """Write each operation with what it takes and gives, then each answer with its members."""
    document = openapi()
    lines = ["# REST\n", _OF_REST]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            lines += _operation(f"{method.upper()} {path}", said)
    lines.append("## Answers\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += [f"### {name}\n", *_members(schema)]
    return "\n".join(lines)


def _operation(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {name}\n"
    role = said.get("x-role")
    whose = f" For the role {role}" if role else ""
    whose += f", {said['x-asks']}." if role and said.get("x-asks", "anybody") != "anybody" else "."
    yield f"{said.get('summary', '')}{whose if role else ''}\n"
    body = said.get("requestBody", {}).get("content", {}).get("application/json", {})
    yield from _members(body.get("schema", {}))
    given = said.get("responses", {}).get("200", {}).get("content", {})
    for kind, one in given.items():
        answer = _kind(one.get("schema", {}))
        yield f"Gives {answer if answer.startswith('[') else f'`{kind}`'}.\n"


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    """Write the members of an object as a table."""
    members = schema.get("properties")
    if not isinstance(members, dict) or not members:
        return
    needed = schema.get("required", ())
    yield "| member | what it is | |"
    yield "|---|---|---|"
    for name, one in members.items():
        yield f"| `{name}` | {_kind(one)} | {'' if name in needed else 'may be left out'} |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    """Say in short what a schema lets through."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_kind, schema[several])))
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    bounds = [
        f"{word} {schema[key]:,}"
        for key, word in (
            *(("minimum", "from"), ("maximum", "to"), ("minLength", "at least")),
            ("maxLength", "at most"),
        )
        if isinstance(schema.get(key), int)
    ]
    return f"{kind}, {' '.join(bounds)}" if bounds else str(kind)


def graphql() -> str:
    """Write the schema, a part for each of its types, so that the search finds them."""
    lines = ["# GraphQL\n", _OF_GRAPHQL]
    for part in schema_text().strip().split("\n\n"):
        named = _NAMED.search(part)
        lines += [f"## {named[1]}\n"] if named else []
        lines.append(f"```graphql\n{part}\n```\n")
    return "\n".join(lines)


def mcp() -> str:
    """Write the tools, resources and prompts of the server for agents."""
    server = server_of(None)  # type: ignore[arg-type]  # nothing is asked of it
    lines = ["# MCP\n", _OF_MCP, "## Tools\n"]
    for tool in asyncio.run(server.list_tools()):
        lines += [f"### {tool.name}\n", f"{inspect.cleandoc(tool.description or '')}\n"]
        lines += _members(tool.input_schema)
    lines.append("## Resources\n")
    for plain in asyncio.run(server.list_resources()):
        lines.append(f"- `{plain.uri}`: {plain.description}")
    for one in asyncio.run(server.list_resource_templates()):
        lines.append(f"- `{one.uri_template}`: {one.description}")
    return "\n".join([*lines, ""])
