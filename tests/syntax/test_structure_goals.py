"""Structures in goals and facts as people type them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.analysis import analyse
from constat.diagnostics import ConstatError
from constat.logic import Constant, Kind, Variable, canonical_float, implementation
from constat.syntax import parse_fact, parse_goal, parse_text, print_row, print_term
from tests.syntax.strategies import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.diagnostics import Diagnostic
    from constat.logic import Program, Row, Value

RULES = """\
.type Pair = [a: number, b: symbol]
.type List = [head: unsigned, tail: List]
.type Expr = Add { l: Expr, r: Expr } | Number { x: float } | Zero {}
.type Mixed = [d: Date, t: Timestamp, ok: Bool, m: Decimal, p: Pair, e: Expr]
.type Deep = Deeper { d: Deep, e: Deep }
.decl pair(p: Pair, name: symbol)
.decl list(l: List)
.decl expr(e: Expr)
.decl mixed(m: Mixed)
.type Long = More { t: Long } | Leaf { p: Pair, q: Pair }
.decl deep(d: Deep)
.decl long(l: Long)
.decl plain(n: number, s: symbol)
"""


def analysed() -> Program:
    found: list[Diagnostic] = []
    program = analyse(parse_text(RULES, "rules.dl", found), found)
    assert program is not None, found
    return program.program


PROGRAM = analysed()


def mistakes(text: str) -> list[str]:
    try:
        parse_goal(text, PROGRAM)
    except ConstatError as error:
        return [f"{one.code}@{one.span.column}" for one in error.diagnostics if one.span]
    return []


@pytest.mark.parametrize(
    ("text", "structure"),
    [
        ('pair([1, "a"], x)', '[1, "a"]'),
        ("pair([1, a], x)", '[1, "a"]'),
        ("pair( [ 1 , J. Doe ] , x )", '[1, "J. Doe"]'),
        ("pair(name = x, p = [1, a])", '[1, "a"]'),
        ('pair([-1, "a\\tb\\"\\\\, ]"], x)', '[-1, "a\tb\\"\\\\, ]"]'),
        ('pair("[1, a]", x)', '[1, "a"]'),
        ('pair([1, ""], x)', '[1, ""]'),
        ("pair(nil, x)", "nil"),
        ("list([18446744073709551615, [0, nil]])", "[18446744073709551615, [0, nil]]"),
        ("expr($Zero)", "$Zero"),
        ("expr($Zero())", "$Zero"),
        ("expr( $Zero ( ) )", "$Zero"),
        ("expr($Add($Number(1), $Zero))", "$Add($Number(0x1.0000000000000p+0), $Zero)"),
        ("expr($Number(0x1.8p+0))", "$Number(0x1.8000000000000p+0)"),
    ],
)
def test_a_structure_is_read_by_its_type(text: str, structure: str) -> None:
    goal = parse_goal(text, PROGRAM)
    assert goal.terms[0] == Constant(structure, Kind.STRUCTURE)
    assert parse_fact(text, PROGRAM)[1][0] == structure


def test_variables_stand_for_a_whole_structure() -> None:
    terms = parse_goal("pair(?p, _)", PROGRAM).terms
    assert terms == (Variable("p"), Variable("name"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pair([?x, a], b)", ["C0197@7"]),
        ("pair([1, _], b)", ["C0197@10"]),
        ("pair([1, _name], b)", ["C0197@10"]),
        ("pair([1, ?], b)", ["C0197@10"]),
        ("expr($Add($Zero, ?r))", ["C0197@18"]),
        ("pair([1, a, b)", ["C0180@14"]),
        ("pair([1, a", ["C0180@11"]),
        ("pair([1)], b)", ["C0180@8"]),
        ("pair([1, ], b)", ["C0180@10"]),
        ("pair([, a], b)", ["C0180@7"]),
        ("pair([1,, a], b)", ["C0180@9"]),
        ("pair([f(1), a], b)", ["C0180@8"]),
        ("pair([1, a] b)", ["C0180@13"]),
        ('pair([1, "a], b)', ["C0101@10"]),
        ("pair([1, 'a'], b)", ["C0104@10"]),
        ("pair([1, O'Neill], b)", ["C0180@11"]),
        ('pair([1, "\\q"], b)', ["C0103@10"]),
        ("pair([1, a])", ["C0182@1"]),
        ("pair([1, a], q = b)", ["C0185@6"]),
        ("pair(q = [1, a])", ["C0183@6"]),
        ("unknown([1, a])", ["C0181@1"]),
        ("pair([x, a], b)", ["C0186@6"]),
        ("pair([1], b)", ["C0186@6"]),
        ("pair([1, a, b], b)", ["C0186@6"]),
        ("pair($Zero, b)", ["C0186@6"]),
        ("pair(5, b)", ["C0186@6"]),
        ("expr(nil)", ["C0186@6"]),
        ("expr($Sub(1))", ["C0186@6"]),
        ("expr($)", ["C0186@6"]),
        ("expr($Add(1, $Zero))", ["C0186@6"]),
        ("expr((, ))", ["C0180@6"]),
        ("plain([1], a)", ["C0186@7"]),
        ("plain($A(2), a)", ["C0186@7"]),
    ],
)
def test_a_mistake_has_its_code_and_place(text: str, expected: list[str]) -> None:
    assert mistakes(text) == expected


def test_texts_that_look_like_structures_are_texts_where_texts_stand() -> None:
    assert parse_fact("plain(1, [a)", PROGRAM)[1] == (1, "[a")
    assert parse_fact("plain(1, $5)", PROGRAM)[1] == (1, "$5")
    assert parse_fact("plain(s = [a], n = 1)", PROGRAM)[1] == (1, "[a]")
    assert mistakes("plain([a, b)") == ["C0180@12"]


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("pair(5, b)", '`[5, "gold"]`'),
        ("list(5)", "`[5, nil]`"),
        ("expr(5)", "`$Number(1.5)`"),
        ("long(5)", "`$Leaf(nil, nil)`"),
        ("deep(5)", "write `?d`"),
    ],
)
def test_a_wrong_structure_is_told_the_form_of_a_right_one(text: str, edit: str) -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal(text, PROGRAM)
    (mistake,) = caught.value.diagnostics
    assert edit in mistake.help
    example = mistake.help.split("`")[1]
    assert mistakes(text.replace("5", example)) == []


HOSTILE = [f"pair({'[' * 90_000}, b)", f"expr({'$Add(' * 15_000})", f"expr({'$Zero ' * 15_000})"]
HOSTILE += [f"pair([1, {'(' * 90_000}], b)", f"expr({'$Add(((' * 9_000}", "pair([" + '"a' * 40_000]
HOSTILE += [f"expr($Zero{' ' * 90_000}x)", f"pair([1, {'a ' * 40_000}", "list(" + "[1, " * 24_000]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:14])
def test_a_hostile_goal_ends_in_one_error(text: str) -> None:
    assert len(mistakes(text)) == 1


def test_a_long_list_is_one_value() -> None:
    assert print_row(PROGRAM.predicates["list"], ("[18446744073709551615, nil]",)) == (
        "list([18446744073709551615, nil])"
    )
    structure = "[1, " * 16_000 + "nil" + "]" * 16_000
    assert parse_fact(f"list({structure})", PROGRAM)[1] == (structure,)


def made(constructor: str, *kinds: Kind) -> Callable[..., Value]:
    return implementation(constructor, kinds, Kind.STRUCTURE)


S = Kind.STRUCTURE
PAIRS = st.just("nil") | st.builds(
    made("[]", Kind.NUMBER, Kind.SYMBOL), VALUES[Kind.NUMBER], VALUES[Kind.SYMBOL]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(canonical_float)
EXPRS = st.recursive(
    st.just("$Zero") | FLOATS.map(made("$Number", Kind.FLOAT)),
    lambda inner: st.builds(made("$Add", S, S), inner, inner),
    max_leaves=5,
)
MIXED = (Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.DECIMAL)
STRUCTURES = {
    "pair": PAIRS,
    "expr": EXPRS,
    "mixed": st.builds(made("[]", *MIXED, S, S), *(VALUES[kind] for kind in MIXED), PAIRS, EXPRS),
}


@given(data=st.data())
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_row_reads_back_from_what_is_written(name: str, data: st.DataObject) -> None:
    predicate = PROGRAM.predicates[name]
    row: Row = (data.draw(STRUCTURES[name]), "x")[: predicate.arity]
    assert parse_fact(print_row(predicate, row), PROGRAM) == (name, row)


@given(data=st.data())
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_constant_reads_back_in_a_rule(name: str, data: st.DataObject) -> None:
    value = data.draw(STRUCTURES[name])
    text = print_term(Constant(value, Kind.STRUCTURE))
    found: list[Diagnostic] = []
    more = ', "x"' if name == "pair" else ""
    program = analyse(parse_text(f"{RULES}{name}({text}{more}).", "rules.dl", found), found)
    assert program is not None, found
    assert program.rules[0].head.terms[0] == Constant(value, Kind.STRUCTURE)
