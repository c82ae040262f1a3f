"""Rows as bytes, times and structures: each has one spelling, whatever it came from."""

from __future__ import annotations

import json

import pytest

from constat.logic import Branch, Column, Constant, Kind, Structures, Variable, parse_value
from constat.logic.program import function, term_variables
from constat.logic.structures import branches_of, example_of, types_form
from constat.logic.values import canonical_bytes, canonical_lines


def written(
    rows: list[tuple[object, ...]], kinds: tuple[Kind, ...], nulls: tuple[int, ...] = ()
) -> bytes:
    lines = canonical_lines(rows, kinds, nulls)  # type: ignore[arg-type]  # rows of values
    return b"".join(canonical_bytes(lines, len(kinds), nulls))


@pytest.mark.parametrize("text", ["plain", "back\\slash", "é", 'quo"te', "\x01", ""])
@pytest.mark.parametrize("count", [1, 3])
def test_rows_are_one_json_array_a_line_whatever_is_in_them(text: str, count: int) -> None:
    kinds = (Kind.SYMBOL, Kind.NUMBER)
    found = written([(text, number) for number in range(count)], kinds)
    assert [json.loads(line) for line in found.splitlines()] == [
        [text, str(n)] for n in range(count)
    ]
    with_null = written([(text, number) for number in range(count)], kinds, (1,))
    assert [json.loads(line) for line in with_null.splitlines()] == [[text, None]] * count


def test_rows_without_columns_are_empty_arrays() -> None:
    assert written([(), ()], ()) == b"[]\n[]\n"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2025-01-31T10:00:00", "2025-01-31T10:00:00.000000Z"),
        ("2025-01-31T10:00:00Z", "2025-01-31T10:00:00.000000Z"),
        ("2025-01-31 10:00:00+02:00", "2025-01-31T08:00:00.000000Z"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_a_time_without_a_zone_is_one_of_utc(text: str, moment: str) -> None:
    assert parse_value(text, Kind.TIMESTAMP) == moment


NUMBER = Column("n", "number", Kind.NUMBER)
TREE = Structures(
    {
        "Tree": (
            Branch("$Leaf", ()),
            Branch("$Node", (Column("l", "Pair", Kind.STRUCTURE), NUMBER)),
        ),
        "Pair": (Branch("[]", (NUMBER, Column("t", "Tree", Kind.STRUCTURE))),),
        "Unused": (Branch("$U", ()),),
    }
)
COLUMN = Column("t", "Tree", Kind.STRUCTURE, structures=TREE)


def test_the_types_of_a_column_are_those_that_it_reaches() -> None:
    assert [one[0] for one in types_form([NUMBER, COLUMN])] == ["Pair", "Tree"]  # type: ignore[index]  # a list
    assert types_form([NUMBER]) == []


def test_an_example_of_a_type_is_one_that_ends() -> None:
    assert example_of(COLUMN) == "$Leaf"
    assert example_of(Column("p", "Pair", Kind.STRUCTURE, structures=TREE)).startswith("[")
    endless = Structures({"E": (Branch("$E", (Column("e", "E", Kind.STRUCTURE),)),)})
    assert example_of(Column("e", "E", Kind.STRUCTURE, structures=endless)) == ""
    lists = Structures({"L": (Branch("[]", (NUMBER, Column("l", "L", Kind.STRUCTURE))),)})
    assert example_of(Column("l", "L", Kind.STRUCTURE, structures=lists)) == "nil"


def test_the_branches_in_a_structure_are_named_once_without_the_sign() -> None:
    assert branches_of("$Node([1, $Leaf], 2)") == ("Node", "Leaf")
    assert branches_of('[1, "$Text", $Leaf, $Leaf]') == ("Leaf",)


def test_the_variables_of_a_term_are_told_from_left_to_right() -> None:
    x, y = Variable("x"), Variable("y")
    nested = function("+", function("-", x, y), function("*", x, 1))
    assert list(term_variables(nested)) == [x, y, x]
    assert list(term_variables(x)) == [x]
    assert list(term_variables(Constant(1, Kind.NUMBER))) == []
