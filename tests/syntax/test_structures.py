"""Records and algebraic data types in texts: what is read, what is told, what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Branch,
    Comparison,
    Constant,
    Kind,
    Literal,
    Rule,
    Term,
    TypeDefinition,
    Variable,
    parse_value,
)
from constat.syntax import Mode, parse_text, print_literal, print_program, print_rule, print_term
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from constat.syntax.printing import print_type, regrouped
from tests.syntax.reading import places, read, sound
from tests.syntax.strategies import branch

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

NIL = Apply("nil", ())
E = Variable("e")


def number(value: int) -> Constant:
    return Constant(value, Kind.NUMBER)


def first_term(text: str) -> Term:
    return sound(f".decl p(x: T)\np({text}).").rules[0].head.terms[0]


def defined(form: str, *branches: Branch) -> TypeDefinition:
    return TypeDefinition("T", form, (), branches=branches)


@pytest.mark.parametrize(
    ("text", "definition"),
    [
        ("T = [x: number]", defined("record", branch("[]", x="number"))),
        ("T = []", defined("record", branch("[]"))),
        ("T = [head: number, tail: T]", defined("record", branch("[]", head="number", tail="T"))),
        ("T = One { x: number }", defined("algebraic", branch("$One", x="number"))),
        (
            "T=A{}|B{l:T,r:T}|C{ }",
            defined("algebraic", branch("$A"), branch("$B", l="T", r="T"), branch("$C")),
        ),
        ("T = A", TypeDefinition("T", "alias", ("A",))),
        ("T = A | B", TypeDefinition("T", "union", ("A", "B"))),
    ],
)
def test_a_type_is_read(text: str, definition: TypeDefinition) -> None:
    assert sound(f".type {text}").types == {"T": definition}


def test_a_field_and_a_branch_know_their_place() -> None:
    definition = sound(".type T = A { x: number } | Bc {}").types["T"]
    spans = [one.span for one in definition.branches]
    spans.append(definition.branches[0].fields[0].span)
    assert [one and (one.column, one.end_column) for one in spans] == [(11, 12), (29, 31), (15, 16)]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("nil", NIL),
        ("[]", Apply("[]", ())),
        ("[ 1 , [2] ]", Apply("[]", (number(1), Apply("[]", (number(2),))))),
        ("$A", Apply("$A", ())),
        ("$A()", Apply("$A", ())),
        ("$A($B, nil)", Apply("$A", (Apply("$B", ()), NIL))),
        ("[-1]", Apply("[]", (number(-1),))),
        ("[?x + 1 * 2, cat([1], $A)]", None),
        ("([1])", Apply("[]", (number(1),))),
        ("[(1 + 2) * 3]", None),
        ("$as(1)", None),
    ],
)
def test_a_term_is_read(text: str, term: Term | None) -> None:
    program, found = read(f".decl p(x: T)\np({text}).")
    if text == "$as(1)":
        assert [one.code for one in found] == ["C0125"]
    else:
        assert found == []
        assert term is None or program.rules[0].head.terms == (term,)


def test_structures_stand_wherever_a_term_does() -> None:
    rule = sound(
        "p([?a], $A(?b)) :- q([?a, _], $A(?c)), [?b, _] = ?r, $A(_) = ?a, ?x = $B, nil != ?b, "
        "!s([?a, nil]), ?t = sum ?y : { q([?y, _], $B), ?y != [1] }, "
        "$A(?a) = [count : { q(_, _) }]."
    ).rules[0]
    wildcards = [name for name in _names(rule) if name.startswith("_")]
    assert wildcards == ["_1", "_2", "_3", "_4", "_5", "_6"]
    assert [one.result.name for one in rule.body if isinstance(one, Aggregate)] == ["t", "count_1"]


def _names(tree: object) -> list[str]:
    """The names of all variables in the order of the fields of each node."""
    if isinstance(tree, Variable):
        return [tree.name]
    if isinstance(tree, tuple):
        return [name for one in tree for name in _names(one)]
    slots = [slot for slot in getattr(type(tree), "__slots__", ()) if slot != "span"]
    return [name for slot in slots for name in _names(getattr(tree, slot))]


def test_souffle_reads_bare_names_inside_structures() -> None:
    found: list[Diagnostic] = []
    text = "len([h, t], n + 1) :- list([h, t]), len(t, n), t != nil, x = $_Node(h, _).\n"
    file = parse_file(text, "t.dl", found, Mode.SOUFFLE)
    rule = lower(file.items, found, Mode.SOUFFLE).rules[0]
    assert {one.severity.value for one in found if one.code != "C0144"} == {"warning"}
    assert rule.head.terms[0] == Apply("[]", (Variable("h"), Variable("t")))
    assert rule.body[-1] == Comparison(
        "=", Variable("x"), Apply("$_Node", (Variable("h"), Variable("_1")))
    )


MISTAKES = [
    (".type T = A | B { x: number } | C", ["C0193@1:11"]),
    (".type T = A { x: number } B {}", ["C0193@1:26"]),
    (".type T = A {}, B {}", ["C0193@1:15"]),
    (".type T = A { x: number } B", ["C0130@1:28"]),
    (".type T = A B {}", ["C0193@1:11", "C0193@1:12"]),
    (".type T = | A {}", ["C0193@1:11"]),
    (".type T = { x: number }", ["C0193@1:11"]),
    (".type T = (x: number)", ["C0193@1:11"]),
    (".type T = A(x: number) | B", ["C0193@1:12"]),
    (".type T = A[x: number]", ["C0193@1:12"]),
    (".type T = $A {}", ["C0193@1:11"]),
    (".type T <: [x: number]", ["C0193@1:12"]),
    (".type T = [x: number] | A {}", ["C0193@1:23"]),
    (".type T = A {} | [x: number]", ["C0193@1:18"]),
    (".type T = [number, symbol]", ["C0193@1:12"]),
    (".type T = [x: number, x: symbol]", ["C0194@1:23"]),
    (".type T = A { x: number, x: symbol }", ["C0194@1:26"]),
    (".type T = A {} | A { x: number }", ["C0195@1:18"]),
    (".type T = [@[null = skip] x: number]", ["C0196@1:12"]),
    (".type T = [x: number\n.decl q(x: number)", ["C0123@1:21"]),
    (".type T = A { x: number\n.decl q(x: number)", ["C0123@1:24"]),
    (".type T = A { x: number | B {}", ["C0123@1:24"]),
    (".type T = [x: number y: symbol]", ["C0122@1:21"]),
    (".type T = [x: number,]", ["C0192@1:22"]),
    (".type T = [?x: number]", ["C0130@1:12"]),
    (".type T = nil {} | B {}", ["C0125@1:11"]),
    (".type T = [count: number]", ["C0125@1:12"]),
    (".type number = [x: number]", ["C0127@1:7"]),
    (".type T = [x: number]\n.type T = A {}", ["C0127@2:7"]),
    ("p($).", ["C0191@1:3"]),
    ("p($(1)).", ["C0191@1:3"]),
    ("p($?x(1)).", ["C0191@1:3"]),
    ("p($_).", ["C0191@1:3"]),
    ("p($A { x: 1 }).", ["C0191@1:6"]),
    ("p($A[1]).", ["C0191@1:5"]),
    ("p(nil(1)).", ["C0191@1:3"]),
    ("p($A.B(1)).", ["C0160@1:4"]),
    ("p((1, 2)).", ["C0192@1:3"]),
    ("p([(1, 2)]).", ["C0192@1:4"]),
    ("p((1 + 2, 2).", ["C0123@1:9"]),
    ("p({x: 1}).", ["C0192@1:3"]),
    ("p([?h | ?t]) :- q(?h, ?t).", ["C0192@1:7"]),
    ("p([x: 1]).", ["C0192@1:4"]),
    ("p([1, ?x = 1]).", ["C0192@1:7"]),
    ("p($A(x = 1)).", ["C0192@1:6"]),
    ("p([1, ]).", ["C0192@1:7"]),
    ("p($A(1, )).", ["C0192@1:9"]),
    ("p([1 2]).", ["C0122@1:5"]),
    ("p([1 [2]]).", ["C0122@1:5"]),
    ("p($A($B $C)).", ["C0122@1:8"]),
    ("p([1, 2).", ["C0123@1:8"]),
    ("p([1, 2.\nq(3).", ["C0123@1:8"]),
    ("p($A(1.\nq(3).", ["C0123@1:7"]),
    ("p([1]]).", ["C0123@1:6"]),
    ("p([.5]).", ["C0112@1:4"]),
    ("p(?x) :- q(?x) [?x, _] = ?x.", ["C0122@1:15"]),
    ("p(?x) :- [?x], q(?x).", ["C0136@1:10"]),
    ("p(?x) :- nil, q(?x).", ["C0136@1:10"]),
    ("p(?x) :- $A(?x).", ["C0136@1:10"]),
    ("p(?x) :- !$A(?x).", ["C0135@1:11"]),
    ("p([count : { q(_) }]).", ["C0134@1:4"]),
    ("p([", ["C0130@1:4"]),
    ("p($", ["C0191@1:3"]),
    (".type T = [", ["C0130@1:12"]),
    (".type T = A {", ["C0130@1:14"]),
    (".type T = A {} |", ["C0130@1:17"]),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_a_mistake_is_reported_once_and_where_it_is(text: str, expected: list[str]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in MISTAKES])
def test_a_mistake_hides_nothing_behind_it(text: str) -> None:
    program, _ = read(f"{text}\n.decl last(x: number)\nlast(1).\n")
    ended = not text.endswith(("[", "{", "|", "$"))
    assert not ended or "last" in {rule.head.predicate for rule in program.rules}


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ("$A(", ")"), ("[1, $A([", "])]")])
def test_nesting_has_an_end(opened: str, closed: str) -> None:
    for depth, expected in ((60, []), (1_000, ["C0129"]), (30_000, ["C0129"])):
        _, found = read(f"p({opened * depth}1{closed * depth}).")
        assert [one.code for one in found] == expected


ENDLESS = ["[" * 90_000, "$A(" * 40_000, "[1," * 40_000, "$" * 90_000, "]" * 90_000]
ENDLESS += ["(1," * 40_000, "[|" * 40_000, ".type T = [" * 20_000, ".type T = A{" * 20_000]
ENDLESS += ["p([(1, 2)]).\n" * 5_000, "{" * 90_000, ".type T = " + "A{}|" * 20_000]


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("text", ENDLESS, ids=lambda text: text[:9])
def test_a_hostile_text_is_read_in_bounded_time(text: str) -> None:
    assert read(text)[1]
    assert read(f"p({text}")[1]


@pytest.mark.parametrize(
    "text",
    [
        "p([1, -2, [?x, nil]]) :- q(?x), ?x = $A, $B(_, ?x) = ?x.",
        'p(cat([1], "a")) :- q([?x + 1, _]), !q([nil]).',
        "p(-$A(1), -[1], -(nil), [1] + [2] * $A, $A(1) ^ [2]) :- q(_).",
        ".type T = [x: number, y: T]\n.type U = A { x: T } | B {}\n.decl p(x: U)",
        "/// What it is.\n@[owner = me] .type U = A { x: Decimal }\n.type E = []",
    ],
)
def test_a_text_prints_as_a_program_that_is_the_same(text: str) -> None:
    program = sound(text)
    printed = print_program(program)
    assert sound(printed) == program
    assert print_program(sound(printed)) == printed


def test_a_program_that_needs_the_prelude_in_a_field_says_so() -> None:
    assert ".include" in print_program(sound(".type T = A { x: Date }"))
    assert ".include" not in print_program(sound(".type T = A { x: symbol }"))


def test_a_long_type_gets_several_lines() -> None:
    fields = {f"a_field_with_a_long_name_{n}": "number" for n in range(4)}
    record = TypeDefinition("T", "record", (), branches=(branch("[]", **fields),))
    both = (branch("$A", **fields), branch("$B"))
    algebraic = TypeDefinition("T", "algebraic", (), branches=both)
    for definition, count in ((record, 6), (algebraic, 3)):
        text = print_type(definition)
        assert text.count("\n") + 1 == count
        assert sound(text).types == {"T": definition}


@pytest.mark.parametrize(
    ("structure", "text"),
    [
        ('[1, "a\n\\"\\\\", nil]', '[1, "a\\n\\"\\\\", nil]'),
        ("$A0x1($Zero, 0x1.8000000000000p+1)", "$A0x1($Zero, 3.0)"),
        ("[0x1.5555555555555p-2, -0x1.7e43c8800759cp+996]", None),
        ('["0x1p+0", "18446744073709551615", "$A", "[]"]', None),
        ("[18446744073709551615]", "[18446744073709551615u]"),
        ("[18446744073709551616]", "[18446744073709551616.0]"),
        ("[-9223372036854775808, 9]", "[-9223372036854775808, 9]"),
        ("[-9223372036854775809, 9]", "[-9223372036854775809.0, 9]"),
        ("[1.5, -0.001]", "[1.5, -0.001]"),
        ("$A99999999999999999999(nil)", "$A99999999999999999999(nil)"),
        ("[]", "[]"),
    ],
)
def test_a_constant_is_written_as_rules_spell_it(structure: str, text: str | None) -> None:
    constant = Constant(parse_value(structure, Kind.STRUCTURE), Kind.STRUCTURE)
    printed = print_term(constant)
    assert text is None or printed == text
    assert print_term(first_term(printed)) == printed


def opened(indicator: str, *fields: tuple[Term, int]) -> tuple[Literal, ...]:
    """What analysis puts in place of a pattern for `?e`."""
    constructor = Apply("constructor_of", (E,), Kind.SYMBOL)
    return (
        Comparison("=", constructor, Constant(indicator, Kind.SYMBOL)),
        *(
            Comparison("=", term, Apply("field_of", (E, number(place)), Kind.NUMBER))
            for term, place in fields
        ),
    )


A, B = Variable("a"), Variable("b")


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (opened("$Add/2", (A, 0), (B, 1)), ["?e = $Add(?a, ?b)"]),
        (opened("$Add/2", (B, 1)), ["?e = $Add(_, ?b)"]),
        (opened("[]/3", (number(1), 0), (Apply("+", (A, B)), 2)), ["?e = [1, _, ?a + ?b]"]),
        (opened("$Zero/0"), ["?e = $Zero"]),
        (opened("nil/0"), ["?e = nil"]),
        (
            (*opened("[]/1"), Comparison("=", A, Apply("field_of", (B, number(0))))),
            ["?e = [_]", "?a = field_of(?b, 0)"],
        ),
        (opened("[]/0"), ["?e = []"]),
        (opened("[]/2", (A, 1), (B, 0)), ["?e = [_, ?a]", "?b = field_of(?e, 0)"]),
        (opened("[]/2", (A, 0), (B, 0)), ["?e = [?a, _]", "?b = field_of(?e, 0)"]),
        (opened("[]/2", (A, 2)), ["?e = [_, _]", "?a = field_of(?e, 2)"]),
        (opened("[]/2", (A, -1)), ["?e = [_, _]", "?a = field_of(?e, -1)"]),
        (opened("[]/2", (A, 0))[1:], ["?a = field_of(?e, 0)"]),
        (opened("other/1", (A, 0)), ['constructor_of(?e) = "other/1"', "?a = field_of(?e, 0)"]),
        (opened("[]/99999999999"), ['constructor_of(?e) = "[]/99999999999"']),
        (opened("[]/²"), ['constructor_of(?e) = "[]/²"']),
        (opened("[]/1", (A, 0)) * 2, ["?e = [?a]", "?e = [?a]"]),
    ],
)
def test_a_pattern_is_put_back(body: tuple[Literal, ...], texts: list[str]) -> None:
    groups = list(regrouped(body))
    assert [print_literal(one) for one, _ in groups] == texts
    assert sum(size for _, size in groups) == len(body)
    printed = print_rule(Rule("p.1", Atom("p", ()), body))
    assert printed == f"p() :- {', '.join(texts)}."


def test_a_pattern_in_an_aggregate_is_put_back() -> None:
    inner = tuple(one for one in opened("[]/1", (A, 0)) if isinstance(one, Comparison))
    counted = Aggregate("sum", B, A, inner)
    assert print_literal(counted) == "?b = sum ?a : { ?e = [?a] }"
    printed = print_rule(Rule("p.1", Atom("p", ()), (counted,)))
    assert printed == "p() :- ?b = sum ?a : { ?e = [?a] }."


@given(
    st.sampled_from(["p(", ".type T = ", "p(1) :- ", ""]),
    st.text('[]$(){}|,:=?_ abnil1"\\.\n', max_size=60),
)
def test_no_text_stops_the_parser(start: str, text: str) -> None:
    found: list[Diagnostic] = []
    parse_text(f"{start}{text}).", "t.dl", found)
    assert all(one.span is not None and one.note and one.help for one in found)
