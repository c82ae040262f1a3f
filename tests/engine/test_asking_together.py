"""Far sources that are independent of each other are asked at the same time, and only those."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from threading import Barrier, Event, get_ident
from typing import TYPE_CHECKING

import pytest

from constat.engine.state import ask_together
from constat.evaluation import ABSENT, CERTAIN, Answer, Demand, Limits
from tests.engine.tables import Table, program, run

if TYPE_CHECKING:
    from constat.engine import LazyOutcome

RULES = """
.decl order(c: symbol, o: number)
.input order(source="north", query="q")
.decl payment(c: symbol, o: number)
.input payment(source="south", query="q")
.decl refund(c: symbol)
.input refund(source="west", query="q")
.decl settled(c: symbol)
settled(?c) :- order(?c, ?o), payment(?c, ?o), !refund(?c).
"""
GOAL = 'settled("a")'


@dataclass
class Far(Table):
    """A table of a source far away; with a barrier it answers only when others are asked too."""

    cost: int = 100
    source: str = ""
    barrier: Barrier | None = None
    problem: BaseException | None = None
    thread: int = 0
    daemon: bool = False

    def answer(self, demand: Demand) -> Answer:
        self.thread, self.daemon = get_ident(), threading.current_thread().daemon
        if self.barrier is not None:
            self.barrier.wait(timeout=5)
        if self.problem is not None:
            raise self.problem
        return super().answer(demand)


def tables(barrier: Barrier | None = None) -> dict[str, Far]:
    return {
        "order": Far([("a", 1)], source="north", barrier=barrier),
        "payment": Far([("a", 1), ("a", 2)], source="south", barrier=barrier),
        "refund": Far([("b",)], source="west", barrier=barrier),
    }


def evaluate(externals: dict[str, Far], limits: Limits | None = None) -> LazyOutcome:
    return run(RULES, GOAL, externals, limits=limits)


def test_far_sources_with_known_keys_are_asked_at_the_same_time() -> None:
    # Each waits for another one: asked one after the other they would never answer.
    externals = tables(Barrier(2))
    externals["payment"].barrier = None
    outcome = evaluate(externals)
    assert outcome.strength(outcome.goal) == CERTAIN
    assert externals["order"].thread != externals["refund"].thread


def test_calls_are_recorded_in_the_order_in_which_the_plan_takes_the_literals() -> None:
    outcome = evaluate(tables())
    assert [call.demand.predicate.name for call in outcome.calls] == ["refund", "order", "payment"]
    assert [call.number for call in outcome.calls] == [1, 2, 3]


def test_a_literal_that_waits_for_values_of_another_is_not_asked_ahead() -> None:
    externals = tables()
    evaluate(externals)
    # Its order number comes from `order`: the demand binds both columns.
    assert [demand.columns for demand in externals["payment"].demands] == [(0, 1)]


def test_nothing_is_asked_twice() -> None:
    externals = tables()
    evaluate(externals)
    assert {name: len(table.demands) for name, table in externals.items()} == {
        "order": 1,
        "payment": 1,
        "refund": 1,
    }


@pytest.mark.parametrize(
    ("costs", "sources"),
    [
        ((10, 10, 10), ("north", "south", "west")),
        ((1000, 1000, 1000), ("north", "south", "west")),
        ((100, 100, 100), ("north", "north", "north")),
        ((100, 100, 100), ("", "", "")),
    ],
    ids=["near", "dear", "one source", "no promise"],
)
def test_other_sources_are_asked_one_after_the_other_and_only_if_needed(
    costs: tuple[int, ...], sources: tuple[str, ...]
) -> None:
    externals = tables()
    for table, cost, source in zip(externals.values(), costs, sources, strict=True):
        table.cost, table.source = cost, source
    externals["refund"].rows = [("a",)]
    outcome = evaluate(externals)
    assert outcome.strength(outcome.goal) == ABSENT
    assert len(outcome.calls) == 1


def test_a_mistake_in_one_of_them_is_raised() -> None:
    externals = tables()
    externals["order"].problem = ValueError("a wrong query")
    with pytest.raises(ValueError, match="a wrong query"):
        evaluate(externals)


def test_asking_ahead_never_reaches_the_limit_of_calls() -> None:
    outcome = evaluate(tables(), Limits(calls=3))
    assert outcome.strength(outcome.goal) == CERTAIN
    stopped = evaluate(tables(), Limits(calls=1))
    assert stopped.stopped == "the limit of 1 calls was reached"
    assert [call.demand.predicate.name for call in stopped.calls] == ["refund"]


def test_what_was_asked_ahead_counts_when_the_evaluation_stops_early() -> None:
    outcome = evaluate(tables(), Limits(calls=2))
    assert outcome.stopped
    assert outcome.strength(outcome.goal) != CERTAIN


@dataclass
class Waiting(Far):
    """Answers when it is let go."""

    let_go: Event = field(default_factory=Event)
    began: Event = field(default_factory=Event)
    ended: bool = False

    def answer(self, demand: Demand) -> Answer:
        self.began.set()
        self.let_go.wait(timeout=5)
        self.ended = True
        return super().answer(demand)


@dataclass
class Interrupted(Far):
    """Is interrupted once another one has been asked."""

    other: Waiting | None = None

    def answer(self, demand: Demand) -> Answer:
        if self.other is not None:
            self.other.began.wait(timeout=5)
        raise KeyboardInterrupt


def demand() -> Demand:
    return Demand(program(RULES).program.predicates["refund"], (0,), (("a",),))


def test_nobody_is_waited_for_after_an_interruption() -> None:
    waiting = Waiting()
    with pytest.raises(KeyboardInterrupt):
        ask_together([(waiting, demand()), (Interrupted(other=waiting), demand())])
    assert not waiting.ended
    waiting.let_go.set()


def test_a_program_does_not_end_later_for_a_source_it_has_asked() -> None:
    first, last = Far(), Far()
    ask_together([(first, demand()), (last, demand())])
    assert first.daemon
    assert last.thread == get_ident()


def test_the_seconds_of_a_call_are_those_between_question_and_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([100.0, 102.5])
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    ((_, seconds),) = ask_together([(Far(), demand())])
    assert seconds == 2.5


def test_nobody_is_asked_nothing() -> None:
    assert ask_together([]) == []
