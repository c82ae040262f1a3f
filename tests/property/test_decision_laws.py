"""Decisions on random programs: the checker accepts each, and each assumption is needed."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.check import check_certificate
from constat.engine import LazyEngine
from constat.evaluation import ABSENT, CERTAIN, Verdict
from constat.proof import build_certificate, decide
from tests.oracle.naive import World
from tests.property.running import LIMITS, run
from tests.property.strategies import HALF, Case, analysed, cases
from tests.property.tables import SOME_TIME, Manner, tables

if TYPE_CHECKING:
    from collections.abc import Collection

    from constat.evaluation import Assumption
    from constat.proof import Decision

MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans(), st.booleans())
VERDICTS = {
    3: Verdict.PROVED,
    2: Verdict.PROVED_UNDER,
    1: Verdict.UNRESOLVED,
    0: Verdict.DISPROVED_UNDER,
    -1: Verdict.DISPROVED,
}


def decided(case: Case, manner: Manner) -> Decision:
    externals = tables(case.program, case.world, manner)
    return decide(LazyEngine(), case.program, case.goal, externals, LIMITS)


def accepting(case: Case, accepted: Collection[Assumption]) -> Case:
    """Give the case in which these assumptions are known, so that nobody needs to accept them."""
    rules = tuple(
        replace(rule, proposed=False, confidence=Decimal(1))
        if any(one.kind == "rule" and one.subject == rule.id for one in accepted)
        else rule
        for rule in case.program.rules
    )
    rows = {
        name: tuple((row, None if one in accepted else one) for row, one in found)
        for name, found in case.world.rows.items()
    }
    openings = {
        name: tuple((row, one) for row, one in found if one not in accepted)
        for name, found in case.world.openings.items()
    }
    program = analysed(replace(case.program.program, rules=rules))
    return Case(program, World(rows, openings), case.goal)


@given(cases(), MANNERS)
def test_the_checker_accepts_the_certificate_of_every_decision(case: Case, manner: Manner) -> None:
    decision = decided(case, manner)
    assert decision.verdict is VERDICTS[decision.outcome.strength(case.goal)]
    certificate = build_certificate(decision, created=SOME_TIME, engine_version="test")
    report = check_certificate(certificate)
    assert (report.verdict, report.reason) == (decision.verdict.value, None), report.place


@pytest.mark.laws
@given(cases(), MANNERS)
def test_a_verdict_under_assumptions_rests_on_all_of_them(case: Case, manner: Manner) -> None:
    decision = decided(case, manner)
    under = decision.verdict in {Verdict.PROVED_UNDER, Verdict.DISPROVED_UNDER}
    assert bool(decision.assumptions) == under
    if not under:
        return
    wanted = CERTAIN if decision.verdict is Verdict.PROVED_UNDER else ABSENT
    assert run(accepting(case, decision.assumptions), manner).strength == wanted
    for one in decision.assumptions:
        fewer = [other for other in decision.assumptions if other != one]
        assert run(accepting(case, fewer), manner).strength != wanted, one


@HALF
@given(cases(), MANNERS)
def test_an_unresolved_goal_names_what_is_missing(case: Case, manner: Manner) -> None:
    decision = decided(case, manner)
    if decision.verdict is Verdict.UNRESOLVED:
        assert decision.missing or decision.outcome.failures
        names = {name for name, _ in decision.missing}
        assert names <= case.program.external
    else:
        assert not decision.missing
