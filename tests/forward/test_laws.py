"""The forward engine against the reference engine and the oracle, on random programs."""

from __future__ import annotations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from constat.evaluation import ABSENT, CERTAIN
from constat.plan.forward import Strategy
from tests.forward.agreeing import check_against_reference
from tests.forward.running import forward
from tests.property.coverage import under
from tests.property.running import truth
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import Manner

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
STRATEGIES = st.sampled_from([None, *Strategy])
MAGIC = st.sampled_from([None, False, True])
SOME = settings(max_examples=max(1, settings().max_examples // 2))


@SOME
@given(cases(EXACT), STRATEGIES, MAGIC)
def test_where_nothing_is_open_it_finds_exactly_the_model(
    case: Case,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    expected = truth(case.program, case.world)
    found = forward(case.program, case.world, case.goal, strategy=strategy, magic=magic)
    assert found.closed
    assert found.strength == expected.strength(case.goal)
    assert found.rows[CERTAIN] == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))
    for one in found.strategies:
        event(one)


@SOME
@given(cases(), MANNERS, STRATEGIES, MAGIC)
def test_it_says_what_the_reference_engine_says(
    case: Case,
    manner: Manner,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    check_against_reference(case, manner, strategy, magic=magic)


@SOME
@given(cases(EXACT))
def test_most_of_what_is_closed_needs_no_reference_engine(case: Case) -> None:
    found = forward(case.program, case.world, case.goal)
    for name, reason in found.tried:
        event(f"{name}: {reason[:60]}")
    assert found.strength in {CERTAIN, ABSENT}
