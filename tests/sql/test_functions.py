"""A function means in SQL what it means in Python: the same value, or an error for an error."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constat.evaluation import Resources, StrategyError
from constat.logic import (
    COMPARISONS,
    CONSTRUCTOR_OF,
    FIELD_OF,
    FUNCTIONS,
    RECORD,
    EvaluationError,
    Kind,
    Value,
    aggregate_kind,
    canonical_decimal,
    comparison,
    fold,
    implementation,
    signatures,
)
from constat.logic.arithmetic import wrapped
from constat.logic.structures import constructor_of
from constat.plan import Call, Literally, Slot
from constat.plan.forward import Relation
from constat.sql import Database, trees
from constat.sql.pipelines import Cell, Names, Rows
from tests.logic.strategies import CONSTRUCTORS, PATTERNS, STRUCTURES, VALUES, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import exp

    from constat.plan import Expression
    from tests.logic.strategies import Fields

SETTINGS = settings(
    max_examples=max(1, settings().max_examples // 3),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SIGNATURES = [
    (function, one.parameters, one.result) for function in FUNCTIONS for one in signatures(function)
]
WRAPPED = [
    (wrapped(function, width), (kind, kind), kind)
    for function in ("+", "-", "*", "/", "%", "band", "bshl", "max")
    for width in (32, 64)
    for kind in (Kind.NUMBER, Kind.UNSIGNED)
]
NO_SQL = (StrategyError, EvaluationError)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(Resources(threads=1, memory=300_000_000)) as opened:
        yield opened


def table_of(
    database: Database, kinds: Sequence[Kind], rows: Sequence[tuple[Value, ...]]
) -> Relation:
    name = database.fresh_name("probe")
    relation = Relation(name, tuple(kinds), (False,) * len(kinds), given=True, derived=False)
    database.declare(relation)
    database.load_rows(name, rows)
    return relation


def bound(database: Database, relation: Relation) -> Rows:
    rows = Rows(database, database, Names())
    rows.add_source(trees.table(database.stored(relation.name).table, "t"))
    for place, kind in enumerate(relation.kinds):
        rows.append(Cell(kind, trees.column("t", f"c{place}")))
    return rows


def sql_value(
    database: Database,
    function: str,
    parameters: tuple[Kind, ...],
    result: Kind,
    values: list[Value],
) -> object:
    relation = table_of(database, parameters, [tuple(values)])
    rows = bound(database, relation)
    call = Call(function, tuple(Slot(place) for place in range(len(values))), parameters, result)
    return only(database, rows.query([("v", rows.value(call, result))]))


def only(database: Database, query: exp.Select) -> object:
    found = database.connection.run(query)
    assert len(found) == 1
    return found[0][0]


def check(
    database: Database,
    function: str,
    parameters: tuple[Kind, ...],
    result: Kind,
    values: list[Value],
) -> None:
    try:
        expected = implementation(function, parameters, result)(*values)
    except EvaluationError:
        with pytest.raises(NO_SQL):
            sql_value(database, function, parameters, result, values)
        return
    try:
        found = sql_value(database, function, parameters, result, values)
    except NO_SQL:
        # Decimals of more than twelve places are the one thing that SQL leaves to others.
        assert Kind.DECIMAL in {*parameters, result}
        return
    assert found == expected
    assert repr(found) == repr(expected) or result is Kind.DECIMAL


PLAIN: dict[Kind, tuple[Value, Value, Value]] = {
    Kind.SYMBOL: ("ab", "", "é-7"),
    Kind.NUMBER: (7, -3, 0),
    Kind.UNSIGNED: (5, 2, 0),
    Kind.FLOAT: (2.5, -0.75, 0.0),
    Kind.DECIMAL: (Decimal("2.5"), Decimal("-0.125"), Decimal(0)),
    Kind.DATE: ("2024-02-29", "2023-12-31", "2024-03-01"),
    Kind.TIMESTAMP: (
        "2024-02-29T23:59:59.999999Z",
        "2023-12-31T00:00:00.000000Z",
        "2024-03-01T12:30:00.500000Z",
    ),
    Kind.BOOL: ("true", "false", "true"),
    Kind.STRUCTURE: ("[1, ab]", "nil", "$Some(7)"),
}


def plain_values(kinds: Sequence[Kind]) -> Iterator[list[Value]]:
    for first in range(3):
        yield [PLAIN[kind][(first + place) % 3] for place, kind in enumerate(kinds)]


@pytest.mark.parametrize("function", sorted({one[0] for one in (*SIGNATURES, *WRAPPED)}))
def test_every_function_gives_what_its_implementation_gives(
    database: Database, function: str
) -> None:
    for name, parameters, result in (*SIGNATURES, *WRAPPED):
        if name == function:
            for values in plain_values(parameters):
                check(database, function, parameters, result, values)


@pytest.mark.parametrize("operator", COMPARISONS)
def test_every_comparison_holds_as_it_does_in_python(database: Database, operator: str) -> None:
    of_texts = "match" in operator or "contains" in operator
    for kind in [Kind.SYMBOL] if of_texts else PLAIN:
        try:
            compare = comparison(operator, kind)
        except KeyError:  # an order of what has none
            continue
        for left, right in (*plain_values((kind, kind)), [PLAIN[kind][0]] * 2):
            rows = bound(database, table_of(database, (kind, kind), [(left, right)]))
            query = rows.query([("v", rows.comparison(operator, Slot(0), Slot(1), kind))])
            assert only(database, query) is compare(left, right)


@SETTINGS
@given(data=st.data(), signature=st.sampled_from(SIGNATURES))
def test_a_function_gives_what_its_implementation_gives(
    database: Database, data: st.DataObject, signature: tuple[str, tuple[Kind, ...], Kind]
) -> None:
    function, parameters, result = signature
    check(database, function, parameters, result, [data.draw(VALUES[kind]) for kind in parameters])


@SETTINGS
@given(data=st.data(), signature=st.sampled_from(WRAPPED))
def test_a_function_of_machine_words_wraps_as_its_implementation_does(
    database: Database, data: st.DataObject, signature: tuple[str, tuple[Kind, ...], Kind]
) -> None:
    function, parameters, result = signature
    check(database, function, parameters, result, [data.draw(VALUES[kind]) for kind in parameters])


@SETTINGS
@given(constructor=CONSTRUCTORS, fields=fields_of(STRUCTURES))
def test_a_constructor_spells_its_fields_as_its_implementation_does(
    database: Database, constructor: str, fields: Fields
) -> None:
    kinds = tuple(kind for kind, _ in fields)
    if kinds:
        check(database, constructor, kinds, Kind.STRUCTURE, [value for _, value in fields])


@SETTINGS
@given(structure=STRUCTURES, kind=st.sampled_from(Kind), place=st.integers(-1, 3))
def test_a_structure_is_taken_apart_as_its_implementation_does(
    database: Database, structure: Value, kind: Kind, place: int
) -> None:
    made, number = Kind.STRUCTURE, Kind.NUMBER
    check(database, CONSTRUCTOR_OF, (made,), Kind.SYMBOL, [structure])
    check(database, FIELD_OF, (made, number), kind, [structure, place])


@SETTINGS
@given(structure=STRUCTURES, other=STRUCTURES, turned=st.booleans())
def test_a_constructor_is_compared_as_in_python(
    database: Database, structure: Value, other: Value, *, turned: bool
) -> None:
    """Structures of other branches are told apart by how they begin."""
    wanted = constructor_of(str(other))
    told = Call(CONSTRUCTOR_OF, (Slot(0),), (Kind.STRUCTURE,), Kind.SYMBOL)
    sides: tuple[Expression, Expression] = (told, Literally(wanted, Kind.SYMBOL))
    for one in (structure, other, f"$Other({other})", f"[{other}]"):
        rows = bound(database, table_of(database, (Kind.STRUCTURE,), [(one,)]))
        compared = rows.comparison("=", *(sides[::-1] if turned else sides), Kind.SYMBOL)
        found = only(database, rows.query([("v", compared)]))
        assert found is (constructor_of(str(one)) == wanted)


def test_a_structure_is_bounded_in_bytes(database: Database) -> None:
    kinds = (Kind.SYMBOL, Kind.STRUCTURE)
    check(database, RECORD, kinds, Kind.STRUCTURE, ["é" * ((1 << 19) - 5), "nil"])
    check(database, RECORD, kinds, Kind.STRUCTURE, ["é" * ((1 << 19) - 4), "nil"])


@pytest.mark.parametrize(
    ("function", "kind", "values"),
    [
        ("/", Kind.NUMBER, [-7, 2]),
        ("/", Kind.NUMBER, [7, 0]),
        ("/", Kind.NUMBER, [-(2**63), -1]),
        ("%", Kind.NUMBER, [-7, 2]),
        ("%", Kind.NUMBER, [-(2**63), -1]),
        ("%", Kind.NUMBER, [7, 0]),
        ("%", Kind.UNSIGNED, [2**64 - 1, 10]),
        ("neg", Kind.NUMBER, [-(2**63)]),
        ("neg", Kind.UNSIGNED, [0]),
        ("neg", Kind.UNSIGNED, [1]),
        ("-", Kind.UNSIGNED, [1, 2]),
        ("*", Kind.NUMBER, [2**62, 2]),
        ("neg", Kind.FLOAT, [0.0]),
        ("*", Kind.FLOAT, [-1.0, 0.0]),
        ("*", Kind.FLOAT, [1e308, 10.0]),
        ("/", Kind.FLOAT, [1.0, 0.0]),
        ("/", Kind.FLOAT, [1.0, 3.0]),
        ("*", Kind.FLOAT, [5e-324, 0.5]),
    ],
)
def test_an_edge_of_arithmetic(
    database: Database, function: str, kind: Kind, values: list[Value]
) -> None:
    check(database, function, (kind,) * len(values), kind, values)


@pytest.mark.parametrize("written", ["0", "-1.50", "100", "0.000000000001"])
def test_a_decimal_is_spelled_without_the_zeros_of_its_column(
    database: Database, written: str
) -> None:
    value = canonical_decimal(Decimal(written))
    check(database, "to_string", (Kind.DECIMAL,), Kind.SYMBOL, [value])


def test_texts_are_measured_in_bytes_and_bounded(database: Database) -> None:
    symbol = Kind.SYMBOL
    check(database, "cat", (symbol, symbol), symbol, ["é" * (1 << 19), ""])
    check(database, "cat", (symbol, symbol), symbol, ["é" * (1 << 19), "a"])
    check(database, "strlen", (symbol,), Kind.NUMBER, ["aé€𝄞"])


@SETTINGS
@given(
    data=st.data(),
    operator=st.sampled_from([one for one in COMPARISONS if "match" not in one]),
    kind=st.sampled_from([one for one in Kind if one not in {Kind.BOOL, Kind.STRUCTURE}]),
)
def test_a_comparison_holds_as_it_does_in_python(
    database: Database, data: st.DataObject, operator: str, kind: Kind
) -> None:
    if "contains" in operator:
        kind = Kind.SYMBOL
    left, right = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    try:
        rows = bound(database, table_of(database, (kind, kind), [(left, right)]))
    except StrategyError:
        assert kind is Kind.DECIMAL
        return
    found = only(database, rows.query([("v", rows.comparison(operator, Slot(0), Slot(1), kind))]))
    assert found is comparison(operator, kind)(left, right)


@SETTINGS
@given(pattern=st.one_of(PATTERNS, st.text("a(*", max_size=4)), text=st.text("ab-1é\n", max_size=6))
def test_match_is_the_languages_own(database: Database, pattern: str, text: str) -> None:
    rows = bound(database, table_of(database, (Kind.SYMBOL,) * 2, [(pattern, text)]))
    query = rows.query([("v", rows.comparison("match", Slot(0), Slot(1), Kind.SYMBOL))])
    try:
        expected = comparison("match", Kind.SYMBOL)(pattern, text)
    except EvaluationError:
        with pytest.raises(StrategyError):
            only(database, query)
        return
    assert only(database, query) is expected


FOLDS = [
    (function, kind)
    for function in ("count", "sum", "min", "max", "mean", "wrap32.sum", "wrap64.sum")
    for kind in Kind
    if aggregate_kind(function, kind) is not None
]


@pytest.mark.parametrize(("function", "kind"), FOLDS)
def test_every_aggregate_is_the_exact_fold(database: Database, function: str, kind: Kind) -> None:
    for values in (PLAIN[kind], PLAIN[kind][:1], PLAIN[kind][:2] * 2):
        check_fold(database, function, kind, values)


@SETTINGS
@given(data=st.data(), which=st.sampled_from(FOLDS))
def test_an_aggregate_is_the_exact_fold(
    database: Database, data: st.DataObject, which: tuple[str, Kind]
) -> None:
    values = data.draw(st.lists(VALUES[which[1]], min_size=1, max_size=6))
    check_fold(database, *which, values)


def check_fold(database: Database, function: str, kind: Kind, values: Sequence[Value]) -> None:
    result = aggregate_kind(function, kind)
    assert result is not None
    try:
        expected = fold(function, kind, values)
    except EvaluationError:
        expected = None
    try:
        relation = table_of(database, (kind,), [(value,) for value in values])
        rows = bound(database, relation)
        target = rows.value(Slot(0), kind)
        found = only(
            database, rows.query([("v", rows.functions.folded(function, kind, result, target))])
        )
    except NO_SQL:
        assert expected is None or kind is Kind.DECIMAL
        return
    assert found == expected


def test_floats_are_summed_with_one_rounding(database: Database) -> None:
    values = [1e308, 1e308, -1e308, 1.0, -1e308, 1e-300]
    relation = table_of(database, (Kind.FLOAT,), [(value,) for value in values])
    rows = bound(database, relation)
    total = rows.functions.folded("sum", Kind.FLOAT, Kind.FLOAT, rows.value(Slot(0), Kind.FLOAT))
    assert only(database, rows.query([("v", total)])) == 1.0
