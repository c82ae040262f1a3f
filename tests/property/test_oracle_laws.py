"""The oracle itself: sound against every completion of what is open, plain where nothing is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE
from constat.logic import OPEN, Kind
from tests.oracle.naive import evaluate, strength
from tests.oracle.worlds import Completion, Domain, Facts, completions, holds, model
from tests.property.coverage import uncovered
from tests.property.rules import DOMAIN, Shape
from tests.property.strategies import (
    EXACT,
    HALF,
    Case,
    analysed,
    answered,
    cases,
)

SMALL: Domain = {**DOMAIN, Kind.NUMBER: (0, 2), Kind.SYMBOL: ("a", "1")}


@pytest.mark.laws
@HALF
@given(cases())
def test_what_the_hard_reading_decides_is_so_in_every_completion(case: Case) -> None:
    decided = {CERTAIN: True, ABSENT: False}.get(strength(case.program, case.world, case.goal))
    if decided is None:
        return
    for one in completions(case.program, case.world, SMALL, accepted=False):
        assert holds(case.program, one, case.goal, SMALL) == decided, one


@HALF
@given(cases())
def test_what_the_accepted_reading_decides_is_so_in_every_completion(case: Case) -> None:
    readings = {CERTAIN: True, ACCEPTED: True, CONCEIVABLE: False, ABSENT: False}
    decided = readings.get(strength(case.program, case.world, case.goal))
    if decided is None:
        return
    for one in completions(case.program, case.world, SMALL, accepted=True):
        assert holds(case.program, one, case.goal, SMALL) == decided, one


@HALF
@given(cases(EXACT))
def test_where_nothing_is_open_the_two_relations_are_the_ordinary_model(case: Case) -> None:
    facts: Facts = {name: set() for name in case.program.program.predicates}
    for name, rows in case.world.rows.items():
        facts[name] = {row for row, _ in rows}
    everything = frozenset(range(len(case.program.rules)))
    plain = model(case.program, Completion(facts, everything, erring=False), DOMAIN)
    for name, relation in evaluate(case.program, case.world, accepted=False).items():
        assert all(relation.values())
        assert set(relation) == plain[name]


@HALF
@given(cases())
def test_certain_rows_are_possible_and_both_grow_and_shrink_with_the_reading(case: Case) -> None:
    hard = evaluate(case.program, case.world, accepted=False)
    accepted = evaluate(case.program, case.world, accepted=True)
    for name, relation in hard.items():
        certain = {row for row, sure in relation.items() if sure}
        assert certain <= {row for row, sure in accepted[name].items() if sure}
        assert all(OPEN not in row for row in certain)
        assert not uncovered(accepted[name], relation)


@HALF
@given(st.data(), cases())
def test_a_decided_verdict_never_turns_around_when_more_is_answered(
    data: st.DataObject, case: Case
) -> None:
    before = strength(case.program, case.world, case.goal)
    more = data.draw(answered(case.program, case.world))
    if before in {CERTAIN, ABSENT}:
        assert strength(case.program, more, case.goal) == before


@HALF
@given(cases(), st.integers(0, 99))
def test_the_order_of_rules_and_literals_does_not_matter(case: Case, seed: int) -> None:
    random = Random(seed)
    rules = [
        replace(rule, body=tuple(random.sample(rule.body, len(rule.body))))
        for rule in case.program.rules
    ]
    random.shuffle(rules)
    shuffled = analysed(replace(case.program.program, rules=tuple(rules)))
    for accepted in (False, True):
        first = evaluate(case.program, case.world, accepted=accepted)
        assert evaluate(shuffled, case.world, accepted=accepted) == first


@HALF
@given(cases(Shape(errors=False)))
def test_without_openings_and_errors_nothing_holds_a_placeholder(case: Case) -> None:
    closed = replace(case.world, openings={})
    relations = evaluate(case.program, closed, accepted=True)
    assert all(OPEN not in row for relation in relations.values() for row in relation)
