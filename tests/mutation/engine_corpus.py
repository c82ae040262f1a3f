"""What the engine must find, as a list that is checked against any copy of it.

In: random programs and worlds with the manner in which their tables answer, and the literate cases.
Out: the name of the first one on which an engine differs.  What is expected comes from the unbroken
engine and is held against the oracle first: where it decides otherwise than the oracle, or takes a
row for certain that is not so in every completion, the corpus is refused.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from constat.evaluation import (
    ABSENT,
    ACCEPTED,
    CERTAIN,
    CONCEIVABLE,
    POSSIBLE,
    Limits,
    RoundFinished,
)
from constat.syntax import parse_goal
from tests.language.reading import language_cases
from tests.language.worlds_of_text import program, world
from tests.property.coverage import under
from tests.property.judging import Judge, contradict
from tests.property.refiring import Refiring
from tests.property.strategies import Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from constat.evaluation import Event, Outcome

LIMITS: Final = Limits(seconds=300.0)
STRENGTHS: Final = (CERTAIN, ACCEPTED, POSSIBLE, CONCEIVABLE, ABSENT)
MOST_FACTS: Final = 12

Seen: TypeAlias = tuple[object, ...]
Engine: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Expectation:
    """A case, how it is run, and what is to be seen."""

    case: Case
    manner: Manner
    exhaust: bool
    judge: Judge
    seen: Seen


def current() -> Engine:
    """Give the engine that is imported now, broken or not."""
    return importlib.import_module("constat.engine").LazyEngine()


def seen(engine: Engine, case: Case, manner: Manner, judge: Judge, *, exhaust: bool) -> Seen:
    """Run a case and give everything that must not change."""
    rounds: list[tuple[int, int]] = []

    def observe(event: Event) -> None:
        if isinstance(event, RoundFinished):
            rounds.append((event.round, event.new_rows))

    externals = tables(case.program, case.world, manner)
    outcome = engine.evaluate(
        case.program, case.goal, externals, LIMITS, exhaust=exhaust, observe=observe
    )
    name = case.goal.predicate
    return (
        outcome.strength(case.goal),
        outcome.stopped,
        tuple(frozenset(under(case.goal, outcome.rows(name, least))) for least in STRENGTHS),
        tuple(
            (call.demand.predicate.name, call.demand.columns, call.demand.keys)
            for call in outcome.calls
        ),
        frozenset(
            (one.rule, one.reason, tuple(sorted(one.bindings.items()))) for one in outcome.failures
        ),
        frozenset(
            (one.predicate, one.columns, one.keys, tuple(sorted(one.orders.items())))
            for one in outcome.demands
        ),
        tuple(rounds),
        tuple(proofs(outcome, case, judge, least) for least in (CERTAIN, ACCEPTED)),
    )


def proofs(outcome: Outcome, case: Case, judge: Judge, least: int) -> int:
    """Check some proofs of the outcome, down to their leaves; give how many facts they prove."""
    refiring = Refiring(outcome, case.world, judge.truth, least)
    for fact in sorted(refiring.facts(), key=repr)[:MOST_FACTS]:
        refiring.follow(fact)
    return len(refiring.facts())


def expectation(case: Case, manner: Manner, *, exhaust: bool) -> Expectation:
    """Find out what is right, and make sure that the oracle agrees."""
    judge = Judge(case)
    found = seen(current(), case, manner, judge, exhaust=exhaust)
    strength = found[0]
    assert isinstance(strength, int)
    assert not contradict(strength, judge.truth.strength(case.goal))
    judge.strength_is_right(strength)
    return Expectation(case, manner, exhaust, judge, found)


def corpus(size: int, number: int = 1) -> list[Expectation]:
    """Give so many random cases, the same for the same number, and all literate ones."""
    made: list[Expectation] = []

    @seed(number)
    @settings(
        max_examples=size,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(), st.builds(Manner, *[st.booleans()] * 4), st.booleans())
    def collect(case: Case, manner: Manner, exhaust: bool) -> None:  # noqa: FBT001  drawn
        made.append(expectation(case, manner, exhaust=exhaust))

    collect()
    return made + literate()


def literate() -> list[Expectation]:
    made = []
    for one in language_cases():
        if one.expectations:
            found = program(one.rules)
            outside = world(found, one.facts)
            for expected in one.expectations:
                case = Case(found, outside, parse_goal(expected.goal, found.program))
                made += [expectation(case, Manner(), exhaust=exhaust) for exhaust in (True, False)]
    return made


def unmet(engine: Engine, expected: Expectation) -> bool:
    """Tell whether the engine sees something else."""
    found = seen(engine, expected.case, expected.manner, expected.judge, exhaust=expected.exhaust)
    return found != expected.seen
