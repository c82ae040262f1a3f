"""Aggregates: what other engines answer silently wrong is refused."""

from __future__ import annotations

import pytest

from tests.analysis.programs import codes, the


@pytest.mark.parametrize(
    "rule",
    [
        "amount_of(?t) :- ?t = sum ?v : { order(_, _, ?v, _) }.",
        "amount_of(?t) :- ?t = sum ?v : { order(_o, ?c, ?v, _d), tier(?c, _t) }.",
        "amount_of(?t) :- ?t = sum ?v : { order(_, _, ?v, _), ?v > 1 }.",
        "amount_of(?t) :- ?s = sum ?v : { order(_, _, ?v, _) }, ?r = sum ?v : "
        "{ amount_of(?v) }, ?t = ?s + ?r.".replace("amount_of(?v)", "order(_, _, ?v, _)"),
    ],
)
def test_accepted(rule: str) -> None:
    assert codes(rule) == []


def test_a_wildcard_beside_a_negated_atom_counts_as_two_atoms() -> None:
    one = the('number_of(?n) :- ?n = count : { level(?c, _), !tier(?c, "x") }.', "C0209")
    assert "level(?c, _n)" in one.help


def test_the_help_names_every_wildcard_of_the_atom_by_its_column() -> None:
    rule = "amount_of(?t) :- ?t = sum ?v : { order(_, ?c, ?v, _), tier(?c, _) }."
    assert codes(rule) == ["C0209", "C0209"]
    rule = "amount_of(?t) :- ?t = sum ?v : { order(_, ?c, ?v, _), tier(?c, _t) }."
    one = the(rule, "C0209")
    assert "{ order(_o, ?c, ?v, _d), tier(?c, _t) }" in one.help


def test_a_name_that_is_taken_is_not_offered_again() -> None:
    rule = "number_of(?n) :- ?n = count : { level(?c, _), level(?c, _n) }."
    assert "level(?c, _n2)" in the(rule, "C0209").help


@pytest.mark.parametrize(
    "rule",
    [
        "amount_of(?v) :- amount_of(?v), ?t = sum ?v : { order(_, _, ?v, _) }, ?t > 1.",
        "amount_of(?v) :- ?v = max ?v : { order(_, _, ?v, _) }.",
        "amount_of(?t) :- order(_, _, ?v, _), ?t = sum ?v * 2 : { order(_, _, ?v, _) }.",
    ],
)
def test_an_aggregated_variable_outside_is_renamed(rule: str) -> None:
    assert "?each_v" in the(rule.replace(":- amount_of(?v)", ":- order(_, _, ?v, _)"), "C0207").help


def test_a_group_variable_is_no_aggregated_variable() -> None:
    rule = "number_of(?n) :- level(?c, _), ?n = sum ?v : { level(?c, ?v) }."
    assert codes(rule) == []
