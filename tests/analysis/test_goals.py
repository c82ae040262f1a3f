"""Goals are typed against the declarations."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.analysis import QUERIED, check_goal
from constat.analysis.goals import fence_mistakes, is_written_in_rules, rests_on
from constat.diagnostics import ConstatError
from constat.logic import (
    Aggregate,
    Apply,
    Atom,
    Constant,
    Kind,
    Negative,
    Positive,
    Term,
    Variable,
)
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


QUERY = f"served{QUERIED}"
DRAFT = f'.decl {QUERY}(c: CustomerId)\n.input {QUERY}(source = "s")\n.decl served(c: CustomerId)\n'


@pytest.mark.parametrize(
    ("rules", "fenced"),
    [
        (f'@[author = "llm:some"]\nserved(?c) :- {QUERY}(?c).\n', True),
        (f"served(?c) :- {QUERY}(?c), chosen(?c).\n", True),
        # An approved rule has the query alone in its body, and then the query may be asked.
        (f"served(?c) :- {QUERY}(?c).\n", False),
        (f"served(?c) :- chosen(?c), {QUERY}(?c).\n", False),
        ("served(?c) :- chosen(?c).\n", False),
    ],
)
def test_the_query_of_a_draft_is_not_read_directly(rules: str, *, fenced: bool) -> None:
    program = analysed(DRAFT + rules)
    query, served = (Atom(name, (Variable("c"),)) for name in (QUERY, "served"))
    inside = Aggregate("count", Variable("n"), None, (Negative(query),))
    for literal in (Positive(query), Negative(query), inside):
        codes = [one.code for one in fence_mistakes([literal], program, None)]
        assert codes == ["C0875"] * fenced
    assert list(fence_mistakes([Positive(served)], program, None)) == []
    if fenced:
        with pytest.raises(ConstatError, match="C0875"):
            check_goal(query, program)
    else:
        assert check_goal(query, program) == query


def test_what_a_predicate_rests_on_is_told_the_nearest_first() -> None:
    program = analysed(
        '.input tier(source = "s")\n.input text(source = "s")\n'
        'tier("C1", "gold").\nchosen(?c) :- tier(?c, ?t), text(?t).\n'
        'level("C1", 1).\nsize(?c, 1) :- chosen(?c).\nsize("C2", 2).\n'
    )
    assert rests_on(program, "size") == ("tier", "text")
    written = {
        one: is_written_in_rules(program, one) for one in ("level", "size", "tier", "weight")
    }
    assert written == {"level": True, "size": False, "tier": False, "weight": False}
