"""What a refutation claims is so: the engine agrees on every literal, on random programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings

from constat.engine import LazyEngine
from constat.evaluation import ABSENT, ACCEPTED, CONCEIVABLE
from constat.proof import decide
from constat.proof.refutation import refute
from constat.proof.refutation_text import refutation_json, render_refutation
from tests.proof.claims import strength_of
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from constat.proof.refutation import Refutation

FEW = settings(max_examples=max(1, settings().max_examples // 3))
ABSENCES = {ABSENT, CONCEIVABLE}


def refuted(case: Case) -> Refutation:
    externals = tables(case.program, case.world, Manner())
    engine = LazyEngine()
    decision = decide(engine, case.program, case.goal, externals, LIMITS)
    assume(not decision.answers)
    return refute(engine, decision, externals, LIMITS)


def check_claims(case: Case, found: Refutation, *, exact: bool) -> None:
    """Evaluate each literal that is said to hold or to fail."""
    externals = tables(case.program, case.world, Manner())
    program = case.program
    for conclusion in found.lacking:
        for attempt in conclusion.attempts:
            if attempt.stop is None or "⋆" in attempt.stop.claim:
                continue
            held = strength_of(program, externals, attempt.holds)
            together = strength_of(program, externals, [*attempt.holds, attempt.stop.claim])
            # In the hard reading what nobody has accepted yet can hold as well as not.
            assert held >= (ACCEPTED if exact else CONCEIVABLE), attempt
            assert together in ABSENCES, attempt
            for other in attempt.others:
                assert strength_of(program, externals, [other.claim]) in ABSENCES, other


@pytest.mark.laws
@FEW
@given(cases(EXACT))
def test_what_comes_before_the_stop_holds_and_the_stop_fails(case: Case) -> None:
    check_claims(case, refuted(case), exact=True)


@pytest.mark.laws
@FEW
@given(cases())
def test_a_stop_fails_where_something_is_open_too(case: Case) -> None:
    check_claims(case, refuted(case), exact=False)


@FEW
@given(cases())
def test_every_refutation_can_be_written(case: Case) -> None:
    found = refuted(case)
    assert render_refutation(found)
    assert refutation_json(found)["lacking"]


@FEW
@given(cases(EXACT))
def test_every_absent_goal_has_a_reason_for_each_rule(case: Case) -> None:
    found = refuted(case)
    for conclusion in found.lacking:
        assert conclusion.state == "absent", conclusion
        for attempt in conclusion.attempts:
            assert attempt.state == "failed"
            assert attempt.stop is not None or attempt.sentence
