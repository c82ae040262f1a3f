"""Names of predicates and types."""

from __future__ import annotations

import pytest

from constat.analysis import analyse
from constat.diagnostics import Diagnostic
from constat.logic import Atom, Kind, Program, Rule
from tests.analysis.programs import analysed, codes, diagnostics_of, found, the


def test_the_nearest_predicate_is_named_with_its_columns() -> None:
    one = the("text(?n) :- custmer(_, ?n).", "C0201")
    assert "`customer`" in one.help
    assert "customer(c: CustomerId, name: symbol)" in one.help


def test_a_name_that_is_near_nothing_gets_a_declaration() -> None:
    one = the("text(?n) :- supplier(?n, _).", "C0201")
    assert ".decl supplier(c1: symbol, c2: symbol)" in one.help


def test_undeclared_heads_and_negated_and_aggregated_atoms_are_found() -> None:
    assert codes("nothing(1).") == ["C0201"]
    assert codes("chosen(?c) :- customer(?c, _), !blocked(?c).") == ["C0201"]
    assert codes("number_of(?n) :- ?n = count : { blocked(_) }.") == ["C0201"]


def test_wrong_arity_lists_the_declared_columns_and_where() -> None:
    one = the("text(?n) :- customer(?n).", "C0202")
    assert "has 2 columns, given 1 term" in one.message
    assert "customer(c: CustomerId, name: symbol)" in one.label
    assert [str(place.span) for place in one.related] == ["example.dl:4:7"]


def test_too_few_terms_are_advised_by_name_where_columns_may_be_left_out() -> None:
    named = the("text(?n) :- customer(?n).", "C0202").help
    assert "`customer(c = ?n)`; columns that are not named may be anything" in named
    assert "`customer(?c, ?name)`" in the("text(?n) :- customer(?n, 1, 2).", "C0202").help
    # Of a head or a fact every column is said.
    assert "`text(?s)`" in the("text() :- customer(_, _).", "C0202").help


def test_an_output_of_a_program_built_by_hand_is_looked_up() -> None:
    diagnostics: list[Diagnostic] = []
    assert analyse(Program({}, (), outputs={"result": {}}), diagnostics) is None
    assert [one.code for one in diagnostics] == ["C0201"]


@pytest.mark.parametrize("place", ["a: {}", "@[null = skip] a: {}"])
def test_unknown_types_are_reported_once_per_place(place: str) -> None:
    columns = place.format("CustomerID"), place.format("number").replace("a:", "b:")
    text = f".type CustomerId <: symbol\n.decl p({', '.join(columns)})\np(1, 2)."
    assert [one.code for one in diagnostics_of(text)] == ["C0212"]


def test_unknown_members_of_types_are_reported() -> None:
    (one,) = diagnostics_of(".type A <: Dacimal\n.decl p(a: A)\np(1.5).\n")
    assert one.code == "C0212"
    assert "`Decimal`" in one.help


def test_a_cycle_of_types_is_drawn() -> None:
    text = ".type A <: B\n.type B = C | D\n.type C <: A\n.type D <: symbol\n.decl p(a: A, d: D)\n"
    (one,) = diagnostics_of(text)
    assert one.code == "C0213"
    assert one.label == "`A` -> `B` -> `C` -> `A`"
    assert len(one.related) == 2


def test_a_type_of_itself_is_a_cycle() -> None:
    assert [one.code for one in diagnostics_of(".type A = A\n")] == ["C0213"]


def test_columns_get_the_kind_of_their_type() -> None:
    program = analysed(
        ".type Money <: Decimal\n.type Price = Money\n.decl p(a: Price, b: number)\n"
    )
    assert program.program.predicates["p"].kinds == (Kind.DECIMAL, Kind.NUMBER)


def test_long_chains_of_types_are_refused_and_not_recursed() -> None:
    lines = [".type T0 <: symbol", *(f".type T{i} <: T{i - 1}" for i in range(1, 3000))]
    forward = diagnostics_of("\n".join(lines))
    backward = diagnostics_of("\n".join(reversed(lines)))
    assert [one.code for one in forward] == [one.code for one in backward] == ["C0213"]


def test_all_names_are_reported_in_one_run() -> None:
    assert len(found("text(?n) :- a_1(?n), b_2(?n), c_3(?n).")) == 3


def test_an_atom_with_wrong_arity_does_not_stop_the_other_passes() -> None:
    diagnostics: list[Diagnostic] = []
    rule = Rule("p.1", Atom("p", ()), ())
    assert analyse(Program({}, (rule,)), diagnostics) is None
