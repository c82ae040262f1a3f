"""Where rules begin and end: demanded keys become bindings, bindings become head rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.engine.batch import Batch, reads_hole, value_of
from constat.engine.component import heads, start
from constat.engine.state import State
from constat.evaluation import ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE, Limits, ignore_event
from constat.logic import OPEN, Kind
from constat.plan import Call, Expression, Literally, RulePlan, Slot
from tests.engine.tables import program

if TYPE_CHECKING:
    from constat.logic import OpenRow, Row

RULES = """
.decl p(x: number)
.input p(source="t", query="q")
.decl r(x: number)
r(?x) :- p(?x).
"""
HALF = Call("/", (Literally(6, Kind.NUMBER), Slot(0)), (Kind.NUMBER, Kind.NUMBER), Kind.NUMBER)


def rule(
    *head: Expression, checks: tuple[tuple[int, int], ...] = (), assumed: bool = False
) -> RulePlan:
    return RulePlan(0, (0,), ("k",), checks, (), head, (), assumed, {"x": 0})


def fired(plan: RulePlan, batch: Batch) -> tuple[set[Row], list[tuple[OpenRow, int]]]:
    known = State(program(RULES), {}, Limits(), ignore_event)
    sure, weak = heads(plan, batch, known)
    return set(sure), weak


def test_bindings_begin_with_the_key_and_the_constants() -> None:
    assert start(rule(), [(1,), (2,)]).sure == [(1, "k"), (2, "k")]


def test_a_key_that_the_head_cannot_match_begins_nothing() -> None:
    assert start(rule(checks=((0, 1),)), [("a",), ("k",)]).sure == [("k", "k")]


def test_head_rows_take_the_slots_of_the_head() -> None:
    batch = Batch([(1, "k"), (2, "k")], [((3, "k"), ACCEPTED)])
    assert fired(rule(Slot(1), Slot(0)), batch) == (
        {("k", 1), ("k", 2)},
        [(("k", 3), ACCEPTED)],
    )


def test_a_head_that_is_computed_is_open_where_it_fails_or_reads_what_is_open() -> None:
    batch = Batch([(2,), (0,)], [((3,), ACCEPTED), ((OPEN,), ACCEPTED), ((0,), CONCEIVABLE)])
    sure, weak = fired(rule(HALF), batch)
    assert sure == {(3,)}
    assert sorted(weak, key=repr) == sorted(
        [((OPEN,), POSSIBLE), ((2,), ACCEPTED), ((OPEN,), POSSIBLE), ((OPEN,), CONCEIVABLE)],
        key=repr,
    )


@pytest.mark.parametrize("strength", [CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE])
def test_a_row_with_a_placeholder_is_possible_at_most(strength: int) -> None:
    _, weak = fired(rule(Slot(0), Slot(1)), Batch(weak=[((1, OPEN), strength)]))
    assert weak == [((1, OPEN), min(strength, POSSIBLE))]


def test_an_assumed_rule_gives_rows_of_the_accepted_reading() -> None:
    batch = Batch([(1,)], [((2,), POSSIBLE), ((3,), CERTAIN)])
    sure, weak = fired(rule(Slot(0), assumed=True), batch)
    assert sure == set()
    assert sorted(weak, key=repr) == [((1,), ACCEPTED), ((2,), POSSIBLE), ((3,), ACCEPTED)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Slot(1), 7),
        (Literally("a", Kind.SYMBOL), "a"),
        (Call("-", (Slot(1), Slot(0)), (Kind.NUMBER, Kind.NUMBER), Kind.NUMBER), 4),
        (Call("neg", (Slot(0),), (Kind.NUMBER,), Kind.NUMBER), -3),
        (
            Call(
                "cat",
                (
                    Literally("a", Kind.SYMBOL),
                    Literally("b", Kind.SYMBOL),
                    Literally("c", Kind.SYMBOL),
                ),
                (Kind.SYMBOL,) * 3,
                Kind.SYMBOL,
            ),
            "abc",
        ),
    ],
)
def test_an_expression_is_evaluated_over_a_binding(expression: Expression, value: object) -> None:
    assert value_of(expression)((3, 7)) == value
    assert reads_hole(expression, (OPEN, OPEN)) is not isinstance(value, str)


def test_an_exact_evaluation_refuses_a_placeholder() -> None:
    with pytest.raises(TypeError, match="placeholder"):
        value_of(Slot(0))((OPEN,))
