"""Goals are typed against the declarations."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.analysis import check_goal
from constat.diagnostics import ConstatError
from constat.logic import Apply, Atom, Constant, Kind, Term, Variable
from tests.analysis.programs import analysed

PROGRAM = analysed(
    '.decl price(i: symbol, p: Decimal)\n.input price(source = "s", required = "i")\n'
    ".decl cost(i: symbol, p: Decimal)\ncost(?i, ?p) :- price(?i, ?p).\n"
)
ONE = Constant(1, Kind.NUMBER)
NAME = Constant("C001", Kind.SYMBOL)


def test_constants_get_the_kind_of_their_column() -> None:
    goal = check_goal(Atom("cost", (NAME, ONE)), PROGRAM)
    assert goal.terms == (NAME, Constant(Decimal(1), Kind.DECIMAL))
    day = Constant("2025-01-31", Kind.SYMBOL)
    goal = check_goal(Atom("order", (NAME, Variable("c"), Variable("a"), day)), PROGRAM)
    assert goal.terms[3] == Constant("2025-01-31", Kind.DATE)


def test_a_typed_goal_is_left_alone() -> None:
    goal = check_goal(Atom("cost", (NAME, ONE)), PROGRAM)
    assert check_goal(goal, PROGRAM) == goal


@pytest.mark.parametrize(
    ("predicate", "terms", "code"),
    [
        ("cots", (NAME, ONE), "C0201"),
        ("cost", (NAME,), "C0202"),
        ("level", (NAME, NAME), "C0215"),
        ("active", (NAME, NAME), "C0219"),
        ("order", (NAME, NAME, ONE, ONE), "C0220"),
        ("level", (NAME, Constant(Decimal("1.5"), Kind.DECIMAL)), "C0221"),
        ("level", (NAME, Apply("+", (ONE, ONE))), "C0227"),
        ("price", (Variable("i"), ONE), "C0230"),
        ("cost", (Variable("i"), ONE), "C0230"),
    ],
)
def test_what_is_wrong_is_raised(predicate: str, terms: tuple[Term, ...], code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        check_goal(Atom(predicate, terms), PROGRAM)
    (one,) = caught.value.diagnostics
    assert one.code == code
    assert one.note
    assert one.help


def test_all_mistakes_of_a_goal_are_raised_together() -> None:
    with pytest.raises(ConstatError) as caught:
        check_goal(Atom("order", (ONE, ONE, NAME, ONE)), PROGRAM)
    assert len(caught.value.diagnostics) == 4
