"""Every set of missing facts proves its goal, no part of it does, and no single fact is cheaper."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import TYPE_CHECKING

from hypothesis import given, settings

from constat.engine import LazyEngine
from constat.evaluation import CERTAIN
from constat.proof.abduction import Abduction, Search
from constat.proof.projection import with_projections
from constat.proof.suppositions import Abducibles
from constat.proof.worlds import Delta, Worlds
from tests.oracle.naive import World
from tests.property.rules import DOMAIN
from tests.property.running import LIMITS
from tests.property.strategies import EXACT, Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.logic import Row

FEW = settings(max_examples=max(1, settings().max_examples // 2))
ONE = Decimal(1)


def searched(case: Case) -> Abduction:
    names = sorted(case.program.external)
    costs = Abducibles(dict.fromkeys(names, ONE), dict.fromkeys(names, ONE))
    externals = tables(case.program, case.world, Manner())
    worlds = Worlds(LazyEngine(), with_projections(case.program), externals, LIMITS)
    return Search(worlds, case.goal, costs, top=2, seconds=2.0, most=200).run()


def holds(case: Case, delta: Delta) -> bool:
    """Tell whether the goal holds in a world that really has the facts: nothing is supposed."""
    rows: dict[str, dict[Row, None]] = {
        name: {row: None for row, _ in found if (name, row) not in delta.removed}
        for name, found in case.world.rows.items()
    }
    for name, row in delta.added:
        rows.setdefault(name, {})[row] = None
    world = World({name: tuple((row, None) for row in one) for name, one in rows.items()}, {})
    outcome = LazyEngine().evaluate(
        case.program, case.goal, tables(case.program, world, Manner()), LIMITS
    )
    return outcome.strength(case.goal) == CERTAIN


def parts(delta: Delta) -> Iterator[Delta]:
    facts = [(fact, True) for fact in delta.added] + [(fact, False) for fact in delta.removed]
    for size in range(len(facts)):
        for kept in itertools.combinations(facts, size):
            yield Delta(
                frozenset(fact for fact, more in kept if more),
                frozenset(fact for fact, more in kept if not more),
            )


def singles(case: Case) -> Iterator[Delta]:
    """Yield every world that differs by one fact."""
    for name in sorted(case.program.external):
        kinds = case.program.program.predicates[name].kinds
        there = {row for row, _ in case.world.rows.get(name, ())}
        for row in itertools.product(*(DOMAIN[kind] for kind in kinds)):
            fact = frozenset(((name, row),))
            yield Delta(removed=fact) if row in there else Delta(added=fact)


@FEW
@given(cases(EXACT))
def test_every_set_proves_the_goal_and_no_part_of_it_does(case: Case) -> None:
    for one in searched(case).found:
        assert holds(case, one.chosen.delta), one
        assert not any(holds(case, part) for part in parts(one.chosen.delta)), one


@FEW
@given(cases(EXACT))
def test_an_exhausted_search_misses_no_single_fact(case: Case) -> None:
    found = searched(case)
    if found.found or found.bound is not None or found.unsolved or found.dropped:
        return
    # It says that there is no set: then no single fact of the small domain proves the goal.
    assert not any(holds(case, one) for one in singles(case))


@FEW
@given(cases(EXACT))
def test_the_first_set_costs_no_more_than_any_single_fact(case: Case) -> None:
    found = searched(case)
    if not found.found or found.unsolved or found.dropped or found.found[0].cost <= ONE:
        return
    assert not any(holds(case, one) for one in singles(case)), found
