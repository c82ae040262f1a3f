"""Queries in bulk on random programs: the same answers as those of the reference engine."""

from __future__ import annotations

from hypothesis import event, given, settings
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Limits, ignore_event
from constat.session import choosing
from constat.session.answers import Answers
from constat.session.bulk import Asked, answer_in_bulk
from constat.session.querying import Compiled, answer_query, compile_query
from constat.session.stored_rows import StoredRows
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import SOME_TIME, Manner, tables
from tests.session.test_query_laws import query_of

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
SOME = settings(max_examples=max(1, settings().max_examples // 2))


def told(answers: Answers) -> tuple[object, ...]:
    rows = [(row.values, row.verdict, row.assumptions, row.goals) for row in answers]
    whole = (answers.settled, answers.assumptions, answers.open_shapes, answers.excluded)
    # Which of several demands left a key open may differ where more was asked at once.
    reasons = {(one.predicate, one.reason, one.tier) for one in answers.reasons}
    return rows, whole, reasons, answers.stopped


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
    return answer_in_bulk(Asked(compiled, externals, LIMITS, SOME_TIME), ignore_event)


@SOME
@given(cases(), MANNERS)
def test_answers_in_bulk_are_the_answers(case: Case, manner: Manner) -> None:
    compiled = compile_query(query_of(case), case.program)
    found = in_bulk(compiled, case, manner)
    event(f"in bulk: {isinstance(found.sure, StoredRows)}")
    assert told(found) == told(reference(compiled, case, manner))


@SOME
@given(cases(EXACT))
def test_what_is_closed_stays_where_it_was_computed(case: Case) -> None:
    compiled = compile_query(query_of(case), case.program)
    assert isinstance(in_bulk(compiled, case, Manner()).sure, StoredRows)


@SOME
@given(cases(), MANNERS)
def test_an_attempt_that_is_not_given_up_says_the_same(case: Case, manner: Manner) -> None:
    compiled = compile_query(query_of(case), case.program)
    externals = tables(case.program, case.world, manner)
    outcome = choosing.try_small(LazyEngine(), compiled, externals, Limits(), ignore_event)
    assert outcome is not None
    expected = reference(compiled, case, manner)
    assert outcome.strength(compiled.goal) >= -1
    assert outcome.stopped == expected.stopped
