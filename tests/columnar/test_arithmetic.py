"""Arithmetic on columns is exact: each result is that of unbounded integers, or refused."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.columnar.arrays import Batch
from constat.columnar.domains import FUNCTIONS, column_function, encode, evaluate
from constat.evaluation import StrategyError
from constat.logic import EvaluationError, Kind, implementation
from constat.logic.arithmetic import arithmetic, quotient, wrap, wrapped
from constat.plan import Call, Literally, Slot

LOW, HIGH = -(1 << 63), (1 << 63) - 1
ROOT = 3_037_000_500
VALUES = st.one_of(
    st.integers(-5, 5),
    st.integers(LOW, HIGH),
    st.sampled_from([LOW, LOW + 1, HIGH, HIGH - 1, ROOT, -ROOT, ROOT - 1, 1 << 32, 1 << 31]),
)


@given(st.sampled_from(["+", "-", "*", "/", "%"]), st.lists(st.tuples(VALUES, VALUES), min_size=1))
def test_a_column_of_results_is_that_of_the_reference_or_refused(
    function: str, pairs: list[tuple[int, int]]
) -> None:
    left, right = (np.array(one, np.int64) for one in zip(*pairs, strict=True))
    compute = arithmetic(function, Kind.NUMBER)
    try:
        expected = [compute(one, other) for one, other in pairs]
    except EvaluationError:
        with pytest.raises(StrategyError):
            FUNCTIONS[function](left, right)
        return
    assert FUNCTIONS[function](left, right).tolist() == expected


@given(
    st.sampled_from(["+", "-", "*", "/", "%", "neg"]),
    st.sampled_from([(32, Kind.NUMBER), (32, Kind.UNSIGNED), (64, Kind.NUMBER)]),
    st.lists(st.tuples(st.integers(), st.integers()), min_size=1, max_size=6),
)
def test_machine_words_wrap_on_columns_as_they_do_in_the_reference(
    function: str, word: tuple[int, Kind], pairs: list[tuple[int, int]]
) -> None:
    width, kind = word
    places = 1 if function == "neg" else 2
    rows = [tuple(wrap(one, kind, width) for one in pair)[:places] for pair in pairs]
    compute = implementation(wrapped(function, width), (kind,) * places, kind)
    columns = [np.array(one, np.int64) for one in zip(*rows, strict=True)]
    try:
        expected = [compute(*row) for row in rows]
    except EvaluationError:
        with pytest.raises(StrategyError):
            column_function(wrapped(function, width), kind)(*columns)
        return
    try:
        found = column_function(wrapped(function, width), kind)(*columns)
    except StrategyError:
        # Refused are only what 64 bits do not hold on the way, never a value that differs.
        exact = [arithmetic_of(function)(*row) for row in rows]
        assert any(not LOW <= one <= HIGH for one in exact)
        return
    assert found.tolist() == expected


def arithmetic_of(function: str) -> Callable[..., int]:
    plain: dict[str, Callable[..., int]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "neg": operator.neg,
    }
    return plain.get(function, quotient)


@given(st.lists(VALUES, min_size=1))
def test_the_lowest_integer_has_no_negative(values: list[int]) -> None:
    column = np.array(values, np.int64)
    if LOW in values:
        with pytest.raises(StrategyError):
            FUNCTIONS["neg"](column)
    else:
        assert FUNCTIONS["neg"](column).tolist() == [-one for one in values]


def test_an_unsigned_result_below_zero_is_refused() -> None:
    kinds = (Kind.UNSIGNED, Kind.UNSIGNED)
    call = Call("-", (Slot(0), Literally(5, Kind.NUMBER)), kinds, Kind.UNSIGNED)
    batch = Batch(2, {0: np.array([5, 6])}, {})
    assert evaluate(call, batch, len).tolist() == [0, 1]
    with pytest.raises(StrategyError, match="unsigned"):
        evaluate(call, Batch(1, {0: np.array([4])}, {}), len)


@pytest.mark.parametrize("value", [1 << 63, 1.5, LOW - 1])
def test_a_constant_that_is_no_such_integer_is_refused(value: float) -> None:
    with pytest.raises(StrategyError):
        encode(value, len)
