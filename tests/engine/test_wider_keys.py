"""A premise that nobody knows asks derived predicates with the columns that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from constat.engine.state import State
from constat.evaluation import (
    ABSENT,
    CERTAIN,
    POSSIBLE,
    Answer,
    Demand,
    LimitReachedError,
    Limits,
    Opening,
)
from constat.logic import OPEN
from tests.engine.tables import Table, run

RELATED = """
.decl e0(a: symbol)
.input e0(source="t", query="q")
.decl e1(a: symbol, b: symbol)
.input e1(source="t", query="q")
"""
SELF = (
    RELATED
    + """
.decl p(a: symbol, n: number)
p(?a, 3) :- e0(?a), ?a = "none".
p(?b, ?n) :- p(?a, ?n), e1(?a, ?b), !e1(?b, ?a).
.decl q(a: symbol)
q(?a) :- p(?a, ?n), ?n >= 3.
"""
)
UNKNOWN = (Opening((OPEN, ""), "nobody knows a", "database"),)


def world(*least: str) -> dict[str, Table]:
    return {"e0": Table([(one,) for one in least]), "e1": Table([("a", "x")], openings=UNKNOWN)}


def test_a_row_that_only_supports_itself_is_not_possible() -> None:
    """With an unknown ?a, `p("")` needs some `p(?a)`, and there is none."""
    outcome = run(SELF, 'q("")', world())
    assert outcome.strength(outcome.goal) == ABSENT


def test_a_row_that_something_else_supports_stays_possible() -> None:
    outcome = run(SELF, 'q("")', world("none"))
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_the_wider_key_counts_as_asked() -> None:
    outcome = run(SELF, 'q("")', world())
    (entry,) = [one for one in outcome.demands if one.predicate == "p"]
    assert (entry.columns, entry.keys) == ((), frozenset({()}))
    assert set(entry.orders) == {0, 1}


def test_sources_are_asked_once_for_both_evaluations() -> None:
    tables = world()
    outcome = run(SELF, 'q("")', tables)
    for table in tables.values():
        asked = [(one.columns, key) for one in table.demands for key in one.keys]
        assert len(asked) == len(set(asked))
    assert len(outcome.calls) == sum(len(one.demands) for one in tables.values())
    assert [one.number for one in outcome.calls] == [*range(1, len(outcome.calls) + 1)]


def test_where_there_is_no_time_for_what_a_wider_key_gave_the_goal_stays_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*_: object) -> None:
        raise LimitReachedError("late")

    monkeypatch.setattr(State, "learn", late)
    outcome = run(SELF, 'q("")', world("none"))
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_nothing_is_asked_wider_where_the_goal_is_decided() -> None:
    more = SELF + 'q(?a) :- e0("none"), e1("a", "x"), ?a = "".\n'
    outcome = run(more, 'q("")', world("none"))
    assert outcome.strength(outcome.goal) == CERTAIN
    assert ("p", ()) not in {(one.predicate, one.columns) for one in outcome.demands}


def test_a_predicate_without_recursion_is_asked_wider_too() -> None:
    rules = (
        RELATED
        + """
.decl low(a: symbol, b: symbol)
low(?a, ?b) :- e0(?a), ?b = cat(?a, "!"), ?a = "none".
.decl q(b: symbol)
q(?b) :- e1(?a, ?b), low(?a, "none!").
"""
    )
    outcome = run(rules, 'q("")', world("some"))
    assert outcome.strength(outcome.goal) == ABSENT
    assert ("low", (1,)) in {(one.predicate, one.columns) for one in outcome.demands}
    outcome = run(rules, 'q("")', world("none"))
    assert outcome.strength(outcome.goal) == POSSIBLE


THRESHOLD = (
    RELATED
    + """
.decl p(a: symbol)
p(?a) :- e0(?a).
p(?b) :- e1(?a, ?b), ?n = count : { p(?a), e1(?a, _x) }, ?n >= 1, p(?a).
"""
)


@pytest.mark.parametrize(("rows", "strength"), [((), ABSENT), (("u",), POSSIBLE)])
def test_a_threshold_that_stands_on_itself_is_not_possible(
    rows: tuple[str, ...], strength: int
) -> None:
    outcome = run(THRESHOLD, 'p("")', world(*rows))
    assert outcome.strength(outcome.goal) == strength


COUNTING = (
    RELATED
    + """
.decl p(a: symbol, n: number)
p(?a, 0) :- e0(?a).
p(?a, ?m) :- p(?a, ?n), ?m = ?n + 1, !e1(?a, ?a).
p(?b, ?n) :- e1(?a, ?b), p(?a, ?n), ?n < 0.
"""
)


def test_what_does_not_end_with_wider_keys_is_left_as_it_was() -> None:
    """`p` for one key ends, for all keys it counts for ever."""
    tables = world("z")
    outcome = run(COUNTING, 'p("", 1)', tables, limits=Limits(rounds=200))
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert outcome.stopped == ""


def test_nothing_far_is_asked_wider() -> None:
    tables = world()
    tables["e0"] = replace(tables["e0"], cost=100)
    outcome = run(SELF, 'q("")', tables)
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert all(one.columns for one in tables["e0"].demands)


def test_what_was_asked_in_full_is_asked_in_full_again_however_far() -> None:
    """The certificate shows it, and whoever checks sees that the goal is false."""
    whole = SELF.replace("q(?a) :- p(?a, ?n)", "q(?a) :- p(?a, ?n), p(_, ?m), ?m >= ?n")
    tables = world()
    tables["e0"] = replace(tables["e0"], cost=100)
    outcome = run(whole, 'q("")', tables)
    assert outcome.strength(outcome.goal) == ABSENT


def test_a_predicate_with_rules_and_a_source_is_asked_once() -> None:
    both = SELF.replace(".decl p(a: symbol, n: number)", _SOURCED)
    tables = {**world(), "p": Table()}
    outcome = run(both, 'q("")', tables)
    assert outcome.strength(outcome.goal) == ABSENT
    asked = [(one.columns, key) for one in tables["p"].demands for key in one.keys]
    assert ((0,), ("",)) in asked
    assert len(asked) == len(set(asked))


_SOURCED = '.decl p(a: symbol, n: number)\n.input p(source="t", query="q")'


def test_all_answers_lose_the_possible_rows_that_support_themselves() -> None:
    rules = SELF + 'q(?a) :- e1(?a, "x").\n'
    outcome = run(rules, "q(?a)", world(), exhaust=True)
    assert set(outcome.rows("q", POSSIBLE)) == {("a",)}


def test_a_source_that_cannot_be_asked_in_full_makes_nothing_worse() -> None:
    """Wider, this source says that anything may be there; the narrow answer stays."""
    rules = (
        RELATED
        + """
.decl low(a: symbol)
low(?a) :- e0(?a), ?a != "b".
.decl q(b: symbol)
q(?b) :- e1(?a, ?b), low(?a).
q(?b) :- e1(_a, ?b), low(?b).
"""
    )
    outcome = run(rules, "q(?b)", {**world("c"), "e0": Keyed([("c",)])}, exhaust=True)
    assert {row for row in outcome.rows("q", POSSIBLE) if row != ("",)} <= {("x",), (OPEN,)}


class Keyed(Table):
    """A table that knows nothing unless its first column is given."""

    def answer(self, demand: Demand) -> Answer:
        if demand.columns:
            return super().answer(demand)
        return replace(super().answer(demand), portions=(), answered=frozenset())
