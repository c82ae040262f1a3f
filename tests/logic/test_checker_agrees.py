"""Engine and checker implement the functions twice; here they are compared.

The two share no code, so what both do is what the format says, or a mistake made twice.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.check import functions as checker
from constat.check.pattern import full_match
from constat.logic import (
    COMPARISONS,
    FUNCTIONS,
    OPERATORS,
    EvaluationError,
    Kind,
    Value,
    canonical_decimal,
    comparison,
    compile_pattern,
    format_value,
    implementation,
    signatures,
)
from tests.logic.strategies import PATTERNS, SCRAWLS, TEXTS, VALUES


@settings(max_examples=300)
@given(st.data())
def test_functions_agree(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    signature = data.draw(st.sampled_from(signatures(function)))
    kinds, result = signature.parameters, signature.result
    values = [data.draw(VALUES[kind]) for kind in kinds]
    assert_agree(function, kinds, result, values)


def assert_agree(function: str, kinds: tuple[Kind, ...], result: Kind, values: list[Value]) -> None:
    names = tuple(kind.value for kind in kinds)
    spelled = tuple(format_value(value, kind) for value, kind in zip(values, kinds, strict=True))
    assert checker.signature_holds(function, names, result.value)
    expected = checker.call(function, names, result.value, spelled)
    try:
        found = format_value(implementation(function, kinds, result)(*values), result)
    except EvaluationError:
        found = None
    assert found == expected


@pytest.mark.parametrize(("start", "length"), [(0, 0), (1, 0), (1, 1), (0, 1), (2, 5), (0, 2)])
def test_parts_of_a_long_character_agree(start: int, length: int) -> None:
    kinds = (Kind.SYMBOL, Kind.NUMBER, Kind.NUMBER)
    assert_agree("substr", kinds, Kind.SYMBOL, ["é", start, length])


INTEGERS = (Kind.NUMBER, Kind.UNSIGNED)
EXPONENTS: dict[Kind, st.SearchStrategy[Value]] = {
    Kind.NUMBER: st.integers(-2, 70),
    Kind.UNSIGNED: st.integers(0, 70),
    Kind.DECIMAL: st.integers(-2, 130).map(Decimal) | st.just(Decimal("1.5")),
    Kind.FLOAT: st.floats(-1100, 1100) | st.integers(-1100, 1100).map(float),
}
BASES: dict[Kind, st.SearchStrategy[Value]] = {
    Kind.NUMBER: st.integers(-12, 12),
    Kind.UNSIGNED: st.integers(0, 12),
    Kind.DECIMAL: st.integers(-300, 300).map(lambda cents: canonical_decimal(Decimal(cents) / 100)),
    Kind.FLOAT: st.floats(-16, 16) | st.integers(1, 2**53).map(float),
}


@settings(max_examples=300)
@given(st.data())
def test_powers_agree(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(BASES)))
    base, exponent = data.draw(BASES[kind] | VALUES[kind]), data.draw(EXPONENTS[kind])
    if kind is Kind.FLOAT:
        base, exponent = base or 0.0, exponent or 0.0
    assert_agree("^", (kind, kind), kind, [base, exponent])


@settings(max_examples=150)
@given(st.data())
def test_bits_agree(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(INTEGERS))
    function = data.draw(st.sampled_from(sorted(OPERATORS - {*"+-*/^%", "neg"})))
    values = [data.draw(VALUES[kind])]
    if function not in {"bnot", "lnot"}:
        low = 0 if kind is Kind.UNSIGNED else -1
        values.append(data.draw(st.integers(low, 65) | VALUES[kind]))
    assert_agree(function, (kind,) * len(values), kind, values)


@given(st.data())
def test_the_least_and_the_greatest_agree(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(["min", "max"]))
    kind = data.draw(st.sampled_from(signatures(function))).result
    values = data.draw(st.lists(VALUES[kind], min_size=2, max_size=5))
    assert_agree(function, (kind,) * len(values), kind, values)


@given(st.data())
def test_signatures_agree(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    kinds = tuple(data.draw(st.lists(st.sampled_from(Kind), min_size=1, max_size=3)))
    result = data.draw(st.sampled_from(Kind))
    try:
        implementation(function, kinds, result)
        known = True
    except KeyError:
        known = False
    names = tuple(kind.value for kind in kinds)
    assert checker.signature_holds(function, names, result.value) is known


@settings(max_examples=200)
@given(st.data())
def test_comparisons_agree(data: st.DataObject) -> None:
    operator = data.draw(st.sampled_from(COMPARISONS[:6]))
    kind = data.draw(st.sampled_from(Kind))
    if not checker.operator_holds(operator, kind.value):
        assert kind in {Kind.BOOL, Kind.STRUCTURE}
        return
    left, right = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    shown = format_value(left, kind), format_value(right, kind)
    expected = checker.compare(operator, kind.value, *shown)
    assert comparison(operator, kind)(left, right) is expected


@settings(max_examples=200)
@given(st.one_of(PATTERNS, SCRAWLS), TEXTS)
def test_patterns_agree(pattern: str, text: str) -> None:
    try:
        found: bool | None = compile_pattern(pattern).matches(text)
    except EvaluationError:
        found = None
    assert full_match(pattern, text) is found
