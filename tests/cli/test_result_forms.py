"""The JSON Schema of a type says what the type says."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema
import pytest

from constat.cli.schemas import Amount, Count, Items, Open, Ordinal, Result, schema_of


class Leaf(TypedDict):
    """A leaf.

    It may grow.
    """

    name: Annotated[str, "What it is called."]
    class_: Literal["a", "b"] | None
    below: NotRequired[list[Leaf]]


class Loose(Open):
    """Anything with a count."""

    count: Count


class Whole(TypedDict):
    """All forms."""

    leaf: Leaf | None
    loose: Loose
    pair: Annotated[list[Ordinal], Items(2, 2)]
    maybe: Annotated[Count | None, "A count."]
    by_name: dict[str, Amount]
    any: dict[str, object]


GOOD: dict[str, Any] = {
    "leaf": {"name": "x", "class": None, "below": [{"name": "y", "class": "a"}]},
    "loose": {"count": 0, "more": True},
    "pair": [1, 2],
    "maybe": None,
    "by_name": {"x": "1.5"},
    "any": {"x": [1]},
}


def valid(value: object) -> bool:
    schema = schema_of("whole", Result(Whole))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def test_what_the_type_says_is_accepted() -> None:
    assert valid(GOOD)
    assert valid({**GOOD, "leaf": None, "maybe": 3})


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaf": {"name": "x"}},
        {"leaf": {"name": "x", "class": "c"}},
        {"leaf": {"name": "x", "class": "a", "more": 1}},
        {"leaf": {"name": "x", "class": "a", "below": [{"name": 1, "class": "a"}]}},
        {"loose": {}},
        {"loose": {"count": -1}},
        {"pair": [1]},
        {"pair": [1, 2, 3]},
        {"pair": [0, 1]},
        {"maybe": -1},
        {"maybe": "1"},
        {"by_name": {"x": "-1"}},
        {"any": 1},
        {"more": 1},
    ],
)
def test_what_the_type_does_not_say_is_refused(wrong: dict[str, object]) -> None:
    assert not valid({**GOOD, **wrong})


def test_descriptions_are_those_of_the_type() -> None:
    schema: Any = schema_of("some-words", Result(Whole))
    assert schema["title"] == "Result of `constat some words --format json`"
    assert schema["description"] == "All forms."
    assert schema["properties"]["maybe"]["description"] == "A count."
    assert schema["$defs"]["leaf"]["description"] == "A leaf. It may grow."


def test_a_mark_that_no_schema_knows_is_noticed() -> None:
    with pytest.raises(TypeError):
        schema_of("x", Result(Annotated[int, 1]))
