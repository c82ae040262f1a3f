"""The law of the text side: reading what was printed gives what was printed."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import Apply, Atom, Constant, Kind, Rule, Variable
from constat.syntax import parse_text, print_program, print_rule, print_term
from tests.syntax.strategies import numbered, programs, terms

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.logic import Program, Term


def read(text: str) -> Program:
    found: list[Diagnostic] = []
    program = parse_text(text, "printed.dl", found)
    assert found == [], text
    return program


@given(programs())
def test_a_printed_program_reads_back_as_itself(program: Program) -> None:
    text = print_program(program)
    again = read(text)
    assert again == program
    assert list(again.predicates) == list(program.predicates)
    assert print_program(again) == text


@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.SYMBOL])
@given(data=st.data())
def test_a_printed_term_reads_back_as_itself(kind: Kind, data: st.DataObject) -> None:
    term = data.draw(terms(kind, ["x", "_y"]))
    rule = Rule("p.1", Atom("p", (term,)), ())
    assert read(print_rule(rule)).rules == (rule,)


@pytest.mark.parametrize(
    "text",
    [
        "p(?x) :- q(?x), !r(?x, _, _), s(_).",
        "p(?x, ?y) :- q(?x), ?y = -(?x - -3) * (2 + ?x) % 7 / 2.",
        "p(?x) :- ?x = sum ?y * 2 : { q(?y), ?y != -1 }, ?x > 0.",
        "p(?x) :- ?x = sum (?y * (?y + 1)) : { q(?y) }.",
        "p(?x) :- q(?x), ?x > count : { q(_) } + max ?z : { q(?z) }.",
        "p(?x) :- q(?x), _ < count : { q(_), r(_, _, 1) }.",
        'p(cat("a\\n\\t\\"\\\\", ?x)) :- q(?x), match("a.*", ?x), !contains("b", ?x).',
        "p(as(?x, number)) :- q(?x), as(?x, Custom) = 1.",
        "p(1.5e300, -1.5e300, 1.5e-300, 0.0, -0.0, 5u, 0x1F, 0b101).",
        "p(?x) :- q(?x), (r(?x, 1, 2); s(?x), (t(?x); u(?x))).",
        "p(?x), q(?x) :- r(?x, ?x, ?x); s(?x).",
        "flag().",
        "p(-(5), -(-5), - -5, -(5u)).",
        "p(-2 ^ 2, (-2) ^ 2, 2 ^ -2, 2 ^ -?x ^ 3, (?x ^ 2) ^ 3) :- q(?x).",
        "p((-0.5) ^ 2, (-?x) ^ 2, bnot (?x ^ 2), bnot -?x, lnot bnot ?x) :- q(?x).",
        "p(?x band (?y bor 1) bshl 2, min(?x, ?y, 3), max(?x, ?y)) :- q(?x, ?y).",
        "p(?x) :- q(?x), bnot ?x > 5, (?x) bxor 3 = 1, lnot(?x) = 0.",
        "p(?x) :- q(?x), ?x = min ?y : { q(?y) } band 7.",
        "p(?x) :- ?x = max max(?y, min(?y, 3), 2) : { q(?y) }, ?x < min (max(?y, 2)) : { q(?y) }.",
        ".decl a(x: number)\n.decl b(x: number)\n.printsize b\n.printsize a, b(IO=stdout)",
        '@[id = R7] @[confidence = 0.90] @[approved(by = "J. Doe", on = "2026-01-31")] p(1).',
        '/// first\n/// second\n@[says = "{x}"]\np(?x) :- @![owner = me] q(?x).',
        '@[expect(proved = "a,b")] .decl p(x: symbol)\n@[expect = "a"] .output p(IO=stdout)',
        ".decl a(x: symbol) .decl b, c(@[null = skip] x: Date, y: number)\n.input b, c(source=s)",
    ],
)
def test_a_text_prints_as_a_program_that_is_the_same(text: str) -> None:
    program = read(text)
    printed = print_program(program)
    assert read(printed) == program
    assert print_program(read(printed)) == printed


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Variable("x"), "?x"),
        (Variable("_o"), "_o"),
        (Variable("_12"), "_"),
        (Constant(Decimal("10.5"), Kind.DECIMAL), "10.5"),
        (Constant(Decimal(10), Kind.DECIMAL), "10.0"),
        (Constant(1.5, Kind.FLOAT), "1.5"),
        (Constant(1e300, Kind.FLOAT), "1.0e+300"),
        (Constant("2025-01-31", Kind.DATE), '"2025-01-31"'),
        (Constant(5, Kind.UNSIGNED), "5u"),
        (Apply("neg", (Constant(5, Kind.NUMBER),)), "-(5)"),
        (Apply("neg", (Apply("neg", (Variable("x"),)),)), "-(-?x)"),
        (Apply("-", (Variable("x"), Apply("-", (Variable("y"), Variable("z"))))), "?x - (?y - ?z)"),
        (Apply("-", (Apply("-", (Variable("x"), Variable("y"))), Variable("z"))), "?x - ?y - ?z"),
        (Apply("*", (Apply("+", (Variable("x"), Variable("y"))), Variable("z"))), "(?x + ?y) * ?z"),
        (Apply("^", (Variable("x"), Apply("^", (Variable("y"), Variable("z"))))), "?x ^ ?y ^ ?z"),
        (Apply("^", (Apply("^", (Variable("x"), Variable("y"))), Variable("z"))), "(?x ^ ?y) ^ ?z"),
        (Apply("^", (Constant(-2, Kind.NUMBER), Variable("z"))), "(-2) ^ ?z"),
        (Apply("bnot", (Apply("bnot", (Variable("x"),)),)), "bnot (bnot ?x)"),
        (
            Apply("band", (Apply("bnot", (Variable("x"),)), Constant(1, Kind.NUMBER))),
            "bnot ?x band 1",
        ),
        (
            Apply("band", (Apply("bor", (Variable("x"), Variable("y"))), Variable("z"))),
            "(?x bor ?y) band ?z",
        ),
        (Apply("max", (Variable("x"), Constant(0, Kind.NUMBER))), "max(?x, 0)"),
    ],
)
def test_a_term_is_written_without_needless_brackets(term: Term, text: str) -> None:
    assert print_term(term) == text


def test_a_rule_names_its_id_only_where_it_has_one() -> None:
    rule = numbered(Rule("p.3", Atom("p", (Constant(1, Kind.NUMBER),)), ()))
    assert print_rule(rule) == "p(1)."
    assert print_rule(Rule("R7", rule.head, ())) == "@[id = R7]\np(1)."
    assert print_rule(Rule("p.3a", rule.head, ())) == '@[id = "p.3a"]\np(1).'


def test_a_long_rule_gets_a_line_for_each_literal() -> None:
    text = "total(?customer, ?sum) :- " + ", ".join(
        f"quite_a_long_name_{n}(?customer, ?sum)" for n in range(4)
    )
    lines = print_rule(read(text + ".").rules[0]).split("\n")
    assert lines[0] == "total(?customer, ?sum) :-"
    assert len(lines) == 5
    assert all(line.startswith("  ") for line in lines[1:])


LEFT = ("lor", "lxor", "land", "bor", "bxor", "band", "bshl", "+", "*")
"""The operators that bind from the left, from the loosest to the tightest, as in Souffle."""


@pytest.mark.parametrize(
    ("text", "bracketed"),
    [
        *((f"1 {one} 2 {one} 3", f"(1 {one} 2) {one} 3") for one in LEFT),
        *((f"1 {a} 2 {b} 3", f"1 {a} (2 {b} 3)") for a, b in pairwise(LEFT)),
        *((f"1 {b} 2 {a} 3", f"(1 {b} 2) {a} 3") for a, b in pairwise(LEFT)),
        ("1 bshl 2 bshr 3 bshru 4", "((1 bshl 2) bshr 3) bshru 4"),
        ("1 * 2 / 3 % 4", "((1 * 2) / 3) % 4"),
        ("2 * 3 ^ 2", "2 * (3 ^ 2)"),
        ("2 ^ 3 * 2", "(2 ^ 3) * 2"),
        ("2 ^ 3 ^ 2", "2 ^ (3 ^ 2)"),
        ("-?x ^ 2", "-(?x ^ 2)"),
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ -1 * 3", "(2 ^ (-1)) * 3"),
        ("2 ^ -?x ^ 2", "2 ^ (-(?x ^ 2))"),
        ("bnot ?x ^ 2", "bnot (?x ^ 2)"),
        ("bnot ?x * 2", "(bnot ?x) * 2"),
        ("bnot (?x) band 2", "(bnot ?x) band 2"),
        ("lnot ?x land ?x", "(lnot ?x) land ?x"),
        ("lnot -?x", "lnot (-?x)"),
        ("1 band -?x", "1 band (-?x)"),
        ("min(1, 2) + 3 band 4", "(min(1, 2) + 3) band 4"),
    ],
)
def test_operators_bind_as_in_souffle(text: str, bracketed: str) -> None:
    found, expected = (read(f"p({one}) :- q(?x).").rules[0] for one in (text, bracketed))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0xfFfF", 65535),
        ("-0x10", -16),
        ("0b101", 5),
        ("-0b1", -1),
        ("0x7FFFFFFFFFFFFFFF", 2**63 - 1),
        ("-0x8000000000000000", -(2**63)),
        ("0xFFFFFFFFFFFFFFFFu", 2**64 - 1),
        ("18446744073709551615u", 2**64 - 1),
        ("0b11u", 3),
        ("-0u", 0),
    ],
)
def test_integers_are_written_in_base_16_2_and_10(text: str, value: int) -> None:
    term = read(f"p({text}).").rules[0].head.terms[0]
    kind = Kind.UNSIGNED if text.endswith("u") else Kind.NUMBER
    assert term == Constant(value, kind)


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("0x8000000000000000", "`u` behind"),
        ("-0x8000000000000001", "smaller"),
        ("9223372036854775808", "`u` behind"),
        ("-9223372036854775809", "smaller"),
        ("18446744073709551616u", "smaller"),
        ("0x1" + "0" * 100, "smaller"),
        ("-5u", "without the sign"),
        ("-0x1Fu", "without the sign"),
    ],
)
def test_an_integer_out_of_range_is_told_its_range(text: str, edit: str) -> None:
    found: list[Diagnostic] = []
    parse_text(f"p({text}).", "t.dl", found)
    assert [one.code for one in found if one.code != "C0201"] == ["C0111"]
    assert edit in found[0].help
    assert found[0].note
