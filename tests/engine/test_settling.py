"""When a goal is settled, how strong it is, and what may not count as asked."""

from __future__ import annotations

import pytest

from constat.engine.goal_engine import matches
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    POSSIBLE,
    Limits,
    Opening,
)
from constat.logic import OPEN, Atom, Constant, Kind, OpenRow, Variable
from tests.engine.tables import Table, goal, run

RULES = """
.decl cheap(x: number)
.input cheap(source="t", query="q")
.decl dear(x: number)
.input dear(source="t", query="q")
.decl low(x: number)
low(?x) :- cheap(?x).
low(?x) :- dear(?x).
.decl top(x: number)
top(?x) :- low(?x).
"""


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ((1, 1, 5), True),
        ((1, 2, 5), False),
        ((OPEN, 2, 5), True),
        ((1, OPEN, 5), True),
        ((OPEN, OPEN, 5), True),
    ],
)
def test_a_variable_that_occurs_twice_stands_for_one_value(row: OpenRow, *, fits: bool) -> None:
    asked = Atom("p", (Variable("x"), Variable("x"), Constant(5, Kind.NUMBER)))
    assert matches(asked, row) is fits


def test_the_strength_of_a_goal_with_a_repeated_variable_is_that_of_its_rows() -> None:
    rules = '.decl p(x: number, y: number)\n.input p(source="t", query="q")\n'
    table = Table([(1, 2)], assumed=[(3, 3)], openings=(Opening((4, OPEN), "no", "t"),))
    outcome = run(rules, "p(?x, ?y)", {"p": table})
    twice = Atom("p", (Variable("x"), Variable("x")))
    assert outcome.strength(outcome.goal) == CERTAIN
    assert outcome.strength(twice) == ACCEPTED
    assert outcome.strength(goal("p(1, 1)", outcome.program)) == ABSENT
    assert outcome.strength(goal("p(4, 9)", outcome.program)) == POSSIBLE


def test_what_was_never_asked_for_is_possible() -> None:
    outcome = run(RULES, "top(1)", {"cheap": Table([(1,)], cost=1), "dear": Table(cost=50)})
    assert outcome.strength(outcome.goal) == CERTAIN
    assert outcome.strength(goal("dear(1)", outcome.program)) == POSSIBLE
    assert outcome.strength(goal("cheap(2)", outcome.program)) == POSSIBLE


def test_a_settled_goal_leaves_its_own_predicate_half_done() -> None:
    tables = {"cheap": Table([(1,)], cost=1), "dear": Table(cost=50)}
    outcome = run(RULES, "low(1)", tables)
    assert outcome.stopped == "settled"
    assert [one.predicate for one in outcome.demands] == []
    whole = run(RULES, "low(1)", tables, exhaust=True)
    assert whole.stopped == ""
    assert [one.predicate for one in whole.demands] == ["low"]


def test_a_goal_below_another_does_not_settle_it() -> None:
    tables = {"cheap": Table([(1,)], cost=1), "dear": Table([(2,)], cost=50)}
    outcome = run(RULES, "top(?x)", tables, exhaust=True)
    assert set(outcome.rows("top", CERTAIN)) == {(1,), (2,)}
    bound = run(RULES, "top(1)", tables)
    assert bound.stopped == "settled"
    assert [one.predicate for one in bound.demands] == ["low"]


def test_an_assumed_answer_does_not_settle_a_goal() -> None:
    tables = {"cheap": Table(assumed=[(1,)], cost=1), "dear": Table([(1,)], cost=50)}
    outcome = run(RULES, "low(1)", tables)
    assert outcome.strength(outcome.goal) == CERTAIN
    assert tables["dear"].demands


def test_keys_that_are_certain_are_not_asked_of_dearer_rules() -> None:
    rules = (
        RULES
        + """
    .decl every(x: number)
    .input every(source="t", query="q")
    .decl all(x: number)
    all(?x) :- every(?x), low(?x).
    """
    )
    tables = {
        "every": Table([(1,), (2,)], cost=1),
        "cheap": Table([(1,)], cost=1),
        "dear": Table([(2,)], cost=50),
    }
    outcome = run(rules, "all(2)", tables)
    assert outcome.strength(outcome.goal) == CERTAIN
    free = run(rules, "all(?x)", {**tables, "dear": Table([(2,)], cost=50)}, exhaust=True)
    assert set(free.rows("all", CERTAIN)) == {(1,), (2,)}


@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_goal_that_a_limit_stopped_was_not_asked(calls: int) -> None:
    tables = {"cheap": Table(cost=1), "dear": Table(cost=50)}
    outcome = run(RULES, "top(1)", tables, limits=Limits(calls=calls))
    complete = calls == 2
    assert outcome.strength(outcome.goal) == (ABSENT if complete else POSSIBLE)
    assert bool(outcome.stopped) is not complete
    assert len(outcome.demands) == (2 if complete else 0)
    assert outcome.strength(goal("low(1)", outcome.program)) == (ABSENT if complete else POSSIBLE)
    cheap = outcome.strength(goal("cheap(1)", outcome.program))
    assert cheap == (POSSIBLE if calls == 0 else ABSENT)


def test_the_strength_of_a_goal_is_that_of_its_strongest_row() -> None:
    rules = '.decl p(x: number, y: number)\n.input p(source="t", query="q")\n'
    for openings in ((Opening((1, 5), "no", "t"),), (Opening((1, OPEN), "no", "t"),)):
        table = Table(openings=openings, assumed=[(1, 6), (1, 7)])
        outcome = run(rules, "p(1, ?y)", {"p": table})
        assert outcome.strength(outcome.goal) == ACCEPTED
        state = outcome.strength(goal("p(?x, ?y)", outcome.program))
        assert state == ACCEPTED
