"""Fixpoints of recursive predicates: rounds, strengths, limits, and what counts as asked."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from constat.engine import LazyEngine
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    Answer,
    Assumption,
    Demand,
    Limits,
    Opening,
    RoundFinished,
)
from constat.logic import OPEN, Row
from tests.engine.tables import Table, goal, program, run

EDGES = """
.decl edge(a: number, b: number)
.input edge(source="t", query="q")
.decl path(a: number, b: number)
"""
LEFT = EDGES + "path(?a, ?b) :- edge(?a, ?b). path(?a, ?c) :- path(?a, ?b), edge(?b, ?c)."
RIGHT = EDGES + "path(?a, ?b) :- edge(?a, ?b). path(?a, ?c) :- edge(?a, ?b), path(?b, ?c)."
CLOSED = Assumption("closure", "t", "somebody says that all is told")


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@dataclass
class Late(Table):
    """A table that answers after ten seconds."""

    clock: Clock | None = None

    def answer(self, demand: Demand) -> Answer:
        if self.clock is not None:
            self.clock.now += 10
        return super().answer(demand)


def chain(length: int) -> Table:
    return Table([(place, place + 1) for place in range(length)])


def rounds_of(rules: str, question: str, tables: dict[str, Table]) -> list[RoundFinished]:
    analysed = program(rules)
    told: list[RoundFinished] = []

    def observe(event: object) -> None:
        if isinstance(event, RoundFinished):
            told.append(event)

    LazyEngine().evaluate(
        analysed, goal(question, analysed), tables, Limits(), exhaust=True, observe=observe
    )
    return told


def test_each_round_finds_the_rows_of_the_next_length() -> None:
    told = rounds_of(LEFT, "path(0, ?b)", {"edge": chain(4)})
    assert [one.round for one in told] == list(range(1, len(told) + 1))
    assert [one.new_rows for one in told] == [1, 1, 1, 1, 0]
    assert {one.component for one in told} == {("path",)}


def test_a_fixpoint_may_take_as_many_rounds_as_the_limit_and_no_more() -> None:
    needed = len(rounds_of(LEFT, "path(0, ?b)", {"edge": chain(4)}))
    tables = {"edge": chain(4)}
    enough = run(LEFT, "path(0, ?b)", tables, exhaust=True, limits=Limits(rounds=needed))
    assert enough.stopped == ""
    short = run(LEFT, "path(0, ?b)", tables, exhaust=True, limits=Limits(rounds=needed - 1))
    assert short.stopped == f"the limit of {needed - 1} rounds was reached"


@pytest.mark.parametrize("rules", [LEFT, RIGHT], ids=["left", "right"])
def test_a_component_that_was_stopped_counts_as_unasked(rules: str) -> None:
    outcome = run(rules, "path(0, 9)", {"edge": chain(9)}, limits=Limits(rounds=3))
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert [one for one in outcome.demands if one.predicate == "path"] == []


SEEDED = """
.decl one(x: number)
.input one(source="t", query="q")
.decl two(x: number)
.input two(source="t", query="q")
.decl step(x: number, y: number)
.input step(source="t", query="q")
.decl r(x: number)
r(?y) :- r(?x), step(?x, ?y).
"""


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_of_two_derivations_in_one_round_the_stronger_counts(order: tuple[str, str]) -> None:
    rules = SEEDED + "".join(f"r(?x) :- {name}(?x).\n" for name in order)
    tables = {
        "one": Table(assumed=[(1,)]),
        "two": Table(openings=(Opening((1,), "not told", "t", CLOSED),)),
        "step": Table([(1, 2)]),
    }
    outcome = run(rules, "r(?x)", tables, exhaust=True)
    found = dict.fromkeys([(1,), (2,)], ACCEPTED)
    assert {row: outcome.strength(goal(f"r({row[0]})", outcome.program)) for row in found} == found


def test_a_row_moves_up_when_a_later_round_proves_it() -> None:
    rules = SEEDED + "r(?x) :- one(?x).\nr(?x) :- two(?x).\n"
    tables = {
        "one": Table([(1,)]),
        "two": Table(assumed=[(3,)]),
        "step": Table([(1, 2), (2, 3), (3, 4)]),
    }
    outcome = run(rules, "r(?x)", tables, exhaust=True)
    assert set(outcome.rows("r", CERTAIN)) == {(1,), (2,), (3,), (4,)}
    assert list(outcome.rows("r", CONCEIVABLE)) == list(outcome.rows("r", CERTAIN))


@pytest.mark.parametrize(
    ("tables", "strength"),
    [
        ({"edge": Table([(0, 1)], assumed=[(1, 2)])}, ACCEPTED),
        ({"edge": Table([(0, 1)], openings=(Opening((1, OPEN), "no", "t", CLOSED),))}, CONCEIVABLE),
        ({"edge": Table([(0, 1)], openings=(Opening((1, 2), "no", "t"),))}, POSSIBLE),
        ({"edge": Table([(0, 1)], openings=(Opening((5, 2), "no", "t"),))}, ABSENT),
        ({"edge": Table([(0, 1), (1, 2)])}, CERTAIN),
    ],
)
@pytest.mark.parametrize("rules", [LEFT, RIGHT], ids=["left", "right"])
def test_a_path_is_as_strong_as_its_weakest_edge(
    rules: str, tables: dict[str, Table], strength: int
) -> None:
    for exhaust in (False, True):
        outcome = run(rules, "path(0, 2)", tables, exhaust=exhaust)
        assert outcome.strength(outcome.goal) == strength


def test_through_an_unknown_place_everything_may_be_reached() -> None:
    tables = {"edge": Table([(5, 6)], openings=(Opening((0, OPEN), "no", "t"),))}
    outcome = run(LEFT, "path(0, 6)", tables, exhaust=True)
    assert outcome.strength(outcome.goal) == POSSIBLE
    assert outcome.strength(goal("path(0, 6)", outcome.program)) == POSSIBLE


def test_a_component_keeps_its_rows_between_two_demands() -> None:
    rules = (
        LEFT
        + """
    .decl both(a: number)
    both(?a) :- edge(?a, _), path(?a, 3), path(?a, 4), !path(4, ?a).
    """
    )
    table = chain(4)
    outcome = run(rules, "both(?a)", {"edge": table}, exhaust=True)
    assert set(outcome.rows("both", CERTAIN)) == {(0,), (1,), (2,)}
    asked = [(demand.columns, key) for demand in table.demands for key in demand.keys]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("rules", "question"),
    [(LEFT, "path(0, 1)"), (EDGES + "path(?a, ?b) :- edge(?a, ?b), ?a < ?b.", "path(0, 1)")],
    ids=["recursive", "plain"],
)
def test_an_answer_that_comes_too_late_decides_nothing(
    rules: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    outcome = run(rules, question, {"edge": Late([(0, 1)], clock=clock)}, limits=Limits(seconds=5))
    assert outcome.stopped == "the time limit of 5 seconds was reached"
    assert outcome.strength(outcome.goal) == POSSIBLE


def test_rows_from_outside_and_from_rules_may_come_in_one_round() -> None:
    rules = RIGHT + '\n.input path(source="t", query="q")\n'
    tables = {"edge": Table([(0, 1), (1, 2)]), "path": Table([(1, 7)], assumed=[(1, 8), (2, 9)])}
    outcome = run(rules, "path(0, ?b)", tables, exhaust=True)
    found = {
        row[1]: outcome.strength(goal(f"path(0, {row[1]})", outcome.program))
        for row in outcome.rows("path", ACCEPTED)
        if row[0] == 0
    }
    assert found == {1: CERTAIN, 2: CERTAIN, 7: CERTAIN, 8: ACCEPTED, 9: ACCEPTED}


PAIRS = """
.decl e(x: number, y: number)
.input e(source="t", query="q")
.decl q(x: number, y: number)
.input q(source="t", query="q")
.decl p(x: number, y: number)
q(?x, ?y) :- e(?x, ?y).
q(?x, ?y) :- p(?y, ?x).
"""


def test_rows_of_a_source_and_of_rules_that_come_in_one_round_stay_apart() -> None:
    tables = {"e": Table([(1, 2)]), "q": Table(assumed=[(5, 6)])}
    outcome = run(PAIRS + "p(?x, ?y) :- q(?x, ?y).", "p(?x, ?y)", tables, exhaust=True)
    assert set(outcome.rows("p", CERTAIN)) == {(1, 2), (2, 1)}
    assert set(outcome.rows("p", ABSENT)) == {(1, 2), (2, 1), (5, 6), (6, 5)}


def test_rows_of_two_questions_that_are_asked_in_one_round_stay_apart() -> None:
    tables = {"e": Table(), "q": Table([(7, 8)], assumed=[(1, 6)])}
    rules = PAIRS + "p(?x, ?y) :- q(1, _), q(?x, ?y)."
    outcome = run(rules, "p(?x, ?y)", tables, exhaust=True)
    assert set(outcome.rows("p", CERTAIN)) == set()
    assert set(outcome.rows("p", ACCEPTED)) == {(1, 6), (6, 1), (7, 8), (8, 7)}
    assert set(outcome.rows("p", ABSENT)) == set(outcome.rows("p", ACCEPTED))


LISTS = """
.type List = [head: number, tail: List]
.decl list(l: List)
.input list(source="t", query="q")
.decl part(l: List)
part(?l) :- list(?l). part(?t) :- part([_, ?t]).
"""


def cells(count: int) -> str:
    return "".join(f"[{place}, " for place in range(count)) + "nil" + "]" * count


def test_keys_that_everything_is_asked_for_anyway_are_not_compared_with_each_row() -> None:
    rules = LISTS + ".decl kept(l: List) kept(?l) :- list(?l), part(?l)."
    rows: list[Row] = []
    text = "nil"
    for place in range(300):
        rows.append((text,))
        text = f"[{place}, {text}]"
    limits = Limits(rows=40_000)
    found = run(rules, "kept(?l)", {"list": Table(rows)}, limits=limits, exhaust=True)
    # 300 keys with each of 300 and more parts would be beyond the limit of a join.
    assert found.stopped == ""
    assert len(list(found.rows("kept", CERTAIN))) == 300


def test_a_walk_down_a_long_list_is_bounded_by_its_texts_alone() -> None:
    rules = LISTS + ".decl n(k: number) n(?k) :- ?k = count : { part(_) }."
    given = {"list": Table([(cells(3_000),)])}
    assert list(run(rules, "n(?k)", given).rows("n", CERTAIN)) == [(3_001,)]
    found = run(rules, "n(?k)", given, limits=Limits(memory=1 << 20))
    assert found.stopped == "the limit of 1 MB of long texts was reached"
    assert found.strength(goal("n(3001)", program(rules))) == POSSIBLE


@pytest.mark.parametrize("made", ["[1, ?l]", "[1, [2, ?l]]"])
def test_lists_that_grow_for_ever_end_at_a_limit(made: str) -> None:
    rules = LISTS + f".decl grown(l: List) grown(nil). grown({made}) :- grown(?l)."
    found = run(rules, "grown([2, nil])", {}, limits=Limits(memory=8 << 20))
    assert found.stopped == "the limit of 8 MB of long texts was reached"
    assert found.strength(goal("grown([2, nil])", program(rules))) == POSSIBLE


def test_a_structure_that_is_too_long_errs_alone() -> None:
    rules = (
        ".type T = [l: T, r: T] .decl d(n: number, t: T) d(0, nil)."
        "d(?n + 1, [?t, ?t]) :- d(?n, ?t), ?n < 40."
    )
    found = run(rules, "d(?n, ?t)", {}, exhaust=True)
    assert found.stopped == ""
    assert [one.reason for one in found.failures] == ["the structure is longer than 1048576 bytes"]
    assert {row[0] for row in found.rows("d", CERTAIN)} == set(range(18))
