"""What both engines have to say alike of a case: the strength of its goal, and its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import event

from constat.engine import LazyEngine
from tests.forward.running import forward
from tests.property.coverage import uncovered, under
from tests.property.running import LIMITS
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.plan.forward import Strategy
    from tests.property.strategies import Case
    from tests.property.tables import Manner


def check_against_reference(
    case: Case, manner: Manner, strategy: Strategy | None, *, magic: bool | None
) -> None:
    externals = tables(case.program, case.world, manner)
    reference = LazyEngine().evaluate(case.program, case.goal, externals, LIMITS, exhaust=True)
    found = forward(case.program, case.world, case.goal, manner, strategy=strategy, magic=magic)
    event(f"{found.how} {found.left[:1]}")
    assert found.strength == reference.strength(case.goal)
    for least in (3, 2, 1, 0):
        expected = under(case.goal, reference.rows(case.goal.predicate, least))
        assert found.rows[least] == expected, least


def check_no_more_is_decided(
    case: Case, manner: Manner, strategy: Strategy | None, *, magic: bool | None
) -> None:
    """Hold a loose evaluation against the reference engine: it decides at most as much.

    What it says to hold holds there, and what that engine takes for possible is possible here.
    """
    externals = tables(case.program, case.world, manner)
    reference = LazyEngine().evaluate(case.program, case.goal, externals, LIMITS, exhaust=True)
    found = forward(
        case.program, case.world, case.goal, manner, strategy=strategy, magic=magic, loose=True
    )
    event(f"{found.how} {found.left[:1]} {found.loose[:1]}")
    for least in (3, 2, 1, 0):
        expected = under(case.goal, reference.rows(case.goal.predicate, least))
        if not found.loose:
            assert found.rows[least] == expected, least
        elif least >= 2:
            assert uncovered(found.rows[least], expected) == [], least
        else:
            assert uncovered(expected, found.rows[least]) == [], least
