"""The SQL back end gives what the oracle gives, or says that it cannot."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.evaluation import StrategyError
from constat.plan.forward import Strategy
from constat.sql.trees import PLACES
from tests.language.reading import LanguageCase, language_cases
from tests.language.worlds_of_text import program, world
from tests.oracle.naive import evaluate
from tests.property.rules import Shape
from tests.property.strategies import programs, worlds
from tests.sql.computing import compute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.logic import Row
    from tests.oracle.naive import Relation, World

pytestmark = pytest.mark.sampled(3)

CASES = [case for case in language_cases() if case.expectations]
ERRING = Shape(open=False, assumed=False, errors=True)
EXACT = Shape(open=False, assumed=False, errors=False)
SETTINGS = settings(max_examples=max(1, settings().max_examples // 3), deadline=None)


def is_closed(found: AnalysedProgram, outside: World) -> bool:
    assumed = any(one for rows in outside.rows.values() for _, one in rows)
    return not (outside.openings or assumed or any(rule.assumed for rule in found.rules))


def facts_of(outside: World) -> dict[str, list[Row]]:
    return {name: [row for row, _ in rows] for name, rows in outside.rows.items()}


def is_certain(relations: dict[str, Relation]) -> bool:
    return all(certain for relation in relations.values() for certain in relation.values())


def agree(found: AnalysedProgram, outside: World, strategy: Strategy) -> bool:
    """Compare; tell whether the back end gave an answer."""
    expected = evaluate(found, outside, accepted=False)
    try:
        rows, _ = compute(found, facts_of(outside), strategy)
    except StrategyError:
        return False
    rows = {name: found_rows for name, found_rows in rows.items() if name in expected}
    for name, given_rows in rows.items():
        assert given_rows == set(expected[name]), name
    assert is_certain({name: expected[name] for name in rows})
    return True


def literate() -> Iterator[tuple[LanguageCase, Strategy]]:
    """Yield the closed cases, those with recursion once for each strategy.

    Every second one without recursion: the forward engine takes all of them the same way.
    """
    plain = 0
    for case in CASES:
        found = program(case.rules)
        recursive = any(one.recursive for one in found.components)
        plain += not recursive
        if is_closed(found, world(found, case.facts)) and (recursive or plain % 2):
            yield case, Strategy.LOOP
            if recursive:
                yield case, Strategy.CTE


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    ("case", "strategy"), list(literate()), ids=lambda one: getattr(one, "name", "").lower()
)
def test_a_literate_case_has_the_rows_of_the_oracle(case: LanguageCase, strategy: Strategy) -> None:
    found = program(case.rules)
    outside = world(found, case.facts)
    answered = agree(found, outside, strategy)
    certain = is_certain(evaluate(found, outside, accepted=False))
    assert answered or not certain or has_long_decimals(outside)


def has_long_decimals(outside: World) -> bool:
    """Tell whether a Decimal has more places than a column keeps; SQL leaves these to others."""
    values = [value for rows in outside.rows.values() for row, _ in rows for value in row]
    return any(isinstance(one, Decimal) and one != round(one, PLACES) for one in values)


@SETTINGS
@given(st.data(), st.sampled_from([Strategy.CTE, Strategy.LOOP]))
def test_a_random_program_without_errors_is_always_answered(
    data: st.DataObject, strategy: Strategy
) -> None:
    found = data.draw(programs(EXACT))
    outside = data.draw(worlds(found, EXACT))
    assert agree(found, outside, strategy)


@SETTINGS
@given(st.data(), st.sampled_from([Strategy.CTE, Strategy.LOOP]))
def test_a_random_program_whose_rules_may_err_is_answered_exactly_or_not_at_all(
    data: st.DataObject, strategy: Strategy
) -> None:
    found = data.draw(programs(ERRING))
    outside = data.draw(worlds(found, ERRING))
    agree(found, outside, strategy)
