"""Graded relations against the reference engine, on random programs with random openings."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.plan.forward import Strategy
from tests.forward.doubtful_worlds import CALM, doubtful_cases
from tests.forward.running import forward
from tests.property.coverage import under
from tests.property.rules import Shape
from tests.property.running import LIMITS
from tests.property.strategies import Case
from tests.property.tables import Manner, tables

MANNERS = st.builds(Manner, narrow=st.booleans(), wide=st.booleans(), far=st.booleans())
STRATEGIES = st.sampled_from([None, None, *Strategy])
MAGIC = st.sampled_from([None, False, True])
SHAPES = st.sampled_from([CALM, CALM, Shape(totals=False), Shape()])


@given(SHAPES.flatmap(doubtful_cases), MANNERS, STRATEGIES, MAGIC)
def test_every_row_has_the_strength_that_the_reference_engine_gives_it(
    case: Case,
    manner: Manner,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    externals = tables(case.program, case.world, manner)
    reference = LazyEngine().evaluate(case.program, case.goal, externals, LIMITS, exhaust=True)
    found = forward(case.program, case.world, case.goal, manner, strategy=strategy, magic=magic)
    event(f"{found.how} {found.left[:1]}")
    assert found.strength == reference.strength(case.goal)
    for least in (3, 2, 1, 0):
        expected = under(case.goal, reference.rows(case.goal.predicate, least))
        assert found.rows[least] == expected, least
