"""pyDatalog and our engine on random stratified programs: two engines, one meaning."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from constat.evaluation import ABSENT, CERTAIN, Limits
from constat.logic import Atom, Variable
from tests.property.coverage import under
from tests.property.rules import Shape
from tests.property.running import run
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.pydatalog import PyDatalogEngine

# What pyDatalog lacks is refused: tests/pydatalog/test_refusals.py.
SURE = replace(EXACT, totals=False)
ERRING = Shape(open=False, assumed=False, errors=True, totals=False)
STRUCTURED = Shape(open=False, assumed=False, errors=False, totals=False, structures=True)
LIMITS = Limits(seconds=5.0)
QUICK, FEW, MANY = 200, 80, 10_000


def compare(engine: PyDatalogEngine, case: Case) -> str:
    """Compare the answers to the goal, and every derived relation; say what became of the goal."""
    told: list[str] = []
    for predicate in dict.fromkeys(rule.head.predicate for rule in case.program.rules):
        arity = case.program.program.predicates[predicate].arity
        everything = Atom(predicate, tuple(Variable(f"v{place}") for place in range(arity)))
        told.append(compare_goal(engine, replace(case, goal=everything)))
    told.append(compare_goal(engine, case))
    return "stopped" if "stopped" in told else told[-1]


def compare_goal(engine: PyDatalogEngine, case: Case) -> str:
    """Compare the answers to one goal."""
    found = engine.answers(case.program, case.goal, tables(case.program, case.world), LIMITS)
    if found.stopped:
        # Stopped means no opinion, whether by the clock or by an instance that errs.
        return "erred" if "errs" in found.stopped else "stopped"
    ours = run(case, exhaust=True)
    rows = under(case.goal, ours.outcome.rows(case.goal.predicate, CERTAIN))
    if ours.strength in {CERTAIN, ABSENT} and not ours.outcome.failures:
        assert found.rows == rows
    assert rows <= found.rows, "what is certain here is certain there"
    assert found.rows or ours.strength != CERTAIN
    assert not found.rows or ours.strength != ABSENT
    return "rows" if found.rows else "no rows"


def compare_many(engine: PyDatalogEngine, shape: Shape, examples: int) -> Counter[str]:
    told: Counter[str] = Counter()

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(cases(shape))
    def compare_one(case: Case) -> None:
        told[compare(engine, case)] += 1
        told["programs"] += 1
        told["recursive"] += any(one.recursive for one in case.program.components)

    compare_one()
    return told


def check_counts(told: Counter[str]) -> None:
    # A run that is stopped has no opinion; where that is often, nothing is tested.
    assert told["stopped"] <= told["programs"] // 5, told
    assert told["rows"] >= told["programs"] // 6, told
    assert told["no rows"] >= told["programs"] // 6, told
    assert told["recursive"] >= told["programs"] // 6, told


@pytest.mark.laws
def test_random_programs_have_the_same_answers(engine: PyDatalogEngine) -> None:
    check_counts(compare_many(engine, SURE, QUICK))


@pytest.mark.laws
def test_random_programs_with_structures_have_the_same_answers(engine: PyDatalogEngine) -> None:
    check_counts(compare_many(engine, STRUCTURED, FEW))


@pytest.mark.laws
def test_an_instance_that_errs_gives_no_answer_and_never_a_wrong_one(
    engine: PyDatalogEngine,
) -> None:
    told = compare_many(engine, ERRING, FEW)
    check_counts(told)
    assert told["erred"]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [SURE, ERRING], ids=["exact", "erring"])
def test_ten_thousand_random_programs_have_the_same_answers(
    engine: PyDatalogEngine, shape: Shape
) -> None:
    check_counts(compare_many(engine, shape, MANY))
