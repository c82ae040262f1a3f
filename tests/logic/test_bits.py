"""Bitwise and logical operators: two's complement, said in the words of bit strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import EvaluationError, Kind, implementation
from tests.logic.strategies import NUMBERS, UNSIGNED

if TYPE_CHECKING:
    from constat.logic import Value

INTEGERS = st.sampled_from([Kind.NUMBER, Kind.UNSIGNED])


def values(kind: Kind) -> st.SearchStrategy[int]:
    return NUMBERS if kind is Kind.NUMBER else UNSIGNED


def bits(value: int) -> str:
    return f"{value % 2**64:064b}"


def number(text: str, kind: Kind) -> int:
    value = int(text, 2)
    return value - 2**64 if kind is Kind.NUMBER and text[0] == "1" else value


def apply(operator: str, kind: Kind, *arguments: int) -> Value:
    return implementation(operator, (kind,) * len(arguments), kind)(*arguments)


@given(INTEGERS, st.data())
def test_bits_are_combined_one_by_one(kind: Kind, data: st.DataObject) -> None:
    left, right = data.draw(values(kind)), data.draw(values(kind))
    pairs = list(zip(bits(left), bits(right), strict=True))
    for operator, ones in (("band", {2}), ("bor", {1, 2}), ("bxor", {1})):
        expected = "".join("01"[int(a) + int(b) in ones] for a, b in pairs)
        assert apply(operator, kind, left, right) == number(expected, kind)
    flipped = bits(left).translate(str.maketrans("01", "10"))
    assert apply("bnot", kind, left) == number(flipped, kind)


@given(INTEGERS, st.integers(0, 63), st.data())
def test_a_shift_moves_the_bits(kind: Kind, count: int, data: st.DataObject) -> None:
    value = data.draw(values(kind))
    text = bits(value)
    sign = text[0] if kind is Kind.NUMBER else "0"
    assert apply("bshl", kind, value, count) == number((text + "0" * count)[-64:], kind)
    assert apply("bshr", kind, value, count) == number((sign * count + text)[:64], kind)
    assert apply("bshru", kind, value, count) == number(("0" * count + text)[:64], kind)


@pytest.mark.parametrize("operator", ["bshl", "bshr", "bshru"])
@pytest.mark.parametrize("count", [-1, 64, 2**63 - 1])
def test_a_shift_by_what_is_no_place_of_a_bit_is_an_error(operator: str, count: int) -> None:
    with pytest.raises(EvaluationError, match=r"^a shift is by 0 to 63 bits$"):
        apply(operator, Kind.NUMBER, 1, count)


@given(INTEGERS, st.data())
def test_logical_operators_give_1_or_0(kind: Kind, data: st.DataObject) -> None:
    small = st.one_of(st.just(0), values(kind))
    left, right = data.draw(small), data.draw(small)
    first, second = bool(left), bool(right)
    assert apply("land", kind, left, right) == int(first and second)
    assert apply("lor", kind, left, right) == int(first or second)
    assert apply("lxor", kind, left, right) == int(first != second)
    assert apply("lnot", kind, left) == int(not first)


@given(st.lists(NUMBERS, min_size=2, max_size=6))
def test_the_least_and_the_greatest_of_several_values(several: list[int]) -> None:
    least, *_, greatest = sorted(several)
    assert apply("min", Kind.NUMBER, *several) == least
    assert apply("max", Kind.NUMBER, *several) == greatest


def test_texts_have_a_least_in_the_order_of_code_points() -> None:
    least = implementation("min", (Kind.SYMBOL, Kind.SYMBOL), Kind.SYMBOL)
    assert [least("a", "B"), least("10", "9"), least("\ue000", "\U00010000")] == [
        *("B", "10", "\ue000")
    ]


@pytest.mark.parametrize("function", ["min", "max"])
@pytest.mark.parametrize(
    ("kinds", "result"),
    [
        ((Kind.NUMBER,), Kind.NUMBER),
        ((Kind.BOOL, Kind.BOOL), Kind.BOOL),
        ((Kind.NUMBER, Kind.FLOAT), Kind.FLOAT),
    ],
)
def test_one_value_truth_values_and_mixtures_have_no_least(
    function: str, kinds: tuple[Kind, ...], result: Kind
) -> None:
    with pytest.raises(KeyError):
        implementation(function, kinds, result)


@given(NUMBERS)
def test_a_conversion_cuts_towards_zero_and_a_cast_refuses_to(value: int) -> None:
    cut = implementation("to_number", (Kind.FLOAT,), Kind.NUMBER)
    cast_to = implementation("as", (Kind.FLOAT,), Kind.NUMBER)
    half = cast("float", implementation("to_float", (Kind.NUMBER,), Kind.FLOAT)(value)) / 2
    if abs(value) < 2**53:
        whole = abs(value) // 2
        assert cut(half) == (whole if value >= 0 else -whole)
        if value % 2:
            with pytest.raises(EvaluationError):
                cast_to(half)
