"""Powers: exact, or rounded once."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import EvaluationError, Kind, implementation, parse_value
from tests.logic.strategies import DECIMALS, FLOATS, NUMBERS

if TYPE_CHECKING:
    from constat.logic import Value

LOW, HIGH = -(2**63), 2**63 - 1


def power(kind: Kind, base: Value, exponent: Value) -> Value | None:
    try:
        return implementation("^", (kind, kind), kind)(base, exponent)
    except EvaluationError:
        return None


def rounded(exact: Fraction) -> float | None:
    """Round once, half to even; nothing outside the floats."""
    try:
        return exact.numerator / exact.denominator or 0.0
    except OverflowError:
        return None


@given(st.one_of(NUMBERS, st.integers(-20, 20)), st.integers(0, 70))
def test_a_power_of_integers_is_exact_or_an_error(base: int, exponent: int) -> None:
    exact = base**exponent
    assert power(Kind.NUMBER, base, exponent) == (exact if LOW <= exact <= HIGH else None)


@given(st.one_of(NUMBERS, st.integers(-3, 3)), st.one_of(NUMBERS, st.integers(-3, -1)))
def test_any_exponent_ends_at_once(base: int, exponent: int) -> None:
    found = power(Kind.NUMBER, base, exponent)
    if exponent < 0:
        assert found is None
    elif base in {-1, 0, 1}:
        assert found == (1 if exponent == 0 else base if exponent % 2 else base * base)
    elif exponent > 63:
        assert found is None


@given(DECIMALS, st.integers(0, 130))
def test_a_power_of_a_decimal_is_exact_or_an_error(base: Decimal, exponent: int) -> None:
    found = power(Kind.DECIMAL, base, Decimal(exponent))
    exact = Fraction(base) ** exponent
    scaled = exact * 10**38
    if found is None:
        digits = str(abs(scaled.numerator)).rstrip("0")
        assert scaled.denominator != 1 or len(digits) > 38 or abs(exact) >= 10**38
    else:
        assert Fraction(Decimal(str(found))) == exact


@pytest.mark.parametrize("exponent", ["-1", "0.5", "99999999999999999999999999999999999999"])
def test_a_decimal_has_whole_exponents_only_and_a_huge_one_ends_at_once(exponent: str) -> None:
    assert power(Kind.DECIMAL, Decimal(2), Decimal(exponent)) is None


@given(FLOATS, st.integers(-40, 40))
def test_a_power_of_a_float_is_the_exact_one_rounded_once(base: float, exponent: int) -> None:
    if base == 0 and exponent < 0:
        assert power(Kind.FLOAT, base, float(exponent)) is None
        return
    assert power(Kind.FLOAT, base, float(exponent)) == rounded(Fraction(base) ** exponent)


@given(st.integers(1, 2**53), st.sampled_from([2.0, 3.0]))
def test_a_power_half_way_between_two_floats_goes_to_the_even_one(
    base: int, exponent: float
) -> None:
    exact = Fraction(base) ** int(exponent)
    assert power(Kind.FLOAT, float(base), exponent) == rounded(exact)


@given(st.integers(-1000, 1000), st.integers(-9, 9))
def test_powers_of_two_reach_down_to_the_smallest_float(scale: int, exponent: int) -> None:
    found = power(Kind.FLOAT, math.ldexp(1.0, scale), float(exponent))
    assert found == rounded(Fraction(2) ** (scale * exponent))


@given(st.floats(0.001, 1000.0))
def test_a_root_is_the_square_root_of_the_machine(base: float) -> None:
    # IEEE 754 rounds square roots correctly.
    assert power(Kind.FLOAT, base, 0.5) == math.sqrt(base)


@pytest.mark.parametrize(
    ("base", "exponent", "found"),
    [
        (-8.0, 1 / 3, None),
        (-2.0, 1e300, None),
        (-1.0, 1e300, 1.0),
        (-1.0, 2.0**53 - 1, -1.0),
        (0.0, 0.0, 1.0),
        (0.0, -1.0, None),
        (0.0, 0.5, 0.0),
        (-2.0, -1075.0, 0.0),
        (2.0, 1024.0, None),
        (1.5, 1e308, None),
        (1.5, -1e308, 0.0),
        (5e-324, 5e-324, 1.0),
        (1.0000000000000002, 9007199254740993.0, 7.389056098930649),
        # A hair above and below the middle of two floats: 25 digits do not tell.
        (1 - 2.0**-53, -1.0, 1 + 2.0**-52),
        (1 + 2.0**-52, 0.5, 1.0),
    ],
)
def test_powers_at_the_edges(base: float, exponent: float, found: float | None) -> None:
    result = power(Kind.FLOAT, base, exponent)
    assert result == found
    assert result is None or float(result).hex() != "-0x0.0p+0"


def test_the_reasons_say_what_is_wrong() -> None:
    for kind, base, exponent, reason in (
        (Kind.NUMBER, "2", "-1", "a negative exponent gives no whole number"),
        (Kind.NUMBER, "2", "63", "the result does not fit in a number of 64 bits"),
        (Kind.DECIMAL, "2", "0.5", "the exponent of a Decimal is a whole number from 0"),
        (Kind.DECIMAL, "2", "127", "the result needs more than 38 digits"),
        (Kind.FLOAT, "0", "-1", "division by zero"),
        (Kind.FLOAT, "-2", "0.5", "a negative base has powers with whole exponents only"),
        (Kind.FLOAT, "2", "1024", "the result is not a finite float"),
    ):
        function = implementation("^", (kind, kind), kind)
        with pytest.raises(EvaluationError, match=f"^{reason}$"):
            function(parse_value(base, kind), parse_value(exponent, kind))
