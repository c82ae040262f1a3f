"""Structures and patterns of random programs: every engine says what the oracle says."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from constat.evaluation import CERTAIN, CONCEIVABLE, StrategyError
from constat.logic import CONSTRUCTOR_OF
from constat.plan.forward import Strategy
from tests.forward.agreeing import check_against_reference
from tests.forward.running import forward
from tests.oracle.naive import evaluate
from tests.property.coverage import under
from tests.property.judging import Judge, contradict
from tests.property.running import run, truth
from tests.property.strategies import HALF, STRUCTURED, STRUCTURED_EXACT, Case, cases
from tests.property.tables import Manner
from tests.sql.computing import compute

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
STRATEGIES = st.sampled_from([None, *Strategy])
MAGIC = st.sampled_from([None, False, True])


@given(cases(STRUCTURED_EXACT), st.builds(Manner, far=st.booleans()))
def test_where_nothing_is_open_the_engine_finds_exactly_the_model(
    case: Case, manner: Manner
) -> None:
    found, expected = run(case, manner, exhaust=True), truth(case.program, case.world)
    assert found.strength == expected.strength(case.goal)
    rows = under(case.goal, found.outcome.rows(case.goal.predicate, CERTAIN))
    assert rows == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))
    assert under(case.goal, found.outcome.rows(case.goal.predicate, CONCEIVABLE)) == rows


@pytest.mark.laws
@given(cases(STRUCTURED), MANNERS)
def test_what_the_engine_decides_is_so_in_every_completion(case: Case, manner: Manner) -> None:
    found, judge = run(case, manner), Judge(case)
    assert not contradict(found.strength, judge.truth.strength(case.goal))
    judge.strength_is_right(found.strength)
    judge.certain_rows_are_true(found.outcome)
    if not found.outcome.stopped:
        judge.true_rows_are_possible(found.outcome, case.goal)


@HALF
@given(cases(STRUCTURED_EXACT), STRATEGIES, MAGIC)
def test_the_forward_engine_finds_exactly_the_model(
    case: Case,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    expected = truth(case.program, case.world)
    found = forward(case.program, case.world, case.goal, strategy=strategy, magic=magic)
    assert found.closed
    assert found.rows[CERTAIN] == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))
    for one in found.strategies:
        event(one)


@pytest.mark.laws
@HALF
@given(cases(STRUCTURED), MANNERS, STRATEGIES, MAGIC)
def test_the_forward_engine_says_what_the_reference_engine_says(
    case: Case,
    manner: Manner,
    strategy: Strategy | None,
    magic: bool | None,  # noqa: FBT001  drawn
) -> None:
    check_against_reference(case, manner, strategy, magic=magic)


@pytest.mark.laws
@HALF
@given(cases(STRUCTURED_EXACT), st.sampled_from([Strategy.LOOP, Strategy.CTE]))
def test_sql_finds_exactly_the_model_or_says_that_it_cannot(case: Case, strategy: Strategy) -> None:
    facts = {name: [row for row, _ in rows] for name, rows in case.world.rows.items()}
    expected = evaluate(case.program, case.world, accepted=False)
    try:
        found, _ = compute(case.program, facts, strategy)
    except StrategyError as problem:
        event(str(problem))
        return
    for name in case.program.program.predicates:
        if name in found:
            assert found[name] == set(expected[name]), name


@pytest.mark.laws
def test_the_programs_take_structures_apart() -> None:
    opened: list[bool] = []

    @settings(max_examples=60)
    @given(cases(STRUCTURED))
    def look(case: Case) -> None:
        opened.append(CONSTRUCTOR_OF in str(case.program.rules))

    look()
    assert sum(opened) > len(opened) // 4
