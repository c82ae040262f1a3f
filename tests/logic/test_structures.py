"""Structures: constructing and taking apart are inverse, and a text is read as one type or not."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import (
    CONSTRUCTOR_OF,
    FIELD_OF,
    NIL,
    RECORD,
    Branch,
    Column,
    EvaluationError,
    Kind,
    Parts,
    Structures,
    Value,
    comparison,
    display_value,
    format_value,
    implementation,
    is_of_type,
    parse_value,
    read_as,
    read_structure,
)
from constat.logic.structures import NOTHING, construct, constructor_of, field_of
from constat.logic.values import constructor_and_fields, is_structure, quoted, unquoted
from tests.logic.strategies import CONSTRUCTORS, LEAVES, STRUCTURES, SYMBOLS, VALUES, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.logic.strategies import Fields

MADE = Kind.STRUCTURE
LIMIT = 1 << 20
FIELDS = fields_of(STRUCTURES)


def make(constructor: str, fields: Fields) -> str:
    kinds = tuple(kind for kind, _ in fields)
    return str(construct(constructor, kinds)(*(value for _, value in fields)))


def typed(*branches: tuple[str, str, str]) -> Structures:
    """Types from words such as `("List", "[]", "head: number, tail: List")`."""
    names = {name for name, _, _ in branches}

    def column(text: str) -> Column:
        name, _, kind = text.partition(": ")
        made = kind in names
        return Column(name, kind, MADE if made else Kind(kind))

    found: dict[str, tuple[Branch, ...]] = {}
    for name, constructor, fields in branches:
        columns = tuple(column(one) for one in fields.split(", ") if one)
        found[name] = (*found.get(name, ()), Branch(constructor, columns))
    return Structures(found)


TYPES = typed(
    ("List", "[]", "head: number, tail: List"),
    ("Pair", "[]", "a: symbol, b: Decimal"),
    ("Row", "[]", "f: float, d: Date, t: Timestamp, b: Bool, u: unsigned"),
    ("Unit", "[]", ""),
    ("Expr", "$Number", "x: number"),
    ("Expr", "$Add", "l: Expr, r: Expr"),
    ("Expr", "$Zero", ""),
    ("Expr", "$Named", "s: symbol, p: Pair"),
)


def read(text: str, name: str) -> str:
    return read_structure(text, name, TYPES)


@given(CONSTRUCTORS, FIELDS)
def test_what_was_made_can_be_taken_apart(constructor: str, fields: Fields) -> None:
    text = make(constructor, fields)
    assert is_structure(text)
    assert constructor_of(text) == f"{constructor}/{len(fields)}"
    for place, (kind, value) in enumerate(fields):
        found = field_of(kind)(text, place)
        assert found == value
        assert repr(found) == repr(value)


@given(CONSTRUCTORS, FIELDS, CONSTRUCTORS, FIELDS)
def test_different_fields_make_different_texts(
    one: str, some: Fields, other: str, others: Fields
) -> None:
    spelled = [(kind in LEAVES, format_value(value, kind)) for kind, value in some]
    again = [(kind in LEAVES, format_value(value, kind)) for kind, value in others]
    kinds = [kind for kind, _ in some] == [kind for kind, _ in others]
    if kinds and (one, spelled) != (other, again):
        assert make(one, some) != make(other, others)


@given(STRUCTURES, st.sampled_from(Kind), st.integers(-2, 5))
def test_a_field_is_total_and_of_its_kind(text: str, kind: Kind, place: int) -> None:
    found = field_of(kind)(text, place)
    spelled = format_value(found, kind)
    assert kind is Kind.FLOAT or parse_value(spelled, kind) == found
    _, fields = constructor_and_fields(text)
    if found != NOTHING[kind]:
        assert fields[place] == (quoted(spelled) if kind in _QUOTED else spelled)


_QUOTED = frozenset({Kind.SYMBOL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOL})


@given(st.lists(STRUCTURES, min_size=1, max_size=4), st.data())
def test_what_remembers_parts_gives_the_same(texts: list[str], data: st.DataObject) -> None:
    parts = Parts()
    waiting = [*texts, "[" + ", ".join(texts * 40) + "]"]
    for _ in range(12):
        text = data.draw(st.sampled_from(waiting))
        assert parts.constructor_of(text) == constructor_of(text)
        for place in range(-1, 4):
            kind = data.draw(st.sampled_from([MADE, Kind.NUMBER, Kind.SYMBOL]))
            found = parts.field_of(kind)(text, place)
            assert found == field_of(kind)(text, place)
            if kind is MADE:
                waiting.append(str(found))


@given(STRUCTURES)
def test_a_structure_is_its_own_canonical_text(text: str) -> None:
    assert parse_value(text, MADE) == text
    assert format_value(text, MADE) == text


@given(SYMBOLS)
def test_quoting_is_undone(text: str) -> None:
    assert unquoted(quoted(text)) == text


@given(st.text('[]()$",\\ nil01.x-ab\n', max_size=14))
def test_only_structures_are_structures(text: str) -> None:
    if is_structure(text):
        name, fields = constructor_and_fields(text)
        opening, closing = ("[", "]") if name == RECORD else (f"{name}(", ")")
        bare = {NIL, name} if not fields and name != RECORD else set()
        assert text in {opening + ", ".join(fields) + closing, *bare}
    for name in TYPES.branches:
        try:
            found = read(text, name)
        except ValueError:
            continue
        assert is_structure(found)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "]", "[1", "1", '"a"', "[1,2]", "[1,  2]", "[ 1]", "[1 ]", "[1, ]", "[, 1]"),
        *("$", "$A()", "$1", "$A(1]", "[1)", "A(1)", "$A (1)", "nil()", "NIL", "nil nil", "[][]"),
        *("[-0]", "[+1]", "[01]", "[1.0]", "[1.]", "[.5]", "[1e5]", "[0x1p+0]", "[-0x0.0p+0]"),
        *("[0x1.0000000000000p+9999]", "[nan]", "[inf]", "[a]", "['a']", '["a]', '["\\n"]'),
        *(
            '["a"b"]',
            '["a\\"]',
            '["a" ]',
            "[true]",
            "[1, 2]\n",
            "[1]]",
            "$é",
            "[1" + "0" * 38 + "]",
        ),
        *("[0." + "1" * 39 + "]", "[12." + "1" * 37 + "]", "[\0]", '["\0"]', '["\ud800"]'),
    ],
)
def test_what_is_no_structure(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(is no structure|contains)"):
        parse_value(text, MADE)


@pytest.mark.parametrize(
    ("text", "name", "canonical"),
    [
        ("[1,[2,nil]]", "List", "[1, [2, nil]]"),
        (" [ 1 , [ 2 , nil ] ] ", "List", "[1, [2, nil]]"),
        ("[-1, nil]", "List", "[-1, nil]"),
        ("nil", "Pair", "nil"),
        ("[]", "Unit", "[]"),
        ("[ ]", "Unit", "[]"),
        ("[a b, 1.50]", "Pair", '["a b", 1.5]'),
        ('["a, ]b", 1]', "Pair", '["a, ]b", 1]'),
        ('["a\\"\\\\", 1]', "Pair", '["a\\"\\\\", 1]'),
        ("[, 1]", "Pair", '["", 1]'),
        ("[nil, 1]", "Pair", '["nil", 1]'),
        ("$Zero()", "Expr", "$Zero"),
        ("$Add($Number(1),$Zero)", "Expr", "$Add($Number(1), $Zero)"),
        ("$Named(x, [y, 2])", "Expr", '$Named("x", ["y", 2])'),
        (
            "[0.5, 2024-02-29, 2024-01-01 10:00:00, true, 18446744073709551615]",
            "Row",
            (
                '[0x1.0000000000000p-1, "2024-02-29", "2024-01-01T10:00:00.000000Z", "true", '
                "18446744073709551615]"
            ),
        ),
    ],
)
def test_texts_of_people_become_canonical(text: str, name: str, canonical: str) -> None:
    assert read(text, name) == canonical
    assert read(canonical, name) == canonical
    column = Column("c", name, MADE, structures=TYPES)
    assert read_as(text, column) == canonical
    assert is_of_type(canonical, column)
    assert is_of_type(text, column) is (text == canonical)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("[1]", "List"), ("[1, nil, 2]", "List"), ("[x, nil]", "List"), ("[1, 2]", "List")),
        *(('["1", nil]', "List"), ("[9223372036854775808, nil]", "List"), ("$Zero", "List")),
        *(("nil", "Expr"), ("$One(1)", "Expr"), ("$Add($Zero)", "Expr"), ("$Zero(1)", "Expr")),
        *(("$Number", "Expr"), ("$Number()", "Expr"), ("$Number(1) x", "Expr"), ("", "Expr")),
        *(('["a, 1]', "Pair"), ("[a, 1", "Pair"), ("[a, x]", "Pair"), ("niles", "Pair")),
        *(("[nan, 2024-02-29, 2024-01-01 10:00:00, true, 1]", "Row"), ("[1]", "Unit")),
        *(("[0.5, 2023-02-29, 2024-01-01 10:00:00, true, 1]", "Row"), ("", "Unit")),
        ("[0.5, 2024-02-29, 2024-01-01 10:00:00, yes, 1]", "Row"),
    ],
)
def test_what_is_of_no_such_type(text: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"^\S") as caught:
        read(text, name)
    assert "hunter" not in str(caught.value)
    assert not is_of_type(text, Column("c", name, MADE, structures=TYPES))


def deep(count: int) -> str:
    return "[1, " * count + NIL + "]" * count


HOSTILE = [
    "[" * LIMIT,
    "]" * LIMIT,
    '"' * LIMIT,
    '["' * (LIMIT // 2),
    "[" + "\\" * (LIMIT - 1),
    '["' + "\\" * (LIMIT - 2),
    '["' + '\\"' * (LIMIT // 2 - 1),
    "$A(" * (LIMIT // 3),
    "$" * LIMIT,
    "$" + "a" * (LIMIT - 1),
    "[" + "1" * (LIMIT - 2) + "]",
    "[" + "1, " * (LIMIT // 3),
    "[1." + "0" * (LIMIT - 4) + "]",
    "[0x" + "f" * (LIMIT - 4) + "]",
    " " * LIMIT,
    "[" + " " * (LIMIT - 2) + "]",
    "[1" + " " * (LIMIT - 3) + "]",
    deep(LIMIT // 6),
    "[" + "[], " * (LIMIT // 4 - 1) + "[]]",
    "[-" * (LIMIT // 2),
    "[" + "a" * LIMIT,
]


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_texts_end_soon(number: int) -> None:
    text = HOSTILE[number]
    start = time.process_time()
    for name in TYPES.branches:
        is_of_type(text, Column("c", name, MADE, structures=TYPES))
    if is_structure(text):
        display_value(text, MADE)
        for parts in (Parts(), Parts()):
            parts.constructor_of(text)
            parts.field_of(MADE)(text, 0)
        constructor_of(text)
        field_of(MADE)(text, 1)
    assert time.process_time() - start < 20, text[:9]


def test_a_long_list_is_walked_in_linear_time() -> None:
    parts, text, count = Parts(), deep(10_000), 0
    tail = parts.field_of(MADE)
    start = time.perf_counter()
    while parts.constructor_of(text) != "nil/0":
        text, count = str(tail(text, 1)), count + 1
    assert count == 10_000
    # Looking at every cell again from each cell takes minutes.
    assert time.perf_counter() - start < 20


def test_a_structure_of_more_bytes_than_a_text_may_have_is_an_error() -> None:
    pair = construct(RECORD, (Kind.SYMBOL, MADE))
    fits = "é" * (LIMIT // 2 - 5)
    assert len(str(pair(fits, NIL)).encode()) == LIMIT - 1
    with pytest.raises(EvaluationError, match="longer than 1048576 bytes"):
        pair(fits + "é", NIL)
    with pytest.raises(ValueError, match="longer than 1048576 bytes"):
        parse_value('["' + fits + 'éééé"]', MADE)


@pytest.mark.parametrize("kind", Kind)
def test_what_stands_for_nothing_is_a_value(kind: Kind) -> None:
    value = NOTHING[kind]
    for text in ("nil", "[]", "$Zero", '["x"]'):
        assert field_of(kind)(text, 1) == value
    assert kind is Kind.FLOAT or parse_value(format_value(value, kind), kind) == value


def test_functions_of_structures_by_kind() -> None:
    add = implementation("$Add", (Kind.NUMBER, Kind.SYMBOL), MADE)
    assert add(1, 'a"') == '$Add(1, "a\\"")'
    assert implementation(CONSTRUCTOR_OF, (MADE,), Kind.SYMBOL)("$Add(1)") == "$Add/1"
    assert implementation(FIELD_OF, (MADE, Kind.NUMBER), Kind.DECIMAL)("[1.5]", 0) == Decimal("1.5")
    for function, parameters, result in (
        ("$Add", (Kind.NUMBER,), Kind.SYMBOL),
        (CONSTRUCTOR_OF, (Kind.SYMBOL,), Kind.SYMBOL),
        (CONSTRUCTOR_OF, (MADE,), Kind.NUMBER),
        (FIELD_OF, (MADE, Kind.UNSIGNED), Kind.NUMBER),
        (FIELD_OF, (Kind.SYMBOL, Kind.NUMBER), Kind.NUMBER),
        ("to_string", (MADE,), Kind.SYMBOL),
        ("as", (MADE,), MADE),
    ):
        with pytest.raises(KeyError):
            implementation(function, parameters, result)


def test_structures_have_no_order() -> None:
    assert comparison("=", MADE)("nil", "nil")
    assert comparison("!=", MADE)("nil", "[]")
    for operator in ("<", "<=", ">", ">="):
        with pytest.raises(KeyError):
            comparison(operator, MADE)


def spelled(values: Iterable[tuple[Kind, Value]]) -> list[str]:
    return [display_value(value, kind) for kind, value in values]


def test_people_see_short_floats_and_texts_stay() -> None:
    text = make(RECORD, ((Kind.FLOAT, 0.1), (Kind.SYMBOL, "0x1.8p+0"), (Kind.FLOAT, -2.0)))
    assert display_value(text, MADE) == '[0.1, "0x1.8p+0", -2.0]'
    assert spelled([(MADE, NIL)]) == [NIL]


@given(st.sampled_from(list(LEAVES)), st.data())
def test_a_field_of_one_kind_is_no_field_of_another(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    text = make(RECORD, ((kind, value),))
    for other in Kind:
        found = field_of(other)(text, 0)
        same = other is kind or construct(RECORD, (other,))(found) == text
        assert same or found == NOTHING[other]
