"""What a text means: predicates, rules and their ids, attributes, aggregates."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Rule,
    Variable,
    local_names,
    outer_names,
)
from constat.syntax import parse_text, prelude_text, print_literal
from tests.syntax.reading import errors, places, sound

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic

X, Y = Variable("x"), Variable("y")

LIBRARY = """\
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.type CustomerId <: symbol
.type Anyone = CustomerId | symbol
.type Money = Decimal

/// Who orders.
/// Two lines.
@[says = "customer {c} ordered"] @[key = "c"]
.decl order(c: CustomerId, amount: Money, @[null = skip] d: Date)
@[owner = sales]
.input order(source="shop", query="SELECT 1", max_age=3600)

.decl total(c: CustomerId, t: Money)
@[expect = "C001"] .output total(IO=stdout)

/// Adds up.
@[id = R1] @[confidence = 0.9] @[author = "llm:m"] @[says = "sum {t}"]
total(?c, ?t) :- order(?c, _, _), ?t = sum ?a : { order(?c, ?a, _d) }.
"""


def one_rule(text: str) -> Rule:
    (rule,) = sound(text).rules
    return rule


def test_a_declaration_gives_columns_types_attributes_and_description() -> None:
    order = sound(LIBRARY).predicates["order"]
    assert [column.name for column in order.columns] == ["c", "amount", "d"]
    assert [column.type_name for column in order.columns] == ["CustomerId", "Money", "Date"]
    assert order.columns[2].kind is Kind.DATE
    assert order.columns[2].attributes == {"null": "skip"}
    assert order.attributes == {"says": "customer {c} ordered", "key": "c", "owner": "sales"}
    assert order.key == (0,)
    assert order.description == "Who orders.\nTwo lines."


def test_an_input_gives_a_source_and_an_output_its_parameters() -> None:
    program = sound(LIBRARY)
    source = program.predicates["order"].source
    assert source is not None
    assert source.name == "shop"
    assert source.parameters == {"source": "shop", "query": "SELECT 1", "max_age": "3600"}
    assert program.predicates["total"].source is None
    assert program.outputs == {"total": {"expect": "C001", "IO": "stdout"}}


def test_the_sizes_to_print_keep_their_order_and_stand_once() -> None:
    program = sound(
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\n"
        ".printsize c, a(IO=stdout)\n.printsize a\n.printsize b\n.output a"
    )
    assert program.sizes == ("c", "a", "b")
    assert list(program.outputs) == ["a"]
    assert sound(LIBRARY).sizes == ()


def test_types_are_subtypes_unions_and_aliases() -> None:
    found = sound(LIBRARY).types
    assert [(one.name, one.form, one.members) for one in found.values()] == [
        ("CustomerId", "subtype", ("symbol",)),
        ("Anyone", "union", ("CustomerId", "symbol")),
        ("Money", "alias", ("Decimal",)),
    ]


def test_a_rule_gets_its_id_confidence_and_attributes() -> None:
    rule = sound(LIBRARY).rules[0]
    assert rule.id == "R1"
    assert rule.confidence == Decimal("0.9")
    assert rule.proposed
    assert rule.attributes == {"author": "llm:m", "says": "sum {t}", "description": "Adds up."}


@pytest.mark.parametrize(
    ("attributes", "proposed"),
    [
        ("", False),
        ('@[author = "alice"]', False),
        ('@[author = "llm:model-x"]', True),
        ('@[author = "model:local"]', True),
        ('@[author = " LLM:model-x"]', True),
        ('@[author = "llm:model-x"] @[approved(by = "J. Doe")]', True),
        ('@[approved] @[author = "llm:model-x"]', True),
    ],
)
def test_a_rule_of_a_model_is_proposed_whatever_its_text_says(
    attributes: str, *, proposed: bool
) -> None:
    assert one_rule(f"{attributes} p(1).").proposed is proposed


def test_rules_are_numbered_per_predicate() -> None:
    text = "p(1). q(1). p(2). @[id = mine] p(3). p(4)."
    assert [rule.id for rule in sound(text).rules] == ["p.1", "q.1", "p.2", "mine", "p.4"]


def test_alternatives_and_heads_split_into_rules_with_letters() -> None:
    text = "p(?x) :- q(?x); r(?x), s(?x). @[id = R] p(?x), t(?x) :- q(?x); r(?x)."
    program = sound(text)
    assert [rule.id for rule in program.rules] == ["p.1a", "p.1b", "Ra", "Rb", "Rc", "Rd"]
    assert [len(rule.body) for rule in program.rules] == [1, 2, 1, 1, 1, 1]
    assert [rule.head.predicate for rule in program.rules[2:]] == ["p", "p", "t", "t"]


def test_several_heads_without_alternatives_are_numbered_each() -> None:
    assert [rule.id for rule in sound("p(?x), q(?x) :- r(?x).").rules] == ["p.1", "q.1"]


def test_groups_are_multiplied_out_in_the_order_of_the_text() -> None:
    text = "p(?x) :- (a(?x); b(?x)), (c(?x); d(?x))."
    bodies = [
        "".join(literal.atom.predicate for literal in rule.body if isinstance(literal, Positive))
        for rule in sound(text).rules
    ]
    assert bodies == ["ac", "ad", "bc", "bd"]


def test_more_than_twenty_six_alternatives_have_two_letters() -> None:
    text = "p(?x) :- " + "; ".join(["q(?x)"] * 28) + "."
    assert [rule.id for rule in sound(text).rules][25:] == ["p.1z", "p.1aa", "p.1ab"]


def test_two_rules_of_one_id_are_an_error() -> None:
    assert places("@[id = R] p(1).\n@[id = R] p(2).") == ["C0140@2:11"]
    assert errors('p(1). @[id = "p.1"] p(2).') == ["C0140"]
    assert errors("@[id = R] p(?x) :- q(?x); r(?x). @[id = Ra] p(1).") == ["C0140"]


def test_wildcards_are_variables_of_their_own() -> None:
    rule = one_rule("p(_) :- q(_, ?x), !r(_).")
    assert rule.head == Atom("p", (Variable("_1"),))
    assert rule.body == (
        Positive(Atom("q", (Variable("_2"), X))),
        Negative(Atom("r", (Variable("_3"),))),
    )


def test_arithmetic_has_the_usual_precedence() -> None:
    rule = one_rule("p(?x) :- ?x = 1 + 2 * -?y - 3.")
    inner = Apply("*", (Constant(2, Kind.NUMBER), Apply("neg", (Y,))))
    total = Apply("+", (Constant(1, Kind.NUMBER), inner))
    assert rule.body == (Comparison("=", X, Apply("-", (total, Constant(3, Kind.NUMBER)))),)


def test_a_minus_before_a_number_belongs_to_the_number() -> None:
    rule = one_rule("p(-5, -2.50, -9223372036854775808).")
    assert rule.head.terms == (
        Constant(-5, Kind.NUMBER),
        Constant(Decimal("-2.5"), Kind.DECIMAL),
        Constant(-(2**63), Kind.NUMBER),
    )


def test_a_number_beyond_its_bits_is_an_error() -> None:
    assert errors("p(9223372036854775808).") == ["C0111"]
    assert errors("p(18446744073709551616u).") == ["C0111"]
    assert errors("p(18446744073709551615u).") == []
    assert errors("p(" + "9" * 100_000 + ").") == ["C0111"]
    assert errors("p(1." + "9" * 39 + ").") == ["C0111"]
    assert errors("p(1.0e400).") == ["C0111"]
    assert errors("p(1.5e999999999999).") == ["C0111"]
    assert errors("p(1.5e" + "9" * 30 + ").") == ["C0111"]
    assert errors("p(1.5e-" + "9" * 30 + ").") == []


def test_functions_are_named_and_as_has_a_type() -> None:
    rule = one_rule("p(?x) :- ?x = days_between(?y, ?z), as(?x, number) = as(?y, Money).")
    last = rule.body[1]
    assert isinstance(last, Comparison)
    assert last.left == Apply("as", (X,), Kind.NUMBER, None, "number")
    assert last.right == Apply("as", (Y,), None, None, "Money")


def test_match_and_contains_are_comparisons() -> None:
    rule = one_rule('p(?x) :- q(?x), match("a.*", ?x), !contains("b", ?x).')
    assert [one.operator for one in rule.body if isinstance(one, Comparison)] == [
        "match",
        "!contains",
    ]


def test_an_aggregate_has_its_result_target_and_body() -> None:
    rule = one_rule("p(?x) :- ?x = sum ?y : { q(?y), ?y > 1 }.")
    (aggregate,) = rule.body
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.function, aggregate.result, aggregate.target) == ("sum", X, Y)
    assert len(aggregate.body) == 2
    assert outer_names(rule) == ("x",)
    assert local_names(rule, aggregate) == ("y",)


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("p(?x) :- ?x = count : q(_).", ["?x = count : { q(_) }"]),
        ("p(?x) :- count : { q(_) } = ?x.", ["?x = count : { q(_) }"]),
        (
            "p(?x) :- q(?x), ?x > count : { q(_) }.",
            ["q(?x)", "?count_1 = count : { q(_) }", "?x > ?count_1"],
        ),
        (
            "p(?x) :- ?x = sum ?y : { q(?y) } / count : { q(_) }.",
            [
                "?sum_1 = sum ?y : { q(?y) }",
                "?count_1 = count : { q(_) }",
                "?x = ?sum_1 / ?count_1",
            ],
        ),
        (
            "p(?count_1) :- q(?count_1), 1 < count : { q(_) }.",
            ["q(?count_1)", "?count_2 = count : { q(_) }", "1 < ?count_2"],
        ),
    ],
)
def test_aggregates_become_literals_of_their_own(text: str, literals: list[str]) -> None:
    assert [print_literal(literal) for literal in one_rule(text).body] == literals


def test_a_built_in_type_may_be_declared_as_souffle_needs_it() -> None:
    assert errors(".type Date <: symbol\n.type Decimal <: float") == []
    assert errors(".type Date <: number") == ["C0127"]
    assert errors(".type number = symbol") == ["C0127"]


def test_what_is_declared_twice_names_the_first_place() -> None:
    found: list[Diagnostic] = []
    parse_text(".decl p(x: symbol)\n.decl p(y: symbol)", "test.dl", found)
    assert [str(other.span) for one in found for other in one.related] == ["test.dl:1:7"]
    assert errors(".type A <: symbol\n.type A <: number") == ["C0127"]
    assert errors(".decl p(x: symbol)\n.input p\n.input p") == ["C0127"]
    assert errors(".decl p(x: symbol)\n.output p\n.output p") == []


@pytest.mark.parametrize("value", ["0", "-0.5", "1.5", '"much"', '"NaN"', '"1e-5"'])
def test_a_confidence_lies_above_zero_and_up_to_one(value: str) -> None:
    assert errors(f"@[confidence = {value}] p(1).") == ["C0139"]


def test_spans_point_at_what_they_name() -> None:
    program = sound(".decl p(x: symbol)\n\np(?x) :-\n  q(?x, 1 + 2).")
    rule = program.rules[0]
    assert str(program.predicates["p"].span) == "test.dl:1:7"
    assert str(program.predicates["p"].columns[0].span) == "test.dl:1:9"
    assert str(rule.span) == "test.dl:3:1"
    literal = rule.body[0]
    assert isinstance(literal, Positive)
    assert str(literal.atom.terms[1].span) == "test.dl:4:9"


def test_the_prelude_is_plain_rule_text() -> None:
    assert errors(prelude_text()) == []
    assert errors('.include "constat/prelude.dl"') == []
