"""Queries on random programs: what a row is called is what proving it says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import Span
from constat.engine import LazyEngine
from constat.evaluation import Verdict, ignore_event
from constat.logic import Atom, Column, Constant, Positive, Variable
from constat.proof import decide
from constat.session.answers import Settled
from constat.session.query_text import Query
from constat.session.querying import answer_query, compile_query
from tests.property.rules import DOMAIN
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, HALF, Case, cases
from tests.property.tables import SOME_TIME, Manner, tables
from tests.property.test_decision_laws import accepting

if TYPE_CHECKING:
    from constat.logic import Row
    from constat.session import Answers

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
NOWHERE = Span("<goal>", 1, 1, 1, 1)


def query_of(case: Case) -> Query:
    kinds = case.program.program.predicates[case.goal.predicate].kinds
    columns = tuple(
        Column(term.name, kind.value, kind)
        for term, kind in zip(case.goal.terms, kinds, strict=True)
        if isinstance(term, Variable)
    )
    return Query((Positive(case.goal),), columns, "", NOWHERE)


def answers_of(case: Case, manner: Manner, query: Query | None = None) -> Answers:
    return answer_query(
        LazyEngine(),
        compile_query(query or query_of(case), case.program),
        tables(case.program, case.world, manner),
        LIMITS,
        created=SOME_TIME,
        confidence=True,
        observe=ignore_event,
    )


def instance(case: Case, values: Row) -> Atom:
    kinds = case.program.program.predicates[case.goal.predicate].kinds
    given_values = iter(values)
    return Atom(
        case.goal.predicate,
        tuple(
            Constant(next(given_values), kind) if isinstance(term, Variable) else term
            for term, kind in zip(case.goal.terms, kinds, strict=True)
        ),
    )


def proved(case: Case, manner: Manner, values: Row) -> Verdict:
    externals = tables(case.program, case.world, manner)
    return decide(LazyEngine(), case.program, instance(case, values), externals, LIMITS).verdict


def everything(case: Case) -> list[Row]:
    """List the values that the goal's variables may have in the domain of the tests."""
    kinds = case.program.program.predicates[case.goal.predicate].kinds
    free = [
        DOMAIN[kind]
        for term, kind in zip(case.goal.terms, kinds, strict=True)
        if isinstance(term, Variable)
    ]
    return list(itertools.product(*free))


@given(cases(), MANNERS)
def test_a_row_is_called_what_proving_it_says(case: Case, manner: Manner) -> None:
    answers = answers_of(case, manner)
    for row in answers:
        verdict = proved(case, manner, row.values)
        if row.verdict is Verdict.UNRESOLVED:
            # Asked by itself, more may be known of a row; nothing that was said is taken back.
            assert answers.settled is Settled.OPEN
        else:
            assert verdict is row.verdict, row


@pytest.mark.laws
@given(cases(), MANNERS)
def test_what_a_settled_set_does_not_list_is_disproved(case: Case, manner: Manner) -> None:
    answers = answers_of(case, manner)
    if answers.settled is Settled.OPEN:
        return
    listed = {row.values for row in answers}
    allowed = {Verdict.DISPROVED}
    if answers.settled is Settled.UNDER:
        allowed.add(Verdict.DISPROVED_UNDER)
    for values in everything(case)[:40]:
        if values not in listed:
            assert proved(case, manner, values) in allowed, values


@HALF
@given(cases(), MANNERS)
def test_what_proving_finds_is_listed_or_may_be_more(case: Case, manner: Manner) -> None:
    answers = answers_of(case, manner)
    listed = {row.values: row.verdict for row in answers}
    for values in everything(case)[:25]:
        verdict = proved(case, manner, values)
        if verdict in {Verdict.PROVED, Verdict.PROVED_UNDER} and values not in listed:
            assert answers.settled is Settled.OPEN
            assert answers.open_shapes or answers.stopped


@HALF
@given(cases(), MANNERS)
def test_the_assumptions_of_a_row_are_enough(case: Case, manner: Manner) -> None:
    for row in answers_of(case, manner):
        if row.verdict is Verdict.PROVED_UNDER:
            assert row.assumptions
            known = accepting(Case(case.program, case.world, case.goal), row.assumptions)
            assert proved(known, manner, row.values) is Verdict.PROVED, row
        else:
            assert not row.assumptions


@given(cases(EXACT), MANNERS)
def test_confidences_are_those_of_the_best_proofs(case: Case, manner: Manner) -> None:
    for row in list(answers_of(case, manner))[:5]:
        externals = tables(case.program, case.world, manner)
        goal = instance(case, row.values)
        best = decide(LazyEngine(), case.program, goal, externals, LIMITS, exhaust=True)
        assert row.confidence == best.confidence


@given(cases(), MANNERS)
def test_the_exit_code_follows_from_rows_and_openness(case: Case, manner: Manner) -> None:
    answers = answers_of(case, manner)
    verdicts = {row.verdict for row in answers}
    undecided = Verdict.UNRESOLVED in verdicts or bool(answers.open_shapes) or answers.stopped
    assumed = Verdict.PROVED_UNDER in verdicts or bool(answers.excluded)
    assert answers.exit_code == (4 if undecided else 3 if assumed else 0)
    assert bool(answers.reasons) == (answers.exit_code == 4)
    assert [row.values for row in answers] == sorted(row.values for row in answers)


@pytest.mark.laws
@given(cases(), MANNERS)
def test_a_rule_of_its_own_changes_no_answer(case: Case, manner: Manner) -> None:
    plain = query_of(case)
    twice = replace(plain, literals=plain.literals * 2)
    assert plain.goal is not None
    assert twice.goal is None
    one, other = answers_of(case, manner), answers_of(case, manner, twice)
    assert [(row.values, row.verdict) for row in one] == [
        (row.values, row.verdict) for row in other
    ]
    assert one.settled is other.settled


@HALF
@given(cases(), MANNERS, st.data())
def test_hiding_a_variable_asks_whether_there_is_a_value(
    case: Case, manner: Manner, data: st.DataObject
) -> None:
    plain = query_of(case)
    kept = tuple(column for column in plain.columns if data.draw(st.booleans()))
    names = {column.name for column in kept}
    hidden = tuple(
        term if not isinstance(term, Variable) or term.name in names else Variable(f"_{term.name}")
        for term in case.goal.terms
    )
    asked = (Positive(Atom(case.goal.predicate, hidden)),)
    answers = answers_of(case, manner, replace(plain, literals=asked, columns=kept))
    for row in answers:
        externals = tables(case.program, case.world, manner)
        values = dict(zip((column.name for column in kept), row.values, strict=True))
        goal = Atom(
            case.goal.predicate,
            tuple(
                Constant(values[term.name], kind)
                if isinstance(term, Variable) and term.name in names
                else term
                for term, kind in zip(
                    case.goal.terms,
                    case.program.program.predicates[case.goal.predicate].kinds,
                    strict=True,
                )
            ),
        )
        verdict = decide(LazyEngine(), case.program, goal, externals, LIMITS).verdict
        if row.verdict is not Verdict.UNRESOLVED:
            assert verdict is row.verdict
