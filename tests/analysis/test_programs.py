"""Modes, attributes, nulls, strata."""

from __future__ import annotations

from itertools import pairwise

import pytest

from constat.analysis import Component, analyse_or_raise
from constat.diagnostics import ConstatError, Severity
from constat.logic import Atom, Kind, Negative, Positive, Predicate, Program, Rule
from tests.analysis.programs import analysed, codes, diagnostics_of, found, program_of, the

API = """
.decl price(i: symbol, p: Decimal)
.input price(source = "shop", required = "i")
.decl item(i: symbol)
.decl cost(i: symbol, p: Decimal)
"""


@pytest.mark.parametrize(
    "rule",
    [
        "cost(?i, ?p) :- item(?i), price(?i, ?p).",
        "cost(?i, ?p) :- price(?i, ?p), item(?i).",
        'cost("a", ?p) :- price("a", ?p).',
        "cost(?i, ?p) :- price(?i, ?p).",
        "cost(?i, ?p) :- price(?i, ?p).\nitem(?i) :- text(?i), cost(?i, ?p), ?p > 1.",
        "amount_of(?t) :- item(?i), ?t = sum ?p : { price(?i, ?p) }.",
        "amount_of(?t) :- ?t = sum ?p : { price(?i, ?p), item(?i) }.",
        'item(?i) :- text(?t), ?i = cat(?t, "x"), !price(?i, _).',
        "item(?i) :- item(?j), price(?j, ?p), ?i = to_string(?p).",
    ],
)
def test_what_some_order_binds_is_accepted(rule: str) -> None:
    assert codes(API + rule) == []


@pytest.mark.parametrize(
    "rule",
    [
        "amount_of(?p) :- price(_, ?p).",
        "amount_of(?p) :- price(_i, ?p).",
        'amount_of(?p) :- price(?i, ?p), ?i != "a".',
        "amount_of(?t) :- ?t = sum ?p : { price(_, ?p) }.",
        "amount_of(?p) :- cost(_, ?p).\ncost(?i, ?p) :- price(?i, ?p).",
        (
            ".decl third(i: symbol, p: Decimal)\namount_of(?p) :- third(_, ?p).\n"
            "third(?i, ?p) :- cost(?i, ?p).\ncost(?i, ?p) :- price(?i, ?p)."
        ),
        "item(?i) :- item(?i), !price(_, 1).",
        "item(?i) :- price(?j, ?p), price(?k, ?p), ?i = cat(?j, ?k).",
    ],
)
def test_what_no_order_binds_is_an_error(rule: str) -> None:
    assert set(codes(API + rule)) == {"C0230"}


def test_required_names_a_column() -> None:
    assert codes(API.replace('"i"', '"i, item"')) == ["C0231"]


def test_unknown_attributes_warn_and_name_the_nearest() -> None:
    (one,) = diagnostics_of('@[sayz = "x"]\n.decl p(x: symbol)\n')
    assert (one.code, one.severity) == ("C0240", Severity.WARNING)
    assert "@[says" in one.help
    program = program_of('@[sayz = "x"]\n.decl p(x: symbol)\n')
    assert analyse_or_raise(program).external == {"p"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('@[key = "a, b"] .decl p(a: symbol, b: symbol)', []),
        ("@[key = a] .decl p(a: symbol)", []),
        ('@[key = "a,c"] .decl p(a: symbol)', ["C0241"]),
        ('@[key = ""] .decl p(a: symbol)', ["C0241"]),
        ('@[says = "{a} is {b}"] .decl p(a: symbol, b: symbol)', []),
        ('@[says = "{a} is {c}"] .decl p(a: symbol)', ["C0243"]),
        ('@[says = "{a is"] .decl p(a: symbol)', ["C0243"]),
        ('@[says = "plain"] .decl p()', []),
        ('.decl p(a: symbol)\n.decl q(a: symbol)\n@[says = "{x}"] p(?x) :- q(?x).', []),
        ('.decl p(a: symbol)\n.decl q(a: symbol)\n@[says = "{a}"] p(?x) :- q(?x).', []),
        ('.decl p(a: symbol)\n.decl q(a: symbol)\n@[says = "{y}"] p(?x) :- q(?x).', ["C0243"]),
        (
            '.decl p(a: symbol)\n.decl q(a: symbol)\n@[says = "{y}"] p(?x), q(?x) :- q(?x); p(?x).',
            ["C0243"],
        ),
        ("@[null = skip] .decl p(a: symbol)", []),
        ("@[null = drop] .decl p(a: symbol)", ["C0242"]),
        ('.decl p(a: symbol)\n.input p(source = "s", null = "zero")', ["C0242"]),
        (".decl p(@[nullable] @[unit = EUR] a: symbol)", []),
        ('@[author = "llm:x"] @[approved(by = "J", on = "2026-01-31")] .decl p(a: symbol)', []),
        ('.decl p(a: symbol)\n@[expect(proved = "a")] p("a").', []),
    ],
)
def test_attributes(text: str, expected: list[str]) -> None:
    assert [one.code for one in diagnostics_of(text + "\n")] == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("@[nullable] d: Date", ["C0211"]),
        ("@[nullable] @[null = skip] d: Date", []),
        ("d: Date", []),
        ("@[nullable = false] d: Date", []),
    ],
)
def test_nullable_columns_need_a_policy_where_read(column: str, expected: list[str]) -> None:
    declared = f".decl shipped(i: symbol, {column})\n"
    days = ".decl day_of(i: symbol, d: Date)\n"
    assert codes(declared + 'text(?i) :- shipped(?i, ?d), ?d > "2025-01-01".') == expected
    assert codes(declared + "text(?i) :- shipped(?i, _).") == []
    assert codes(declared + "text(?i) :- shipped(?i, _day).") == expected
    assert codes(declared + days + "day_of(?i, ?d) :- shipped(?i, ?d).") == expected
    assert codes(declared + 'text(?i) :- text(?i), !shipped(?i, "2025-01-01").') == expected
    inside = 'number_of(?n) :- ?n = count : { shipped(_i, ?d), ?d > "2025-01-01" }.'
    assert codes(declared + inside) == expected
    inputs = '.input shipped(source = "s", null = "unknown")\n'
    assert codes(declared + inputs + inside) == []


GRAPH = ".decl edge(a: number, b: number)\n" + "".join(
    f".decl {name}(a: number)\n" for name in ("p", "q", "r", "s")
)


def test_components_come_callees_first() -> None:
    text = (
        "p(?x) :- q(?x).\nq(?x) :- r(?x), s(?x).\nr(?x) :- q(?x).\n"
        "s(?x) :- edge(?x, _).\nr(?x) :- edge(?x, ?x).\n"
    )
    program = analyse_or_raise(program_of(GRAPH + text))
    assert program.components == (
        Component(("s",), recursive=False),
        Component(("q", "r"), recursive=True),
        Component(("p",), recursive=False),
    )
    assert program.external == {"edge"}


def test_a_predicate_with_rules_and_an_input_is_both() -> None:
    text = '.decl p(a: number)\n.input p(source = "s")\np(?x) :- p(?y), ?x = ?y / 2.\n'
    program = analyse_or_raise(program_of(text))
    assert program.external == {"p"}
    assert program.components == (Component(("p",), recursive=True),)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("p(?x) :- edge(?x, _), !p(?x).", "`p` -> !`p`"),
        (
            "p(?x) :- edge(?x, _), !q(?x).\nq(?x) :- r(?x).\nr(?x) :- s(?x).\ns(?x) :- p(?x).",
            "`p` -> !`q` -> `r` -> `s` -> `p`",
        ),
        (
            "p(?n) :- ?n = count : { q(_) }.\nq(?x) :- p(?x).",
            "`p` -> count of `q` -> `p`",
        ),
    ],
)
def test_the_cycle_is_drawn(text: str, path: str) -> None:
    one = the(GRAPH + text, "C0250")
    assert one.label == path
    assert len(one.related) == path.count("->") - 1


def test_negation_between_strata_is_no_cycle() -> None:
    text = "p(?x) :- edge(?x, _), !q(?x).\nq(?x) :- edge(_, ?x), !r(?x).\nr(?x) :- edge(?x, ?x).\n"
    assert codes(GRAPH + text) == []


def test_one_error_per_component() -> None:
    text = "p(?x) :- edge(?x, _), !q(?x), !p(?x).\nq(?x) :- edge(?x, _), !p(?x).\n"
    assert codes(GRAPH + text) == ["C0250"]


def chain(length: int, last: str) -> Program:
    names = [f"p{i}" for i in range(length)]
    predicates = {name: Predicate(name, ()) for name in [*names, "end"]}
    rules = [
        Rule(f"{one}.1", Atom(one, ()), (Positive(Atom(two, ())),)) for one, two in pairwise(names)
    ]
    back = Atom(last, ())
    rules.append(Rule("last", Atom(names[-1], ()), (Negative(back),)))
    return Program(predicates, tuple(rules))


def test_long_chains_of_predicates_are_harmless() -> None:
    program = analyse_or_raise(chain(4_000, "end"))
    assert program.components[0].predicates == ("p3999",)
    assert len(program.components) == 4_000
    with pytest.raises(ConstatError) as caught:
        analyse_or_raise(chain(4_000, "p0"))
    assert [one.code for one in caught.value.diagnostics] == ["C0250"]


def test_errors_come_together_sorted_by_place() -> None:
    diagnostics = found(
        "text(?t) :- tier(_, ?t), ?t > 5.\nchosen(?c) :- customr(?c, _).\ntext(?x) :- text(_)."
    )
    assert [one.code for one in diagnostics] == ["C0215", "C0201", "C0203"]


def test_an_error_of_the_text_is_an_error_of_the_analysis() -> None:
    with pytest.raises(ConstatError) as caught:
        analyse_or_raise(program_of(".decl p(a: number)\np(?x) :- p(?y).\n"))
    assert [one.code for one in caught.value.diagnostics] == ["C0203", "C0206"]
    assert caught.value.exit_code == 2


def test_rules_keep_their_numbers() -> None:
    program = analysed("text(?t) :- tier(_, ?t).\nnumber_of(1).\ntext(?n) :- customer(_, ?n).\n")
    assert program.rule_numbers("text") == (0, 2)
    assert program.rules == program.program.rules
    assert program.program.predicates["text"].kinds == (Kind.SYMBOL,)
