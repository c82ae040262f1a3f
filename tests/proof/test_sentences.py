"""Sentences name every value, in the way people write numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import (
    OPEN,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Source,
    Value,
    Variable,
)
from constat.proof.sentences import (
    Instance,
    describe_fact,
    explain,
    fill,
    refute_comparison,
    show_fact,
    show_value,
)


def column(name: str, kind: Kind = Kind.SYMBOL) -> Column:
    return Column(name, kind.value, kind)


REVENUE = Predicate("revenue", (column("c"), column("total", Kind.DECIMAL)))
THRESHOLD = Predicate("threshold", (column("x", Kind.DECIMAL),), Source({"source": "config"}))
BLOCKED = Predicate("blocked", (column("c"),))
VIP = Predicate("is_vip", (column("c"),))
PREDICATES = {one.name: one for one in (REVENUE, THRESHOLD, BLOCKED, VIP)}
C, TOTAL, X = Variable("c"), Variable("total"), Variable("x")
ABOVE = Comparison(">", TOTAL, X)
RULE = Rule(
    "R1",
    Atom("is_vip", (C,)),
    (
        Positive(Atom("revenue", (C, TOTAL))),
        Positive(Atom("threshold", (X,))),
        ABOVE,
        Negative(Atom("blocked", (C,))),
    ),
)
KINDS = {"c": Kind.SYMBOL, "total": Kind.DECIMAL, "x": Kind.DECIMAL}


def instance(total: Decimal, threshold: Decimal, rule: Rule = RULE) -> Instance:
    values: dict[str, Value] = {"c": "C001", "total": total, "x": threshold}
    return Instance(rule, values, KINDS, PREDICATES)


@pytest.mark.parametrize(
    ("value", "kind", "name", "text"),
    [
        (150000, Kind.NUMBER, "total", "150,000"),
        (-1234567, Kind.NUMBER, "", "-1,234,567"),
        (999, Kind.NUMBER, "", "999"),
        (2025, Kind.NUMBER, "year", "2025"),
        (12345, Kind.NUMBER, "customer_id", "12345"),
        (Decimal("1234.5"), Kind.DECIMAL, "", "1,234.5"),
        (0.1, Kind.FLOAT, "", "0.1"),
        ("2025-01-31", Kind.DATE, "", "2025-01-31"),
        ("C001", Kind.SYMBOL, "", "C001"),
        (OPEN, Kind.SYMBOL, "", "something unknown"),
    ],
)
def test_values_are_written_for_people(value: Value, kind: Kind, name: str, text: str) -> None:
    assert show_value(value, kind, name) == text


def test_placeholders_are_filled_and_others_stay() -> None:
    assert fill("{c} has {?total}, not {other}", {"c": "C1", "total": "5"}) == (
        "C1 has 5, not {other}"
    )


def test_a_value_does_not_become_a_template() -> None:
    assert fill("{a}", {"a": "{b}", "b": "no"}) == "{b}"


@pytest.mark.parametrize(
    ("predicate", "row", "text"),
    [
        (REVENUE, ("C001", Decimal(150000)), "revenue(c=C001) = 150000"),
        (THRESHOLD, (Decimal(100000),), "threshold = 100000"),
        (VIP, ("C001",), "is_vip(c=C001) = True"),
    ],
)
def test_facts_are_written_as_in_a_trace(
    predicate: Predicate, row: tuple[Value, ...], text: str
) -> None:
    assert show_fact(predicate, row) == text


@pytest.mark.parametrize(
    ("predicate", "row", "text"),
    [
        (REVENUE, ("C001", Decimal(150000)), "the revenue of C001 is 150,000"),
        (THRESHOLD, (Decimal(100000),), "the threshold is 100,000"),
        (VIP, ("C001",), "C001 is vip"),
        (BLOCKED, ("C001",), "blocked holds for C001"),
    ],
)
def test_facts_have_default_sentences(
    predicate: Predicate, row: tuple[Value, ...], text: str
) -> None:
    assert describe_fact(predicate, row) == text


def test_a_rule_instance_is_explained_by_its_comparison_and_what_is_absent() -> None:
    said = explain(instance(Decimal(150000), Decimal(100000)))
    assert "revenue of C001 is 150,000, more than the threshold 100,000" in said
    assert "it is not so that blocked holds for C001" in said


def test_a_comparison_that_does_not_hold_is_refuted_in_words() -> None:
    said = refute_comparison(instance(Decimal(10), Decimal(100000)), ABOVE)
    assert said == "revenue of C001 is 10, not more than the threshold 100,000"


def twice(term: Variable) -> Apply:
    return Apply("*", (term, Constant(Decimal(2), Kind.DECIMAL)), Kind.DECIMAL)


def test_a_term_that_is_calculated_is_said_with_its_value_and_how() -> None:
    above = Comparison(">", TOTAL, twice(X))
    said = refute_comparison(instance(Decimal(150000), Decimal(100000)), above)
    formula = "200,000 (100000.0 * 2.0)"
    assert said == f"revenue of C001 is 150,000, not more than {formula}"
    turned = Comparison("<", twice(X), TOTAL)
    assert refute_comparison(instance(Decimal(1), Decimal(5)), turned) == (
        "10 (5.0 * 2.0) is not less than the revenue of C001 1"
    )


def test_a_term_without_a_value_is_said_as_far_as_it_is_known() -> None:
    unknown = Instance(RULE, {"c": "C001", "total": Decimal(7), "x": OPEN}, KINDS, PREDICATES)
    assert refute_comparison(unknown, Comparison(">", TOTAL, twice(X))) == (
        "revenue of C001 is 7, not more than ?x * 2.0"
    )
    nothing = Apply("/", (TOTAL, Constant(Decimal(0), Kind.DECIMAL)), Kind.DECIMAL)
    said = refute_comparison(instance(Decimal(7), Decimal(5)), Comparison(">", nothing, X))
    assert said == "7.0 / 0.0 is not more than the threshold 5"


def test_a_premise_of_a_calculated_value_is_said_with_it() -> None:
    body = (Positive(Atom("revenue", (C, TOTAL))), Positive(Atom("threshold", (twice(TOTAL),))))
    said = explain(instance(Decimal(7), Decimal(5), Rule("R2", Atom("is_vip", (C,)), body)))
    assert said == "the revenue of C001 is 7, and the threshold is 14"


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@given(left=st.integers(-(10**6), 10**6), right=st.integers(-(10**6), 10**6))
def test_default_sentences_name_all_values(operator: str, left: int, right: int) -> None:
    rule = Rule(
        "R1",
        Atom("is_vip", (C,)),
        (
            Positive(Atom("revenue", (C, TOTAL))),
            Comparison(operator, TOTAL, Constant(Decimal(right), Kind.DECIMAL)),
        ),
    )
    said = explain(instance(Decimal(left), Decimal(0), rule))
    for value in ("C001", show_value(left, Kind.NUMBER), show_value(right, Kind.NUMBER)):
        assert value in said


@pytest.mark.parametrize("operator", ["contains", "!contains", "match", "!match"])
def test_text_comparisons_name_both_sides(operator: str) -> None:
    rule = Rule(
        "R1",
        Atom("is_vip", (C,)),
        (Positive(Atom("blocked", (C,))), Comparison(operator, Constant("C0", Kind.SYMBOL), C)),
    )
    said = explain(instance(Decimal(1), Decimal(1), rule))
    assert "C0 is" in said
    assert "C001" in said
