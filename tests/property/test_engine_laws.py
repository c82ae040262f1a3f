"""The engine against the oracle, on random programs with open patterns and assumptions."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE
from constat.logic import Atom, Constant, Variable
from tests.property.coverage import under
from tests.property.judging import Judge, contradict
from tests.property.refiring import Refiring
from tests.property.running import run, truth
from tests.property.strategies import EXACT, HALF, Case, analysed, answered, cases
from tests.property.tables import Manner

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())


@given(cases(EXACT), st.builds(Manner, far=st.booleans()))
def test_where_nothing_is_open_the_engine_finds_exactly_the_model(
    case: Case, manner: Manner
) -> None:
    found, expected = run(case, manner, exhaust=True), truth(case.program, case.world)
    assert found.strength == expected.strength(case.goal)
    rows = under(case.goal, found.outcome.rows(case.goal.predicate, CERTAIN))
    assert rows == under(case.goal, expected.rows(case.goal.predicate, CERTAIN))
    assert under(case.goal, found.outcome.rows(case.goal.predicate, CONCEIVABLE)) == rows


@given(cases(), MANNERS)
def test_what_the_engine_decides_is_so_in_every_completion(case: Case, manner: Manner) -> None:
    found, judge = run(case, manner), Judge(case)
    event(f"strength {found.strength}")
    assert not contradict(found.strength, judge.truth.strength(case.goal))
    judge.strength_is_right(found.strength)
    judge.certain_rows_are_true(found.outcome)
    if not found.outcome.stopped:
        judge.true_rows_are_possible(found.outcome, case.goal)


def test_the_engine_is_seldom_less_decided_than_the_oracle() -> None:
    differences: list[bool] = []

    # Far sources are not asked for more than keys, so that they decide less.
    @given(cases(), MANNERS.map(lambda manner: replace(manner, far=False)))
    def compare(case: Case, manner: Manner) -> None:
        expected = truth(case.program, case.world).strength(case.goal)
        differences.append(run(case, manner).strength != expected)

    compare()
    assert sum(differences) <= max(2, len(differences) // 50)


@HALF
@given(cases(), MANNERS)
def test_exhausting_the_search_does_not_change_the_verdict(case: Case, manner: Manner) -> None:
    first, all_of_it = run(case, manner), run(case, manner, exhaust=True)
    assert first.strength == all_of_it.strength
    assert all_of_it.outcome.stopped == ""


@given(cases(), MANNERS)
def test_what_was_demanded_of_derived_predicates_is_all_there(case: Case, manner: Manner) -> None:
    found, judge = run(case, manner, exhaust=True), Judge(case)
    judge.certain_rows_are_true(found.outcome)
    for entry in found.outcome.demands:
        numbers = case.program.rule_numbers(entry.predicate)
        assert set(entry.orders) == set(numbers), "each rule has an order"
        for number, order in entry.orders.items():
            assert sorted(order) == list(range(len(case.program.rules[number].body)))
        kinds = case.program.program.predicates[entry.predicate].kinds
        for key in entry.keys:
            bound = dict(zip(entry.columns, key, strict=True))
            terms = tuple(
                Constant(bound[place], kind) if place in bound else Variable(f"v{place}")
                for place, kind in enumerate(kinds)
            )
            judge.true_rows_are_possible(found.outcome, Atom(entry.predicate, terms))


@pytest.mark.laws
@given(cases(), MANNERS, st.sampled_from([ACCEPTED, CERTAIN]))
def test_every_derivation_refires_and_ends_at_outside_rows(
    case: Case, manner: Manner, least: int
) -> None:
    outcome = run(case, manner).outcome
    refiring = Refiring(outcome, case.world, truth(case.program, case.world), least)
    for fact in refiring.facts():
        refiring.follow(fact)
    assert len(refiring.known) == len(refiring.facts())


@pytest.mark.laws
@given(cases(), MANNERS, st.booleans(), st.sampled_from([ACCEPTED, CERTAIN]))
def test_what_was_found_for_a_key_outlasts_wider_questions_that_nobody_answers(
    case: Case,
    manner: Manner,
    exhaust: bool,  # noqa: FBT001  drawn
    least: int,
) -> None:
    outcome = run(case, replace(manner, keyed=True), exhaust=exhaust).outcome
    Judge(case).certain_rows_are_true(outcome)
    refiring = Refiring(outcome, case.world, truth(case.program, case.world), least)
    for fact in refiring.facts():
        refiring.follow(fact)


@HALF
@given(cases(), st.integers(0, 99))
def test_the_order_of_rules_does_not_matter(case: Case, seed: int) -> None:
    rules = Random(seed).sample(case.program.rules, len(case.program.rules))
    shuffled = analysed(replace(case.program.program, rules=tuple(rules)))
    assert run(case).strength == run(replace(case, program=shuffled)).strength


@HALF
@given(cases(), st.integers(0, 99))
def test_the_order_of_literals_never_turns_a_verdict_around(case: Case, seed: int) -> None:
    random = Random(seed)
    rules = [
        replace(rule, body=tuple(random.sample(rule.body, len(rule.body))))
        for rule in case.program.rules
    ]
    shuffled = analysed(replace(case.program.program, rules=tuple(rules)))
    other = run(replace(case, program=shuffled)).strength
    assert not contradict(run(case).strength, other)


@HALF
@given(cases(EXACT), st.integers(0, 99))
def test_where_nothing_is_open_the_order_of_literals_does_not_matter(case: Case, seed: int) -> None:
    random = Random(seed)
    rules = [
        replace(rule, body=tuple(random.sample(rule.body, len(rule.body))))
        for rule in case.program.rules
    ]
    shuffled = analysed(replace(case.program.program, rules=tuple(rules)))
    assert run(case).strength == run(replace(case, program=shuffled)).strength


@HALF
@given(st.data(), cases(), MANNERS)
def test_a_decided_verdict_never_turns_around_when_more_is_answered(
    data: st.DataObject, case: Case, manner: Manner
) -> None:
    before = run(case, manner).strength
    more = data.draw(answered(case.program, case.world))
    after = run(replace(case, world=more), manner).strength
    if before in {CERTAIN, ABSENT}:
        assert not contradict(before, after)
