"""Every variable is bound, and none is used only once."""

from __future__ import annotations

import pytest

from constat.analysis import analyse
from constat.diagnostics import Diagnostic
from constat.logic import Apply, Atom, Constant, Kind, Positive, Program, Rule, Variable
from tests.analysis.programs import codes, diagnostics_of, found, the


@pytest.mark.parametrize(
    "rule",
    [
        "chosen(?c) :- customer(?c, _).",
        "chosen(?d) :- customer(?c, _), ?d = ?c.",
        "number_of(?b) :- ?b = ?a + 1, level(_, ?a).",
        "number_of(?d) :- ?b = ?a, ?d = ?c, ?c = ?b, level(_, ?a).",
        "number_of(?a) :- ?a = 5.",
        "number_of(?a) :- 5 = ?a.",
        "number_of(?n) :- ?n = count : { customer(_, _) }.",
        "chosen(?c) :- customer(?c, _), !tier(?c, _).",
        "chosen(?c) :- customer(?c, _), !tier(?c, _any).",
        "chosen(?c) :- level(?c, ?n), level(_, ?n + 1).",
        'chosen("C001").',
        "number_of(?t) :- ?n = count : { customer(_, _) }, ?t = ?n * 2.",
        "number_of(?t) :- level(?c, ?n), ?t = count : { level(?c, ?m), ?m > ?n }.",
        "number_of(?t) :- level(_, ?n), ?t = sum ?m + ?n : { level(_, ?m) }.",
        "number_of(?t) :- ?t = sum ?m : { level(_, ?n), ?m = ?n * 2 }.",
    ],
)
def test_safe_rules_are_accepted(rule: str) -> None:
    assert codes(rule) == []


@pytest.mark.parametrize(
    ("rule", "code", "variable"),
    [
        ("chosen(?c) :- customer(_, _).", "C0203", "?c"),
        ("chosen(?c).", "C0203", "?c"),
        ("chosen(_) :- customer(_, _).", "C0203", "_"),
        ("number_of(?a + 1).", "C0203", "?a"),
        ("chosen(?c) :- !customer(?c, _).", "C0203", "?c"),
        ("number_of(1) :- !customer(?c, ?c).", "C0204", "?c"),
        ("number_of(1) :- !level(?c, _).", "C0204", "?c"),
        ("number_of(1) :- !level(_c, 1), !level(_c, 2).", "C0204", "_c"),
        ("number_of(1) :- ?a < 5, ?a > 1.", "C0205", "?a"),
        ("number_of(1) :- ?a = ?a + 1.", "C0205", "?a"),
        ("chosen(?c) :- level(?c, ?n + 1), ?n > 5.", "C0205", "?n"),
        ("chosen(?c) :- level(?c, ?n + 1), !number_of(?n).", "C0205", "?n"),
        ("text(?s) :- text(?s), match(?p, ?s), contains(?p, ?s).", "C0205", "?p"),
        ("number_of(?t) :- ?t = sum ?m : { level(_, _n), ?m > 1 }.", "C0210", "?m"),
        ("number_of(?t) :- ?t = count : { level(?c, _n), !tier(?c, _t) }.", "C0210", "_t"),
        ("number_of(?t) :- ?t = count : { level(?c, _) }, ?c = to_string(?t).", "C0208", "?c"),
    ],
)
def test_what_is_never_bound_is_reported_once(rule: str, code: str, variable: str) -> None:
    one = the(rule, code)
    assert f"`{variable}`" in one.message
    assert one.span is not None


def test_one_cause_is_reported_and_not_its_consequences() -> None:
    one = the("number_of(?c) :- ?c = ?b + 1, ?b = ?a + 1, ?a > 0.", "C0205")
    assert "`?a`" in one.message


def test_the_help_offers_a_predicate_with_a_column_of_that_name() -> None:
    joined = the("amount_of(?amount) :- tier(?c, _), level(?c, _).", "C0203")
    assert "`order(_, ?c, ?amount, _)`" in joined.help


def test_the_help_never_offers_rows_that_have_nothing_to_do_with_the_body() -> None:
    one = the("amount_of(?amount) :- customer(_, _).", "C0203")
    assert one.help == "bind it, for example with `known_amount(?amount)`"


def test_the_group_only_inside_is_shown_with_the_grounding_atom() -> None:
    rule = "number_of(?n) :- ?n = sum ?v : { level(?c, ?v) }, !tier(?c, _)."
    one = the(rule, "C0208")
    assert (
        "`number_of(?n) :- level(?c, _), ?n = sum ?v : { level(?c, ?v) }, !tier(?c, _).`"
        in one.help
    )
    assert [str(place.span)[11:] for place in one.related] == ["17:40"]


@pytest.mark.parametrize(
    "rule",
    [
        "chosen(?c) :- customer(?c, ?name).",
        "number_of(?n) :- ?n = count : { customer(?c, _) }.",
        "number_of(?n), chosen(?c) :- level(?c, ?n), tier(_, ?t).",
        "chosen(?c) :- customer(?c, _); tier(?c, ?t).",
        "chosen(?c) :- customer(?c, _), ?t = count : { tier(_, _) }.",
        '@[says = "{c} has a name"]\nchosen(?c) :- customer(?c, ?name).',
    ],
)
def test_a_variable_used_once_is_an_error(rule: str) -> None:
    assert codes(rule) == ["C0206"]


@pytest.mark.parametrize(
    "rule",
    [
        "number_of(?n), chosen(?c) :- level(?c, ?n).",
        "chosen(?c) :- customer(?c, ?x), text(?x); tier(?c, ?x), text(?x).",
        "chosen(?c) :- tier(?c, ?x); customer(?c, ?x).",
        "chosen(?c) :- customer(?c, ?x), (tier(?c, ?x); text(?x)).",
        "chosen(?c) :- customer(?c, _name).",
        "chosen(?c) :- customer(?c, _), count : { tier(?c, _) } > 1.",
        "chosen(?c) :- customer(?c, _); tier(?c, _); level(?c, _).",
        '@[says = "{c}, called {?name}"]\nchosen(?c) :- customer(?c, ?name).',
    ],
)
def test_a_variable_that_occurs_elsewhere_in_the_rule_is_none(rule: str) -> None:
    assert codes(rule) == []


def test_rules_without_places_are_looked_at_one_by_one() -> None:
    column = found("")  # no diagnostics without rules
    assert column == []
    atom = Atom("p", (Variable("x"), Variable("y")))
    head = Atom("q", (Variable("x"),))
    diagnostics: list[Diagnostic] = []
    rules = (Rule("q.1", head, (Positive(atom),)), Rule("q.2", head, (Positive(atom),)))
    analyse(Program({}, rules), diagnostics)
    assert [one.message for one in diagnostics if one.code == "C0206"] == [
        "variable `?y` is used only once"
    ]


def test_a_misspelt_name_gets_the_other_name() -> None:
    first, second = found("chosen(?customer) :- customer(?customer, _), tier(?custmer, ?rank).")
    assert "`?customer`" in first.help
    assert "meant" not in second.help


def test_what_has_its_columns_name_is_no_slip_of_another() -> None:
    text = ".decl city(state: symbol, states: symbol)\n.decl p(s: symbol)\n"
    (one,) = diagnostics_of(text + "p(?states) :- city(?state, ?states).")
    assert "meant" not in one.help
    (one,) = diagnostics_of(text + "p(?states) :- city(?stats, ?states).")
    assert "write `?states` if that was meant" in one.help


def test_where_a_row_may_be_null_the_edit_says_which_one_asks_for_a_value() -> None:
    text = ".decl gone(id: number)\n.decl s(id: number, @[null = {}] left_on: Date)\n"
    rule = "gone(?s) :- s(?s, ?l)."
    for word in ("none", "maybe", "unknown"):
        (one,) = diagnostics_of(text.format(word) + rule)
        assert one.help.endswith(
            "write `_l` if the row must have a value there; if it may be null as well, write `_`,"
            " or leave the column out where it is named"
        )
    (one,) = diagnostics_of(text.format("skip") + rule)
    assert one.help.endswith("write `_l` or `_` if any value will do")


def test_what_safety_reports_is_not_reported_as_used_once() -> None:
    assert codes("chosen(?c) :- customer(_, _).") == ["C0203"]


def test_deep_terms_and_long_bodies_are_harmless() -> None:
    term: Variable | Apply = Variable("x0")
    for _ in range(5000):
        term = Apply("+", (term, Constant(1, Kind.NUMBER)))
    chain = [f"?x{i} = ?x{i + 1}" for i in range(2000)]
    assert codes(f"number_of(?x0) :- {', '.join(chain)}, level(_, ?x2000).") == []
    rule = Rule("p.1", Atom("p", (term,)), (Positive(Atom("q", (Variable("x0"),))),))
    diagnostics: list[Diagnostic] = []
    assert analyse(Program({}, (rule,)), diagnostics) is None
    assert {one.code for one in diagnostics} == {"C0201"}


@pytest.mark.parametrize(
    ("inside", "negated", "rule"),
    [
        ("!tier(_, _)", "!some_tier()", "some_tier() :- tier(_, _)."),
        ("!tier(?c, _)", "!some_tier(?c)", "some_tier(?c) :- tier(?c, _)."),
        ("!tier(_c, _t)", "!some_tier()", "some_tier() :- tier(_, _)."),
    ],
)
def test_the_edit_for_a_negation_inside_an_aggregate_is_a_rule_that_parses(
    inside: str, negated: str, rule: str
) -> None:
    owner = "?c" if "?c" in inside else "_owner"
    body = f"number_of(?t) :- ?t = count : {{ level({owner}, _n), {inside} }}."
    told = [one for one in found(body) if one.code == "C0210"]
    assert told
    assert {one.help for one in told} == {f"write `{negated}` with the rule `{rule}`"}
    edited = body.replace(inside, negated)
    declared = f".decl some_tier({'c: CustomerId' if '?c' in rule else ''})"
    assert codes(f"{declared}\n{rule}\n{edited}") == []
