"""How results are described, and their JSON Schema.

A result is a TypedDict: its docstring is the description, an attribute's description stands in
`Annotated`, beside bounds (`Least`, `Matching`, `Items`). An attribute whose name is a word of
Python ends in `_`. What the schema refuses is a member that no type names.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping
from types import MappingProxyType
from typing import (
    Annotated,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from constat.frozen import frozen

Schema = dict[str, object]

_SIMPLE: Final[Mapping[object, str]] = MappingProxyType(
    {
        str: "string",
        int: "integer",
        float: "number",
        bool: "boolean",
        type(None): "null",
    }
)


@frozen
class Least:
    """The least number that may stand here."""

    value: int


@frozen
class Matching:
    """The regular expression that a text matches as a whole."""

    pattern: str


@frozen
class Items:
    """How many items a list has."""

    least: int
    most: int | None = None


class Open(TypedDict):
    """An object that may have other members than those that are named."""

    __others__: NotRequired[object]


Count = Annotated[int, Least(0)]
Ordinal = Annotated[int, Least(1)]
Quantity = Annotated[float, Least(0)]
Amount = Annotated[str, Matching(r"^[0-9]+(\.[0-9]+)?$")]
Code = Annotated[str, Matching(r"^C[0-9]{4}$")]
Confidence = Annotated[str, Matching(r"^(0|1)(\.[0-9]{1,6})?$")]
Digest = Annotated[str, Matching(r"^sha256:[0-9a-f]{64}$")]
Gap = Annotated[str, Matching(r"^[01]\.[0-9]{6}$")]
Root = Annotated[str, Matching(r"^[0-9a-f]{64}$")]
Time = Annotated[str, Matching(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]


@frozen
class Result:
    """What a command prints, and a title where it is not `Result of ...`."""

    form: object
    title: str = ""


def schema_of(name: str, result: Result) -> Schema:
    """Write the JSON Schema (draft 2020-12) of a result."""
    definitions: dict[str, Schema] = {}
    form = _form(result.form, definitions)
    reference = form.pop("$ref", None)
    if isinstance(reference, str):
        form = {**definitions[reference.removeprefix("#/$defs/")], **form}
    head: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"constat:{name}",
        "title": result.title or f"Result of `constat {name.replace('-', ' ')} --format json`",
    }
    return {**head, **form, **({"$defs": definitions} if definitions else {})}


def _form(of: object, definitions: dict[str, Schema]) -> Schema:
    origin, parts = get_origin(of), get_args(of)
    if origin is Annotated:
        return {**_form(parts[0], definitions), **_bounds(parts[1:])}
    if origin is NotRequired:
        return _form(parts[0], definitions)
    if origin is Literal:
        return _choice(parts)
    if origin in {Union, types.UnionType}:
        return _union([_form(part, definitions) for part in parts])
    if origin is list:
        return {"type": "array", "items": _form(parts[0], definitions)}
    if origin is dict:
        rest = {} if parts[1] is object else {"additionalProperties": _form(parts[1], definitions)}
        return {"type": "object", **rest}
    if isinstance(of, type) and is_typeddict(of):
        return _object(of, definitions)
    return {"type": _SIMPLE[of]}


def _bounds(marks: tuple[object, ...]) -> Schema:
    """Give what the marks of a type add; the last description counts."""
    found: Schema = {}
    for mark in marks:
        match mark:
            case str(description):
                found["description"] = description
            case Least(value):
                found["minimum"] = value
            case Matching(pattern):
                found["pattern"] = pattern
            case Items(least, most):
                found |= {"minItems": least} if least else {}
                found |= {} if most is None else {"maxItems": most}
            case _:
                raise TypeError(f"no mark of a form: {mark!r}")
    return found


def _choice(values: tuple[object, ...]) -> Schema:
    texts = all(isinstance(value, str) for value in values)
    return {**({"type": "string"} if texts else {}), "enum": list(values)}


def _union(forms: list[Schema]) -> Schema:
    """Join forms: simple types as a list of types, choices with null as one choice, else anyOf."""
    null: Schema = {"type": "null"}
    rest = [form for form in forms if form != null]
    if len(rest) < len(forms) and len(rest) == 1 and isinstance(rest[0].get("enum"), list):
        return {"enum": [*_listed(rest[0]["enum"]), None]}
    simple = [form.get("type") for form in forms]
    keys = [key for form in forms for key in form if key != "type"]
    if all(isinstance(kind, str) for kind in simple) and len(keys) == len(set(keys)):
        return {"type": simple, **{key: form[key] for form in forms for key in form if key in keys}}
    return {"anyOf": forms}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(of: type, definitions: dict[str, Schema]) -> Schema:
    """Define a TypedDict and refer to it; one that holds itself is defined once."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", of.__name__).lower()
    if name not in definitions:
        body: Schema = {"type": "object"}
        definitions[name] = body
        body["description"] = " ".join((inspect.getdoc(of) or "").split())
        hints = get_type_hints(of, include_extras=True)
        if hints.pop("__others__", None) is None:
            body["additionalProperties"] = False
        body["required"] = [
            _member(key) for key, hint in hints.items() if get_origin(hint) is not NotRequired
        ]
        body["properties"] = {_member(key): _form(hint, definitions) for key, hint in hints.items()}
    return {"$ref": f"#/$defs/{name}"}


def _member(attribute: str) -> str:
    return attribute.removesuffix("_")
