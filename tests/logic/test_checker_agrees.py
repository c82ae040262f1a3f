"""Engine and checker implement the functions twice; here they are compared.

The two share no code, so what both do is what the format says, or a mistake made twice.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from constat.check import functions as checker
from constat.check.pattern import full_match
from constat.logic import (
    COMPARISONS,
    FUNCTIONS,
    EvaluationError,
    Kind,
    comparison,
    compile_pattern,
    format_value,
    implementation,
    signatures,
)
from tests.logic.strategies import PATTERNS, SCRAWLS, TEXTS, VALUES


@settings(max_examples=600)
@given(st.data())
def test_functions_agree(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    signature = data.draw(st.sampled_from(signatures(function)))
    kinds, result = signature.parameters, signature.result
    values = [data.draw(VALUES[kind]) for kind in kinds]
    names = tuple(kind.value for kind in kinds)
    spelled = tuple(format_value(value, kind) for value, kind in zip(values, kinds, strict=True))
    assert checker.signature_holds(function, names, result.value)
    expected = checker.call(function, names, result.value, spelled)
    try:
        found = format_value(implementation(function, kinds, result)(*values), result)
    except EvaluationError:
        found = None
    assert found == expected


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
        assert kind is Kind.BOOL
        return
    left, right = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    shown = format_value(left, kind), format_value(right, kind)
    expected = checker.compare(operator, kind.value, *shown)
    assert comparison(operator, kind)(left, right) is expected


@settings(max_examples=400)
@given(st.one_of(PATTERNS, SCRAWLS), TEXTS)
def test_patterns_agree(pattern: str, text: str) -> None:
    try:
        found: bool | None = compile_pattern(pattern).matches(text)
    except EvaluationError:
        found = None
    assert full_match(pattern, text) is found
