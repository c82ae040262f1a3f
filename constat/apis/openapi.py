"""Descriptions of APIs in OpenAPI 2 and 3, read leniently: real ones have mistakes.

A reference leads within the description; one to another document is not followed. Schemas are held
against answers without what may take long or is of no use here: patterns, `uniqueItems`, formats.
References: OpenAPI 2.0, 3.0.3 and 3.1; JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlencode, urljoin

from constat.apis.operations import (
    ANYTHING,
    BODY,
    DAY,
    DECIMAL,
    HEADER,
    LIST,
    MOMENT,
    NUMBER,
    PATH,
    QUERY,
    TABLE,
    TEXT,
    TRUTH,
    Operation,
    Parameter,
)
from constat.apis.shapes import ENTRIES, Field, Json, LeftOut, Listed, Shape
from constat.apis.transport import REFUSED, ApiError, Asking, digest_of, origin_of

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

    from constat.project.apis import ApiSetting

UNDESCRIBED: Final = "C0571"
_METHODS: Final = ("get", "head", "post", "put", "patch", "delete", "options")
_MOST_OPERATIONS: Final = 20_000
_MOST_SCHEMAS: Final = 20_000
_MOST_FIELDS: Final = 2_000
_DEEPEST: Final = 5
_LONGEST_NAME: Final = 200
_NAMED: Final = re.compile(r"\{([^{}/]{1,100})\}")
_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_PLACE: Final = re.compile(r"(?:0|[1-9][0-9]{0,5})\Z")
_KINDS: Final = MappingProxyType(
    {"integer": NUMBER, "number": DECIMAL, "string": TEXT, "boolean": TRUTH}
)
_FORMATS: Final = MappingProxyType({"date": DAY, "date-time": MOMENT})
_KEPT: Final = (
    *("enum", "const", "minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "minProperties", "maxProperties"),
)
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


class OpenApi:
    """One description. Implements `Description`."""

    def __init__(self, setting: ApiSetting, document: Json, content: bytes) -> None:
        """Take a description that was read; raises `ApiError` where it is none."""
        if not isinstance(document, dict) or not isinstance(document.get("paths"), dict):
            raise ApiError("its description has no `paths`: it is no OpenAPI", UNDESCRIBED)
        if not ("openapi" in document or "swagger" in document):
            raise ApiError("its description says neither `openapi` nor `swagger`", UNDESCRIBED)
        self._setting = setting
        self._document = document
        self.digest = digest_of(content)
        info = document.get("info")
        told = info if isinstance(info, dict) else {}
        self.title = _text(told.get("title"))
        self.version = _text(told.get("version"))
        self._validators: dict[str, Draft202012Validator | None] = {}

    # ---------------------------------------------------------------------------- operations

    @cached_property
    def operations(self) -> Mapping[str, Operation]:
        """The operations by name; one without a name is called by its method and path."""
        found: dict[str, Operation] = {}
        for path, item in self._document["paths"].items():
            shared = self._resolved(item)
            for method in _METHODS:
                told = shared.get(method)
                if isinstance(told, dict) and len(found) < _MOST_OPERATIONS:
                    one = self._operation(str(path), method, told, shared)
                    name = one.name
                    while name in found:
                        name += "_2"
                    found[name] = one
        return found

    def _operation(self, path: str, method: str, told: Json, shared: Json) -> Operation:
        own = _WORD.sub("_", f"{method} {path}").strip("_")
        name = _text(told.get("operationId"))[:_LONGEST_NAME] or own
        return Operation(
            name=name,
            form=f"{method.upper()} {path}",
            safe=method == "get" or name in self._setting.safe,
            summary=_text(told.get("summary")) or _text(told.get("description")),
            parameters=tuple(self._parameters(path, told, shared)),
            method=method.upper(),
            path=path,
            result=self._result(told),
            deprecated=told.get("deprecated") is True,
        )

    def _parameters(self, path: str, told: Json, shared: Json) -> Iterator[Parameter]:
        listed: dict[tuple[str, str], Parameter] = {}
        for group in (shared.get("parameters"), told.get("parameters")):
            for written in group if isinstance(group, list) else ():
                one = self._resolved(written)
                name, place = _text(one.get("name")), _text(one.get("in"))
                if place in {PATH, QUERY, HEADER} and name:
                    schema = self._resolved(one.get("schema", one))
                    kind = self._kind(schema)
                    needed = place == PATH or one.get("required") is True
                    said = _text(one.get("description"))
                    listed[place, name] = Parameter(name, place, needed, kind, said)
                elif place == BODY:
                    listed |= {(BODY, p.name): p for p in self._of_body(one.get("schema"))}
        body = self._resolved(told.get("requestBody"))
        if body:
            listed |= {(BODY, p.name): p for p in self._of_body(self._json_of(body))}
        yield from listed.values()
        for name in _NAMED.findall(path):
            # A path may name what nothing else declares.
            if (PATH, name) not in listed:
                yield Parameter(name, PATH, required=True)

    def _of_body(self, schema: Json) -> Iterator[Parameter]:
        found = self._merged(schema)
        required = found.get("required")
        for name, one in _table(found.get("properties")).items():
            told = self._resolved(one)
            # What is only ever read is not sent.
            needed = isinstance(required, list) and name in required
            needed = needed and told.get("readOnly") is not True
            yield Parameter(str(name), BODY, needed, self._kind(told))

    def _result(self, told: Json) -> Json:
        """Give the schema of an answer where it succeeds; `None` where none is said."""
        responses = _table(told.get("responses"))
        for status in ("200", "2XX", "2xx", "default"):
            if status in responses:
                response = self._resolved(responses[status])
                found = self._json_of(response) if "content" in response else None
                return found if found is not None else response.get("schema")
        return None

    def _json_of(self, holder: Json) -> Json:
        for kind, told in _table(holder.get("content")).items():
            if "json" in str(kind).lower() or str(kind).startswith("*"):
                return _table(told).get("schema")
        return None

    # ---------------------------------------------------------------------------- asking

    def base(self) -> str:
        """Give the address that paths are below; raises `ApiError` where none is said."""
        setting, document = self._setting, self._document
        if setting.url is not None:
            return setting.text(setting.url)
        near = setting.text(setting.spec_url) if setting.spec_url is not None else ""
        if "swagger" in document:
            found = _swagger_base(document, near)
        else:
            servers = document.get("servers")
            first = servers[0] if isinstance(servers, list) and servers else {}
            url = _text(_table(first).get("url")) or "/"
            for name, told in _table(_table(first).get("variables")).items():
                url = url.replace(f"{{{name}}}", _text(_table(told).get("default")))
            found = urljoin(near, url) if near or "://" in url else ""
        if not found.startswith(("http://", "https://")):
            raise ApiError("nothing says where it is: write its `url`", UNDESCRIBED)
        keyed = setting.auth is not None or setting.headers
        if keyed and (not near or origin_of(near) != origin_of(found)):
            # A description that was fetched does not say where credentials go.
            where = origin_of(found)[1]
            raise ApiError(
                f"its description says it is at {where}; credentials go there only once that is "
                f"its `url`",
                REFUSED,
            )
        return found

    def asking(self, operation: Operation, sent: Mapping[str, object], shape: Shape) -> Asking:
        """Make the request for values of parameters, each of which has its place."""
        del shape
        values: dict[str, str] = {}
        query: list[tuple[str, str]] = []
        body: dict[str, object] = {}
        headers = {"accept": "application/json, application/*+json"}
        for name, value in sent.items():
            one = operation.parameter(name)
            place = QUERY if one is None else one.place
            text = _spelled(value)
            if place == PATH:
                values[name] = quote(text, safe="")
            elif place == HEADER:
                if not text.isprintable() or not text.isascii():
                    raise ApiError(f"`{name}` is no text for a header", REFUSED)
                headers[name.lower()] = text
            elif place == BODY:
                body[name] = value
            else:
                query.append((name, text))
        path = "/".join(_filled(segment, values) for segment in operation.path.split("/"))
        url = self.base().rstrip("/") + ("" if path.startswith("/") else "/") + path
        if query:
            url += ("&" if "?" in url else "?") + urlencode(query)
        content = b""
        if body:
            headers["content-type"] = "application/json"
            content = json.dumps(body, default=str).encode()
        return Asking(operation.method, url, headers, content)

    @staticmethod
    def payload(document: Json) -> Json:
        """Give the answer itself."""
        return document

    # ---------------------------------------------------------------------------- schemas

    def fields(self, operation: Operation) -> Listed:
        """Give the fields of an answer, those of lists and tables in it included."""
        if operation.result is None:
            return Listed()
        found: list[Field] = []
        left_out: list[LeftOut] = []
        is_open = self._walk(operation.result, (), (found, left_out), frozenset())
        is_open |= len(found) > _MOST_FIELDS
        return Listed.of(found[:_MOST_FIELDS], is_open=is_open, left_out=left_out)

    def rows(self, operation: Operation) -> str:
        """Give `[]` where an answer is a list."""
        schema = self._merged(operation.result)
        return ENTRIES if self._kind(schema) == LIST else ""

    def _walk(
        self,
        schema: Json,
        path: tuple[str, ...],
        into: tuple[list[Field], list[LeftOut]],
        around: frozenset[str],
    ) -> bool:
        """Add the fields below a schema; tell whether there may be others beside them."""
        (found, left_out), names = into, self._names(schema)
        if len(found) >= _MOST_FIELDS:
            return True
        again = sorted(one.rpartition("/")[2] for one in names & around)
        if again or len(path) >= 2 * _DEEPEST:
            why = f"`{again[0]}` stands around it" if again else "it lies too deep"
            left_out.append(LeftOut(path, why))
            return True
        around |= names
        merged = self._merged(schema)
        if self._kind(merged) == LIST:
            inner = merged.get("items")
            told = self._merged(inner)
            kind = self._kind(told)
            if kind == ANYTHING:
                left_out.append(LeftOut((*path, ENTRIES), "nothing says what its entries are"))
                return True
            if kind not in {LIST, TABLE}:
                found.append(Field((*path, ENTRIES), kind, _may_be_null(told)))
                return False
            return self._walk(inner, (*path, ENTRIES), into, around)
        return self._walk_table(merged, path, into, around)

    def _walk_table(
        self,
        merged: Json,
        path: tuple[str, ...],
        into: tuple[list[Field], list[LeftOut]],
        around: frozenset[str],
    ) -> bool:
        properties = _table(merged.get("properties"))
        required = merged.get("required")
        if not properties and path:
            into[1].append(LeftOut(path, "nothing names its fields"))
        for name, one in properties.items():
            told, here = self._merged(one), (*path, str(name))
            if told.get("writeOnly") is True or _table(one).get("writeOnly") is True:
                continue  # it is sent, and in no answer
            kind = self._kind(told)
            if kind in {LIST, TABLE}:
                self._walk(one, here, into, around)
            needed = isinstance(required, list) and name in required
            missing = not needed or _may_be_null(told) or _is_nullable(_table(one))
            into[0].append(Field(here, kind, missing, _text(told.get("description"))))
        return not properties or bool(merged.get("additionalProperties", False))

    def _kind(self, schema: Json) -> str:
        """Give the kind of value that a resolved schema tells of."""
        told = schema.get("type")
        if isinstance(told, list):
            told = next((one for one in told if one != "null"), None)
        if told == "array" or "items" in schema:
            return LIST
        if told == "object" or "properties" in schema:
            return TABLE
        if told == "string":
            return _FORMATS.get(_text(schema.get("format")), TEXT)
        return _KINDS.get(_text(told), ANYTHING)

    def _merged(self, schema: Json, depth: int = 0) -> dict[str, Any]:
        """Give a schema with what `allOf`, `anyOf` and `oneOf` add to it."""
        found = dict(self._resolved(schema))
        if depth > _DEEPEST:
            return found
        for word in ("allOf", "anyOf", "oneOf"):
            parts = found.pop(word, None)
            for part in parts if isinstance(parts, list) else ():
                inner = self._merged(part, depth + 1)
                if inner.get("type") == "null":
                    found["nullable"] = True
                    continue
                if word != "allOf" and _may_be_null(inner):
                    found["nullable"] = True
                properties = {**_table(inner.get("properties")), **_table(found.get("properties"))}
                required = list(found.get("required") or []) + (
                    list(inner.get("required") or []) if word == "allOf" else []
                )
                found = {**inner, **found, "required": required}
                if properties:
                    found["properties"] = properties
        return found

    def _resolved(self, node: Json, depth: int = 0) -> dict[str, Any]:
        """Give the table that a node is or refers to; an empty one where it leads nowhere."""
        if not isinstance(node, dict):
            return {}
        pointer = node.get("$ref")
        if not isinstance(pointer, str):
            return node
        if depth > 2 * _DEEPEST:
            return {}
        return self._resolved(self._at(pointer), depth + 1)

    def _names(self, schema: Json, depth: int = 0) -> frozenset[str]:
        """Give the references that a schema is one of, through what only makes it nullable."""
        if not isinstance(schema, dict) or depth > 2 * _DEEPEST:
            return frozenset()
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self._names(self._at(pointer), depth + 1) | {pointer}
        parts = [
            one
            for word in ("allOf", "anyOf", "oneOf")
            for one in (schema[word] if isinstance(schema.get(word), list) else ())
            if not (isinstance(one, dict) and one.get("type") == "null")
        ]
        alone = len(parts) == 1 and "properties" not in schema
        return self._names(parts[0], depth + 1) if alone else frozenset()

    def _at(self, pointer: str) -> Json:
        if not pointer.startswith("#/"):
            return None
        found: Json = self._document
        for part in pointer[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                found = found[int(name)] if _PLACE.match(name) and int(name) < len(found) else None
            else:
                found = found.get(name) if isinstance(found, dict) else None
        return found

    # ---------------------------------------------------------------------------- validity

    def problem(self, operation: Operation, document: Json) -> str:
        """Tell where an answer does not fit its schema; no value of it is shown."""
        if operation.name not in self._validators:
            self._validators[operation.name] = self._validator(operation.result)
        validator = self._validators[operation.name]
        if validator is None:
            return ""
        try:
            found = next(iter(validator.iter_errors(document)), None)
        except (ValueError, TypeError, RecursionError, OverflowError):
            return "it is nested deeper, or holds other numbers, than can be looked at"
        if found is None:
            return ""
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in found.instance_path)
        where = "$" + "".join(letter if letter.isprintable() else "?" for letter in place)[:200]
        word = next((one for one in reversed(found.schema_path) if isinstance(one, str)), "")
        told = {"type": "is of another type", "required": "lacks a field that is always there"}
        return f"{where} {told.get(word, f'does not keep `{word}`')}"

    def _validator(self, schema: Json) -> Draft202012Validator | None:
        """Make what holds answers against a schema; `ApiError` where that is none."""
        if not isinstance(schema, dict):
            return None
        import jsonschema_rs  # noqa: PLC0415  heavy library, loaded on first use

        try:
            return jsonschema_rs.Draft202012Validator(_Schemas(self).whole(schema))
        except (ValueError, TypeError, OverflowError) as problem:
            reason = f"the schema of an answer is none ({type(problem).__name__})"
            raise ApiError(reason, UNDESCRIBED) from None

    def at(self, pointer: str) -> Json:
        """Give what a reference within the description leads to."""
        return self._at(pointer)


class _Schemas:
    """Makes one JSON Schema of a schema of OpenAPI and all that it refers to."""

    def __init__(self, description: OpenApi) -> None:
        self._description = description
        self._names: dict[str, str] = {}
        self._left = _MOST_SCHEMAS

    def whole(self, schema: Json) -> dict[str, Any]:
        made = self._made(schema, 0)
        definitions: dict[str, Any] = {}
        while len(definitions) < len(self._names):
            for pointer, name in list(self._names.items()):
                if name not in definitions:
                    definitions[name] = self._made(self._description.at(pointer), 0)
        return {"allOf": [made], "$defs": definitions}

    def _made(self, schema: Json, depth: int) -> Any:  # noqa: ANN401  JSON
        self._left -= 1
        if not isinstance(schema, dict) or self._left < 0 or depth > 10 * _DEEPEST:
            return True
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            if not pointer.startswith("#/"):
                return True
            name = self._names.setdefault(pointer, f"s{len(self._names)}")
            found: dict[str, Any] = {"$ref": f"#/$defs/{name}"}
        else:
            found = {word: schema[word] for word in _KEPT if word in schema}
            found |= self._typed(schema)
            found |= self._bounds(schema)
            found |= self._inner(schema, depth)
        if _is_nullable(schema):
            return {"anyOf": [{"type": "null"}, found]}
        return found

    @staticmethod
    def _typed(schema: Json) -> dict[str, Any]:
        told = schema.get("type")
        listed = [told] if isinstance(told, str) else told
        if not isinstance(listed, list) or not listed or not set(map(str, listed)) <= _TYPES:
            return {}
        return {"type": listed}

    @staticmethod
    def _bounds(schema: Json) -> dict[str, Any]:
        """OpenAPI before 3.1 says by a truth value that a bound is left out."""
        found = {}
        for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            told = schema.get(word)
            if told is True and bound in schema:
                found[word] = schema[bound]
            elif isinstance(told, int | float) and not isinstance(told, bool):
                found[word] = told
        return found

    def _inner(self, schema: Json, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        properties = _table(schema.get("properties"))
        if properties:
            found["properties"] = {k: self._made(v, depth + 1) for k, v in properties.items()}
        required = schema.get("required")
        if isinstance(required, list):
            # What is only ever sent is not in an answer.
            sent = {k for k, v in properties.items() if _table(v).get("writeOnly") is True}
            found["required"] = [n for n in required if isinstance(n, str) and n not in sent]
        more = schema.get("additionalProperties")
        if more is False and "patternProperties" not in schema and "allOf" not in schema:
            found["additionalProperties"] = False
        elif isinstance(more, dict) and "patternProperties" not in schema:
            found["additionalProperties"] = self._made(more, depth + 1)
        items = schema.get("items")
        if isinstance(items, list):
            found["prefixItems"] = [self._made(one, depth + 1) for one in items]
        elif items is not None:
            found["items"] = self._made(items, depth + 1)
        for word in ("allOf", "anyOf", "oneOf"):
            parts = schema.get(word)
            if isinstance(parts, list) and parts:
                # Without patterns and formats several of `oneOf` may fit.
                kept = "anyOf" if word == "oneOf" else word
                found.setdefault(kept, []).extend(self._made(one, depth + 1) for one in parts)
        return found


def _is_nullable(schema: Json) -> bool:
    if schema.get("nullable") is True or schema.get("x-nullable") is True:
        return True
    told = schema.get("type")
    return isinstance(told, list) and "null" in told


def _may_be_null(merged: Json) -> bool:
    """Tell whether a merged schema takes null; one that names no type takes any value."""
    named = merged.keys() & {"type", "items", "properties", "enum", "const"}
    listed = merged.get("enum")
    chosen = "type" not in merged and isinstance(listed, list) and None in listed
    return not named or chosen or _is_nullable(merged)


def _swagger_base(document: Mapping[str, Any], near: str) -> str:
    host = _text(document.get("host"))
    schemes = document.get("schemes")
    listed = schemes if isinstance(schemes, list) else []
    scheme = next((one for one in ("https", "http") if one in listed), "")
    if not host:
        return urljoin(near, _text(document.get("basePath")) or "/") if near else ""
    return (
        f"{scheme or near.partition(':')[0] or 'https'}://{host}{_text(document.get('basePath'))}"
    )


def _filled(segment: str, values: Mapping[str, str]) -> str:
    """Fill in a part of a path; raises `ApiError` where values would make another path of it."""
    found = _NAMED.sub(lambda one: values.get(one[1], ""), segment)
    if found != segment and found in {"", ".", ".."}:
        raise ApiError("a value makes an empty or dotted part of the path", REFUSED)
    return found


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _text(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
