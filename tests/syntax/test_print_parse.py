"""The law of the text side: reading what was printed gives what was printed."""

from __future__ import annotations

from decimal import Decimal
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
