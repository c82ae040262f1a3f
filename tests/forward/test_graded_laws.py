"""Graded relations against the reference engine, on random programs with random openings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.plan.forward import Strategy
from tests.forward.agreeing import check_against_reference, check_no_more_is_decided
from tests.forward.doubtful_worlds import CALM, doubtful_cases
from tests.property.rules import Shape
from tests.property.strategies import Case
from tests.property.tables import Manner

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
    check_against_reference(case, manner, strategy, magic=magic)


@pytest.mark.laws
@given(SHAPES.flatmap(doubtful_cases), MANNERS, STRATEGIES, MAGIC)
def test_what_is_loose_decides_no_more_than_the_reference_engine(
    case: Case,
    manner: Manner,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    check_no_more_is_decided(case, manner, strategy, magic=magic)
