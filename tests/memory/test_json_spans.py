"""Leaves of JSON stand exactly where their spans say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import JsonSpanError, json_leaves
from tests.memory.logs import VALUES, airline_dialogues

SPACED = st.sampled_from([None, 1, "\t"])


def walked(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:  # noqa: ANN401
    match value:
        case dict():
            return [found for name, one in value.items() for found in walked(one, (*path, name))]
        case list():
            return [found for at, one in enumerate(value) for found in walked(one, (*path, at))]
        case _:
            return [(path, value)]


def read(data: bytes) -> list[tuple[tuple[str | int, ...], Any]]:
    return [(leaf.path, json.loads(data[leaf.start : leaf.end])) for leaf in json_leaves(data)]


@given(VALUES, SPACED, st.booleans())
def test_the_leaves_are_those_of_the_value(value: Any, indent: Any, ascii_only: bool) -> None:  # noqa: ANN401, FBT001
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert read(data) == walked(value)


@pytest.mark.data
def test_what_tools_answered_in_public_dialogues_is_found_leaf_by_leaf() -> None:
    count = 0
    for log in airline_dialogues():
        for message in log:
            data = (message.get("content") or "").encode()
            if message["role"] == "tool" and data[:1] in (b"{", b"["):
                found = read(data)
                assert found == walked(json.loads(data))
                count += len(found)
    assert count > 10_000


@given(st.text(st.sampled_from('{}[]",:0-1.eE tfn\\u00\x01 é'), max_size=14))
def test_it_accepts_what_the_standard_library_accepts(text: str) -> None:
    try:
        value = json.loads(text, parse_constant=int)
    except ValueError:
        with pytest.raises(JsonSpanError):
            json_leaves(text.encode())
    else:
        # Members may stand twice; both are leaves, and the library keeps the last.
        assert read(text.encode()) == walked(value) or text.count(":") > 1


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", 0),
        (b"[1,]", 3),
        (b'{"a" 1}', 5),
        (b'{"a": 1', 7),
        (b"[1} ", 2),
        (b'"a', 0),
        (b"01", 1),
        (b"[1] 2", 4),
        (b'["\xff"]', 2),
        (b"{1: 2}", 1),
        (b"[" * 300, 200),
    ],
)
def test_what_is_no_json_is_refused_at_its_place(data: bytes, place: int) -> None:
    with pytest.raises(JsonSpanError) as caught:
        json_leaves(data)
    assert caught.value.place == place


def test_twins_have_spans_of_their_own() -> None:
    spans = [(leaf.start, leaf.end) for leaf in json_leaves(b'{"a": 7, "b": [7, "7"]}')]
    assert spans == [(6, 7), (15, 16), (18, 21)]
