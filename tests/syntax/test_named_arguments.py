"""Arguments by name: the same program as by position, or a mistake that says what to write."""

from __future__ import annotations

import pytest

from constat.logic import Positive, Variable
from constat.syntax import Mode, parse_text, print_program, print_rule
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from tests.syntax.reading import read, sound

ORDERS = """.decl orders(id: number, customer: symbol, amount: Decimal)
.decl vip(customer: symbol)
.decl total(customer: symbol, amount: Decimal)
"""


@pytest.mark.parametrize(
    ("named", "positional"),
    [
        (
            "vip(customer = ?c) :- orders(amount = 5.0, customer = ?c).",
            "vip(?c) :- orders(_, ?c, 5.0).",
        ),
        (
            "vip(?c) :- orders(customer = ?c), !orders(customer = ?c, id = 1).",
            "vip(?c) :- orders(_, ?c, _), !orders(1, ?c, _).",
        ),
        (
            "total(amount = ?a, customer = ?c) :- vip(?c), ?a = sum ?x : { orders(amount = ?x) }.",
            "total(?c, ?a) :- vip(?c), ?a = sum ?x : { orders(_, _, ?x) }.",
        ),
        # What is written is read: `_` behind a name is a variable of its own.
        ("vip(?c) :- orders(customer = ?c, id = _).", "vip(?c) :- orders(_id, ?c, _)."),
        (
            "vip(?c) :- orders(customer = ?c, id = _), orders(id = _id).",
            "vip(?c) :- orders(_id2, ?c, _), orders(_id, _, _).",
        ),
        (
            "vip(?c) :- orders(customer = ?c); vip(?c), (orders(id = 1); orders(id = 2)).",
            "vip(?c) :- orders(_, ?c, _); vip(?c), (orders(1, _, _); orders(2, _, _)).",
        ),
        ('orders(amount = 1.5, id = 1, customer = "C001").', 'orders(1, "C001", 1.5).'),
        (
            "vip(customer = ?c), total(amount = 1.0, customer = ?c) :- orders(customer = ?c).",
            "vip(?c), total(?c, 1.0) :- orders(_, ?c, _).",
        ),
        ("vip(?c) :- orders(id = 1 + 2, customer = ?c).", "vip(?c) :- orders(1 + 2, ?c, _)."),
    ],
)
def test_names_are_places(named: str, positional: str) -> None:
    assert sound(ORDERS + named) == sound(ORDERS + positional)


@pytest.mark.parametrize(
    ("rule", "code", "edit"),
    [
        ("vip(?c) :- orders(1, customer = ?c).", "C0185", "write `orders(id = 1, customer = ?c)`"),
        (
            "vip(?c) :- !orders(customer = ?c, 1, f(2)), vip(?c).",
            "C0185",
            "write `!orders(customer = ?c, customer = 1, amount = ...)`",
        ),
        ("vip(?c) :- orders(custmer = ?c).", "C0183", "write `customer = ?c`"),
        ("vip(?c) :- orders(zzz = ?c).", "C0183", "delete `zzz = ?c`"),
        ("vip(?c) :- orders(mount = 1, customer = ?c).", "C0183", "write `amount = 1`"),
        ("vip(?c) :- orders(custmer = ?c, customer = ?c).", "C0183", "delete `custmer = ?c`"),
        ("vip(?c) :- orders(customer = ?c, amount = 7,5).", "C0112", "write `7.5`"),
        ("vip(?c) :- orders(customer = ?c, customer = ?c).", "C0184", "delete one of the two"),
        ('orders(id = 1, customer = "C").', "C0159", "add `amount = ` and its value"),
        ("total(customer = ?c) :- vip(?c).", "C0159", "add `amount = ` and its value"),
        ("vip(?c) :- order(customer = ?c).", "C0181", "write `orders`"),
    ],
)
def test_mistakes_have_an_edit_and_are_told_once(rule: str, code: str, edit: str) -> None:
    # In a rule with alternatives every head and atom is lowered several times.
    several = rule.replace(" :- ", " :- (vip(?c); vip(?c)), ") if ":-" in rule else rule
    for text in (rule, several):
        _, found = read(ORDERS + text)
        assert [(one.code, one.help) for one in found] == [(code, edit)]
        if code == "C0183":
            assert found[0].note == "its columns are id, customer, amount"


def test_a_head_that_leaves_out_several_columns_names_them() -> None:
    _, found = read(f"{ORDERS}orders(id = 1).")
    wanted = "a fact or head has every column; `customer`, `amount` are left out"
    assert [one.message for one in found] == [wanted]


def test_functions_of_texts_take_no_names() -> None:
    _, found = read(f'{ORDERS}vip(?c) :- vip(?c), match(pattern = "a", ?c).')
    assert [one.code for one in found] == ["C0130"]


def test_names_are_those_of_declarations_that_are_known() -> None:
    known = sound(ORDERS).predicates
    found: list[object] = []
    program = parse_text("vip(customer = ?c) :- orders(customer = ?c).", "x.dl", found, known)  # type: ignore[arg-type]
    assert found == []
    assert print_rule(program.rules[0]) == "vip(?c) :- orders(_, ?c, _)."
    # Its own declaration counts more than one of that name elsewhere.
    own = parse_text(".decl vip(id: number)\nvip(id = 1).", "x.dl", [], known)
    assert print_rule(own.rules[0]) == "vip(1)."


def test_without_a_declaration_no_places_are_guessed() -> None:
    """Two columns that nothing declares must not go into places by their order."""
    _, found = read(".decl p(x: number)\np(?x) :- q(b = ?x, a = 1).")
    assert [one.code for one in found] == ["C0181"]


def test_souffle_knows_no_names() -> None:
    found: list[object] = []
    file = parse_file(f"{ORDERS}vip(c) :- vip(customer = c).", "x.dl", found, Mode.SOUFFLE)  # type: ignore[arg-type]
    lower(file.items, found, Mode.SOUFFLE)  # type: ignore[arg-type]
    assert "C0131" in {getattr(one, "code", "") for one in found}


SIX = ", ".join(f"{name}: number" for name in "abcdef")
WIDE = f".decl w({SIX})\n.decl p(x: number)\n"


def test_atoms_of_more_than_five_columns_are_printed_by_name() -> None:
    program = sound(
        f"{WIDE}p(?x) :- w(?x, _, 2, _, _, _b), !w(_, _, _, _, _, _), "
        "?x < count : { w(_, 1, _, _, _, _) }.\nw(1, 2, 3, 4, 5, 6)."
    )
    assert print_rule(program.rules[0], program.predicates) == (
        "p(?x) :-\n  w(a = ?x, c = 2, f = _b),\n  !w(_, _, _, _, _, _),\n"
        "  ?count_1 = count : { w(b = 1) },\n  ?x < ?count_1."
    )
    assert "\nw(1, 2, 3, 4, 5, 6).\n" in print_program(program)
    assert sound(print_program(program)) == program
    # Where no declaration is at hand places are written.
    assert "w(?x, _, 2, _, _, _b)" in print_rule(program.rules[0])


def test_five_columns_are_printed_by_position() -> None:
    program = sound(
        f".decl p({SIX.removesuffix(', f: number')})\np(1, 2, 3, 4, ?x) :- p(_, _, _, _, ?x)."
    )
    assert (
        print_rule(program.rules[0], program.predicates)
        == "p(1, 2, 3, 4, ?x) :- p(_, _, _, _, ?x)."
    )


def test_a_column_that_is_left_out_is_a_wildcard_of_its_own() -> None:
    program = sound(f"{ORDERS}vip(?c) :- orders(customer = ?c), orders(customer = ?c).")
    atoms = [one.atom for one in program.rules[0].body if isinstance(one, Positive)]
    wild = [one.name for atom in atoms for one in atom.terms if isinstance(one, Variable)]
    assert wild == ["_1", "c", "_2", "_3", "c", "_4"]


def test_a_word_of_the_language_as_a_relation_is_told_once() -> None:
    _, found = read(ORDERS + "vip(?c) :- orders(customer = ?c), !count(customer = ?c).")
    assert [(one.code, one.help) for one in found] == [("C0125", "write `count_`")]
