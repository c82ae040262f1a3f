"""Wrapping arithmetic is that of the machine: numpy computes the same."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import EvaluationError, Kind, aggregate_kind, fold, implementation, signatures
from constat.logic.arithmetic import WRAPPING, bounds, single, unwrapped, wrap, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

Machine = type[np.int32 | np.uint32 | np.int64 | np.uint64]
TYPES: dict[tuple[Kind, int], Machine] = {
    (Kind.NUMBER, 32): np.int32,
    (Kind.UNSIGNED, 32): np.uint32,
    (Kind.NUMBER, 64): np.int64,
    (Kind.UNSIGNED, 64): np.uint64,
}
BINARY: dict[str, Callable[..., object]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}
pairs = st.sampled_from(list(TYPES)).flatmap(
    lambda one: st.tuples(st.just(one), st.integers(*bounds(*one)), st.integers(*bounds(*one)))
)
LARGE = float(np.float32(1e18))
singles = st.floats(-LARGE, LARGE, width=32)


@given(pairs, st.sampled_from(sorted(BINARY)))
def test_operators_wrap_as_a_machine_does(
    given_pair: tuple[tuple[Kind, int], int, int], operator: str
) -> None:
    (kind, width), left, right = given_pair
    machine = TYPES[kind, width]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = BINARY[operator](machine(left), machine(right))
    ours = implementation(wrapped(operator, width), (kind, kind), kind)(left, right)
    assert ours == int(expected)  # type: ignore[call-overload]  # a scalar of numpy


@given(pairs)
def test_negation_and_complement_stay_within_the_word(
    given_pair: tuple[tuple[Kind, int], int, int],
) -> None:
    (kind, width), value, _ = given_pair
    negated = implementation(wrapped("neg", width), (kind,), kind)(value)
    assert wrap(int(negated) + value, kind, width) == 0
    complement = implementation(wrapped("bnot", width), (kind,), kind)(value)
    assert wrap(int(complement) ^ value, kind, width) == wrap(-1, kind, width)


@given(pairs)
def test_quotient_and_rest_belong_together(
    given_pair: tuple[tuple[Kind, int], int, int],
) -> None:
    (kind, width), left, right = given_pair
    divide = implementation(wrapped("/", width), (kind, kind), kind)
    rest = implementation(wrapped("%", width), (kind, kind), kind)
    if not right:
        for function in (divide, rest):
            with pytest.raises(EvaluationError, match="zero"):
                function(left, right)
        return
    quotient, remainder = int(divide(left, right)), int(rest(left, right))
    assert wrap(quotient * right + remainder, kind, width) == left
    assert abs(remainder) < abs(right)
    assert not remainder or (remainder < 0) == (left < 0)


@given(pairs, st.integers(0, 200))
def test_shifts_take_their_count_modulo_the_width(
    given_pair: tuple[tuple[Kind, int], int, int], count: int
) -> None:
    (kind, width), value, _ = given_pair
    for operator in ("bshl", "bshr", "bshru"):
        shift = implementation(wrapped(operator, width), (kind, kind), kind)
        assert shift(value, count) == shift(value, count % width)
        low, high = bounds(kind, width)
        assert low <= shift(value, count) <= high  # type: ignore[operator]  # an integer
    left = implementation(wrapped("bshl", width), (kind, kind), kind)
    assert left(value, count) == wrap(value << (count % width), kind, width)


@given(st.lists(st.integers(*bounds(Kind.NUMBER, 32)), max_size=20))
def test_a_sum_wraps_once_whatever_the_order(values: list[int]) -> None:
    expected = wrap(sum(values), Kind.NUMBER, 32)
    assert fold("wrap32.sum", Kind.NUMBER, values) == expected
    assert fold("wrap32.sum", Kind.NUMBER, values[::-1]) == expected


@given(singles, singles, st.sampled_from(["+", "-", "*"]))
def test_floats_of_32_bits_are_those_of_the_machine(left: float, right: float, sign: str) -> None:
    expected = BINARY[sign](np.float32(left), np.float32(right))
    ours = implementation(wrapped(sign, 32), (Kind.FLOAT, Kind.FLOAT), Kind.FLOAT)(left, right)
    assert ours == float(expected)  # type: ignore[arg-type]
    assert single(float(ours)) == ours


def test_a_float_beyond_32_bits_is_an_error() -> None:
    times = implementation("wrap32.*", (Kind.FLOAT, Kind.FLOAT), Kind.FLOAT)
    with pytest.raises(EvaluationError, match="32 bits"):
        times(1e30, 1e30)


@pytest.mark.parametrize("function", sorted(WRAPPING))
def test_a_wrapped_function_takes_what_the_plain_one_takes(function: str) -> None:
    assert signatures(wrapped(function, 32)) == signatures(function) != ()
    assert unwrapped(wrapped(function, 64)) == (function, 64)
    assert unwrapped(function) == (function, 0)


def test_a_wrapped_fold_has_the_kind_of_the_plain_one() -> None:
    for function in ("sum", "mean"):
        for kind in Kind:
            assert aggregate_kind(wrapped(function, 32), kind) is aggregate_kind(function, kind)


def test_a_power_that_does_not_fit_is_an_error_as_machines_leave_it_open() -> None:
    power = implementation("wrap32.^", (Kind.NUMBER, Kind.NUMBER), Kind.NUMBER)
    assert power(2, 30) == 1 << 30
    with pytest.raises(EvaluationError, match="32 bits"):
        power(2, 31)
