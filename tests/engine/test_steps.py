"""Each kind of step on bindings of every strength, with and without placeholders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from constat.engine import LazyEngine
from constat.engine.batch import Batch
from constat.engine.state import State
from constat.engine.steps import Request, Steps
from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    CallFinished,
    CallStarted,
    Limits,
    ignore_event,
)
from constat.logic import OPEN, Kind
from constat.plan import Absence, Call, Compute, Filter, Fold, Join, Literally, RulePlan, Slot
from tests.engine.tables import Table, goal, program

if TYPE_CHECKING:
    from constat.engine.batch import Binding
    from constat.evaluation import Externals
    from constat.plan import Step

RULES = """
.decl p(x: number, y: number)
.input p(source="t", query="q")
.decl q(x: number)
.input q(source="t", query="q")
.decl r(x: number, y: number)
r(?x, ?y) :- p(?x, ?y), !q(?x).
"""
NUMBERS = (Kind.NUMBER, Kind.NUMBER)
QUOTIENT = Call("/", (Literally(6, Kind.NUMBER), Slot(0)), NUMBERS, Kind.NUMBER)
WEAK = (ACCEPTED, POSSIBLE, CONCEIVABLE)
RULE = RulePlan(0, (), (), (), (), (), (), assumed=False, variables={"x": 0, "y": 1})


def state(externals: Externals | None = None) -> State:
    return State(program(RULES), externals or {}, Limits(), ignore_event)


def execute(
    known: State, step: Step, batch: Batch, *, closed: bool = False, inner: bool = False
) -> tuple[Batch, list[Request]]:
    """Execute a step whose requests nobody answers."""
    running = Steps(known, closed=closed).step((step,), 0, batch, RULE, inner=inner)
    requests: list[Request] = []
    while True:
        try:
            requests.append(next(running))
        except StopIteration as finished:
            return finished.value, requests


def strengths(batch: Batch) -> dict[Binding, int]:
    """Give the bindings with their strengths, each once."""
    found = [*((one, CERTAIN) for one in batch.sure), *batch.weak]
    assert len({one for one, _ in found}) == len(found)
    return dict(found)


def every(strength: int) -> Batch:
    """Give the bindings of a known and an unknown value with that strength."""
    if strength == CERTAIN:
        return Batch([(2,), (3,), (0,)])
    return Batch(weak=[((2,), strength), ((3,), strength), ((0,), strength), ((OPEN,), strength)])


def opened(found: dict[Binding, int], strength: int) -> dict[Binding, int]:
    """Add what becomes of a binding that does not know its value."""
    unknown = (OPEN,) * len(next(iter(found)))
    return found if strength == CERTAIN else {**found, unknown: min(strength, POSSIBLE)}


@pytest.mark.parametrize("strength", [CERTAIN, *WEAK])
def test_a_comparison_keeps_what_holds_and_what_may_hold(strength: int) -> None:
    known = state()
    out, _ = execute(
        known, Filter("=", QUOTIENT, Literally(3, Kind.NUMBER), Kind.NUMBER), every(strength)
    )
    assert strengths(out) == opened({(2,): strength, (0,): min(strength, POSSIBLE)}, strength)
    assert [(one.rule, one.bindings) for one in known.failures] == [(0, {"x": "0"})]


@pytest.mark.parametrize("strength", [CERTAIN, *WEAK])
def test_a_comparison_with_an_unknown_side_may_hold(strength: int) -> None:
    batch = Batch(weak=[((OPEN, 1), strength), ((1, OPEN), strength), ((1, 1), strength)])
    out, _ = execute(state(), Filter("<", Slot(0), Slot(1), Kind.NUMBER), batch)
    assert strengths(out) == {
        (OPEN, 1): min(strength, POSSIBLE),
        (1, OPEN): min(strength, POSSIBLE),
    }


@pytest.mark.parametrize("strength", [CERTAIN, *WEAK])
def test_a_computed_value_is_exact_or_open(strength: int) -> None:
    known = state()
    out, _ = execute(known, Compute(QUOTIENT), every(strength))
    assert strengths(out) == opened(
        {(2, 3): strength, (3, 2): strength, (0, OPEN): min(strength, POSSIBLE)}, strength
    )
    assert [(one.rule, one.bindings) for one in known.failures] == [(0, {"x": "0"})]


@pytest.mark.parametrize("strength", [CERTAIN, *WEAK])
@pytest.mark.parametrize(
    ("found", "absent"),
    [
        (CERTAIN, ABSENT),
        (ACCEPTED, CONCEIVABLE),
        (POSSIBLE, POSSIBLE),
        (CONCEIVABLE, ACCEPTED),
        (ABSENT, CERTAIN),
    ],
)
def test_negation_mirrors_the_strength_of_what_it_denies(
    strength: int, found: int, absent: int
) -> None:
    known = state()
    known.add("q", [(2,)] if found == CERTAIN else [], [((2,), found)] if found in WEAK else [])
    batch = Batch([(2,)]) if strength == CERTAIN else Batch(weak=[((2,), strength)])
    out, _ = execute(known, Absence("q", (0,), (0,), 1), batch)
    least = min(strength, absent)
    assert strengths(out) == ({(2,): least} if least > ABSENT else {})


def test_negation_of_some_columns_denies_every_row_that_matches() -> None:
    known = state()
    known.add("p", [(1, 5)], [])
    out, _ = execute(known, Absence("p", (0,), (0,), 2), Batch([(1,), (2,)]))
    assert strengths(out) == {(2,): CERTAIN}


@pytest.mark.parametrize("held", [ACCEPTED, POSSIBLE, CONCEIVABLE])
def test_negation_among_rows_that_may_be_there_keeps_the_order(held: int) -> None:
    known = state()
    known.add("p", [(2, 5)], [((1, 5), held)])
    out, _ = execute(known, Absence("p", (0,), (0,), 2), Batch([(4,), (1,), (2,), (3,)]))
    assert out.sure == [(4,), (3,)]
    assert out.weak == [((1,), CERTAIN - 1 - held)]


def test_negation_among_open_rows_denies_no_row() -> None:
    known = state()
    known.add("p", [], [((OPEN, 5), POSSIBLE)])
    out, _ = execute(known, Absence("p", (0,), (0,), 2), Batch([(1,), (2,)]))
    assert (out.sure, out.weak) == ([], [((1,), POSSIBLE), ((2,), POSSIBLE)])


def test_negation_of_an_unknown_value_is_possible() -> None:
    batch = Batch(weak=[((OPEN,), ACCEPTED), ((OPEN,), CONCEIVABLE)])
    out, _ = execute(state(), Absence("q", (0,), (0,), 1), batch)
    assert out.weak == [((OPEN,), POSSIBLE), ((OPEN,), CONCEIVABLE)]


@pytest.mark.parametrize("full", [True, False])
def test_in_a_finished_evaluation_what_nobody_asked_for_may_be_there(full: bool) -> None:  # noqa: FBT001  a case
    known = state()
    name, arity = ("q", 1) if full else ("p", 2)
    known.served(name).add((0,), [(1,), (2,)])
    known.add(name, [(2, 9)[:arity], (4, 9)[:arity]], [])
    step = Absence(name, (0,), (0,), arity)
    out, requests = execute(known, step, Batch([(1,), (2,), (3,), (4,)]), closed=True)
    assert strengths(out) == {(1,): CERTAIN, (3,): POSSIBLE}
    assert requests == []
    known.add(name, [], [((3, 9)[:arity], CONCEIVABLE)])
    out, _ = execute(known, step, Batch([(3,)]), closed=True)
    assert strengths(out) == {(3,): POSSIBLE}


def test_inside_an_aggregate_of_a_finished_evaluation_unasked_rows_are_open() -> None:
    known = state()
    known.served("p").add((0,), [(1,)])
    known.add("p", [(1, 5), (2, 6)], [])
    step = Join("p", (0,), (0,), (1,), (), 2, -1)
    batch = Batch([(1,), (2,)], [((3,), ACCEPTED), ((OPEN,), POSSIBLE)])
    out, _ = execute(known, step, batch, closed=True, inner=True)
    assert out.sure == [(1, 5), (2, 6)]
    assert out.weak[-2:] == [((2, OPEN), POSSIBLE), ((3, OPEN), POSSIBLE)]
    assert ((1, OPEN), POSSIBLE) not in out.weak
    outer, _ = execute(known, step, batch, closed=True)
    assert ((2, OPEN), POSSIBLE) not in outer.weak
    known.served("p").add((0,), [(2,), (3,)])
    asking, _ = execute(known, step, Batch([(2,)]), inner=True)
    assert strengths(asking) == {(2, 6): CERTAIN}


def test_a_join_asks_for_the_keys_that_are_missing() -> None:
    known = state()
    known.served("p").add((0,), [(1,)])
    step = Join("p", (0,), (0,), (1,), (), 2, 0)
    batch = Batch([(1,), (2,)], [((3,), POSSIBLE)])
    _, requests = execute(known, step, batch)
    assert [(one.predicate, one.columns, set(one.keys)) for one in requests] == [
        ("p", (0,), {(2,), (3,)})
    ]
    _, requests = execute(known, step, Batch([(1,)]))
    assert requests == []


@pytest.mark.parametrize(("cost", "asked"), [(10, True), (99, True), (100, False)])
def test_near_sources_are_asked_for_more_where_a_value_is_unknown(
    cost: int, *, asked: bool
) -> None:
    known = state({"p": Table(cost=cost)})
    step = Join("p", (0, 1), (0, 1), (), (), 2, 0)
    batch = Batch(weak=[((1, OPEN), POSSIBLE), ((2, 2), POSSIBLE), ((OPEN, OPEN), POSSIBLE)])
    _, requests = execute(known, step, batch)
    assert [(one.columns, one.keys) for one in requests] == [
        ((0, 1), ((2, 2),)),
        *([((), ((),)), ((0,), ((1,),))] if asked else []),
    ]
    known.served("p").add((), [()])
    assert execute(known, step, batch)[1] == []


SUM = Fold("sum", Kind.NUMBER, (0,), (), (Join("p", (0,), (0,), (1,), (), 2, -1),), Slot(1), (1,))


@pytest.mark.parametrize("strength", [CERTAIN, *WEAK])
def test_an_aggregate_is_as_strong_as_its_binding_and_its_rows(strength: int) -> None:
    known = state()
    known.served("p").add((), [()])
    known.add("p", [(1, 5), (1, 6), (2, 7)], [((2, 8), ACCEPTED), ((3, 1), POSSIBLE)])
    batch = (
        Batch([(1,), (2,), (3,), (4,)])
        if strength == CERTAIN
        else Batch(weak=[((one,), strength) for one in (1, 2, 3, 4, OPEN)])
    )
    out, _ = execute(known, SUM, batch)
    assert strengths(out) == opened(
        {
            (1, 11): strength,
            (2, 15): min(strength, ACCEPTED),
            (2, OPEN): CONCEIVABLE,
            (3, OPEN): min(strength, POSSIBLE),
            (4, 0): strength,
        },
        strength,
    )


def test_in_a_finished_evaluation_an_aggregate_over_unasked_rows_is_open() -> None:
    known = state()
    known.served("p").add((0,), [(1,)])
    known.add("p", [(1, 5), (2, 6)], [])
    out, requests = execute(known, SUM, Batch([(1,), (2,)]), closed=True)
    assert strengths(out) == {(1, 5): CERTAIN, (2, OPEN): POSSIBLE}
    assert requests == []


def test_an_aggregate_that_fails_is_told_by_its_rule_alone() -> None:
    known = state()
    known.served("p").add((), [()])
    known.add("p", [(1, 0)], [])
    inverse = Call("/", (Literally(1, Kind.NUMBER), Slot(1)), NUMBERS, Kind.NUMBER)
    fold = Fold("sum", Kind.NUMBER, (0,), (), SUM.steps, inverse, (1,))
    out, _ = execute(known, fold, Batch([(1,)]))
    assert strengths(out) == {(1, OPEN): POSSIBLE}
    assert [(one.rule, one.bindings) for one in known.failures] == [(0, {})]


FAR_RULES = "".join(
    f'.decl {name}(x: number)\n.input {name}(source="t", query="q")\n' for name in "abcd"
)


@dataclass
class FarTable(Table):
    """A table of a source across a network."""

    cost: int = 100
    source: str = ""


def beside(sources: str, costs: tuple[int, ...] = (100, 100, 100, 100)) -> list[str]:
    """Give what is asked together with the first of four literals of those sources."""
    tables = {
        name: FarTable(cost=cost, source=source)
        for name, source, cost in zip("abcd", sources, costs, strict=True)
    }
    known = State(program(FAR_RULES), tables, Limits(), ignore_event)
    steps = tuple(Join(name, (0,), (0,), (), (), 1, place) for place, name in enumerate("abcd"))
    request = next(Steps(known).step(steps, 0, Batch([(1,)]), RULE))
    assert request.predicate == "a"
    return [one.predicate for one in request.beside]


@pytest.mark.parametrize(
    ("sources", "costs", "together"),
    [
        ("nsew", (100, 100, 100, 100), ["b", "c", "d"]),
        ("nssw", (100, 100, 100, 100), ["b", "d"]),
        ("nnsn", (100, 100, 100, 100), ["c"]),
        ("nsew", (10, 100, 100, 100), []),
        ("nsew", (1000, 100, 100, 100), []),
        ("nsew", (100, 99, 999, 1000), ["c"]),
    ],
)
def test_one_literal_of_each_other_far_source_is_asked_together(
    sources: str, costs: tuple[int, ...], together: list[str]
) -> None:
    assert beside(sources, costs) == together


def test_what_needs_no_values_is_asked_together_from_the_start() -> None:
    tables = {name: FarTable(source=name) for name in "abcd"}
    known = State(program(FAR_RULES), tables, Limits(), ignore_event)
    steps: tuple[Step, ...] = (
        Absence("a", (), (), 1),
        *(Join(name, (), (), (0,), (), 1, 1) for name in "bc"),
    )
    request = next(Steps(known).step(steps, 0, Batch([()]), RULE))
    assert [one.predicate for one in request.beside] == ["b", "c"]


def test_what_waits_for_values_is_not_asked_together() -> None:
    tables = {name: FarTable(source=name) for name in "abcd"}
    known = State(program(FAR_RULES), tables, Limits(), ignore_event)
    known.served("c").add((0,), [(1,)])
    steps = (
        Join("a", (), (), (0,), (), 1, 0),
        Filter("<", Slot(0), Slot(1), Kind.NUMBER),
        Join("b", (0,), (1,), (), (), 1, 1),
        Join("c", (0,), (0,), (), (), 1, 2),
        Absence("d", (0,), (0,), 1),
    )
    for batch in (Batch([(1,)]), Batch(weak=[((1,), POSSIBLE)])):
        request = next(Steps(known).step(steps, 0, batch, RULE))
        assert [(one.predicate, one.columns, one.keys) for one in request.beside] == [
            ("d", (0,), ((1,),))
        ]


LIMITED = """
.decl near(x: number)
.input near(source="t", query="q")
.decl a(x: number)
.input a(source="t", query="q")
.decl b(x: number)
.input b(source="t", query="q")
.decl r(x: number)
r(?x) :- near(?x), a(?x), b(?x).
"""


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        (3, ["near", "near", "a", "b", "a", "b"]),
        (2, ["near", "near", "a", "a"]),
        (1, ["near", "near"]),
    ],
)
def test_as_many_are_asked_together_as_calls_are_left(calls: int, told: list[str]) -> None:
    tables: dict[str, Table] = {
        "near": Table([(1,)]),
        "a": FarTable([(1,)], source="north"),
        "b": FarTable([(1,)], source="south"),
    }
    analysed, heard = program(LIMITED), []

    def observe(event: object) -> None:
        if isinstance(event, CallStarted | CallFinished):
            heard.append(event.predicate)

    outcome = LazyEngine().evaluate(
        analysed, goal("r(1)", analysed), tables, Limits(calls=calls), observe=observe
    )
    assert heard == told
    assert outcome.stopped == (
        "settled" if calls == 3 else f"the limit of {calls} calls was reached"
    )
