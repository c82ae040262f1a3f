"""Queries in bulk on random programs: the same answers as those of the reference engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Assumption, Limits, Verdict, ignore_event
from constat.logic import OPEN, row_order
from constat.proof.reading import rule_assumption
from constat.session import querying
from constat.session.answers import Answers, Settled
from constat.session.bulk import BulkQuery, Verdicts, answer_in_bulk
from constat.session.querying import Compiled, answer_query, compile_query
from constat.session.rows import LabelledRows, StoredRows
from constat.syntax import parse_goal
from tests.forward.called import held
from tests.forward.doubtful_worlds import CLOSED, doubtful_cases
from tests.forward.test_graded import Given
from tests.forward.test_nulls import nullable
from tests.oracle.test_random import with_nulls
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import SOME_TIME, Manner, tables
from tests.session.test_query_laws import query_of

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
SOME = settings(max_examples=max(1, settings().max_examples // 2))


def told(answers: Answers) -> tuple[object, ...]:
    rows = [(row.values, held(row), row.assumptions, row.goals) for row in answers]
    whole = (answers.settled, answers.assumptions, answers.open_shapes, answers.excluded)
    # Which of several demands left a key open may differ where more was asked at once.
    return rows, whole, reasons_of(answers), answers.stopped


def reference(compiled: Compiled, case: Case, manner: Manner) -> Answers:
    return answer_query(
        LazyEngine(),
        compiled,
        tables(case.program, case.world, manner),
        LIMITS,
        created=SOME_TIME,
        confidence=False,
        observe=ignore_event,
    )


def in_bulk(compiled: Compiled, case: Case, manner: Manner) -> Answers:
    externals = tables(case.program, case.world, manner)
    return answer_in_bulk(BulkQuery(compiled, externals, LIMITS, SOME_TIME), ignore_event)


@SOME
@given(cases(), MANNERS)
def test_answers_in_bulk_are_the_answers(case: Case, manner: Manner) -> None:
    compiled = compile_query(query_of(case), case.program)
    found = in_bulk(compiled, case, manner)
    event(f"in bulk: {isinstance(found.sure, StoredRows)}")
    require_same(found, reference(compiled, case, manner), case)


@pytest.mark.laws
@SOME
@given(doubtful_cases(), st.builds(Manner, narrow=st.booleans(), wide=st.booleans()))
def test_graded_answers_are_the_answers(case: Case, manner: Manner) -> None:
    compiled = compile_query(query_of(case), case.program)
    found = in_bulk(compiled, case, manner)
    event(f"graded: {isinstance(found.weak, Verdicts)}")
    require_same(found, reference(compiled, case, manner), case)


@SOME
@given(cases(), st.integers(0, 999))
def test_rows_with_labels_are_the_rows_with_labels(case: Case, seed: int) -> None:
    case = nullable(with_nulls(case, seed))
    compiled = compile_query(query_of(case), case.program)
    found, expected = in_bulk(compiled, case, Manner()), reference(compiled, case, Manner())
    event(f"labels in bulk: {isinstance(found.sure, LabelledRows)}")
    assert proved(found) == proved(expected)
    assert list(found.sure) == sorted(found.sure, key=row_order)
    if expected.settled is Settled.FOR_CERTAIN:
        assert (found.settled, found.fewest or len(found)) == (Settled.FOR_CERTAIN, expected.fewest)


def proved(answers: Answers) -> set[tuple[object, ...]]:
    return {row.values for row in answers if held(row) is Verdict.PROVED}


def require_same(found: Answers, expected: Answers, case: Case) -> None:
    # Whole relations tell what else is open, which questions by key never meet.
    assert reasons_of(found) >= reasons_of(expected)
    found, expected = replace(found, reasons=()), replace(expected, reasons=())
    if len(assumptions_of(case)) <= 1:
        assert told(found) == told(expected)
        return
    # Among several assumptions each proof has its own.
    assert without_assumptions(found) == without_assumptions(expected)
    for row in found:
        assert bool(row.assumptions) == (held(row) is Verdict.PROVED_UNDER)
        assert set(row.assumptions) <= assumptions_of(case)


def test_a_row_that_an_open_shape_covers_is_as_possible_as_the_shape() -> None:
    given = Given(
        "",
        "order(?o, ?c, ?v)",
        {"order": [((16, 3, 1), CLOSED), ((16, 3, OPEN), None), ((17, 4, 1), CLOSED)]},
    )
    program = given.program
    case = Case(program, given.world, parse_goal(given.goal, program.program))
    compiled = compile_query(query_of(case), program)
    found = in_bulk(compiled, case, Manner())
    assert dict(found.weak) == {(16, 3, 1): Verdict.UNRESOLVED}
    assert (found.open_shapes, found.excluded) == (1, 1)
    assert told(found) == told(reference(compiled, case, Manner()))


def reasons_of(answers: Answers) -> set[tuple[str, str, str]]:
    return {(one.predicate, one.reason, one.tier) for one in answers.reasons}


def without_assumptions(answers: Answers) -> tuple[object, ...]:
    rows = [(row.values, held(row), row.goals) for row in answers]
    _, whole, reasons, stopped = told(answers)
    return rows, whole[:1], whole[2:], reasons, stopped  # type: ignore[index]  # a tuple of four


def assumptions_of(case: Case) -> set[Assumption]:
    program, world = case.program, case.world
    outside = [one for rows in (*world.rows.values(), *world.openings.values()) for _, one in rows]
    rules = [rule_assumption(program, number) for number in range(len(program.rules))]
    return {one for one in (*outside, *rules) if one is not None}


@SOME
@given(cases(EXACT))
def test_what_is_closed_stays_where_it_was_computed(case: Case) -> None:
    compiled = compile_query(query_of(case), case.program)
    assert isinstance(in_bulk(compiled, case, Manner()).sure, StoredRows)


@pytest.mark.laws
@SOME
@given(cases(), MANNERS)
def test_an_attempt_that_is_not_given_up_says_the_same(case: Case, manner: Manner) -> None:
    compiled = compile_query(query_of(case), case.program)
    externals = tables(case.program, case.world, manner)
    outcome = querying.try_small(LazyEngine(), compiled, externals, Limits(), ignore_event)
    assert outcome is not None
    expected = reference(compiled, case, manner)
    assert outcome.strength(compiled.goal) >= -1
    assert outcome.stopped == expected.stopped
