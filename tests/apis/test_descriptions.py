"""Descriptions as servers really write them, and as nobody should."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.apis import ApiError, Shape, read_path
from constat.apis.openapi import OpenApi
from constat.apis.operations import TABLE
from constat.apis.shapes import path_text
from constat.project.apis import ApiSetting
from constat.project.reading import Expanded

SETTING = ApiSetting("crm", url=Expanded("https://crm.example/api/"))
WHOLE = Shape(read_path(""), ())


def described(schema: object, **more: object) -> OpenApi:
    answer = {"200": {"content": {"application/json": {"schema": schema}}}}
    paths = {"/a": {"get": {"operationId": "a", "responses": answer}}}
    return OpenApi(SETTING, {"openapi": "3.0.0", "paths": paths, **more}, b"x")


def problem(schema: object, document: object, **more: object) -> str:
    found = described(schema, **more)
    return found.problem(found.operations["a"], document)


NODE = {"$ref": "#/components/schemas/Node"}


@pytest.mark.parametrize(
    "field",
    [
        NODE,
        {"$ref": "#/components/schemas/Other"},
        {"allOf": [NODE], "description": "what it lies in"},
        {"oneOf": [NODE, {"type": "null"}]},
        {"type": "object", "properties": {"below": NODE}},
        {"type": "array", "items": NODE},
    ],
)
def test_a_field_that_leads_back_to_what_stands_around_it_is_named(field: dict[str, Any]) -> None:
    schemas = {"Node": {"type": "object", "properties": {"id": {}, "up": field}}, "Other": NODE}
    found = described(NODE, components={"schemas": schemas})
    listed = found.fields(found.operations["a"])
    place = "up.below" if "properties" in field else "up[]" if "items" in field else "up"
    told = [(path_text(one.path), one.why) for one in listed.left_out]
    assert told == [(place, "`Node` stands around it")]
    assert {path_text(one.path) for one in listed.fields} == {"id", "up", place.removesuffix("[]")}


def test_a_type_that_is_used_twice_leads_back_nowhere() -> None:
    place = {"type": "object", "properties": {"town": {"type": "string"}}}
    base = {"$ref": "#/components/schemas/Place"}
    inner = {"properties": {"from": base, "to": base, "via": {"type": "array", "items": base}}}
    found = described({"allOf": [base, inner]}, components={"schemas": {"Place": place}})
    listed = found.fields(found.operations["a"])
    assert listed.left_out == ()
    towns = [path_text(one.path) for one in listed.fields if one.path[-1] == "town"]
    assert sorted(towns) == ["from.town", "to.town", "town", "via[].town"]


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"type": "string", "nullable": True}, None, 1),
        ({"type": "string", "x-nullable": True}, None, 1),
        ({"type": ["string", "null"]}, None, 1),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, 4, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4, 3),
        ({"type": "string", "enum": ["a"]}, "a", "b"),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, {"a": 1}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, 1, []),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}, {"x": "1"}),
        (
            {"required": ["p"], "properties": {"p": {"writeOnly": True}, "q": {"type": "string"}}},
            {},
            {"q": 1},
        ),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 40 + "!", 1),
    ],
)
def test_answers_are_held_against_schemas(schema: object, fits: object, does_not: object) -> None:
    assert problem(schema, fits) == ""
    assert problem(schema, does_not) != ""


def test_a_message_names_the_place_and_never_the_value() -> None:
    schema = {"type": "array", "items": {"properties": {"a": {"type": "integer"}}}}
    assert problem(schema, [{"a": 1}, {"a": "secret"}]) == "$[1].a is of another type"


def test_schemas_that_name_themselves_end() -> None:
    tree = {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Tree"}}}
    parts = {"schemas": {"Tree": tree, "Loop": {"$ref": "#/components/schemas/Loop"}}}
    root = {"$ref": "#/components/schemas/Tree"}
    assert problem(root, {"inner": {"inner": {}}}, components=parts) == ""
    assert problem(root, {"inner": {"inner": 1}}, components=parts) != ""
    loop = {"$ref": "#/components/schemas/Loop"}
    found = described(loop, components=parts)
    assert found.fields(found.operations["a"]).fields == ()
    assert found.problem(found.operations["a"], {}) == "", "a schema of itself says nothing"
    assert problem({"$ref": "https://elsewhere.example/schema"}, {}) == ""


@pytest.mark.parametrize(
    ("pointer", "held"),
    [
        ("#/components/schemas/Either/oneOf/1", True),
        ("#/components/schemas/a~1b%20c/properties/x", True),
        ("#/components/schemas/Either/oneOf/2", False),
        ("#/components/schemas/Either/oneOf/01", False),
        ("#/components/schemas/Either/oneOf/-1", False),
        (f"#/components/schemas/Either/oneOf/{'9' * 5_000}", False),
    ],
)
def test_a_reference_leads_to_any_place_within_the_description(pointer: str, *, held: bool) -> None:
    number = {"type": "integer"}
    parts = {
        "schemas": {
            "Either": {"oneOf": [{"type": "string"}, number]},
            "a/b c": {"properties": {"x": number}},
        }
    }
    assert problem({"$ref": pointer}, 1, components=parts) == ""
    assert bool(problem({"$ref": pointer}, "text", components=parts)) is held


def test_names_of_fields_that_say_nothing_about_others_stay_open() -> None:
    listed = described({"properties": {"a": {"type": "string"}}})
    assert not listed.fields(listed.operations["a"]).open
    free = described({"type": "object", "additionalProperties": True})
    assert free.fields(free.operations["a"]).open


@pytest.mark.parametrize(
    ("document", "url"),
    [
        ({"swagger": "2.0", "host": "a.example", "basePath": "/v2"}, "https://a.example/v2"),
        ({"swagger": "2.0", "host": "a.example", "schemes": ["http"]}, "http://a.example"),
        ({"swagger": "2.0"}, "https://spec.example/"),
        ({"openapi": "3.0.0", "servers": [{"url": "/api"}]}, "https://spec.example/api"),
        ({"openapi": "3.0.0", "servers": [{"url": "https://b.example/x"}]}, "https://b.example/x"),
        (
            {
                "openapi": "3.0.0",
                "servers": [
                    {"url": "https://{r}.b.example", "variables": {"r": {"default": "eu"}}}
                ],
            },
            "https://eu.b.example",
        ),
    ],
)
def test_where_an_api_is(document: dict[str, Any], url: str) -> None:
    setting = ApiSetting("crm", spec_url=Expanded("https://spec.example/d/openapi.json"))
    assert OpenApi(setting, {**document, "paths": {}}, b"").base() == url


def test_credentials_do_not_follow_a_description() -> None:
    setting = ApiSetting(
        "crm",
        spec_url=Expanded("https://spec.example/openapi.json"),
        headers={"x-key": Expanded("hush", ("KEY",))},
    )
    document = {"openapi": "3.0.0", "servers": [{"url": "https://b.example"}], "paths": {}}
    with pytest.raises(ApiError) as caught:
        OpenApi(setting, document, b"").base()
    assert caught.value.code == "C0575"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "string", "#/paths", "id"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("get", "post", "parameters", "responses", "200", "content", "schema", "type"),
                    *(
                        "application/json",
                        "properties",
                        "items",
                        "$ref",
                        "allOf",
                        "oneOf",
                        "required",
                    ),
                    *("in", "name", "enum", "minimum", "nullable", "additionalProperties"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(["/a", "/b/{id}", "x"]), ANYTHING, max_size=3), ANYTHING)
def test_law_no_description_breaks_the_reader(paths: object, answer: object) -> None:
    found = OpenApi(SETTING, {"openapi": "3.0.0", "paths": paths}, b"")
    for operation in found.operations.values():
        found.fields(operation)
        found.rows(operation)
        with suppress(ApiError):
            found.problem(operation, answer)
        sent = {one.name: "v" for one in operation.parameters}
        assert found.asking(operation, sent, WHOLE).url.startswith("https://crm.example/api/")


PLACE = {
    "type": "object",
    "required": ["city", "zip"],
    "properties": {"city": {"type": "string"}, "zip": {"type": "string", "nullable": True}},
}
PLAIN: dict[str, Any] = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "missing"),
    [
        # A table that is always there has its fields always; another takes them with it.
        ({"required": ["a"], "properties": {"a": PLACE}}, {"a.city": False, "a.zip": True}),
        ({"properties": {"a": PLACE}}, {"a.city": True, "a.zip": True}),
        (
            {"required": ["a"], "properties": {"a": {"anyOf": [PLACE, {"type": "null"}]}}},
            {"a.city": True, "a.zip": True},
        ),
        ({"required": ["a"], "properties": {"a": {"writeOnly": True, **PLAIN}, "b": {}}}, {"b": 1}),
        ({"required": ["a", "b"], "properties": {"a": {}, "b": PLAIN}}, {"a": True, "b": False}),
        (
            {"required": ["a"], "properties": {"a": {"oneOf": [PLAIN, {"type": ["null"]}]}}},
            {"a": True},
        ),
        ({"required": ["a"], "properties": {"a": {"enum": ["x", None]}}}, {"a": True}),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, {"[]": True}),
        ({"type": "array", "items": PLAIN}, {"[]": False}),
    ],
)
def test_a_field_may_be_missing_where_its_schema_says_so(
    schema: object, missing: dict[str, bool]
) -> None:
    found = described(schema)
    listed = found.fields(found.operations["a"])
    values = [one for one in listed.fields if one.kind != TABLE]
    assert {path_text(one.path): listed.may_lack(one, ()) for one in values} == missing


def test_what_is_only_read_is_not_sent() -> None:
    body = {"required": ["id", "a"], "properties": {"id": {"readOnly": True, **PLAIN}, "a": PLAIN}}
    post = {"requestBody": {"content": {"application/json": {"schema": body}}}}
    found = OpenApi(SETTING, {"openapi": "3.0.0", "paths": {"/a": {"post": post}}}, b"x")
    (operation,) = found.operations.values()
    assert {one.name: one.required for one in operation.parameters} == {"id": False, "a": True}
