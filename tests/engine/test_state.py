"""What one evaluation knows: rows with stamps, answers from outside, failures, limits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from constat.engine import state as states
from constat.engine.state import State, open_row
from constat.evaluation import (
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    Assumption,
    CallFinished,
    CallStarted,
    LimitReachedError,
    Limits,
    Opening,
    ignore_event,
)
from constat.logic import OPEN
from constat.plan import GroundFact, RulePlan
from tests.engine.tables import EVIDENCE, Table, program

if TYPE_CHECKING:
    from constat.evaluation import Event

RULES = """
.decl p(x: number, y: number)
.input p(source="t", query="q")
.decl r(x: number)
r(?x) :- p(?x, ?y), ?y / ?x > 1.
"""
RULE = RulePlan(0, (), (), (), (), (), (), assumed=False, variables={"x": 0, "y": 1, "z": 0})
CLOSURE = Assumption("closure", "p", "somebody says that p is complete")


def state(table: Table | None = None, limits: Limits | None = None) -> State:
    tables = {} if table is None else {"p": table}
    return State(program(RULES), tables, limits or Limits(), ignore_event)


def test_a_relation_and_what_was_asked_of_it_are_kept() -> None:
    known = state()
    assert known.relation("p") is known.relation("p")
    assert known.served("p") is known.served("p")
    assert known.relation("p").arity == 2


def test_rows_that_come_together_have_one_stamp_and_later_rows_a_greater_one() -> None:
    known = state()
    assert known.add("p", [(1, 1)], [((2, 2), ACCEPTED)]) == ([(1, 1)], [((2, 2), ACCEPTED)])
    assert known.add("p", [(3, 3), (1, 1)], []) == ([(3, 3)], [])
    relation = known.relation("p")
    first, second = relation.stamp((1, 1), CERTAIN), relation.stamp((3, 3), CERTAIN)
    assert first == relation.stamp((2, 2), ACCEPTED)
    assert first is not None
    assert second is not None
    assert first < second


def test_the_limit_of_rows_counts_certain_and_weak_rows_that_are_new() -> None:
    known = state(limits=Limits(rows=3))
    known.add("p", [(1, 1), (2, 2)], [((3, 3), POSSIBLE)])
    known.add("p", [(1, 1)], [((3, 3), POSSIBLE)])
    known.check()
    known.add("p", [], [((4, 4), POSSIBLE)])
    with pytest.raises(LimitReachedError, match="3 rows"):
        known.check()


def test_the_limit_of_time_does_not_bind_after_the_end() -> None:
    known = state(limits=Limits(seconds=0))
    with pytest.raises(LimitReachedError, match="time limit of 0 seconds"):
        known.check()
    known.finish()
    known.check()


def test_at_the_deadline_itself_there_is_still_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    state(limits=Limits(seconds=0)).check()


def test_a_failure_is_recorded_once_with_the_values_of_the_variables_that_are_known() -> None:
    known = state()
    for binding in ((1, 2), (1,), (1, 2), (OPEN, 2)):
        known.fail(RULE, binding, "division by zero")
    assert [one.bindings for one in known.failures] == [
        {"x": "1", "y": "2"},
        {"x": "1"},
        {"x": "?", "y": "2"},
    ]
    assert {(one.rule, one.reason) for one in known.failures} == {(0, "division by zero")}


def test_failures_are_recorded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states.MAX_FAILURES == 100
    monkeypatch.setattr(states, "MAX_FAILURES", 2)
    known = state()
    for number in range(5):
        known.fail(RULE, (number,), "division by zero")
    assert [one.bindings["x"] for one in known.failures] == ["0", "1"]


def test_calls_are_made_up_to_their_limit() -> None:
    known = state(Table([(1, 1)]), Limits(calls=2))
    known.fetch("p", (0,), ((1,),))
    known.fetch("p", (0,), ((2,),))
    with pytest.raises(LimitReachedError, match="2 calls"):
        known.fetch("p", (0,), ((3,),))
    assert [call.number for call in known.calls] == [1, 2]


def test_no_call_is_made_after_the_deadline() -> None:
    table = Table([(1, 1)])
    with pytest.raises(LimitReachedError, match="time limit"):
        state(table, Limits(seconds=0)).fetch("p", (0,), ((1,),))
    assert not table.demands


def test_a_call_is_told_before_and_after() -> None:
    told: list[Event] = []
    table = Table([(1, 5), (1, 6)], assumed=[(2, 7)], openings=(Opening((3, OPEN), "no", "t"),))
    known = State(program(RULES), {"p": table}, Limits(), told.append)
    sure, weak = known.fetch("p", (0,), ((2,), (1,)))
    assert (sure, weak) == ([(1, 5), (1, 6)], [((2, 7), ACCEPTED), ((3, OPEN), POSSIBLE)])
    assert [type(one) for one in told] == [CallStarted, CallFinished]
    started, finished = told
    assert started == CallStarted("p", ("x",), 2)
    assert isinstance(finished, CallFinished)
    assert (finished.number, finished.keys, finished.rows, finished.openings) == (1, 2, 3, 1)
    assert table.demands[0].keys == ((1,), (2,))


def test_openings_are_possible_or_conceivable_and_unanswered_keys_are_open() -> None:
    table = Table(
        [(1, 5)],
        unknown=frozenset({(3,)}),
        openings=(Opening((2, OPEN), "no", "t"), Opening((1, OPEN), "no", "t", CLOSURE)),
    )
    known = state(table)
    known.fetch("p", (0,), ((1,), (2,), (3,)))
    assert dict(known.relation("p").weak) == {
        (2, OPEN): POSSIBLE,
        (1, OPEN): CONCEIVABLE,
        (3, OPEN): POSSIBLE,
    }


def assumption_of(known: State, row: tuple[int, int]) -> Assumption | None:
    """Give what a row of `p` rests on, which came from outside."""
    told = known.fact("p", row)
    assert told is not None
    assert (told.evidence == EVIDENCE) == (told.assumption is None)
    return told.assumption


def test_a_row_that_is_given_and_assumed_rests_on_the_source() -> None:
    known = state(Table([(1, 5)], assumed=[(1, 5), (2, 6)]))
    known.fetch("p", (), ((),))
    assert assumption_of(known, (1, 5)) is None
    assert assumption_of(known, (2, 6)) is not None
    known.fetch("p", (0,), ((1,),))
    assert assumption_of(known, (1, 5)) is None


def test_facts_of_the_rules_are_loaded_once_each_by_the_first_rule_that_states_it() -> None:
    known = state()
    facts = [
        GroundFact((1,), 4, assumed=False),
        GroundFact((1,), 5, assumed=False),
        GroundFact((2,), 6, assumed=True),
    ]
    assert known.state_facts("r", facts) == ([(1,)], [((2,), ACCEPTED)])
    assert known.stated["r"] == {(1,): 4}
    assert known.state_facts("r", [*facts, GroundFact((3,), 7, assumed=False)]) == ([], [])


def test_a_pattern_has_placeholders_in_the_columns_that_are_not_bound() -> None:
    assert open_row((2, 0), (7, 8), 4) == (8, OPEN, 7, OPEN)
    with pytest.raises(ValueError, match="argument"):
        open_row((2, 0), (7,), 4)


@pytest.mark.parametrize(("predicate", "cost", "near"), [("p", 99, True), ("p", 100, False)])
def test_only_near_sources_may_be_asked_for_more(predicate: str, cost: int, *, near: bool) -> None:
    known = State(program(RULES), {"p": Table(cost=cost), "r": Table()}, Limits(), ignore_event)
    assert known.may_widen(predicate) is near
    assert not known.may_widen("r")
    assert not state().may_widen("p")


def test_what_a_later_evaluation_was_given_is_known_with_its_evidence() -> None:
    later, known = state(Table([(1, 2)])), state()
    later.fetch("p", (0,), ((1,),))
    known.learn(later.calls)
    assert known.calls == later.calls
    assert known.relation("p").stamp((1, 2), CERTAIN) is not None
    told, before = known.fact("p", (1, 2)), later.fact("p", (1, 2))
    assert told is not None
    assert before is not None
    assert told.evidence == before.evidence


def test_a_call_whose_rows_there_is_no_time_to_take_over_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(*_: object) -> None:
        raise LimitReachedError("late")

    later, known = state(Table([(1, 2)])), state()
    later.fetch("p", (0,), ((1,),))
    monkeypatch.setattr(State, "_load", late)
    with pytest.raises(LimitReachedError):
        known.learn(later.calls)
    assert known.calls == []
