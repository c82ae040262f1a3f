"""Functions, comparisons, spellings and patterns give what the format says."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.check import functions, pattern, values
from tests.check import tables


def short(parameter: object) -> str:
    return repr(parameter)[:40]


@pytest.mark.sampled(10, "laws")
@pytest.mark.parametrize(
    ("name", "kinds", "result", "args", "expected"), tables.FUNCTIONS, ids=short
)
def test_a_function_gives_the_value_or_none(
    name: str, kinds: tuple[str, ...], result: str, args: tuple[str, ...], expected: str | None
) -> None:
    assert functions.signature_holds(name, kinds, result)
    assert functions.call(name, kinds, result, args) == expected
    assert expected is None or values.is_spelled(result, expected)
    assert all(map(values.is_spelled, kinds, args))


@pytest.mark.sampled(10, "laws")
@pytest.mark.parametrize(("name", "kinds", "result"), tables.NO_SIGNATURES)
def test_a_function_takes_its_own_kinds_only(
    name: str, kinds: tuple[str, ...], result: str
) -> None:
    assert not functions.signature_holds(name, kinds, result)


@pytest.mark.sampled(10, "laws")
@pytest.mark.parametrize(("name", "kind", "left", "right", "expected"), tables.COMPARISONS)
def test_a_comparison_is_true_false_or_has_no_answer(
    name: str, kind: str, left: str, right: str, *, expected: bool | None
) -> None:
    assert functions.operator_holds(name, kind)
    assert functions.compare(name, kind, left, right) is expected


def test_all_short_cases_of_the_tables_hold() -> None:
    """A tenth of the cases is tried one by one; together those that are short take no time."""
    for name, kinds, result, args, expected in tables.FUNCTIONS:
        if sum(map(len, args)) < 200:
            assert functions.call(name, kinds, result, args) == expected, (name, kinds, args)
    for name, kind, left, right, truth in tables.COMPARISONS:
        if len(left + right) < 200:
            assert functions.compare(name, kind, left, right) is truth, (name, kind, left, right)
    assert not any(functions.signature_holds(*case) for case in tables.NO_SIGNATURES)


def test_operators_belong_to_kinds() -> None:
    assert not any(functions.operator_holds(*case) for case in tables.NO_OPERATORS)
    assert all(functions.operator_holds(*case) for case in tables.OPERATORS)


@pytest.mark.sampled(10, "laws")
@pytest.mark.parametrize(("kind", "text"), tables.SPELLED, ids=short)
def test_the_one_spelling_is_taken(kind: str, text: str) -> None:
    assert values.is_spelled(kind, text)


@pytest.mark.sampled(10, "laws")
@pytest.mark.parametrize(("kind", "text"), tables.MISSPELLED, ids=short)
def test_other_spellings_are_refused(kind: str, text: str) -> None:
    assert not values.is_spelled(kind, text)


@pytest.mark.parametrize(("expression", "text", "expected"), tables.PATTERNS, ids=short)
def test_a_pattern_matches_the_whole_text_or_has_no_answer(
    expression: str, text: str, *, expected: bool | None
) -> None:
    assert pattern.full_match(expression, text) is expected


@given(st.text("ab()|*?+.[]-", max_size=9), st.text("ab-", max_size=6))
def test_patterns_agree_with_the_standard_library_where_both_know_them(
    expression: str, text: str
) -> None:
    found = pattern.full_match(expression, text)
    if found is not None:
        assert found == (re.fullmatch(expression, text, re.ASCII) is not None)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_value(value: float) -> None:
    text = values.spell("float", value)
    assert text is not None
    assert values.is_spelled("float", text)
    assert values.parse("float", text) == value


@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=9, min_value=-(10**25), max_value=10**25
    )
)
def test_decimals_keep_their_value(value: object) -> None:
    number = Fraction(str(value))
    text = values.spell("Decimal", Decimal(str(value)))
    assert text is not None
    assert values.is_spelled("Decimal", text)
    assert Fraction(text) == number


@given(st.dates(), st.dates())
def test_years_and_days_between_are_antisymmetric(first: object, second: object) -> None:
    a, b = str(first), str(second)
    assert functions.years_between(a, b) == -functions.years_between(b, a)
    assert functions.date_add(a, functions.days_between(a, b)) == b
