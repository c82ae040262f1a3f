"""Arguments of calls are held against their schema as an independent validator would."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.model import Tool
from constat.model.retrying import arguments_of

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -2.5])
    | st.sampled_from(["", "a", "abc"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ("object", "array", "string", "integer", "number", "boolean", "null")


def schemas(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    members = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(NAMES)
            | st.lists(st.sampled_from(NAMES), min_size=1, unique=True),
            "properties": members,
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "minimum": st.integers(-2, 2),
            "maximum": st.integers(-2, 2),
            "enum": st.lists(SCALARS, min_size=1, max_size=3),
            "const": SCALARS,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    )


SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(st.just({}), schemas, max_leaves=4)


def misfit(text: str, schema: dict[str, Any]) -> str:
    """Say why arguments do not fit; empty where they do."""
    try:
        arguments_of(text, Tool("t", "", schema))
    except ValueError as problem:
        return str(problem)
    return ""


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3), SCHEMAS)
def test_it_agrees_with_an_independent_validator(
    value: dict[str, Any], schema: dict[str, Any]
) -> None:
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    found = misfit(json.dumps(value), schema)
    assert (not found) == expected
    assert found.isprintable()


NO_OBJECTS = (
    *("", "{", "[]", "7", "null", '{"a": 1} {}', '{"a": 1, "a": 2}', '{"a": NaN}'),
    *('{"a": Infinity}', '{"a": ' + "[" * 50_000, '{"a": ' + "9" * 5_000 + "}"),
    " " * (4 << 20) + "{}",
)


@pytest.mark.parametrize("text", NO_OBJECTS, ids=lambda text: text[:20])
def test_what_is_not_one_object_is_refused(text: str) -> None:
    assert "JSON object" in misfit(text, {}) or "larger" in misfit(text, {})


def test_what_nobody_could_send_back_is_refused() -> None:
    assert misfit('{"a": ' + "[" * 63 + "]" * 63 + "}", {}) == ""
    assert "64 levels" in misfit('{"a": ' + "[" * 64 + "]" * 64 + "}", {})
    assert "64 levels" in misfit('{"a": ' * 400 + "1" + "}" * 400, {})


def test_the_place_of_a_misfit_is_named_in_printable_characters() -> None:
    schema = {
        "properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}},
        "additionalProperties": False,
    }
    with pytest.raises(ValueError, match=r"are no string at `a\[1\]\.b`"):
        arguments_of('{"a": [{}, {"b": 1}]}', Tool("t", "", schema))
    with pytest.raises(ValueError, match=r"unknown member `x\[31m`"):
        arguments_of('{"x\\u001b[31m": 1}', Tool("t", "", schema))
