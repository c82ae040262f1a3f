from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.apis import ApiError, PathError, Shape, read_path
from constat.apis.shapes import read_json


def cells(document: object, rows: str, *columns: str) -> list[tuple[object, ...]]:
    shape = Shape(read_path(rows), tuple(map(read_path, columns)))
    shape.check()
    return list(shape.cells(document))


ORDERS = {
    "total": 2,
    "orders": [
        {"id": 1, "to": {"city": "Bern"}, "lines": [{"sku": "a"}, {"sku": "b"}], "tags": ["x"]},
        {"id": 2, "to": None, "lines": [{"sku": "c"}]},
    ],
}


def test_rows_columns_and_what_lies_around_them() -> None:
    assert cells(ORDERS, "orders[]", "id", "to.city") == [(1, "Bern"), (2, None)]
    assert cells(ORDERS, "orders[].lines[]", "orders[].id", "sku", "$.total") == [
        (1, "a", 2),
        (1, "b", 2),
        (2, "c", 2),
    ]
    assert cells(ORDERS, "orders[].tags[]", ".", "orders[].id", "#") == [("x", 1, 0)]
    assert cells(ORDERS, "orders[].lines[]", "orders[]#", "#") == [(0, 0), (0, 1), (1, 0)]
    assert cells([[1, 2], [3]], "[][]", ".", "[]#") == [(1, 0), (2, 0), (3, 1)]
    assert cells({"a": 1}, "", "a", "b") == [(1, None)]


@pytest.mark.parametrize("path", ["a..b", "a[", "[0]", "a b\n.", "a[]b", "a." * 30 + "a"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(PathError):
        read_path(path)


def test_a_column_in_another_list_is_refused() -> None:
    with pytest.raises(PathError, match="do not lie in"):
        cells(ORDERS, "orders[]", "orders[].lines[].sku")


@pytest.mark.parametrize(
    ("document", "rows", "column"),
    [
        ({"orders": 1}, "orders[]", "id"),
        ({"orders": {"a": 1}}, "orders[]", "id"),
        ({"orders": [1]}, "orders[]", "id"),
        ([{"id": 1}], "", "id"),
        ({"a": {"b": 1}}, "", "a"),
        ({"a": [1]}, "", "a"),
    ],
)
def test_another_form_is_a_failure_and_no_row(document: object, rows: str, column: str) -> None:
    with pytest.raises(ApiError):
        cells(document, rows, column)


LINES = st.lists(st.fixed_dictionaries({"n": st.integers()}), max_size=3)
NESTED = st.lists(
    st.fixed_dictionaries({"id": st.integers(), "lines": LINES | st.none()}), max_size=4
)


@given(NESTED)
def test_law_child_rows_are_those_of_nested_loops(orders: list[dict[str, Any]]) -> None:
    expected = [
        (order["id"], at, place, line["n"])
        for at, order in enumerate(orders)
        for place, line in enumerate(order["lines"] or ())
    ]
    columns = ("d[].id", "d[]#", "#", "n")
    assert cells({"d": orders}, "d[].lines[]", *columns) == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=7))
def test_law_numbers_stay_exact(number: Decimal) -> None:
    assert read_json(f'{{"x": {number:f}}}'.encode())["x"] == number


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"{",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1, "a": 2}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5_000,
        json.dumps({"a": "x"}).encode()[:-1],
    ],
)
def test_what_is_no_json_is_a_failure(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        read_json(body)
    assert caught.value.code == "C0576"
