"""Queries with structures: read by the types of columns and of compared variables."""

from __future__ import annotations

import pytest

from constat.analysis import analyse_or_raise
from constat.diagnostics import ConstatError
from constat.logic import Comparison, Constant, Kind
from constat.session.query_text import parse_query
from constat.syntax import parse_text

RULES = """\
.type Pair = [a: number, b: symbol]
.type Expr = Add { l: Expr, r: Expr } | Zero {}
.decl pair(p: Pair)
.decl expr(e: Expr)
.decl name(s: symbol)
"""
PROGRAM = analyse_or_raise(parse_text(RULES, "rules.dl", [])).program


def compared(text: str) -> Constant:
    """The constant of the comparison that a query ends with."""
    last = parse_query(text, PROGRAM).literals[-1]
    assert isinstance(last, Comparison)
    assert isinstance(last.right, Constant)
    return last.right


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pair(?p), ?p = [1, a]", '[1, "a"]'),
        ('pair(?p), ?p != [ 1 , "a, b)" ] .', '[1, "a, b)"]'),
        ("pair(?p), ?p = nil", "nil"),
        ("?e = $Add($Zero, $Zero), expr(?e), ?e != $Zero", "$Zero"),
        ("expr(?e), ?e = $Add($Zero, $Zero)", "$Add($Zero, $Zero)"),
    ],
)
def test_a_variable_is_compared_with_a_structure(text: str, value: str) -> None:
    assert compared(text) == Constant(value, Kind.STRUCTURE)


@pytest.mark.parametrize("text", ["[a", "$5", "[1]"])
def test_a_text_that_looks_like_a_structure_is_compared_as_a_text(text: str) -> None:
    assert compared(f"name(?s), ?s = {text}") == Constant(text, Kind.SYMBOL)


def test_atoms_of_a_query_hold_structures() -> None:
    query = parse_query("pair([1, a]), !pair(nil), expr(?e), ?e != $Zero", PROGRAM)
    assert [column.type_name for column in query.columns] == ["Expr"]
    assert query.columns[0].structures is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pair([?a, ?b])", "C0197"),
        ("pair(?p), ?p = [?a, x]", "C0197"),
        ("pair(?p), ?p = [1]", "C0186"),
        ("pair(?p), ?p = 5", "C0186"),
        ("expr(?e), ?e = $Sub", "C0186"),
        ("expr(?e), ?e = $Add(", "C0180"),
    ],
)
def test_a_mistake_is_told(text: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        parse_query(text, PROGRAM)
    assert [one.code for one in caught.value.diagnostics] == [code]
