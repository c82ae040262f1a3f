"""Aggregates: what other engines answer silently wrong is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.programs import codes, diagnostics_of, the

PAID = """
.decl here(s: number)
.decl total(x: number)
@[key = id]
.decl staff(id: number, dept: symbol, @[null = none] left_on: Date, pay: number)
.input staff(source = "lists", query = "SELECT 1")
"""


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
        'chosen("C1") :- _t = sum ?v : { amount_of(?v) }, ?v = max ?m : { amount_of(?m) }.',
    ],
)
def test_an_aggregated_variable_outside_is_renamed(rule: str) -> None:
    assert "?each_v" in the(rule.replace(":- amount_of(?v)", ":- order(_, _, ?v, _)"), "C0207").help


def test_a_group_variable_is_no_aggregated_variable() -> None:
    rule = "number_of(?n) :- level(?c, _), ?n = sum ?v : { level(?c, ?v) }."
    assert codes(rule) == []


@pytest.mark.parametrize(
    "body",
    [
        "?t = sum ?x : { here(?s), staff(?s, _, _, ?x) }",
        "?t = max ?x : { here(?s), staff(_, _, _, ?x), here(?s) }",
        '?t = count : { here(?s), staff(?s, "A", _, _) }',
    ],
)
def test_rows_that_cannot_merge_need_no_names(body: str) -> None:
    assert diagnostics_of(f"{PAID}total(?t) :- {body}.") == []


def test_the_help_names_the_key_and_reads_nothing_else() -> None:
    rule = "total(?t) :- ?t = sum ?x : { here(?s), here(?s), staff(_, _, _, ?x) }."
    (one,) = diagnostics_of(PAID + rule)
    assert "staff(_id, _, _, ?x)" in one.help


def test_a_key_of_a_derived_predicate_is_no_promise() -> None:
    derived = PAID.replace(".input staff", "// ") + 'staff(1, "A", to_date("2025-01-01"), 2).\n'
    rule = "total(?t) :- ?t = sum ?x : { here(?s), staff(?s, _, _, ?x) }."
    (one,) = [one for one in diagnostics_of(derived + rule) if one.code == "C0209"]
    assert "staff(?s, _dept, _, ?x)" in one.help


@given(
    st.lists(
        st.sampled_from(["none", "maybe", "unknown", "skip", "error"]), min_size=4, max_size=4
    ),
    st.sets(st.integers(0, 3)),
    st.sets(st.integers(0, 3)),
    st.booleans(),
)
def test_the_edit_is_accepted_and_reads_no_column_that_may_be_null(
    nulls: list[str],
    key: set[int],
    written: set[int],
    inside: bool,  # noqa: FBT001  drawn
) -> None:
    columns = ", ".join(f"@[null = {word}] c{n}: number" for n, word in enumerate(nulls))
    keyed = f'@[key = "{", ".join(f"c{n}" for n in sorted(key))}"]\n' if key else ""
    atom = ", ".join(f"?v{n}" if n in written else "_" for n in range(4))
    used = ", ".join(f"?v{n} > 0" for n in sorted(written) if n or not inside)
    rule = f"total(?n) :- ?n = count : {{ here(?v0), p({atom}), {used or '1 = 1'} }}."
    text = f'{PAID}{keyed}.decl p({columns})\n.input p(source = "l", query = "SELECT 1")\n'
    found = [one for one in diagnostics_of(text + rule) if one.code == "C0209"]
    for one in found:
        edit = one.help.split("`")[1]
        assert not [
            other
            for other in diagnostics_of(f"{text}total(?n) :- {edit}.")
            if other.code == "C0209"
        ]
        terms = edit.split("p(")[1].split(")")[0].split(", ")
        reads = [t for n, t in enumerate(terms) if nulls[n] in {"none", "maybe", "unknown"}]
        assert all(term == "_" or term.startswith("?v") for term in reads), edit
