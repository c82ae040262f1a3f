"""What each function means: semantics 28 and section 4 of the certificate format."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from constat.logic import (
    FUNCTIONS,
    EvaluationError,
    Kind,
    Value,
    comparison,
    format_value,
    implementation,
    parse_value,
    signatures,
    vocabulary,
)
from tests.logic.strategies import DATES, DECIMALS, FLOATS, LEAVES, NUMBERS, SYMBOLS, VALUES

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBER, FLOAT, SYMBOL, DATE, DECIMAL = (
    Kind.NUMBER,
    Kind.FLOAT,
    Kind.SYMBOL,
    Kind.DATE,
    Kind.DECIMAL,
)
LOW, HIGH = -(2**63), 2**63 - 1


def binary(operator: str, kind: Kind) -> Callable[..., Value]:
    return implementation(operator, (kind, kind), kind)


def outcome(function: Callable[..., Value], *values: Value) -> Value | None:
    try:
        return function(*values)
    except EvaluationError:
        return None


@given(NUMBERS, NUMBERS)
def test_integer_sums_are_exact_or_an_error(left: int, right: int) -> None:
    for operator, exact in (("+", left + right), ("-", left - right), ("*", left * right)):
        expected = exact if LOW <= exact <= HIGH else None
        assert outcome(binary(operator, NUMBER), left, right) == expected


@given(NUMBERS, NUMBERS)
def test_integer_division_truncates_and_the_remainder_has_the_sign_of_the_dividend(
    left: int, right: int
) -> None:
    assume(right)
    quotient = int(Fraction(left, right))
    shown = outcome(binary("/", NUMBER), left, right)
    assert shown == (quotient if LOW <= quotient <= HIGH else None)
    assert outcome(binary("%", NUMBER), left, right) == left - right * quotient


@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL])
def test_division_by_zero_is_an_error_with_a_reason(kind: Kind) -> None:
    one, zero = parse_value("1", kind), parse_value("0", kind)
    with pytest.raises(EvaluationError, match=r"^division by zero$"):
        binary("/", kind)(one, zero)


def test_an_unsigned_never_becomes_negative() -> None:
    assert outcome(binary("-", Kind.UNSIGNED), 1, 2) is None
    assert outcome(implementation("neg", (Kind.UNSIGNED,), Kind.UNSIGNED), 1) is None
    assert outcome(binary("+", Kind.UNSIGNED), 2**64 - 1, 0) == 2**64 - 1


def spelled_in_38_digits(exact: Fraction) -> Decimal | None:
    scaled = exact * 10**38
    if scaled.denominator != 1:
        return None
    text = str(abs(scaled.numerator)).rjust(39, "0")
    whole, places = text[:-38].lstrip("0"), text[-38:].rstrip("0")
    if len((whole + places).lstrip("0")) > 38:
        return None
    return Decimal(f"{'-' * (exact < 0)}{whole or '0'}.{places or '0'}")


@given(DECIMALS, DECIMALS)
def test_decimal_arithmetic_is_that_of_fractions(left: Decimal, right: Decimal) -> None:
    x, y = Fraction(left), Fraction(right)
    for operator, exact in (("+", x + y), ("-", x - y), ("*", x * y)):
        result = outcome(binary(operator, DECIMAL), left, right)
        assert result == spelled_in_38_digits(exact)


@given(DECIMALS, DECIMALS)
def test_decimal_division_rounds_half_even_to_12_places(left: Decimal, right: Decimal) -> None:
    assume(right)
    exact = Fraction(left) / Fraction(right)
    # `round` on a Fraction is exact and half-even.
    expected = spelled_in_38_digits(Fraction(round(exact * 10**12), 10**12))
    assert outcome(binary("/", DECIMAL), left, right) == expected


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("1", "3", "0.333333333333"),
        ("0.000000000001", "2", "0"),
        ("0.000000000003", "2", "0.000000000002"),
        ("-2", "3", "-0.666666666667"),
        ("10.50", "2", "5.25"),
    ],
)
def test_decimal_division_by_example(left: str, right: str, result: str) -> None:
    value = binary("/", DECIMAL)(Decimal(left), Decimal(right))
    assert format_value(value, DECIMAL) == result


@given(FLOATS, FLOATS)
def test_float_results_are_finite_with_one_zero(left: float, right: float) -> None:
    for operator in "+-*/":
        result = outcome(binary(operator, FLOAT), left, right)
        if result is not None:
            assert format_value(parse_value(repr(result), FLOAT), FLOAT) == float(result).hex()
            assert float(result).hex() != "-0x0.0p+0"


@given(SYMBOLS, st.integers(-1, 12), st.integers(-1, 12))
def test_substr_counts_bytes_and_never_cuts_a_character(text: str, start: int, length: int) -> None:
    substr = implementation("substr", (SYMBOL, NUMBER, NUMBER), SYMBOL)
    encoded = text.encode()
    result = outcome(substr, text, start, length)
    boundaries = {len(text[:place].encode()) for place in range(len(text) + 1)}
    if start < 0 or length < 0:
        assert result is None
    elif start >= min(start + length, len(encoded)):
        assert result == ""
    elif {min(start, len(encoded)), min(start + length, len(encoded))} <= boundaries:
        assert result == encoded[start : start + length].decode()
    else:
        assert result is None


def test_text_functions_by_example() -> None:
    strlen = implementation("strlen", (SYMBOL,), NUMBER)
    cat = implementation("cat", (SYMBOL, SYMBOL, SYMBOL), SYMBOL)
    assert strlen("é€") == 5
    assert cat("a", "", "é") == "aé"
    assert outcome(cat, "é" * 300_000, "é" * 300_000, "") is None
    assert len(str(cat("a" * 500_000, "b" * 548_576, ""))) == 1_048_576


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        ("to_number", "+12", 12),
        ("to_number", "-0", 0),
        ("to_number", "0" * 5000 + "7", 7),
        ("to_number", "9" * 6000, None),
        ("to_number", "", None),
        ("to_number", "1.0", None),
        ("to_number", "٣", None),
        ("to_number", "1\n", None),
        ("to_unsigned", "-1", None),
        ("to_float", "1.5", 1.5),
        ("to_float", "1e5", None),
        ("to_float", "nan", None),
        ("to_float", "9" * 400, None),
        ("to_decimal", "10.50", Decimal("10.5")),
        ("to_decimal", ".5", None),
    ],
)
def test_text_is_read_strictly(function: str, text: str, value: Value | None) -> None:
    result = signatures(function)[0].result
    assert outcome(implementation(function, (SYMBOL,), result), text) == value


@given(st.data())
def test_to_string_gives_what_the_reader_of_the_kind_takes(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(LEAVES)))
    value = data.draw(VALUES[kind])
    text = implementation("to_string", (kind,), SYMBOL)(value)
    assert parse_value(str(text), kind) == value


@pytest.mark.parametrize(
    ("first", "second", "years"),
    [
        ("2000-02-29", "2001-02-28", 0),
        ("2000-02-29", "2001-03-01", 1),
        ("2000-02-29", "2004-02-28", 3),
        ("2000-02-29", "2004-02-29", 4),
        ("2001-03-01", "2000-02-29", -1),
        ("2001-02-28", "2000-02-29", 0),
        ("2025-06-30", "2025-06-30", 0),
    ],
)
def test_years_between_by_example(first: str, second: str, years: int) -> None:
    assert implementation("years_between", (DATE, DATE), NUMBER)(first, second) == years


@given(DATES, DATES)
def test_days_between_and_date_add_are_inverse(first: str, second: str) -> None:
    days = implementation("days_between", (DATE, DATE), NUMBER)(first, second)
    assert implementation("date_add", (DATE, NUMBER), DATE)(first, days) == second


def test_a_date_outside_the_calendar_is_an_error() -> None:
    date_add = implementation("date_add", (DATE, NUMBER), DATE)
    for days in (1, HIGH):
        assert outcome(date_add, "9999-12-31", days) is None
    for days in (-1, LOW):
        assert outcome(date_add, "0001-01-01", days) is None


def test_parts_of_dates_by_example() -> None:
    moment = "2024-11-05T23:59:59.000001Z"
    for function, value in (("year", 2024), ("month", 11), ("day", 5), ("quarter", 4)):
        assert implementation(function, (Kind.TIMESTAMP,), NUMBER)(moment) == value
        assert implementation(function, (DATE,), NUMBER)(moment[:10]) == value
    assert implementation("date_of", (Kind.TIMESTAMP,), DATE)(moment) == "2024-11-05"


@pytest.mark.parametrize(
    ("source", "target", "value", "result"),
    [
        (NUMBER, FLOAT, 2**53 + 1, None),
        (NUMBER, FLOAT, 2**53, 2.0**53),
        (FLOAT, NUMBER, 1.5, None),
        (FLOAT, NUMBER, -2.0, -2),
        (FLOAT, NUMBER, 1e300, None),
        (NUMBER, Kind.UNSIGNED, -1, None),
        (DECIMAL, FLOAT, Decimal("0.1"), 0.1),
        (FLOAT, DECIMAL, 0.5, Decimal("0.5")),
        (FLOAT, DECIMAL, 0.1, None),
        (DECIMAL, NUMBER, Decimal("2.5"), None),
        (SYMBOL, DATE, "2024-02-29", "2024-02-29"),
        (SYMBOL, DATE, "2023-02-29", None),
        (SYMBOL, Kind.TIMESTAMP, "2024-02-29T00:00:00Z", None),
        (SYMBOL, Kind.BOOL, "yes", None),
        (Kind.BOOL, SYMBOL, "true", "true"),
    ],
)
def test_casts_by_example(source: Kind, target: Kind, value: Value, result: Value | None) -> None:
    assert outcome(implementation("as", (source,), target), value) == result


@given(st.data())
def test_every_function_gives_a_canonical_value_or_an_error(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    signature = data.draw(st.sampled_from(signatures(function)))
    values = [data.draw(VALUES[kind]) for kind in signature.parameters]
    compute = implementation(function, signature.parameters, signature.result)
    result = outcome(compute, *values)
    if result is not None and signature.result is not Kind.FLOAT:
        text = format_value(result, signature.result)
        assert parse_value(text, signature.result) == result
        assert format_value(parse_value(text, signature.result), signature.result) == text


@pytest.mark.parametrize(
    ("function", "parameters", "result"),
    [
        ("+", (NUMBER, FLOAT), NUMBER),
        ("%", (FLOAT, FLOAT), FLOAT),
        ("cat", (SYMBOL,), SYMBOL),
        ("as", (SYMBOL,), NUMBER),
        ("ord", (SYMBOL,), NUMBER),
    ],
)
def test_what_no_signature_allows_is_our_error(
    function: str, parameters: tuple[Kind, ...], result: Kind
) -> None:
    with pytest.raises(KeyError):
        implementation(function, parameters, result)


def test_comparisons_by_example() -> None:
    assert comparison("<", SYMBOL)("Z", "a")
    assert comparison("<", SYMBOL)("￿", "𐀀")
    assert not comparison("!=", FLOAT)(0.5, 0.5)
    assert comparison("contains", SYMBOL)("", "abc")
    assert comparison("contains", SYMBOL)("bc", "abc")
    assert not comparison("contains", SYMBOL)("abc", "bc")
    assert comparison("!contains", SYMBOL)("abc", "bc")
    assert comparison("match", SYMBOL)("a+", "aa")
    assert comparison("!match", SYMBOL)("a+", "aab")
    with pytest.raises(EvaluationError):
        comparison("!match", SYMBOL)("a**", "a")
    with pytest.raises(KeyError):
        comparison("<", Kind.BOOL)


def test_reasons_do_not_quote_values() -> None:
    secret = "hunter2"  # noqa: S105 - stands for one
    for function, kind in (("to_number", NUMBER), ("as", DATE)):
        with pytest.raises(EvaluationError) as caught:
            implementation(function, (SYMBOL,), kind)(secret)
        assert secret not in str(caught.value)
    with pytest.raises(EvaluationError) as caught:
        comparison("match", SYMBOL)(secret + "(", "")
    assert secret not in str(caught.value)


@given(st.data())
def test_order_of_text_is_code_point_order(data: st.DataObject) -> None:
    left, right = data.draw(SYMBOLS), data.draw(SYMBOLS)
    expected = [ord(one) for one in left] < [ord(one) for one in right]
    assert comparison("<", SYMBOL)(cast("Value", left), cast("Value", right)) is expected


def test_every_function_has_one_meaning_in_the_vocabulary() -> None:
    assert tuple(vocabulary.FUNCTIONS) == tuple(FUNCTIONS)
    assert all(word.meaning for word in vocabulary.FUNCTIONS.values())
