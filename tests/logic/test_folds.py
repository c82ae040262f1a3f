"""Aggregates: exact, and the same in every order."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import EvaluationError, Kind, Value, aggregate_kind, fold
from tests.logic.strategies import DECIMALS, FLOATS, NUMBERS, SYMBOLS


def outcome(function: str, kind: Kind, values: list[Value]) -> Value | None:
    try:
        return fold(function, kind, values)
    except EvaluationError:
        return None


def points(text: str) -> list[int]:
    return [ord(character) for character in text]


def nearest(exact: Fraction) -> float | None:
    try:
        return float(exact) or 0.0
    except OverflowError:
        return None


@given(st.lists(FLOATS, max_size=8))
def test_sums_and_means_of_floats_are_rounded_once(values: list[Value]) -> None:
    exact = sum((Fraction(value) for value in values), Fraction(0))
    assert outcome("sum", Kind.FLOAT, values) == nearest(exact)
    if values:
        assert outcome("mean", Kind.FLOAT, values) == nearest(exact / len(values))


def test_a_sum_is_finite_although_a_partial_sum_is_not() -> None:
    assert fold("sum", Kind.FLOAT, [1e308, 1e308, -1e308]) == 1e308
    assert fold("mean", Kind.FLOAT, [1e308, 1e308]) == 1e308
    assert outcome("sum", Kind.FLOAT, [1e308, 1e308]) is None


@given(st.lists(NUMBERS, max_size=8))
def test_sums_of_integers_are_exact_or_an_error(values: list[Value]) -> None:
    exact = sum(int(value) for value in values)
    expected = exact if -(2**63) <= exact < 2**63 else None
    assert outcome("sum", Kind.NUMBER, values) == expected
    if values:
        mean = outcome("mean", Kind.NUMBER, values)
        assert isinstance(mean, float)
        assert mean == float(Fraction(exact, len(values)))


@given(st.lists(DECIMALS, min_size=1, max_size=8))
def test_sums_and_means_of_decimals_are_those_of_fractions(values: list[Value]) -> None:
    exact = sum((Fraction(value) for value in values), Fraction(0))
    total = outcome("sum", Kind.DECIMAL, values)
    assert total is None or Fraction(total) == exact
    mean = outcome("mean", Kind.DECIMAL, values)
    assert mean is None or Fraction(mean) == Fraction(round(exact / len(values) * 10**12), 10**12)


@given(st.lists(FLOATS, max_size=8), st.randoms())
def test_order_does_not_matter(values: list[Value], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for function in ("sum", "mean", "min", "max", "count"):
        assert outcome(function, Kind.FLOAT, values) == outcome(function, Kind.FLOAT, shuffled)


def test_a_decimal_sum_beyond_38_digits_is_an_error() -> None:
    with pytest.raises(EvaluationError):
        fold("sum", Kind.DECIMAL, [Decimal(9 * 10**37), Decimal(9 * 10**37)])
    assert fold("mean", Kind.DECIMAL, [Decimal(1), Decimal(2)]) == Decimal("1.5")


def test_repetitions_count() -> None:
    assert fold("sum", Kind.NUMBER, [5, 5]) == 10
    assert fold("count", None, ["a", "a"]) == 2


@pytest.mark.parametrize(
    ("function", "result"),
    [("count", 0), ("sum", 0), ("min", None), ("max", None), ("mean", None)],
)
def test_the_empty_group(function: str, result: Value | None) -> None:
    assert fold(function, Kind.NUMBER, []) == result
    assert fold(function, Kind.DECIMAL, []) == result


@given(st.lists(SYMBOLS, min_size=1))
def test_least_and_greatest_text(values: list[Value]) -> None:
    assert fold("min", Kind.SYMBOL, values) == min(map(str, values), key=points)
    assert fold("max", Kind.SYMBOL, values) == max(map(str, values), key=points)


def test_kinds_of_aggregates() -> None:
    assert aggregate_kind("count", None) is Kind.NUMBER
    assert aggregate_kind("sum", Kind.UNSIGNED) is Kind.UNSIGNED
    assert aggregate_kind("mean", Kind.UNSIGNED) is Kind.FLOAT
    assert aggregate_kind("mean", Kind.DECIMAL) is Kind.DECIMAL
    assert aggregate_kind("min", Kind.DATE) is Kind.DATE
    for function, kind in (("sum", Kind.SYMBOL), ("mean", Kind.DATE), ("min", Kind.BOOL)):
        assert aggregate_kind(function, kind) is None
