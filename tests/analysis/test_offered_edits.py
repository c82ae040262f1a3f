"""Edits that messages offer: each of them parses, and does what was meant."""

from __future__ import annotations

import pandas as pd

from constat import Session
from constat.diagnostics import Diagnostic
from tests.language.worlds_of_text import read_program
from tests.proof.asking import HEADER

BILLS = """
.decl bill(id: number, @[null = none] who: symbol)
.input bill(source = "s", query = "q")
.decl found(id: number)
"""


def told(rule: str) -> list[Diagnostic]:
    return read_program(HEADER + BILLS + rule)[1]


def test_a_column_that_is_compared_by_its_bare_name_is_no_text() -> None:
    (one,) = told('found(?id) :- bill(id = ?id), who = "a".')
    assert one.code == "C0116"
    assert '"who"' not in one.help
    assert "`who = ?who`" in one.help
    assert told('found(?id) :- bill(id = ?id, who = ?who), ?who = "a".') == []
    assert told('found(?id) :- bill(?id, ?who), ?who = "a".') == []


def test_a_bare_name_that_is_compared_with_stays_a_text_or_a_variable() -> None:
    (one,) = told("found(?id) :- bill(id = ?id, who = ?who), ?who = gold.")
    assert one.help.startswith('write `"gold"` for the text')


def test_a_relation_that_is_counted_like_an_argument_is_counted_in_braces() -> None:
    (one,) = told("found(?n) :- ?n = count(bill).")
    assert (one.code, one.help) == ("C0133", "write `count : { bill(...) }`")
    assert told("found(?n) :- ?n = count : { bill(_, _) }.") == []


def test_rows_are_left_out_of_an_aggregate_by_the_edit_that_is_offered() -> None:
    (one,) = told("found(?n) :- ?n = count : { bill(_, _who) }.")
    assert one.code == "C0251"
    assert one.help.endswith("add `_who = _who`")
    assert told("found(?n) :- ?n = count : { bill(_, _who), _who = _who }.") == []


def test_a_cell_that_is_no_text_is_not_told_to_be_declared_as_one() -> None:
    frame = pd.DataFrame({"id": [1], "km": [1.5]})
    rules = """
    .decl x(id: number, km: number)
    .input x(source = "frames", query = "SELECT id, km FROM x")
    .decl k(a: number)
    k(?i) :- x(?i, ?k), ?k > 1.
    """
    with Session(rules=rules, facts={"x": frame}) as session:
        text = session.prove("k(1)").explain()
    assert "C0525" in text
    assert "holds texts" not in text


def test_two_constants_that_are_compared_are_told() -> None:
    for compared in ('"who" = "a"', "1 < 2"):
        (one,) = told(f"found(?id) :- bill(id = ?id), {compared}.")
        assert (one.code, one.severity.value) == ("C0252", "warning")
    assert told('found(?id) :- bill(?id, ?who), ?who = "a".') == []
